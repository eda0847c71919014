"""Two solvers, each in a process of its own, with an enforced time limit."""

from __future__ import annotations

import contextlib
import enum
import json
import selectors
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from verification.errors import SolverFault

NAMES = ("z3", "cvc5")


class SolverAnswer(enum.Enum):
    """What a solver says about a script."""

    UNSATISFIABLE = "unsat"
    SATISFIABLE = "sat"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, with values for the unknowns where the script is satisfiable and a model was asked for."""

    answer: SolverAnswer
    model: dict[str, Fraction] = field(default_factory=dict)


class Solver:
    """One solver process, started again after a time-out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, script: str, seconds: float, *, model: bool = False) -> Reply:
        """The solver's answer; UNKNOWN after the time limit."""
        process = self._running()
        if process.stdin is None or process.stdout is None:
            raise AssertionError("the worker was started with pipes")
        process.stdin.write(json.dumps({"script": script, "model": model}).encode() + b"\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                self.close()
                return Reply(SolverAnswer.UNKNOWN)
        line = process.stdout.readline()
        if not line:
            self.close()
            raise SolverFault(f"the {self.name} process ended without an answer")
        return self._reply(json.loads(line))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = [sys.executable, "-m", "verification.lemmas.worker", self.name]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process

    def _reply(self, document: dict[str, object]) -> Reply:
        said, values = str(document["answer"]), document["model"]
        if not isinstance(values, dict):
            raise SolverFault(f"{self.name} answered {document!r}")
        # cvc5 may give a reason in brackets behind "unknown".
        word = said.split(maxsplit=1)[0] if said else "nothing"
        if word not in [answer.value for answer in SolverAnswer]:
            raise SolverFault(f"{self.name} answered {said!r}, neither sat, unsat nor unknown")
        return Reply(SolverAnswer(word), {name: Fraction(value) for name, value in values.items()})


@contextlib.contextmanager
def solvers() -> Iterator[tuple[Solver, Solver]]:
    """Both solvers; no process is left behind."""
    pair = (Solver(NAMES[0]), Solver(NAMES[1]))
    try:
        yield pair
    finally:
        for solver in pair:
            solver.close()
