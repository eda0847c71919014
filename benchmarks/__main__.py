"""Every benchmark, one after the other: ``python -m benchmarks [--quick] [--check] [--data DIR] [--out DIR]``.

Each runs in a process of its own, so that none inherits another's caches or threads. What cannot run here (a package or
the data is missing) is skipped with a message and named again at the end. Exit code 1 if a benchmark failed, and with
``--check`` if a promise does not hold; 3 if nothing ran.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

NOTHING_RAN = 3


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A module, the packages without which it cannot start, and its arguments."""

    module: str
    needs: tuple[str, ...]
    arguments: tuple[str, ...]
    needs_data: bool = False

    def obstacle(self, data: Path | None) -> str | None:
        """Return why it cannot run here, or None."""
        if importlib.util.find_spec(f"benchmarks.{self.module}") is None:
            return "there is no such benchmark"
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        if absent:
            return f"not installed: {', '.join(absent)}"
        if self.needs_data and data is None:
            return "no data: give --data FOLDER or set DPADMM_DATA (a9a and a9a.t, also packed)"
        if self.needs_data and data is not None and not any(data.glob("a9a*")):
            return f"no data: {data} holds no a9a"
        return None


def planned(options: argparse.Namespace) -> list[Benchmark]:
    """Return what would run, in this order."""
    out, data = str(options.out), options.data
    check = ("--check",) if options.check else ()
    quick = ("--quick",) if options.quick else ()
    return [
        Benchmark("bench_reference", ("numpy",), ("--out", out, *check)),
        Benchmark("bench_accountant", ("flint", "mpmath", "matplotlib"), ("--out", out, *check)),
        Benchmark("bench_accountant_widths", ("flint", "mpmath"), ()),
        Benchmark("bench_startup", ("flint", "mpmath"), check),
        Benchmark("bench_reading", ("pandas", "sklearn"), (*check, *(("--rounds", "1") if options.quick else ()))),
        Benchmark("bench_auditors", ("scipy",), ("--out", out, *check, *quick)),
        Benchmark("bench_tightness", ("scipy", "flint"), ("--pairs", "5000" if options.quick else "50000")),
        Benchmark(
            "bench_training",
            ("flint", "mpmath"),
            ("--data", str(data), "--out", f"{out}/training.json"),
            needs_data=True,
        ),
    ]


def run(benchmark: Benchmark) -> int:
    """Run one benchmark on one thread of linear algebra and return its exit code."""
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"} | dict(os.environ)
    command = [sys.executable, "-m", f"benchmarks.{benchmark.module}", *benchmark.arguments]
    return subprocess.run(command, env=environment, check=False).returncode


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("DPADMM_DATA")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions where a benchmark knows how")
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise does not hold")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None, help="folder with a9a and a9a.t")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="where JSON and plots go")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run what can run; say what could not and what failed."""
    options = parsed(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    ran, failed, skipped = 0, [], []
    for benchmark in planned(options):
        print(f"\n## {benchmark.module}\n", flush=True)
        obstacle = benchmark.obstacle(options.data)
        if obstacle is not None:
            print(f"skipped: {obstacle}", flush=True)
            skipped.append(benchmark.module)
            continue
        code = run(benchmark)
        ran += 1
        if code != 0:
            print(f"exit code {code}", flush=True)
            failed.append(benchmark.module)
    print(f"\n{ran} ran; failed: {', '.join(failed) or 'none'}; skipped: {', '.join(skipped) or 'none'}")
    if ran == 0:
        return NOTHING_RAN
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
