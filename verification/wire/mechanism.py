"""The mechanism that parameters on the wire describe: the way from a request to its price.

Binary64 parameters are taken exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from accountant import Mechanism, exact_binary64, mechanism_from
from accountant.mechanisms.words import Algorithm, Release, Sampling, Sensitivity, Visibility
from verification.wire.parameters import Parameters, RegularizerName
from verification.wire.schemes import SCHEMES, Law

_SAME = ("rho", "sigma", "noise_multiplier", "anchor_sigma", "clip", "normalise")


def mechanism_of(
    algorithm: Algorithm,
    parameters: Parameters,
    records: int,
    *,
    sensitivity: Sensitivity = Sensitivity.CORRECTED,
    visibility: Visibility = Visibility.EVERY_ITERATE,
) -> Mechanism:
    """Return what a run of the algorithm with these parameters on so many records is.

    The wire does not say whose sensitivities are claimed (mpadmm) nor what the adversary sees: the caller does.
    """
    described: dict[str, object] = {
        "algorithm": algorithm.value,
        "records": records,
        "iterations": parameters.iterations,
        "released": visibility,
        "batch": parameters.batch,
        "sampling": None if parameters.batch is None else Sampling.WITHOUT_REPLACEMENT,
        "parties": parameters.parties,
        "inner": parameters.inner,
        "release": parameters.release,
        "epsilon": _exactly("epsilon", parameters.epsilon),
        "eta": _schedule(parameters.eta, one_more=sensitivity is Sensitivity.PRINTED),
    }
    described |= {name: _exactly(name, getattr(parameters, name)) for name in _SAME}
    if SCHEMES[algorithm].law is Law.NONE:
        described["sigma"] = None  # the wire says sigma = 0
    if SCHEMES[algorithm].proximal_x:
        described["rho"] = None  # there is no penalty term
    if algorithm is Algorithm.MPADMM:
        described |= {"sensitivity": sensitivity, **_penalty(parameters)}
    return mechanism_from(described)


def _exactly(name: str, value: float | None) -> Fraction | None:
    return None if value is None else exact_binary64(name, value)


def _schedule(eta: Sequence[float], *, one_more: bool) -> Fraction | list[Fraction]:
    """Return one step size where all are equal, else all; the last twice where the printed bound needs eta^T (E2)."""
    steps = [exact_binary64("eta", step) for step in eta]
    if len(set(steps)) == 1:
        return steps[0]
    return [*steps, steps[-1]] if one_more else steps


def _penalty(parameters: Parameters) -> dict[str, object]:
    """Return the shape of a non-convex regularizer where it moves z: nothing does at lambda = 0."""
    if parameters.lambda_ == 0.0 or parameters.release is not Release.ALL:
        return {}
    if parameters.regularizer is RegularizerName.SCAD:
        return {"a": _exactly("a", parameters.options.a)}
    if parameters.regularizer is RegularizerName.MCP:
        return {"gamma": _exactly("gamma", parameters.options.gamma)}
    return {}
