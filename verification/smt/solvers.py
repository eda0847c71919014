"""Two solvers, each in a process of its own, with a limit on the processor time of every question.

The limit counts the time that the solver computes, not the time on the wall: a machine that is busy with other things
gets the same answers, later. ``python -m verification.smt.solvers z3`` is one of them: a line on its stdin is
``{"script": ..., "model": bool, "seconds": ...}``, a line on its stdout ``{"answer": "unsat", "model": {...}}``.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import json
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from verification.errors import SolverFault

NAMES = ("z3", "cvc5")
LOGIC = "QF_NRA"
SHORTEST = 1e-3  # the kernel's clock of processor time has no smaller step worth asking for


def longest_wait(seconds: float) -> float:
    """How long to wait on the wall for a question of so many seconds of computing, before it is given up."""
    return 60 + 30 * seconds


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
        """The solver's answer; UNKNOWN after so many seconds of its computing."""
        process = self._running()
        if process.stdin is None or process.stdout is None:
            raise AssertionError("the worker was started with pipes")
        request = {"script": script, "model": model, "seconds": max(seconds, SHORTEST)}
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                line = process.stdout.readline() if selector.select(longest_wait(seconds)) else b"late"
        except BrokenPipeError:
            line = b""
        if line == b"late" or (not line and self._ended_by_its_limit(process)):
            self.close()
            return Reply(SolverAnswer.UNKNOWN)
        if not line:
            self.close()
            raise SolverFault(f"the {self.name} process ended without an answer")
        return self._reply(json.loads(line))

    @staticmethod
    def _ended_by_its_limit(process: subprocess.Popen[bytes]) -> bool:
        return process.wait() == -signal.SIGPROF

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = [sys.executable, "-m", "verification.smt.solvers", self.name]
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


# -- inside the process ------------------------------------------------------------------------------------------


def _ask_z3(text: str, want_model: bool) -> dict[str, object]:
    """Ask z3; a model's values are rationals, or 12 digits of an algebraic number."""
    import z3  # noqa: PLC0415 - each worker loads its own solver only

    solver = z3.SolverFor(LOGIC)
    solver.from_string(text)
    answer = str(solver.check())
    model: dict[str, str] = {}
    if want_model and answer == "sat":
        found = solver.model()
        for declaration in found.decls():
            value = found[declaration]
            rational = value if z3.is_rational_value(value) else value.approx(12)
            model[declaration.name()] = str(rational.as_fraction())
    return {"answer": answer, "model": model}


def _ask_cvc5(text: str, want_model: bool) -> dict[str, object]:
    import cvc5  # noqa: PLC0415 - each worker loads its own solver only

    if want_model:
        raise NotImplementedError("models come from z3; they are checked exactly, so one source is enough")
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setLogic(LOGIC)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols, said = parser.getSymbolManager(), ""
    command = parser.nextCommand()
    while not command.isNull():
        said += command.invoke(solver, symbols)
        command = parser.nextCommand()
    return {"answer": said.strip(), "model": {}}


def _main() -> None:
    """Answer until stdin ends; the limit's signal ends the process, whatever the solver is doing."""
    name = sys.argv[1]
    ask = {"z3": _ask_z3, "cvc5": _ask_cvc5}[name]
    importlib.import_module(name)  # loading a solver is no part of its first question
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])
        answer = ask(request["script"], request["model"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
