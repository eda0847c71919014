r"""Time and memory of every mechanism for T = 1, 10, ..., 10^9, W1, `verify`: docs/evidence/times.md.

`python -m benchmarks.bench_sizes sizes` prices each in a fresh process (`dpadmm account ...`) and notes processor
seconds and peak memory; `... w1 [--peers PYTHON] [--rounds N]` times W1 of the specification from process start to end,
ours and `python -c` of dp-accounting interleaved, PYTHON an interpreter that has it; `... verify` times `dpadmm verify`
(`--without-coq`: not its theorems); `... page [--check]` writes the page. Where T equal steps cost as much as one, the
rows are flat.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

RECORD: Final = Path(__file__).with_name("sizes.json")
PAGE: Final = Path(__file__).parents[1] / "docs" / "evidence" / "times.md"
POWERS: Final = tuple(range(10))
OURS: Final = (sys.executable, "-m", "dpadmm")
MECHANISMS: Final = {
    "ssadmm": "--records 48842 --batch 221 --noise-multiplier 4",
    "ssadmm --noise discrete": "--records 48842 --batch 221 --noise-multiplier 4",
    "dpsgd": "--records 48842 --batch 221 --noise-multiplier 4",
    "dpsvrg": "--records 48842 --batch 221 --noise-multiplier 40 --inner 1",
    "mpadmm": "--records 48842 --eta 1 --rho 1/2 --clip 1 --sigma 0.01",
    "dpadmm": "--records 48842 --eta 1 --rho 1/2 --clip 1 --sigma 0.01",
    "objp": "--records 48842 --epsilon 1e-5",
    "gaussian": "--noise-multiplier 100",
    "poisson": "--sampling-rate 0.004 --noise-multiplier 4",
    "laplace": "--noise-multiplier 1e5",
    "pure": "--epsilon 1e-5",
}
W1: Final = "account ssadmm --records 48842 --batch 221 --noise-multiplier 4 --iterations 2210 --delta 1e-8"
THEIRS: Final = """
import dp_accounting as dp
from dp_accounting import {kind}
relation = dp.NeighboringRelation.{relation}
event = dp.{event}
accountant = {kind}.{accountant}(neighboring_relation=relation)
print(accountant.compose(event, 2210).get_epsilon(1e-8))
"""
FIXED: Final = "SampledWithoutReplacementDpEvent(48842, 221, dp.GaussianDpEvent(8.0))"
POISSON: Final = "PoissonSampledDpEvent(221 / 48842, dp.GaussianDpEvent(4.0))"
PEERS: Final = {
    "dp-accounting RDP, the same question": THEIRS.format(
        kind="rdp", relation="REPLACE_ONE", event=FIXED, accountant="RdpAccountant"
    ),
    "dp-accounting PLD, Poisson batches (fixed size is refused)": THEIRS.format(
        kind="pld", relation="ADD_OR_REMOVE_ONE", event=POISSON, accountant="PLDAccountant"
    ),
}


PROTOTYPE: Final = "import runpy; runpy.run_module('benchmarks.flint_composition', run_name='__main__')"
FLOOR: Final = {
    "`import numpy, flint, click`: what every answer loads, nothing computed": "import numpy, flint, click",
    "`import numpy` alone": "import numpy",
    "`import flint` alone": "import flint",
    "a prototype of the two ends in flint's integers (`benchmarks.flint_composition`), nothing certified": PROTOTYPE,
    "`import flint, click` and our modules of the command, without numpy": "import dpadmm.cli.account",
}


def spent(command: Sequence[str], **changed: str) -> tuple[int, float, int]:
    """Return exit code, CPU seconds (its own children's too) and peak MiB of a child."""
    surroundings = _environment() | changed
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=surroundings)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, round(usage.ru_utime + usage.ru_stime, 3), usage.ru_maxrss // 1024


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"OPENBLAS_NUM_THREADS": "1"}


def sizes(only: list[str]) -> dict[str, list[tuple[int, float, int]]]:
    """Return (exit code, seconds, MiB) for each T of each mechanism."""
    found = {}
    for name in only:
        command = [*OURS, "account", *name.split(), *MECHANISMS[name].split(), "--delta", "1e-8", "--iterations"]
        found[name] = [spent([*command, str(10**power)]) for power in POWERS]
        print(name, found[name], flush=True)
    return found


def w1(interpreter: str, rounds: int) -> dict[str, float]:
    """Return the least CPU seconds from process start to end, contestants interleaved."""
    contestants = {"dpadmm account ssadmm, both ends by five methods": [*OURS, *W1.split()]}
    contestants["dpadmm account ssadmm --method profile"] = [*OURS, *W1.split(), "--method", "profile"]
    contestants |= {name: [interpreter, "-c", code] for name, code in PEERS.items()}
    contestants |= {name: [sys.executable, "-c", code] for name, code in FLOOR.items()}
    best = dict.fromkeys(contestants, float("inf"))
    for turn in range(rounds + 1):
        for name, command in contestants.items():
            code, seconds, _ = spent(command)
            if code:
                raise SystemExit(f"{name} failed with {code}")
            best[name] = min(best[name], seconds) if turn else best[name]
    return best


def verified(*, coq: bool) -> dict[str, list[float]]:
    """Time `dpadmm verify`: exit code, seconds of the processors and on the wall, cores, and the load beside it."""
    started, load = time.monotonic(), os.getloadavg()[0]
    code, seconds, _ = spent((*OURS, "verify"), **({} if coq else {"PATH": ""}))
    row = [code, seconds, round(time.monotonic() - started, 1), os.cpu_count() or 1, round(load, 1)]
    return {"with Coq" if coq else "without Coq, whose theorems are then undecided": row}


def page(record: dict[str, dict[str, object]]) -> str:
    """Return the page."""
    head = " | ".join(f"10^{power}" for power in POWERS)
    lines = [
        "# Times and memory of the accountant",
        "",
        "Generated by `python -m benchmarks.bench_sizes page` from `benchmarks/sizes.json`, which `... sizes` and",
        "`... w1` fill; do not edit.",
        "",
        "## Every mechanism, T steps",
        "`dpadmm account` from process start to end, a fresh process each: processor seconds, and the largest resident",
        "memory in MiB. Parameters are in `benchmarks/bench_sizes.py`.",
        "",
        f"| T | {head} |",
        "|---" * (len(POWERS) + 1) + "|",
    ]
    for name, row in record["sizes"].items():
        assert isinstance(row, list)
        lines.append(f"| `{name}`, s | " + " | ".join(_seconds(each) for each in row) + " |")
        lines.append(f"| `{name}`, MiB | " + " | ".join(str(each[2]) for each in row) + " |")
    lines += [
        "",
        "## W1 beside dp-accounting",
        f"`dpadmm {W1}`,",
        "least processor seconds of interleaved rounds, on a busy machine:",
        "",
    ]
    lines += ["| | seconds | ours, all methods / this |", "|---|---|---|"]
    timed = {name: float(str(seconds)) for name, seconds in record["w1"].items()}
    ours = next(iter(timed.values()))
    lines += [f"| {name} | {seconds:.2f} | {ours / seconds:.3f} |" for name, seconds in timed.items()]
    lines += [
        *("", *_verdict(timed), "", "## `dpadmm verify`"),
        "All statements, from process start to end; seconds of the processors include solvers and Coq. The load is",
        "that of other programs when it began, which share the cores.",
        *("", "| | exit code | processor seconds | seconds on the wall | cores | load |", "|---" * 6 + "|"),
    ]
    rows = ((name, row) for name, row in record.get("verify", {}).items() if isinstance(row, list))
    lines += [f"| {name} | " + " | ".join(f"{value:g}" for value in row) + " |" for name, row in rows]
    return "\n".join(lines) + "\n"


def _verdict(timed: dict[str, float]) -> list[str]:
    """Return in words how far from a tenth of dp-accounting's time this is, and what the floor is."""
    ours, theirs = (seconds for name, seconds in timed.items() if name in {next(iter(timed)), next(iter(PEERS))})
    loaded, _, bare, prototype, modules = (timed[name] for name in FLOOR)
    reached = "reached" if ours <= theirs / 10 else "not reached"
    without = modules + prototype - bare
    return [
        f"A tenth of dp-accounting's time for the same question would be {theirs / 10:.2f} s: {reached}. Three ways:",
        "",
        f"1. With numpy, as it is: loading interpreter, numpy, flint and click takes {loaded:.2f} s before anything is",
        f"   computed; the rest, {ours - loaded:.2f} s, is our own modules, four Renyi methods and the two ends.",
        "2. Without numpy, the two ends composed in flint's exact integers: the modules of the command and a prototype",
        f"   of the composition that certifies nothing take {without:.2f} s, the four Renyi methods not counted.",
        f"3. The same without click and without any module of ours: the prototype alone takes {prototype:.2f} s.",
    ]


def _seconds(entry: tuple[int, float, int]) -> str:
    return f"{entry[1]:.2f}" + (f" (exit {entry[0]})" if entry[0] else "")


def main(arguments: list[str] | None = None) -> int:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sizes", "w1", "verify", "page"])
    parser.add_argument("--only", nargs="+", choices=list(MECHANISMS), default=list(MECHANISMS))
    parser.add_argument("--peers", default=".venv-peers/bin/python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without-coq", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"sizes": {}, "w1": {}}
    if options.what == "page":
        text = page(record)
        if options.check:
            return int(PAGE.read_text("utf-8") != text)
        PAGE.write_text(text, "utf-8")
        return 0
    if options.what == "sizes":
        for name in options.only:
            record["sizes"] |= sizes([name])
            RECORD.write_text(json.dumps(record) + "\n", "utf-8")
    elif options.what == "verify":
        record.setdefault("verify", {}).update(verified(coq=not options.without_coq))
    else:
        record["w1"] = w1(options.peers, options.rounds)
        print(record["w1"])
    RECORD.write_text(json.dumps(record) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
