"""Reading records beside pandas and scikit-learn: whole fresh processes, CPU seconds and peak memory, in one run.

    python -m benchmarks.bench_reading [--records 200000] [--columns 50] [--rounds 3] [--check]

A table of normal numbers with a label of two classes is written as CSV (a header, 6 digits) and as LIBSVM, and a
sparse one (one column in nine, like Adult) as LIBSVM. Each contestant is a new process that imports what it needs and
reads the file once; interleaved rounds, the least CPU time (user and system) and the least peak of resident memory
count. Promised: at most 3 times the peer in both. We return dense matrices, so the sparse file is compared with
``load_svmlight_file(...)[0].toarray()``; the sparse result alone is listed beside it without a promise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference.arithmetic import Matrix

MOST = 3.0
SPARSITY = 9
SPARSE_COLUMNS = 124
AFTER = """
import resource, pathlib
used = resource.getrusage(resource.RUSAGE_SELF)
lines = pathlib.Path('/proc/self/status').read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))
print(used.ru_utime + used.ru_stime, peak / 1024)
"""
OURS = "import sys, pathlib; {}; from dpadmm.loaders import load; load(pathlib.Path(sys.argv[1]))"
SVMLIGHT = "import sys; from sklearn.datasets import load_svmlight_file as load; load(sys.argv[1])"


@dataclass(frozen=True, slots=True)
class Race:
    """A file, the peer's way to read it, and ours."""

    name: str
    file: str
    peer: str
    ours: Mapping[str, str]
    aside: Mapping[str, str]


RACES = (
    Race(
        "CSV",
        "dense.csv",
        "import sys, pandas; pandas.read_csv(sys.argv[1])",
        {
            "dpadmm with pandas": OURS.format("import pandas"),
            "dpadmm with numpy alone": OURS.format("sys.modules['pandas'] = None"),
        },
        {},
    ),
    Race("LIBSVM, dense", "dense.libsvm", SVMLIGHT, {"dpadmm": OURS.format("pass")}, {}),
    Race(
        "LIBSVM, sparse",
        "sparse.libsvm",
        f"{SVMLIGHT}[0].toarray()",
        {"dpadmm": OURS.format("pass")},
        {"scikit-learn, left sparse": SVMLIGHT},
    ),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds and mebibytes."""

    seconds: float
    peak: float


def written(folder: Path, records: int, columns: int) -> None:
    """Write the three files."""
    draws = np.random.default_rng(1)
    dense = draws.standard_normal((records, columns - 1))
    labels = np.where(draws.standard_normal(records) > 0, 1, -1)
    with (folder / "dense.csv").open("w") as file:
        file.write(",".join([*(f"c{j}" for j in range(columns - 1)), "label"]) + "\n")
        file.writelines(
            ",".join(f"{v:.6g}" for v in row) + f",{label}\n" for row, label in zip(dense, labels, strict=True)
        )
    _libsvm(folder / "dense.libsvm", dense, labels)
    kept = draws.integers(0, SPARSITY, (records, SPARSE_COLUMNS)) == 0
    _libsvm(folder / "sparse.libsvm", kept.astype(np.float64), labels)


def _libsvm(path: Path, rows: Matrix, labels: np.ndarray) -> None:
    def lines() -> Iterator[str]:
        for row, label in zip(rows, labels, strict=True):
            entries = " ".join(f"{j + 1}:{row[j]:.6g}" for j in np.flatnonzero(row))
            yield f"{label:+d} {entries}\n"

    with path.open("w") as file:
        file.writelines(lines())


def cost(code: str, path: Path) -> Cost:
    """What one fresh process needs."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\n{AFTER}", str(path)], check=True, capture_output=True, text=True
    )
    seconds, peak = ran.stdout.split()[-2:]
    return Cost(float(seconds), float(peak))


def least(race: Race, path: Path, rounds: int) -> dict[str, Cost]:
    """The least of each contestant over interleaved rounds, after one that warms the caches."""
    contestants = {"peer": race.peer, **race.ours, **race.aside}
    best = {name: Cost(float("inf"), float("inf")) for name in contestants}
    for turn in range(rounds + 1):
        for name, code in contestants.items():
            now = cost(code, path)
            if turn:
                best[name] = Cost(min(best[name].seconds, now.seconds), min(best[name].peak, now.peak))
    return best


def main() -> int:
    """Print a table; with --check, exit 1 where a promise does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=50, help="of the dense table, its label included")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise does not hold")
    options = parser.parse_args()
    broken = 0
    print(f"{options.records:,} x {options.columns}, peak of the whole process\n")
    print("| file | reader | CPU seconds | MiB | times the peer | |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), options.records, options.columns)
        for race in RACES:
            found = least(race, Path(folder) / race.file, options.rounds)
            peer = found["peer"]
            for name, one in found.items():
                time, memory = one.seconds / peer.seconds, one.peak / peer.peak
                kept = name not in race.ours or max(time, memory) <= MOST
                broken += not kept
                shown = {"CSV": "pandas.read_csv"}.get(race.name, "load_svmlight_file") if name == "peer" else name
                verdict = "" if name not in race.ours else "kept" if kept else "missed"
                ratios = f"{time:.2f}, {memory:.2f}"
                row = (race.name, shown, f"{one.seconds:.2f}", f"{one.peak:.0f}", ratios, verdict)
                print(f"| {' | '.join(row)} |", flush=True)
    return int(options.check and broken > 0)


if __name__ == "__main__":
    sys.exit(main())
