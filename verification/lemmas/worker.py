"""One solver in a process of its own: SMT-LIB in, answer out. ``python -m verification.lemmas.worker z3``.

A line on stdin is ``{"script": ..., "model": bool}``; a line on stdout is ``{"answer": "unsat", "model": {...}}``.
The parent ends a process that takes too long, so a solver that hangs or crashes affects nothing else.
"""

from __future__ import annotations

import json
import sys

LOGIC = "QF_NRA"


def ask_z3(text: str, want_model: bool) -> dict[str, object]:
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


def ask_cvc5(text: str, want_model: bool) -> dict[str, object]:
    """Ask cvc5."""
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


def main() -> None:
    """Answer until stdin ends."""
    ask = {"z3": ask_z3, "cvc5": ask_cvc5}[sys.argv[1]]
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps(ask(request["script"], request["model"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
