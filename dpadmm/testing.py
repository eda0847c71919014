r"""Property tests of a private optimiser in your own suite: strategies, and assertions that shrink what they find.

Strategies for Hypothesis: :func:`records`, :func:`neighbours`, :func:`admm_settings`. Assertions on your functions:

* :func:`assert_sensitivity`: no neighbouring data sets move a value further than its bound;
* :func:`assert_contracts`: a proximal map moves two points no further apart than they are;
* :func:`assert_noise`: noise has the claimed size, centre, law and independence.

The neighbours are those of the gate (`verification.neighbours`), the tests of noise those of its questions
(`verification.statistics`). A failure is shrunk to the fewest records and columns and the plainest numbers, and kept in
Hypothesis's database, so that the next run tries it first. Guide: docs/guides/property-tests.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings, target

from accountant.mechanisms.words import Algorithm
from accountant.mechanisms.words import Neighbours as Relation
from verification.neighbours.families import Domain, Families, Others
from verification.neighbours.neighbours import Neighbours
from verification.neighbours.search import attacks
from verification.neighbours.sensitivity import StepSetting
from verification.outcome import headlines
from verification.statistics.noise_shape import shape_tests
from verification.statistics.noise_size import size_tests
from verification.statistics.test import Cost
from verification.wire.arrays import Floats
from verification.wire.parameters import LossName, RegularizerName
from verification.wire.records import Records

__all__ = [
    "Neighbours",
    "Records",
    "StepSetting",
    "admm_settings",
    "assert_contracts",
    "assert_noise",
    "assert_sensitivity",
    "neighbours",
    "records",
]

T = TypeVar("T")
Value = Callable[[Floats, Floats], object]
"""From features [n, p] and labels [n] to the value before its noise: a number or an array."""
_ROUNDINGS = 64 * float(np.finfo(np.float64).eps)
_POWERS = (1.0, 10.0, 0.1, 100.0, 0.01, 1e3)
_AGAIN = 150  # examples of each smaller size, once something was found


# -- strategies -------------------------------------------------------------------------------------------------------


def neighbours(
    relation: str = "replace-one",
    bound: float | None = 1.0,
    *,
    box: tuple[float, float] | None = None,
    labels: tuple[float, float] = (-1.0, 1.0),
    clips: bool = False,
    max_records: int = 6,
    max_columns: int = 3,
    min_records: int = 1,
) -> st.SearchStrategy[Neighbours]:
    """Two data sets that differ in one record, which is replaced ("replace-one") or missing ("add-or-remove").

    Records lie in the l2 ball of radius ``bound``, or have features within ``box``; with ``clips`` your code bounds
    them itself, and any record may come. Shrinks to the fewest records and columns.
    """
    radius = 1.0 if bound is None else float(bound)
    closed = bound is not None and not clips
    known = Relation(relation)

    def domain(count: int, columns: int) -> Domain:
        return Domain(count, columns, radius, known, box, labels, closed)

    sizes = st.tuples(st.integers(min_records, max_records), st.integers(1, max_columns))
    searched = sizes.flatmap(lambda size: attacks(domain(*size)).map(lambda attack: attack.neighbours))
    least, most = max(2, min_records), max_records

    @st.composite
    def named(draw: st.DrawFn) -> Neighbours:
        size = domain(draw(st.integers(least, most)), draw(st.integers(1, max_columns)))
        families = Families(size, np.random.default_rng(draw(st.integers(0, 7))))
        position = draw(st.integers(0, size.records - 1))
        every = list(families.neighbours(draw(st.sampled_from(Others)), position, families.direction()))
        return draw(st.sampled_from(every))

    return st.one_of(searched, named()) if max_records >= least else searched


def records(
    bound: float | None = 1.0,
    *,
    box: tuple[float, float] | None = None,
    labels: tuple[float, float] = (-1.0, 1.0),
    min_records: int = 1,
    max_records: int = 6,
    max_columns: int = 3,
) -> st.SearchStrategy[Records]:
    """A data set: ``features`` [n, p] within the bound, ``labels`` [n]."""
    pairs = neighbours(
        bound=bound, box=box, labels=labels, min_records=min_records, max_records=max_records, max_columns=max_columns
    )
    return pairs.map(lambda pair: pair.first)


@st.composite
def admm_settings(
    draw: st.DrawFn,
    *,
    algorithms: Sequence[Algorithm] = (Algorithm.SSADMM, Algorithm.MPADMM),
    losses: Sequence[LossName] = tuple(LossName),
    regularizers: Sequence[RegularizerName] = (RegularizerName.NONE, RegularizerName.L1),
) -> StepSetting:
    """Parameters of one step of private ADMM: loss, regularizer, lambda, rho, eta; eta above 1 comes as well."""
    steps = st.sampled_from((1.0, 0.5, 4.0, 0.1, 20.0))
    return StepSetting(
        draw(st.sampled_from(tuple(algorithms))),
        draw(st.sampled_from(tuple(losses))),
        draw(st.sampled_from(tuple(regularizers))),
        lam=draw(st.sampled_from((0.0, 1e-3, 0.1, 1.0))),
        rho=draw(steps),
        eta=draw(steps),
    )


# -- assertions -------------------------------------------------------------------------------------------------------


def assert_sensitivity(
    value: Value,
    bound: float | Callable[[int], float],
    *,
    relation: str = "replace-one",
    norm: float = 2,
    record_bound: float | None = 1.0,
    box: tuple[float, float] | None = None,
    labels: tuple[float, float] = (-1.0, 1.0),
    clips: bool = False,
    min_records: int = 1,
    max_records: int = 6,
    max_columns: int = 3,
    max_examples: int = 400,
    rounding: float = 1e-9,
) -> None:
    """Fail where replacing (or leaving out) one record moves ``value(features, labels)`` further than ``bound``.

    ``bound`` is a number, or a function of how many records the larger data set has. ``norm`` is 1, 2 or np.inf, of the
    flattened difference. ``rounding`` is the relative error that is let pass. The value is the one before noise.
    """
    least = max(min_records, 2) if relation == Relation.ADD_OR_REMOVE else min_records
    found: list[Neighbours] = []

    def pairs(few: int, rows: int, columns: int) -> st.SearchStrategy[Neighbours]:
        return neighbours(
            relation,
            record_bound,
            box=box,
            labels=labels,
            clips=clips,
            min_records=few,
            max_records=rows,
            max_columns=columns,
        )

    def moves_no_further(pair: Neighbours) -> None:
        before, after = (_value(value, side) for side in (pair.first, pair.second))
        allowed = float(bound(pair.count) if callable(bound) else bound)
        if before.shape != after.shape:
            raise AssertionError(f"the value changes its shape from {before.shape} to {after.shape}: {pair.text()}")
        with np.errstate(over="ignore", invalid="ignore"):
            moved = float(np.linalg.norm(after - before, norm))
        slack = rounding * allowed + _ROUNDINGS * float(np.abs(before).sum() + np.abs(after).sum())
        if np.isfinite(moved) and allowed > 0:
            target(moved / allowed)
        if not moved <= allowed + slack:
            found.append(pair)
            raise AssertionError(
                f"{_name(value)} moves by {moved:.6g}, more than its bound {allowed:.6g} "
                f"({_times(moved, allowed)}); {pair.text()}"
            )

    title = f"sensitivity {_name(value)}"
    failure = _hunt(moves_no_further, pairs(least, max_records, max_columns), title, max_examples)
    if failure is not None and found:  # whether fewer records or columns show it, too
        rows, columns = found[-1].count, found[-1].columns
        smaller = [(n, p) for n in range(least, rows + 1) for p in range(1, columns + 1) if (n, p) != (rows, columns)]
        for n, p in sorted(smaller, key=lambda size: (size[0] * size[1], size[0])):
            plainer = _hunt(moves_no_further, pairs(n, n, p), f"{title} {n} {p}", _AGAIN)
            if plainer is not None:
                raise plainer
    if failure is not None:
        raise failure


def assert_contracts(
    prox: Callable[[Floats], object],
    *,
    factor: float = 1.0,
    dimension: int = 3,
    max_examples: int = 400,
    rounding: float = 1e-9,
) -> None:
    """Fail where a map moves two points further apart than ``factor`` times their distance.

    Proximal maps of convex regularizers contract (factor 1): the sensitivity of what they are given bounds that of what
    they return. One of a weakly convex regularizer has a larger factor, and so a larger sensitivity.
    """
    number, power = st.integers(-24, 24), st.sampled_from(_POWERS)

    @st.composite
    def points(draw: st.DrawFn) -> tuple[Floats, Floats]:
        size = draw(st.integers(1, dimension))
        first = draw(power) * np.array([draw(number) for _ in range(size)], dtype=np.float64) / 8
        apart = draw(power) * np.array([draw(number) for _ in range(size)], dtype=np.float64) / 8
        return first, first + apart

    def contracts(pair: tuple[Floats, Floats]) -> None:
        first, second = pair
        images = [np.asarray(prox(point.copy()), dtype=np.float64) for point in pair]
        apart, moved = (float(np.linalg.norm(a - b)) for a, b in ((first, second), (images[0], images[1])))
        slack = rounding * factor * apart + _ROUNDINGS * float(np.abs(first).sum() + np.abs(second).sum())
        if apart > 0 and np.isfinite(moved):
            target(moved / apart)
        if not moved <= factor * apart + slack:
            raise AssertionError(
                f"{_name(prox)} moves two points that are {apart:.6g} apart to {moved:.6g}, more than {factor:g} times "
                f"that: {_row(first)} -> {_row(images[0])}, {_row(second)} -> {_row(images[1])}"
            )

    failure = _hunt(contracts, points(), f"contraction {_name(prox)}", max_examples)
    if failure is not None:
        raise failure


def assert_noise(
    draw: Callable[[], object], sigma: float, *, draws: int = 2000, false_alarm: float = 1e-6, allow_excess: bool = True
) -> None:
    """Fail where ``draw()`` is not independent Gaussian noise of standard deviation ``sigma`` in every coordinate.

    The tests are those of the gate: size (overall, of each coordinate, stretch and direction), centre, shape,
    independence, freshness. Correct noise fails with probability at most ``false_alarm``, all tests together. Larger
    noise than claimed is let pass unless ``allow_excess`` is False.
    """
    rows = np.array([np.asarray(draw(), dtype=np.float64).ravel() for _ in range(draws)])
    if not (sigma > 0 and rows.size and np.isfinite(rows).all()):
        raise AssertionError(f"noise must be finite and sigma > 0, got sigma={sigma!r}, {rows.size} values")
    noise = {_name(draw): rows[None] / sigma}
    tests = [*size_tests(noise), *shape_tests(noise, np.random.default_rng(0))]
    level = false_alarm / len(tests)
    found = [t for t in tests if t.rejects(level) and not (t.cost is Cost.NOTHING and allow_excess)]
    if found:
        under = headlines(test.cause for test in sorted(found, key=lambda test: test.p_value))
        first = min(found, key=lambda test: (under[test.cause] is not test.cause, test.p_value))
        chance = f"({first.name}, p = {first.p_value:.2g})"
        raise AssertionError(f"{first.cause} {chance}: {first.detail}; {draws} draws, claimed is {sigma:g}")


def _hunt(
    check: Callable[[T], None], strategy: st.SearchStrategy[T], name: str, max_examples: int
) -> AssertionError | None:
    """Let Hypothesis look for a failure and shrink it; what it found before it tries first, under this name."""

    def proposed(example: T) -> None:
        check(example)

    # what Hypothesis keeps is kept by the digest of the inner test: two functions are two tests
    proposed._hypothesis_internal_add_digest = hashlib.sha256(name.encode()).digest()  # type: ignore[attr-defined]
    limits = settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[phase for phase in Phase if phase is not Phase.explain],
        derandomize=False,
        print_blob=False,
    )
    try:
        limits(given(strategy)(proposed))()
    except AssertionError as failure:
        return failure
    return None


def _value(value: Value, data: Records) -> Floats:
    return np.asarray(value(data.features.copy(), data.labels.astype(np.float64)), dtype=np.float64).ravel()


def _times(moved: float, allowed: float) -> str:
    return f"{moved / allowed:.4g} times" if allowed > 0 else "where nothing may move"


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__)).rpartition(".<locals>.")[2]


def _row(values: Floats) -> str:
    return f"({', '.join(f'{float(x) + 0.0:.5g}' for x in values)})"
