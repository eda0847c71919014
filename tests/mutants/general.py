r"""Run the general mutation tool: ``python -m tests.mutants.general [--seconds N] [--seed S] MODULE...``.

Each mutant lives in a forked child: the code of the module's functions is exchanged in place (so every importer sees
it), and the oracles run until one notices. A child that takes too long is noticed as well. What is left is a survivor.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from tests.mutants.operators import Change, changes
from tests.mutants.oracles import oracles_for

ROOT = Path(__file__).parents[2]
REFERENCE = (
    *("updates", "losses", "clipping", "problem", "ssadmm", "mpadmm", "schedules", "rounding", "outputs", "dataset"),
    *("regularizers.separable", "regularizers.folded", "regularizers.matrix"),
)
ACCOUNTANT = ("gaussian", "subsampling", "conversion", "profile", "rdp", "algorithms", "tight_rdp")
MODULES = (*(f"reference.{name}" for name in REFERENCE), *(f"accountant.{name}" for name in ACCOUNTANT))
CHILD_SECONDS = 90
CHILD_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one mutant; ``by`` is empty for a survivor."""

    module: str
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
        # The parent keeps the time: a test runner inside the child may take over its alarm.
        answered, _, _ = select.select([pipe], [], [], CHILD_SECONDS)
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


def run(modules: tuple[str, ...], *, seconds: float | None, seed: int, skip: int = 0) -> list[Tried]:
    """Try every mutant, or a random sample that fits the time."""
    pool: list[tuple[str, Change]] = []
    for name in modules:
        source = (ROOT / (name.replace(".", "/") + ".py")).read_text("utf-8")
        pool += [(name, change) for change in changes(source)]
    random.Random(seed).shuffle(pool)
    deadline = None if seconds is None else time.monotonic() + seconds
    tried: list[Tried] = []
    for name, change in pool[skip:]:
        if deadline is not None and time.monotonic() > deadline:
            break
        by = judge(importlib.import_module(name), change, oracles_for(name))
        tried.append(Tried(name, change.line, change.was, change.became, by))
        sys.stderr.write(f"{name}:{change.line}: {change.was} -> {change.became}: {by or 'SURVIVES'}\n")
    sys.stderr.write(f"{len(tried)} of {len(pool)} mutants tried\n")
    return tried


def main() -> int:
    """Print the score and the survivors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="mutants of the shuffled list to leave out: continue a run")
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    arguments = parser.parse_args()
    tried = run(tuple(arguments.modules), seconds=arguments.seconds, seed=arguments.seed, skip=arguments.skip)
    survivors = [entry for entry in tried if not entry.by]
    print(f"{len(tried) - len(survivors)} of {len(tried)} mutants noticed")
    for entry in sorted(survivors, key=lambda entry: (entry.module, entry.line)):
        print(f"{entry.module}:{entry.line}: {entry.was} -> {entry.became}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
