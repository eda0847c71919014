"""How many files a reader walks through: the project files that three actions execute, in the order of first visit.

    python -m tests.walks [--verbose | --functions] [iteration | account | gate ...]

Everything is imported beforehand, so that only what runs is counted, and all runs in this process (``--workers 1``).
The functions that ran are put in the order of their first call: the order in which a reader meets them. *files*:
distinct project files. *changes of file* and *changes of package* (top-level): how often a function lies in another one
than the function before. *by file*: changes of package along the files alone, each at its first visit.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

from dpadmm.cli import group
from reference.dataset import Dataset
from reference.losses import Logistic
from reference.problem import Problem, State
from reference.regularizers import L1
from reference.ssadmm import ssadmm

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ("files", "changes of file", "changes of package", "by file")
PACKAGES = ("reference", "accountant", "verification", "audits", "dpadmm")


def changes(places: Iterable[str]) -> int:
    """How often a place differs from the one before."""
    return sum(one != other for one, other in pairwise(places))


def package(file: str) -> str:
    """The top-level package of a file."""
    return file.split("/", maxsplit=1)[0]


@dataclass
class Walk:
    """The functions that one action called, in the order of their first call, each with its file."""

    functions: dict[CodeType, str] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        """The files in the order of first visit."""
        return list(dict.fromkeys(self.functions.values()))

    @property
    def changes_of_file(self) -> int:
        """Changes of file along the functions."""
        return changes(self.functions.values())

    @property
    def changes_of_package(self) -> int:
        """Changes of top-level package along the functions."""
        return changes(map(package, self.functions.values()))

    @property
    def changes_by_file(self) -> int:
        """Changes of top-level package along the files."""
        return changes(map(package, self.files))

    def steps(self) -> Iterator[str]:
        """The functions in the order of their first call, an empty line where the package changes."""
        before = ""
        for code, file in self.functions.items():
            if before and package(file) != before:
                yield ""
            before = package(file)
            yield f"{file}:{code.co_firstlineno} {code.co_qualname}"

    def row(self) -> tuple[int, int, int, int]:
        """One line of the table."""
        return len(self.files), self.changes_of_file, self.changes_of_package, self.changes_by_file


def project_file(frame: FrameType, known: dict[str, str | None]) -> str | None:
    """The frame's file relative to the project, or None outside of its packages."""
    name = frame.f_code.co_filename
    if name not in known:
        path = Path(name)
        inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES
        known[name] = path.relative_to(ROOT).as_posix() if inside else None
    return known[name]


@contextmanager
def recorded() -> Iterator[Walk]:
    """Record every Python call of this process, in all its threads."""
    walk, known = Walk(), dict[str, str | None]()

    def visit(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code not in walk.functions and (file := project_file(frame, known)) is not None:
            walk.functions[frame.f_code] = file

    threading.setprofile(visit)
    sys.setprofile(visit)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def import_everything() -> None:
    """Import every module of the packages, so that no import happens during a walk."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if not module.name.endswith(("__main__", "_torch")):  # torch is no dependency
                importlib.import_module(module.name)


def iteration() -> Walk:
    """One iteration of ssADMM, on two records."""
    data = Dataset.of([[0.6, 0.8], [1.0, 0.0]], [1, -1])
    problem = Problem.of(data, Logistic(), L1(0.1), rho=0.5, clip=1.0)
    initial = State.zero(2)
    with recorded() as walk:
        next(ssadmm(problem, initial, step_sizes=[1.0], batches=[np.array([0])], noise=[initial.x]))
    return walk


def command(*arguments: str) -> Walk:
    """A command as the command line runs it; one that does not end with 0 has taken another way."""
    with redirect_stdout(StringIO()) as shown, recorded() as walk:
        code = group.main(list(arguments), standalone_mode=False)
    if code:
        raise SystemExit(f"dpadmm {' '.join(arguments)} ended with {code}:\n{shown.getvalue()}")
    return walk


def account() -> Walk:
    """The price of ssADMM by the quick methods."""
    options = "--records 48842 --batch 221 --iterations 2210 --clip 1 --sigma 0.0136 --delta 1e-8 --effort quick"
    return command("account", "ssadmm", *options.split())


def gate() -> Walk:
    """The gate of the bundled claim."""
    # the claim's command is `python ...`: let it be this one
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    claim = ROOT / "examples" / "claims" / "reference.toml"
    return command("gate", str(claim), "--seed", "1", "--workers", "1")


WALKS: dict[str, Callable[[], Walk]] = {"iteration": iteration, "account": account, "gate": gate}


def main() -> None:
    """Walk, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("walks", nargs="*", choices=[*WALKS, []], default=[], help="which walks; all unless named")
    parser.add_argument("--verbose", action="store_true", help="list the files in the order of first visit")
    parser.add_argument("--functions", action="store_true", help="list the functions in the order of first call")
    options = parser.parse_args()
    import_everything()
    walked = {name: WALKS[name]() for name in options.walks or WALKS}
    table = [("walk", *COLUMNS), *((name, *map(str, walk.row())) for name, walk in walked.items())]
    for name, *cells in table:
        sys.stdout.write(
            f"{name:<10}" + "".join(f"{cell:>{len(COLUMNS[i]) + 3}}" for i, cell in enumerate(cells)) + "\n"
        )
    for name, walk in walked.items():
        listed = walk.steps() if options.functions else walk.files if options.verbose else ()
        if options.functions or options.verbose:
            sys.stdout.write("\n".join(["", f"{name}:", *(f"  {line}".rstrip() for line in listed), ""]))


if __name__ == "__main__":
    main()
