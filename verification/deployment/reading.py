"""Reading noise off a run, over its claimed scale, at sizes at which no array of runs times records fits."""

from __future__ import annotations

import numpy as np

from verification.conformance.check import NotApplicable
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
_SINGLE = 2.0**-23
_COARSEST = 0.1


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
    """The same `off_the_grid`; by replays on the records of this name where its updates are its own."""
    if not context.own:
        return off_the_grid(standard_noise(claimed, records, run, outside), step_of(claimed, run), context.rng)
    found = own_standard_noise(context, name, claimed.parameters, claimed.records, run)
    return found if outside is None else {stream: array @ outside for stream, array in found.items()}


def step_of(claimed: Claimed, run: Run) -> float:
    """The step of the grid, over the noise's deviation, on which rounding to decimals puts it; 0 for doubles."""
    values = list(run.values.values())
    unit = max(resolution(array[:1]) for array in values)
    if unit <= max(float(np.abs(array[:1]).max()) for array in values) * _SINGLE:
        return 0.0
    return grain(claimed, run, unit) / _ROUNDINGS


def off_the_grid(noise: dict[str, Floats], step: float, rng: np.random.Generator) -> dict[str, Floats]:
    r"""Noise whose released values were rounded, with further normal noise of 3/2 steps, over the scale of both.

    Rounding what is noised costs no privacy. The characteristic function of rounded noise is that of the noise, times
    one below 1, and copies of it 2 pi/step apart; the further noise shrinks these to exp(-(3 pi)^2/2) < 1e-19. What is
    left of rounding is at most a twelfth of a step squared in variance, so that noise looks larger, not smaller, and as
    much over 1 in correlation: step = 0.1 is 1/1,200, which a million values just do not show. Coarser is not read.
    """
    if not step:
        return noise
    if step > _COARSEST:
        raise NotApplicable(f"noise cannot be read off: values are rounded to {step:.2g} of its deviation")
    width = 1.5 * step
    return {
        name: (array + width * rng.standard_normal(array.shape)) / np.hypot(1.0, width) for name, array in noise.items()
    }


def _needed(claimed: Claimed, records: Records) -> Records:
    """One record where it stands for all: without gradient, or removed only outside of the span; else all of them."""
    takes = claimed.scheme.takes
    alike = "parties" not in takes and claimed.scheme.law is not Law.OBJECTIVE and not records.features.any()
    if alike or ("batch" in takes and "inner" not in takes):
        return Records(records.features[:1], np.array(records.labels[:1]))
    return records


def grain(claimed: Claimed, run: Run, rounding: float | None = None) -> float:
    """How exactly noise over its scale can be read off a run: a few roundings of its largest value."""
    parameters = claimed.parameters
    if rounding is None:
        rounding = max(resolution(array) for array in run.values.values())
    weight = 1 + parameters.rho + 1 / parameters.rho + max(1 / eta for eta in parameters.eta)
    scales = noise_scales(claimed.mode.algorithm, parameters, claimed.records)
    smallest = min(float(scale.min()) for scale in scales.values())
    return _ROUNDINGS * rounding * weight / smallest if smallest > 0.0 else np.inf
