"""Which functions of the packages a judge calls: who calls none of a mutant cannot notice it and is not asked."""

from __future__ import annotations

import cProfile
import functools
import os
import pickle
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import CodeType
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[2]
_T = TypeVar("_T")
Place = tuple[str, str]  # a file below the root, a function in it


class Calls:
    """A plugin of pytest that keeps what each test calls, and how much processor time it takes."""

    def __init__(self) -> None:
        self.by_test: dict[str, tuple[float, set[Place]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, object]:
        """Watch one test with its fixtures."""
        profile = cProfile.Profile()
        began = time.process_time()
        profile.enable()
        try:
            return (yield)
        finally:
            profile.disable()
            self.by_test[str(ROOT / item.nodeid)] = time.process_time() - began, places(profile)


def places(profile: cProfile.Profile) -> set[Place]:
    """The functions below the root that were called while the profile was on."""
    codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
    below = f"{ROOT}{os.sep}"
    return {(c.co_filename[len(below) :], c.co_name) for c in codes if c.co_filename.startswith(below)}


def in_a_child(work: Callable[[], _T]) -> _T:
    """What a function returns, called in a forked process that leaves no trace here."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:
        raise RuntimeError("the child died")
    found: _T = pickle.loads(answer)
    return found


@functools.cache
def calls_of(name: str, passes: Callable[[], bool]) -> set[Place]:
    """The functions that a judge calls; a judge must pass when nothing is wrong."""

    def watched() -> set[Place]:
        profile = cProfile.Profile()
        return places(profile) if profile.runcall(passes) else set()

    found = in_a_child(watched)
    if not found:
        raise RuntimeError(f"{name} fails without a mutant")
    return found


@functools.cache
def tests_by_time(path: Path, run: Callable[[Sequence[str], object], bool]) -> list[tuple[str, float, set[Place]]]:
    """The tests of a file, the quickest first, with their seconds and the functions that each calls."""

    def watched() -> dict[str, tuple[float, set[Place]]]:
        calls = Calls()
        return calls.by_test if run([str(path)], calls) else {}

    found = in_a_child(watched)
    if not found:
        raise RuntimeError(f"{path.name} fails without a mutant")
    return sorted(((test, seconds, calls) for test, (seconds, calls) in found.items()), key=lambda row: row[1])
