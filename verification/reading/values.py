r"""Looking inside runs: what an implementation computes without noise, and the noise and batches it drew.

What each algorithm's iterates say is in :mod:`verification.reading.inverter`. Noise is read over its claimed scale, at
sizes at which no array of runs times records fits; in the last model alone its deviation is known in closed form: on
silent records and with lambda = 0 every coordinate of (x, z, y) is a linear function of the noise, x_T ~ N(0, v), v
from the recursion of the 3 x 3 covariance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accountant.mechanisms.words import Algorithm, Release
from verification.reading.context import Claimed, Context, NotApplicable
from verification.reading.inverter import INVERTERS
from verification.served.translate import noise_scales, problem_of, sigmas
from verification.statistics.noise_shape import normal_lengths
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import SCHEMES, Law, Parameters, noised_names
from verification.wire.records import Records, Run

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


def noise_of(algorithm: Algorithm, records: Records, parameters: Parameters, run: Run) -> dict[str, Floats]:
    """The noise that was added, by stream; each [count, draws, p]; see `UpdateInverter.noise`."""
    return INVERTERS[algorithm].noise(parameters, problem_of(records, parameters), run)


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


def standard_noise(claimed: Claimed, records: Records, run: Run, outside: Floats | None = None) -> dict[str, Floats]:
    """The noise of runs [runs, T, p] over its claimed scale, by stream; standard normal if all is well.

    Refuses where there is none. ``outside`` is an orthonormal basis of what no record's gradient has a part in; the
    noise is seen in it alone, and then the batch does not matter. The perturbation of objp is looked at as a whole, as
    a normal vector of the same direction: its norm, Gamma(p, scale), becomes the chi-distributed one of the same rank.
    """
    algorithm, parameters = claimed.mode.algorithm, claimed.parameters
    needed = _needed(claimed, records, outside is not None)
    noise = INVERTERS[algorithm].noise(parameters, problem_of(needed, parameters), run)
    if not noise:
        raise NotApplicable(f"{algorithm} adds no noise and claims no privacy")
    scales = noise_scales(algorithm, parameters, claimed.records)
    standard = {name: array / scales[name][:, None] for name, array in noise.items()}
    if claimed.scheme.law is Law.OBJECTIVE:
        return {name: normal_lengths(array) for name, array in standard.items()}
    return standard if outside is None else {name: array @ outside for name, array in standard.items()}


def _needed(claimed: Claimed, records: Records, outside: bool) -> Records:
    """One record where it stands for all: without gradient, or removed only outside of the span; else all of them."""
    takes = claimed.scheme.takes
    silent = "parties" not in takes and claimed.scheme.law is not Law.OBJECTIVE and not records.features.any()
    if silent or (outside and "batch" in takes and "inner" not in takes):
        return Records(records.features[:1], records.labels[:1])
    return records


_SAME = 1e-12


def common_step(values: Floats, grain: float) -> float:
    """The step of a grid that all values lie on, as far as they can be read (``grain``); 0 where there is none.

    Of values that lie on no grid each is this close to a multiple with probability at most 1/20.
    """
    sizes, same = np.sort(np.abs(np.ravel(values))), max(_SAME, grain)
    gaps = np.diff(sizes)
    step = float(np.min(gaps, where=gaps > 8 * same, initial=np.inf))
    reach = 64 * step
    while 100 * same < step < np.inf:
        near = sizes[sizes <= reach]
        whole = np.rint(near / step)
        if whole.any():
            step = float(np.sum(near * whole) / np.sum(whole * whole))
        if float(np.max(np.abs(near - whole * step), initial=0.0)) > 2 * same:
            return 0.0
        if near.size == sizes.size:
            return step
        reach *= 8  # the step is known the better the farther it reaches
    return 0.0


def on_grid(values: Floats, step: float, grain: float) -> bool:
    """Whether all values are multiples of the step, as far as they can be read."""
    off = np.abs(values - step * np.rint(values / step))
    # the step itself is known to within a rounding or two of the largest value
    return bool(np.all(off <= 4 * max(_SAME, grain) + 1e-9 * step * np.abs(values / step)))


def without_penalty(claimed: Claimed) -> Claimed:
    """The same with lambda = 0, where every proximal map is the identity."""
    return claimed.with_parameters(lambda_=0.0)


def last_deviation(claimed: Claimed) -> float | None:
    """The standard deviation of a coordinate of the last x; None where no closed form is known."""
    parameters, algorithm = claimed.parameters, claimed.mode.algorithm
    if algorithm not in (Algorithm.SSADMM, Algorithm.MPADMM, Algorithm.DPSGD):
        return None
    noise = sigmas(algorithm, parameters, claimed.records)
    covariance = np.zeros((3, 3))
    for eta, sigma in zip(parameters.eta, noise.tolist(), strict=True):
        step, enters = _linear(claimed, eta)
        covariance = step @ covariance @ step.T + sigma**2 * enters
    return float(np.sqrt(covariance[0, 0]))


def _linear(claimed: Claimed, eta: float) -> tuple[Floats, Floats]:
    """One iteration as a matrix on (x, z, y), and the covariance of what unit noise adds to it."""
    rho, algorithm = claimed.parameters.rho, claimed.mode.algorithm
    if algorithm is Algorithm.DPSGD:
        return np.diag([1.0, 0.0, 0.0]), np.diag([eta**2, 0.0, 0.0])
    x_row = np.array([1 / eta, rho, -1.0]) / (rho + 1 / eta)
    # z = x + y/rho, and y + rho (x - z) = 0
    after_x = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1 / rho], [0.0, 0.0, 0.0]])
    step = np.vstack([x_row, x_row + np.array([0.0, 0.0, 1 / rho]), np.zeros(3)])
    if algorithm is Algorithm.MPADMM and claimed.parameters.release is Release.ALL:
        return step, np.eye(3)
    size = 1.0 if algorithm is Algorithm.MPADMM else 1 / (rho + 1 / eta)
    enters = after_x @ np.array([size, 0.0, 0.0])
    return step, np.outer(enters, enters)
