"""The noise itself, seen where the gradient is known: its size, shape, independence and freshness."""

from __future__ import annotations

import numpy as np

from verification.conformance import tails
from verification.conformance.check import TRIALS, Check, Family, Observation
from verification.conformance.context import Context
from verification.conformance.grids import common_step, on_grid
from verification.conformance.observe import released_rounding
from verification.conformance.own_updates import noise_of_runs
from verification.conformance.updates import random_records
from verification.pictures import against_claim, quantiles, together
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Parameters
from verification.wire.records import Records, Run
from verification.wire.session import Session
from verification.wire.simple_parameters import initial_point

_DIMENSION, _ITERATIONS, _TRIALS = 6, 3, 2000
_SIGMA = 3.0  # well above C = 1: clipping after the noise, or noise in other units, shows
_TAILS = (2.0, 3.0, 4.0)
_CLOSE = 1e-6
_DISTINCT_BITS = 44  # a value of binary64 noise is hardly likelier than 2^-50; float32 noise has 2^-24


def silent_records(count: int = 8, columns: int = _DIMENSION) -> Records:
    """Records without features: every gradient is 0 and the iterates show the noise alone."""
    return Records(np.zeros((count, columns)), np.where(np.arange(count) % 2, -1, 1).astype(np.int64))


def noise_parameters(context: Context, batch: int, sigma: float = _SIGMA, *, start: bool = False) -> Parameters:
    """A few iterations at ordinary step sizes; ``start`` names the start, where the implementation can be told it."""
    wanted = 4 if "inner" in context.scheme.takes else _ITERATIONS  # two epochs of two steps
    eta = [1.0 / (k + 1) for k in range(context.iterations(wanted) if context.sees_every_iterate else 1)]
    initial = initial_point(*np.zeros((3, _DIMENSION))) if start and context.can(Capability.INITIAL) else None
    return context.parameters(
        _DIMENSION, eta=eta, batch=batch, sigma=sigma, rho=0.5, lambda_=context.penalty(0.1), initial=initial
    )


def standardised(
    context: Context,
    *,
    loud: bool = False,
    start: bool = False,
    session: Session | None = None,
    count: int = _TRIALS,
) -> dict[str, Floats]:
    """Noise over sigma, by what it was added to; each [trials, T, p], standard normal if all is well.

    A random start is read as noise of the first iteration: it only adds to its size, and is shared by x and z. So what
    looks at anything but the size names the start.
    """
    context.require_private()
    records = random_records(context, 4, _DIMENSION, length=20.0) if loud else silent_records()
    parameters = noise_parameters(context, batch=4 if loud else 3, start=start)
    run = context.trials(records, parameters, context.count(count), session)
    return context.keep(noise_of_runs(context, records, parameters, run))


def columns(noise: dict[str, Floats]) -> tuple[Floats, list[str]]:
    """All noise as [trials, columns], with the columns' names."""
    names = [
        f"{name}[{j}] in iteration {k + 1}"
        for name, array in noise.items()
        for k in range(array.shape[1])
        for j in range(array.shape[2])
    ]
    return np.hstack([array.reshape(len(array), -1) for array in noise.values()]), names


def _variance(context: Context) -> Observation:
    return variance_finding(standardised(context))


def _ignores_data(context: Context) -> Observation:
    return variance_finding(standardised(context, loud=True))


def variance_finding(noise: dict[str, Floats]) -> Observation:
    """Exact chi-square tails: each variable as a whole, and each coordinate of each iteration.

    Too small costs privacy, too large does not; each side has half of the false alarms.
    """
    table, names = columns(noise)
    groups = {name: array.reshape(-1, 1) for name, array in noise.items()}
    sums, degrees = [np.sum(table**2, axis=0)], [len(table)] * table.shape[1]
    labels = list(names)
    for name, values in groups.items():
        sums.append(np.sum(values**2, axis=0))
        degrees.append(len(values))
        labels.append(f"{name} as a whole")
    below, above = tails.chi_square_sides(np.concatenate(sums), np.array(degrees))
    p_value, where = tails.smallest(below)
    deviation, at_most = tails.smallest(above)
    whole = ", ".join(f"{name} {np.sqrt(np.mean(values**2)):.4f}" for name, values in groups.items())
    measured = f"standard deviation over sigma: {whole}"
    return Observation(
        p_value,
        f"{measured}; least likely: {labels[where]}",
        deviation,
        f"{measured}; largest: {labels[at_most]}",
        quantiles(", ".join(noise), list(noise.values())),
    )


def without_scale(table: Floats, rng: np.random.Generator) -> Floats:
    """Columns [samples, columns] with their lengths replaced by fresh ones: standard normal whatever their scale.

    The direction of a normal vector with independent entries of one variance is uniform and independent of its length.
    So tests of shape, centring and independence are exact at any size of the noise: size alone never accuses.
    """
    lengths = np.linalg.norm(table, axis=0)
    fresh = np.sqrt(rng.chisquare(len(table), table.shape[1]))
    scaled: Floats = table * np.divide(fresh, lengths, out=np.zeros_like(fresh), where=lengths > 0)
    return scaled


def _centred(context: Context) -> Observation:
    noise = standardised(context, start=True)
    table, names = columns(noise)
    table = without_scale(table, context.rng)
    p_value, where = tails.smallest(tails.normal(table.sum(axis=0) / np.sqrt(len(table))))
    return Observation(
        p_value,
        f"mean of {names[where]} is {table[:, where].mean():.4f} deviations, the largest of {len(names)}",
        picture=quantiles(names[where], [table[:, where]]),
    )


def _gaussian(context: Context) -> Observation:
    noise = standardised(context, start=True)
    p_values, labels = [], []
    for name, array in noise.items():
        values = np.ravel(without_scale(array.reshape(len(array), -1), context.rng))
        p_values.append(tails.kolmogorov(values))
        labels.append(f"{name}: distribution function")
        for threshold in _TAILS:
            beyond = np.array([np.sum(np.abs(values) > threshold)])
            p_values.append(float(tails.binomial(beyond, values.size, float(tails.normal(np.array(threshold))))[0]))
            labels.append(f"{name}: {int(beyond[0])} of {values.size} values beyond {threshold:g} deviations")
    p_value, where = tails.smallest(np.array(p_values))
    picture = quantiles(", ".join(noise), list(noise.values()))
    return Observation(p_value, f"least likely: {labels[where]}", picture=picture)


def _independent(context: Context) -> Observation:
    """All pairs of columns in the same run, and each column of one run with every column of the next."""
    table, names = columns(standardised(context, start=True))
    table = without_scale(table, context.rng)
    same = tails.correlation(table, table)[np.triu_indices(len(names), k=1)]
    even, odd = table[0 : len(table) - 1 : 2], table[1::2]
    across = np.ravel(tails.correlation(even, odd))
    p_value, where = tails.smallest(np.concatenate([same, across]))
    if where < same.size:
        first, second = (int(index[where]) for index in np.triu_indices(len(names), k=1))
        pair, picture = f"{names[first]} and {names[second]}", (table[:, first], table[:, second])
    else:
        first, second = divmod(where - same.size, len(names))
        pair, picture = f"{names[first]} of one run and {names[second]} of the next", (even[:, first], odd[:, second])
    detail = f"least likely of {same.size + across.size} correlations: {pair}"
    drawn = together((names[first], picture[0]), (names[second], picture[1]))
    return Observation(p_value, detail, picture=drawn)


def repeated(vectors: Floats) -> int:
    """How many disjoint pairs of vectors agree, up to sign, in every coordinate; at least so many."""
    # Sorted by its first coordinate's size, a repeated vector stands beside its twin.
    ordered = np.abs(vectors)[np.argsort(np.abs(vectors[:, 0]))]
    beside = int(np.sum(np.max(np.abs(np.diff(ordered, axis=0)), axis=1) < _CLOSE))
    return -(-beside // 2)  # in a row of equal vectors every second pair is disjoint from the last


def fresh_finding(vectors: Floats, what: str) -> Observation:
    """Refute if any noise vector was used twice; else pass."""
    count, dimension = vectors.shape
    found = repeated(vectors)
    chance = tails.repeated_vectors(count, dimension, _CLOSE)
    picture = against_claim(
        "Noise that was used again",
        "Noise that is drawn anew each time never comes twice.",
        {"vectors drawn": (count, count), "used twice": (found, chance)},
        "noise vectors",
    )
    detail = f"{found} of {count} noise vectors used twice {what}"
    return Observation(tails.coincidences(found, chance), detail, picture=picture)


def _never_repeats(context: Context) -> Observation:
    """Within a request, over variables and iterations, and over two requests without a seed."""
    first = standardised(context)
    unseeded = _unseeded(context, context.session)
    again = _unseeded(context, context.session)
    vectors = [array.reshape(-1, _DIMENSION) for part in (first, unseeded, again) for array in part.values()]
    return fresh_finding(np.vstack(vectors), "over runs, iterations, variables and requests")


def _processes(context: Context) -> Observation:
    """Two new processes, asked the same first question: a seed fixed at import shows only at the same position."""
    context.require_private()
    with context.another() as first, context.another() as second:
        parts = [_unseeded(context, fresh) for fresh in (first, second)]
    vectors = [array.reshape(-1, _DIMENSION) for part in parts for array in part.values()]
    return fresh_finding(np.vstack(vectors), "over two processes without a seed")


def _unseeded(context: Context, session: Session) -> dict[str, Floats]:
    records, parameters = silent_records(), noise_parameters(context, batch=3)
    run: Run = context.trials_of(session, session.send(records), parameters, context.count(500), None)
    return context.keep(noise_of_runs(context, records, parameters, run))


def _grid(context: Context) -> Observation:
    """One iteration from 0 with rho = eta = 1 halves the noise and does nothing else to it: its grid shows.

    With another step size the grid is only that of what is released: rounding what is noised costs nothing. Neither
    does noise on a grid that noisy gradients lie on as well.
    """
    context.require_private()
    parameters = context.parameters(_DIMENSION, eta=[1.0], batch=3, sigma=1.0, regularizer=context.plain, lambda_=0.0)
    values = np.ravel(context.trials(silent_records(), parameters, context.count(_TRIALS)).x)
    equal = int(np.sum(np.unique(values, return_counts=True)[1] // 2))
    chance = tails.equal_values(values.size, _DISTINCT_BITS)
    rounding = (released_rounding(context) or _shared_step(context, parameters, values)) if equal else 0.0
    if rounding:
        # a density of at most 1/(deviation sqrt(2 pi)), for every pair of values
        deviation = max(float(values.std()), 1e-300)
        chance = max(chance, min(1.0, values.size**2 * rounding / (deviation * np.sqrt(2 * np.pi))))
    picture = quantiles("one step", [values / values.std()] if values.std() > 0.0 else [values])
    detail = f"{equal} pairs of {values.size} noise values are equal"
    return Observation(tails.coincidences(equal, chance), detail, picture=picture)


def _shared_step(context: Context, parameters: Parameters, values: Floats) -> float:
    """The step of the grid that the noise and noisy gradients lie on; 0 if there is none."""
    step = common_step(values, 0.0)
    if not step:
        return 0.0
    noised = context.trials(random_records(context, 7, _DIMENSION), parameters, 20).x
    return step if on_grid(noised, step, 0.0) else 0.0


CHECKS = (
    Check(
        "noise-variance",
        Family.NOISE,
        "noise too small or too large: variance for deviation, a forgotten factor, noise clipped with the gradient, "
        "noise missing in a value, a coordinate or an iteration",
        ("THEOREM-1", "THEOREM-3"),
        _variance,
        statistical=True,
        needs=TRIALS,
    ),
    Check(
        "noise-ignores-data",
        Family.NOISE,
        "noise scaled by the data, or switched on only where the gradient is small",
        ("THEOREM-1", "THEOREM-3"),
        _ignores_data,
        statistical=True,
        needs=TRIALS,
    ),
    Check("noise-centred", Family.NOISE, "noise that is not centred", ("THEOREM-1",), _centred, True, TRIALS),
    Check(
        "noise-gaussian",
        Family.NOISE,
        "noise of another shape: Laplace, uniform, truncated tails",
        ("THEOREM-1", "THEOREM-3"),
        _gaussian,
        statistical=True,
        needs=TRIALS,
    ),
    Check(
        "noise-independent",
        Family.NOISE,
        "one draw for all coordinates, for all iterations, or for x, z and y; noise carried over between runs",
        ("THEOREM-1", "THEOREM-3", "E18"),
        _independent,
        statistical=True,
        needs=TRIALS,
    ),
    Check(
        "noise-never-repeats",
        Family.NOISE,
        "a generator that is seeded anew: the same draw in two runs, requests, iterations or variables",
        ("E18",),
        _never_repeats,
        statistical=True,
        needs=TRIALS,
    ),
    Check(
        "noise-differs-between-processes",
        Family.NOISE,
        "a fixed default seed",
        ("E18",),
        _processes,
        statistical=True,
        needs=TRIALS,
    ),
    Check(
        "noise-grid",
        Family.NOISE,
        "noise on a coarse grid: single precision, rounded, or drawn from a table",
        ("THEOREM-1",),
        _grid,
        statistical=True,
        needs=TRIALS,
    ),
)
