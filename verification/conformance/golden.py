"""Does an implementation reproduce the golden vectors? The files that ports use, played over the wire.

`dpadmm vectors check` plays the invalid cases too and reports case by case; here the first difference decides.
"""

from __future__ import annotations

import functools

import numpy as np

from verification.conformance.check import REPLAY, Check, Family, NotApplicable, Observation
from verification.conformance.context import Context
from verification.vectors import model
from verification.vectors.checking import ITERATES, first_difference, not_offered
from verification.vectors.files import load_all
from verification.vectors.recipe import read
from verification.vectors.wire import noise_arrays, parameter_fields
from verification.wire.parameters import Parameters
from verification.wire.records import Records


@functools.cache
def _valid_cases() -> tuple[model.Case, ...]:
    return tuple(case for file in load_all() for case in file.cases if case.expected is not None)


def _golden(context: Context) -> Observation:
    algorithm, release = context.mode.algorithm, context.mode.release
    played = 0
    for case in _valid_cases():
        recipe = read(case)
        of_this_mode = recipe.algorithm == algorithm and recipe.release == (release and str(release))
        if not of_this_mode or case.expected is None or not_offered(context.description, recipe):
            continue
        data = context.session.send(Records(recipe.features, np.array(recipe.labels, dtype=np.int64)))
        parameters = Parameters.model_validate(parameter_fields(recipe))
        run = context.session.replay(data, algorithm, parameters, noise_arrays(recipe), recipe.batches)
        held = [name for name in ITERATES if getattr(case.expected, name)]
        if not set(held) <= set(run.values):
            raise NotApplicable(f"the vectors hold {', '.join(held)}, and not all of them are shown")
        wrong = first_difference(case.expected, run)
        played += 1
        if wrong:
            return Observation.exact(False, f"case {case.id}: {wrong}")
    if not played:
        raise NotApplicable("no golden vector fits what is offered")
    return Observation.exact(True, f"{played} golden vectors reproduced within their tolerances")


CHECKS = (
    Check(
        "golden-vectors",
        Family.UPDATES,
        "a wrong formula, single precision, a wrong branch at a threshold, an overflow or underflow at extreme margins",
        ("UPDATE-X", "LOSS-LOGISTIC", "LOSS-HUBER", "CLIP"),
        _golden,
        statistical=False,
        needs=REPLAY,
    ),
)
