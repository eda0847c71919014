r"""Run the general mutation tool: ``python -m tests.mutants.general [--seconds N] [--record FILE] MODULE...``.

Each mutant lives in a forked child: the code of the module's functions is exchanged in place (so every importer sees
it), and the oracles run until one notices. A child that uses ten times the processor time it should is noticed as well.
What is left is a survivor, and :mod:`tests.mutants.survivors` says of each why nobody can or need notice it.
With a record, a line of JSON a mutant, an interrupted run goes on where it stopped; ``python -m tests.mutants.score
FILE`` makes docs/mutation.md of it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import math
import os
import random
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from tests.mutants.operators import Change, changes
from tests.mutants.oracles import oracles_for

ROOT = Path(__file__).parents[2]
_PAPER = (
    *("updates", "losses", "clipping", "problem", "ssadmm", "mpadmm", "schedules", "rounding", "outputs", "dataset"),
    *("regularizers.separable", "regularizers.folded", "regularizers.matrix"),
)
_AROUND = (
    *("many", "randomness", "discrete_gaussian", "words"),
    *(f"arithmetic.{name}" for name in ("__init__", "float64", "in_digits", "in_balls", "in_symbols", "elementwise")),
    *(f"baselines.{name}" for name in ("dpadmm", "dpsgd", "dpsvrg", "inner", "nonprivate", "objp", "optimum")),
)
_ACCOUNTANT = (
    *("gaussian", "subsampling", "conversion", "profile", "rdp", "algorithms", "tight_rdp"),
    *("baselines", "poisson", "chi_moments", "ledger"),
)
PAPER = tuple(f"reference.{name}" for name in _PAPER)
"""What the paper's two algorithms compute: its mutants have all been tried, and their survivors are explained."""
MODULES = (*PAPER, *(f"reference.{name}" for name in _AROUND), *(f"accountant.{name}" for name in _ACCOUNTANT))
# What only guesses, and is certified or refused afterwards, is no formula: a wrong guess costs time or tightness.
GUESSES = {
    "accountant.gaussian": {"_newton", "_first_bits", "_working_bits"},
    "accountant.conversion": {"_walk_downhill", "_best_integer", "_short", "best_order", "_golden", "__call__"},
}
CPU_SECONDS = 60  # the slowest module takes 25 when nothing is wrong
WALL_SECONDS = 3600
CHILD_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one mutant; ``by`` is empty for a survivor."""

    module: str
    function: str
    line: int
    was: str
    became: str
    by: str


def code_of(tree: ast.Module, name: str) -> dict[str, CodeType]:
    """The code of every function of a module, by qualified name."""
    found: dict[str, CodeType] = {}

    def walk(code: CodeType) -> None:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                found[constant.co_qualname] = constant
                walk(constant)

    walk(compile(tree, name, "exec"))
    return found


def exchange(module: ModuleType, tree: ast.Module) -> None:
    """Give the functions and methods of a loaded module the code of a mutated one."""
    codes = code_of(tree, str(module.__file__))
    for function in functions_of(module):
        new = codes.get(function.__qualname__)
        if new is not None and len(new.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = new


def functions_of(module: ModuleType) -> list[FunctionType]:
    """Functions, methods, and what properties call."""
    found: list[FunctionType] = []
    for value in vars(module).values():
        members = (
            list(vars(value).values()) if isinstance(value, type) and value.__module__ == module.__name__ else [value]
        )
        for member in members:
            inner = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
            inner = inner if isinstance(inner, FunctionType) else getattr(inner, "__wrapped__", inner)
            if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
                found.append(inner)
    return found


def judge(module: ModuleType, change: Change, oracles: list[tuple[str, Callable[[], bool]]]) -> str:
    """Who notices the mutant, in a child; empty if nobody does."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        verdict = ""
        resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES, CHILD_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        try:
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            exchange(module, change.tree)
            verdict = next((name for name, passes in oracles if not _quietly(passes)), "")
        finally:
            os.write(write, verdict.encode() or b"-")
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        # Processor time decides, whatever else the machine does; the wall clock only ends a mutant that sleeps.
        answered, _, _ = select.select([pipe], [], [], WALL_SECONDS)
        said = pipe.read() if answered else ""
    if not answered:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "" if said == "-" else said or "time limit"


def _quietly(passes: Callable[[], bool]) -> bool:
    try:
        return passes()
    except BaseException:
        return False


def pool_of(modules: tuple[str, ...], seed: int) -> list[tuple[str, Change]]:
    """Every mutant of the modules, shuffled, so that a time limit leaves a random sample."""
    pool: list[tuple[str, Change]] = []
    for name in modules:
        source = (ROOT / (name.replace(".", "/") + ".py")).read_text("utf-8")
        guesses = GUESSES.get(name, set())
        pool += [(name, change) for change in changes(source) if change.function not in guesses]
    random.Random(seed).shuffle(pool)
    return pool


def run(modules: tuple[str, ...], *, seconds: float | None, seed: int, record: Path | None = None) -> list[Tried]:
    """Try every mutant, or a random sample that fits the time."""
    pool = pool_of(modules, seed)
    tried = [] if record is None or not record.exists() else read_record(record)
    deadline = None if seconds is None else time.monotonic() + seconds
    for name, change in pool[len(tried) :]:
        if deadline is not None and time.monotonic() > deadline:
            break
        by = judge(importlib.import_module(name.removesuffix(".__init__")), change, oracles_for(name, change.function))
        tried.append(Tried(name, change.function, change.line, change.was, change.became, by))
        sys.stderr.write(f"{name}:{change.line}: {change.was} -> {change.became}: {by or 'SURVIVES'}\n")
        if record is not None:
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(tried[-1])) + "\n")
    sys.stderr.write(f"{len(tried)} of {len(pool)} mutants tried\n")
    return tried


def ask_again(survivors: list[Tried], record: Path) -> list[Tried]:
    """Ask every test, the long ones too, about those that survived the short ones."""
    tried: list[Tried] = []
    for entry in survivors:
        wanted = (entry.function, entry.was, entry.became)
        same = [c for _, c in pool_of((entry.module,), 0) if (c.function, c.was, c.became) == wanted]
        module = importlib.import_module(entry.module.removesuffix(".__init__"))
        for change in [c for c in same if c.line == entry.line] or same:
            by = judge(module, change, oracles_for(entry.module, change.function, longest=math.inf))
            tried.append(Tried(entry.module, change.function, change.line, change.was, change.became, by))
            sys.stderr.write(f"{entry.module}:{change.line}: {change.was} -> {change.became}: {by or 'SURVIVES'}\n")
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(tried[-1])) + "\n")
    return tried


def read_record(path: Path) -> list[Tried]:
    """What a run has recorded so far."""
    return [Tried(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def main() -> int:
    """Print the score and the survivors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, help="a file to keep the results in, and to go on from")
    parser.add_argument("--again", type=Path, help="ask all tests about the survivors in this record, and append to it")
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    given = parser.parse_args()
    if given.again is not None:
        tried = ask_again([entry for entry in read_record(given.again) if not entry.by], given.again)
    else:
        tried = run(tuple(given.modules), seconds=given.seconds, seed=given.seed, record=given.record)
    survivors = [entry for entry in tried if not entry.by]
    print(f"{len(tried) - len(survivors)} of {len(tried)} mutants noticed")
    for entry in sorted(survivors, key=lambda entry: (entry.module, entry.line)):
        print(f"{entry.module}:{entry.line}: {entry.was} -> {entry.became}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
