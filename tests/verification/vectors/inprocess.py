"""Run an implementation through the vectors inside this process: fast enough for many mutants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np

from verification.served.serve import Implementation, Server
from verification.vectors import model
from verification.vectors.checking import (
    CaseFinding,
    ValueDifference,
    data_fields,
    first_difference,
    line_of,
    not_offered,
    replay_fields,
)
from verification.vectors.recipe import POINT, Recipe, read
from verification.wire.arrays import ArrayError, Floats, unpack
from verification.wire.messages import Answer, RunResult
from verification.wire.records import Run

_NAME = "D"


def check_implementation(implementation: Implementation, cases: Iterable[model.Case]) -> Iterator[CaseFinding]:
    """Play every case through the same lines that the wire would carry; no process, no limits of time or memory."""
    server, description = Server(implementation), implementation.describe()
    for case in cases:
        recipe = read(case)
        lacking = not_offered(description, recipe)
        if lacking:
            yield CaseFinding.skipped(case, recipe, f"not offered: {', '.join(lacking)}")
            continue
        yield CaseFinding.of(case, recipe, _wrong(server, case, recipe))


def _wrong(server: Server, case: model.Case, recipe: Recipe) -> str | ValueDifference | None:
    with np.errstate(all="ignore"):  # a wrong implementation may divide by zero; its answer is judged all the same
        sent = json.loads(server.answer(line_of(data_fields(recipe, _NAME), 1)))
        line = server.answer(line_of(replay_fields(recipe, _NAME), 2)) if "result" in sent else b""
    answer = json.loads(line) if line else sent
    refusal = answer.get("error")
    if case.error is not None:
        refused = refusal is not None and refusal["kind"] in case.error.kinds
        return None if refused else f"not refused as {' or '.join(case.error.kinds)}: {case.error.about}"
    if refusal is not None:
        return f"refused a valid case as {refusal['kind']}: {refusal['message']}"
    return None if case.expected is None else _judged(case.expected, line, recipe)


def _judged(expected: model.Expected, line: bytes, recipe: Recipe) -> str | ValueDifference | None:
    result = Answer[RunResult].model_validate_json(line).result
    shown = [name for name in POINT if getattr(expected, name)]
    if result is None or any(getattr(result, name) is None for name in shown):
        return f"the answer lacks one of {shown}"
    parties = () if recipe.parties is None else (recipe.parties,)
    try:
        values: dict[str, Floats] = {
            name: unpack(getattr(result, name), name, (len(recipe.eta), *own, recipe.dimension))
            for name in shown
            for own in [() if name == "z" else parties]
        }
    except ArrayError as error:
        return str(error)
    return first_difference(expected, Run(values))
