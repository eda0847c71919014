"""What a command costs from process start to end, as a multiple of ``python -c "import mpmath, flint"``.

``python -m benchmarks.bench_startup [--rounds N] [--check]``: CPU time (user and system) of the child process, the
least of the rounds, contestants interleaved, so that other work on the machine moves all of them alike. Bytecode is
cached, as in an installed package. Promised: `--help` and `account gaussian` at most 1.5 times, every `--help` below
0.3 s.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence

from dpadmm.cli import SUBCOMMANDS

BASE = (sys.executable, "-c", "import mpmath, flint")
DPADMM = (sys.executable, "-m", "dpadmm")
W1 = "account ssadmm --records 48842 --batch 221 --noise-multiplier 4 --iterations 2210 --delta 1e-8"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "import mpmath, flint": BASE,
    "dpadmm --help": (*DPADMM, "--help"),
    "dpadmm account gaussian": (
        *(*DPADMM, "account", "gaussian", "--noise-multiplier", "2", "--iterations", "3", "--delta", "1e-5"),
    ),
    "dpadmm account ssadmm": (*DPADMM, *W1.split()),
    **{f"dpadmm {name} --help": (*DPADMM, name, "--help") for name in SUBCOMMANDS},
}
MOST_RATIO = {"dpadmm --help": 1.5, "dpadmm account gaussian": 1.5}
MOST_SECONDS = {f"dpadmm {name} --help": 0.3 for name in SUBCOMMANDS} | {"dpadmm account ssadmm": 0.35}


def cpu_seconds(command: Sequence[str]) -> float:
    """CPU seconds of one child process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each command over interleaved rounds, after one that fills the caches."""
    best = dict.fromkeys(commands, float("inf"))
    for turn in range(rounds + 1):
        for name, command in commands.items():
            seconds = cpu_seconds(command)
            best[name] = min(best[name], seconds) if turn else best[name]
    return best


def main() -> int:
    """Print seconds and ratios; with --check, exit 1 where a promise does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise does not hold")
    options = parser.parse_args()
    found = least(COMMANDS, options.rounds)
    base, broken = found["import mpmath, flint"], 0
    print("| command | CPU seconds | times the imports | promised |\n|---|---|---|---|")
    for name, seconds in found.items():
        ratio, most = MOST_RATIO.get(name), MOST_SECONDS.get(name)
        promise = f"at most {ratio} times" if ratio else f"at most {most} s" if most else ""
        kept = (ratio is None or seconds <= ratio * base) and (most is None or seconds <= most)
        broken += not kept
        print(f"| `{name}` | {seconds:.3f} | {seconds / base:.2f} | {promise}{'' if kept else ' (missed)'} |")
    return int(options.check and broken > 0)


if __name__ == "__main__":
    sys.exit(main())
