"""Reading noise off a run, over its claimed scale, at sizes at which no array of runs times records fits."""

from __future__ import annotations

import numpy as np

from verification.conformance.context import Context
from verification.conformance.inside import INSIDE
from verification.conformance.observe import gaussianised, resolution
from verification.conformance.own_updates import own_standard_noise
from verification.deployment.claimed import Claimed
from verification.served.translate import noise_scales, problem_of
from verification.wire.arrays import Floats
from verification.wire.records import Records, Run
from verification.wire.schemes import Law

_ROUNDINGS = 8


def standard_noise(claimed: Claimed, records: Records, run: Run, outside: Floats | None = None) -> dict[str, Floats]:
    """The noise of a run [runs, T, p] over its claimed scale, by stream; standard normal if all is well.

    ``outside`` is an orthonormal basis of what no record's gradient has a part in; the noise is seen in it alone, and
    then the batch does not matter. The perturbation of objp is looked at as a whole.
    """
    algorithm, parameters = claimed.mode.algorithm, claimed.parameters
    problem = problem_of(_needed(claimed, records), parameters)
    noise = INSIDE[algorithm].noise(parameters, problem, run)
    scales = noise_scales(algorithm, parameters, claimed.records)
    standard = {name: array / scales[name][:, None] for name, array in noise.items()}
    if claimed.scheme.law is Law.OBJECTIVE:
        return {name: gaussianised(array) for name, array in standard.items()}
    return standard if outside is None else {name: array @ outside for name, array in standard.items()}


def read_noise(
    context: Context, name: str, claimed: Claimed, records: Records, run: Run, *, outside: Floats | None = None
) -> dict[str, Floats]:
    """The same, by replays on the records of this name where its updates are its own."""
    if not context.own:
        return standard_noise(claimed, records, run, outside)
    found = own_standard_noise(context, name, claimed.parameters, claimed.records, run)
    return found if outside is None else {stream: array @ outside for stream, array in found.items()}


def _needed(claimed: Claimed, records: Records) -> Records:
    """One record where it stands for all: without gradient, or removed only outside of the span; else all of them."""
    takes = claimed.scheme.takes
    alike = "parties" not in takes and claimed.scheme.law is not Law.OBJECTIVE and not records.features.any()
    if alike or ("batch" in takes and "inner" not in takes):
        return Records(records.features[:1], np.array(records.labels[:1]))
    return records


def grain(claimed: Claimed, run: Run) -> float:
    """How exactly noise over its scale can be read off a run: a few roundings of its largest value."""
    parameters = claimed.parameters
    rounding = max(resolution(array) for array in run.values.values())
    weight = 1 + parameters.rho + 1 / parameters.rho + max(1 / eta for eta in parameters.eta)
    scales = noise_scales(claimed.mode.algorithm, parameters, claimed.records)
    smallest = min(float(scale.min()) for scale in scales.values())
    return _ROUNDINGS * rounding * weight / smallest if smallest > 0.0 else np.inf
