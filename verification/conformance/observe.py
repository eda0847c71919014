r"""Looking inside runs: what an implementation computes without noise, and the noise and batches it drew.

What each algorithm's iterates say is in :mod:`verification.conformance.inside`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.conformance.inside import INSIDE
from verification.served.translate import noise_scales, problem_of
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records, Run
from verification.wire.schemes import SCHEMES, Law, noised_names

# Noise this small hides nothing that matters, and a normal value exceeds nine deviations once in 1e18 draws.
_DECIMALS = 13
_ODD_STEP, _SHOWN, _DOUBLE = 0.7, 8, 2.0**-40
_LOOKED_AT = 4096
TINY_SIGMA = 1e-13
DEVIATIONS = 9.0
# objp: b of scale 1e-15; a Gamma(p, 1) norm exceeds p + 60 less often than that, and 60e-15 is below 9e-13.
_HUGE_EPSILON = 1e15


def no_noise(algorithm: Algorithm, parameters: Parameters, dimension: int) -> dict[str, Floats]:
    """Zeros in the shapes of the wire."""
    scheme = SCHEMES[algorithm]
    names = noised_names(algorithm, parameters)
    return {name: np.zeros(scheme.noise_shape(name, parameters, dimension)) for name in names}


def random_noise(context: Context, parameters: Parameters, dimension: int) -> dict[str, Floats]:
    """Standard normal values of the harness's own, in the shapes of the wire."""
    silence = no_noise(context.mode.algorithm, parameters, dimension)
    return {name: context.gaussian(*array.shape) for name, array in silence.items()}


def quietened(algorithm: Algorithm, parameters: Parameters) -> Parameters:
    """The same run with next to no noise, and the same ridge."""
    match SCHEMES[algorithm].law:
        case Law.GAUSSIAN:
            anchor = TINY_SIGMA if parameters.inner is not None else None
            quiet = {"sigma": TINY_SIGMA, "noise_multiplier": None, "anchor_sigma": anchor}
        case Law.OBJECTIVE:
            quiet = {"epsilon": _HUGE_EPSILON * 2 * parameters.bound}
        case Law.NONE:
            quiet = {}
    return parameters.model_copy(update=quiet)


def observable(context: Context, parameters: Parameters) -> Parameters:
    """What a noiseless run really runs with: without replay, the same with next to no noise."""
    return parameters if context.can(Capability.REPLAY) else quietened(context.mode.algorithm, parameters)


def noiseless(
    context: Context,
    records: Records,
    parameters: Parameters,
    batches: Sequence[Sequence[int]] | None = None,
    *,
    may_refuse: bool = False,
) -> Run:
    """Run with (next to) no noise: by replay, or by one trial with tiny noise and all records in each batch.

    Arrays have shape [T, p]. Without replay only the full batch can be forced, so other batches are not applicable.
    """
    name = context.session.send(records, may_refuse=may_refuse)
    algorithm = context.mode.algorithm
    if context.can(Capability.REPLAY):
        noise = no_noise(algorithm, parameters, records.columns + int(parameters.intercept))
        given = first_batches(parameters) if batches is None else batches
        return context.session.replay(name, algorithm, parameters, noise, given, may_refuse=may_refuse)
    if parameters.batch is not None and parameters.batch != records.count:
        raise NotApplicable("needs the capability replay to choose the batch")
    quiet = quietened(algorithm, parameters)
    run = context.trials_of(context.session, name, quiet, 1, None, may_refuse=may_refuse)
    return Run({key: array[0] for key, array in run.values.items()})


def first_batches(parameters: Parameters) -> list[list[int]] | None:
    """The first records in every batch; None where there are no batches."""
    if parameters.batch is None:
        return None
    return [list(range(parameters.batch))] * parameters.iterations


def expected_steps(
    algorithm: Algorithm,
    records: Records,
    parameters: Parameters,
    run: Run,
    *,
    noise: dict[str, Floats] | None = None,
    batches: Sequence[Sequence[int]] | None = None,
) -> dict[str, Floats]:
    """What the reference makes of each iterate that the implementation was at; shape [T, p] each.

    Without noise unless it is given; the first records are the batch unless batches are given.
    """
    problem = problem_of(records, parameters)
    gamma = no_noise(algorithm, parameters, problem.dimension) if noise is None else noise
    given = first_batches(parameters) if batches is None else batches
    return INSIDE[algorithm].expected(parameters, problem, run, gamma, given)


def noise_of(algorithm: Algorithm, records: Records, parameters: Parameters, run: Run) -> dict[str, Floats]:
    """The noise that was added, by stream; each [count, draws, p]; see `Inside.noise`."""
    return INSIDE[algorithm].noise(parameters, problem_of(records, parameters), run)


def standard_noise(algorithm: Algorithm, records: Records, parameters: Parameters, run: Run) -> dict[str, Floats]:
    """The noise over its scale, standard normal in every coordinate if all is well; refuses where there is none.

    The perturbation of objp is mapped to a normal vector of the same direction: its norm, Gamma(p, scale), to the
    chi-distributed one of the same rank.
    """
    noise = noise_of(algorithm, records, parameters, run)
    if not noise:
        raise NotApplicable(f"{algorithm} adds no noise and claims no privacy")
    scales = noise_scales(algorithm, parameters, records.count)
    standard = {name: array / scales[name][:, None] for name, array in noise.items()}
    objective = SCHEMES[algorithm].law is Law.OBJECTIVE
    return {name: gaussianised(array) for name, array in standard.items()} if objective else standard


def gaussianised(vectors: Floats) -> Floats:
    """Vectors of uniform direction and norm Gamma(p, 1) as standard normal vectors, one to one; in the last axis."""
    p = vectors.shape[-1]
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not norms.all():
        return np.zeros_like(vectors)  # no perturbation at all: no test of normality will take that for noise
    lower, upper = special.gammainc(p, norms), special.gammaincc(p, norms)
    # each tail from its own end, so that none is lost to rounding near 1
    squared = 2 * np.where(lower < upper, special.gammaincinv(p / 2, lower), special.gammainccinv(p / 2, upper))
    normal: Floats = vectors / norms * np.sqrt(squared)
    return normal


def memberships(algorithm: Algorithm, records: Records, parameters: Parameters, run: Run) -> Floats:
    """How often each one-hot record was counted in each batch; [count, T, n], whole numbers if all is well."""
    return INSIDE[algorithm].counts(parameters, problem_of(records, parameters), run)


def resolution(values: Floats) -> float:
    """The rounding of released values: of doubles, of single precision, or to so many decimals.

    Rounding what is noised is post-processing; values that are equal for that reason alone are not drawn twice.
    """
    largest = float(np.abs(values).max(initial=0.0))
    with np.errstate(over="ignore"):
        single = np.array_equal(values, values.astype(np.float32))
    rounding = largest * (2.0**-24 if single else 2.0**-52)
    few = values[values != 0.0]
    few = few[:: max(1, few.size // _LOOKED_AT)]
    for decimals in range(_DECIMALS if few.size else 0):
        if np.array_equal(np.round(few, decimals), few):
            return max(rounding, 10.0**-decimals)
    return rounding


def released_rounding(context: Context) -> float:
    """To how much values of about 1 are rounded before they are released, in single runs with noise; 0 for doubles.

    On records with gradients, so that the grid of the noise alone is not taken for that of the released values.
    """
    if Capability.TRIALS not in context.description.capabilities or SCHEMES[context.mode.algorithm].law is Law.NONE:
        return 0.0
    parameters = context.parameters(_SHOWN, eta=[_ODD_STEP], batch=2, sigma=1.0, regularizer=context.plain)
    records = Records(context.gaussian(4, _SHOWN), np.ones(4, dtype=np.int64))
    values = context.trials(records, parameters, _SHOWN).x
    rounding = resolution(values)
    return rounding if rounding > _DOUBLE * float(np.abs(values).max()) else 0.0
