"""Which functions of the packages a judge calls: who calls none of a mutant cannot notice it and is not asked."""

from __future__ import annotations

import cProfile
import os
import pickle
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TypeVar

import pytest

from tests.mutants.exchange import forget_results

ROOT = Path(__file__).parents[2]
_T = TypeVar("_T")
Place = tuple[str, str]  # a file below the root, the qualified name of a function in it


@dataclass(frozen=True, slots=True)
class Watched:
    """A judge that was watched at work: the processor time it took, and what it called."""

    name: str
    seconds: float
    calls: frozenset[Place]


class Calls:
    """A plugin of pytest that keeps what each test calls, and how much processor time it takes."""

    def __init__(self) -> None:
        self.tests: list[Watched] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, object]:
        """Watch one test with its fixtures; what others left in caches must not hide that it calls a function."""
        for package in ("reference", "accountant"):
            forget_results(package)
        profile = cProfile.Profile()
        began = time.process_time()
        profile.enable()
        try:
            return (yield)
        finally:
            profile.disable()
            self.tests.append(Watched(str(ROOT / item.nodeid), time.process_time() - began, places(profile)))


def places(profile: cProfile.Profile) -> frozenset[Place]:
    """The functions below the root that were called while the profile was on."""
    codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
    below = f"{ROOT}{os.sep}"
    return frozenset((c.co_filename[len(below) :], c.co_qualname) for c in codes if c.co_filename.startswith(below))


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


def watch(name: str, passes: Callable[[], bool]) -> Watched:
    """Watch a judge, which must pass when nothing is wrong."""

    def watched() -> Watched | None:
        profile = cProfile.Profile()
        began = time.process_time()
        passed = profile.runcall(passes)
        return Watched(name, time.process_time() - began, places(profile)) if passed else None

    found = in_a_child(watched)
    if found is None:
        raise RuntimeError(f"{name} fails without a mutant")
    return found


def watch_tests(paths: Sequence[Path], run: Callable[[Sequence[str], object], bool]) -> list[Watched]:
    """Watch every test of some files, which must pass when nothing is wrong; the quickest first."""

    def watched() -> list[Watched]:
        calls = Calls()
        return calls.tests if run([str(path) for path in paths], calls) else []

    found = in_a_child(watched)
    if not found:
        raise RuntimeError(f"tests of {', '.join(path.name for path in paths)} fail without a mutant")
    return sorted(found, key=lambda test: test.seconds)
