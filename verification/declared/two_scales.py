r"""Noise whose scale depends on a record: what that gives away at least, and whether it is more than what is claimed.

The noise has scale s on one of two neighbours and f s on the other, f > 1. Nothing here prices such noise from above.

*No batches are drawn.* Let a be the value of the first before its noise. A release is further than t s from a with
probability Q(t) on the first, Q the tail of the length of the noise, and at least Q(t/f) on the second, wherever its
own value lies: the densities are symmetric and fall from their centres, and a ball about another point holds no more
(Anderson). So epsilon >= log((Q(t/f) - delta)/Q(t)) for every t; at delta = 0 no epsilon holds. Of Gaussian noise
also the projection on the line through both values is known: N(mu, f^2) against N(0, 1), mu the distance over s. Its
delta(epsilon) grows with mu (1 - delta is the integral of min(p, e^eps q), level by level the overlap of two intervals,
which shrinks as they part), so that the confidence limit of s, measured in runs, gives a bound.

*Batches are drawn, or the noise is in an objective.* What is released is then a mixture, or no sum: both neighbours are
run, an event is chosen by one half of the runs and counted in the other (Clopper and Pearson).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from accountant.mechanisms.words import Sampling
from verification.declared.implementation import DeclaredImplementation, OutOfTimeError
from verification.reading.context import NotApplicable, Undecided
from verification.statistics.tails import counted_epsilon
from verification.statistics.test import Aspect, Cause, Test
from verification.wire.arrays import Floats
from verification.wire.declaration import PURE, DeclaredValue, NoiseKind

LEVEL = 1e-9
"""How unlikely it is that a measured bound does not hold."""
NUMBERS = 4000
"""So many noise values show a scale."""
TRIALS, CHOICES = 3000, 3
"""So many runs of each neighbour, half of them to choose the event, of so many pairs at most."""
_MOST_FACTOR = 4.0  # above it the size of the noise alone exceeds any claim
_MOST, _HALVINGS = 500.0, 40
_AT_ONCE = 200_000  # numbers in an answer, about


@dataclass(frozen=True, slots=True, eq=False)
class TwoScales:
    """Neighbours with the same randomness whose noise differs by a factor above 1, and which data has the smaller one.

    `moved` is the Euclidean distance of the values before the noise. `probable` if nothing was released before, or what
    a run of its own releases. `identical`: all other records have the same features.
    """

    factor: float
    moved: float
    dimension: int
    release: int
    smaller: str
    larger: str
    outputs: dict[str, Floats]
    probable: bool
    identical: bool
    text: str

    def within(self, other: TwoScales) -> bool:
        """Whether the other shows no less, and whether its other records are identical is the same."""
        less = self.factor <= other.factor and self.moved <= other.moved and self.probable <= other.probable
        return less and self.identical == other.identical


@dataclass(frozen=True, slots=True)
class Leakage:
    """An epsilon below which no claim holds, and what shows it."""

    epsilon: float
    text: str


def scale_tests(declared: DeclaredImplementation, scales: dict[str, list[TwoScales]]) -> list[Test]:
    """Refute a scale that depends on a record where what it gives away exceeds the claim; else undecided."""
    for name, found in scales.items():
        value = next(v for v in declared.declaration.noised if v.name == name)
        worst = max(found, key=lambda pair: pair.factor)
        leak = _leakage(declared, value, found)
        said = "infinite" if leak.epsilon == math.inf else f"at least {leak.epsilon:.6g}"
        cost = f"{leak.text}: epsilon is {said}, {declared.pricing.claimed()}"
        text = f"the scale of the noise of {name} depends on a record"
        if leak.epsilon > declared.pricing.epsilon:
            asked, price = ("data-independence", Aspect.RELEASED), functools.partial(str, cost)
            return [Test.exact(*asked, False, text, Cause.DATA_DEPENDENT, price=price, witness=worst.text)]
        raise Undecided(f"{text}\n{worst.text}\n{cost}; no theorem here prices that from above")
    return []


def _leakage(declared: DeclaredImplementation, value: DeclaredValue, found: list[TwoScales]) -> Leakage:
    delta = float(declared.pricing.delta)
    drawn = declared.declaration.sampling.kind is not Sampling.ALL and value.uses == "batch"
    if drawn or (value.enters == "objective" and delta > 0):
        return _measured(declared, value, found)
    probable = [pair for pair in found if pair.probable or delta == 0]
    if not probable:
        return Leakage(0.0, "seen only after releases that hardly occur")
    best = max(tail_epsilon(value.noise, pair.factor, pair.dimension, delta) for pair in probable)
    alone = Leakage(best, "the size of the noise alone tells them apart")
    if value.noise is not NoiseKind.GAUSSIAN or best > declared.pricing.epsilon:
        return alone
    try:
        hopeful = sorted(probable, key=lambda pair: (-pair.factor, -pair.moved))[:CHOICES]
        hopeful += sorted(probable, key=lambda pair: (-pair.moved, -pair.factor))[:CHOICES]
        moved = max(_beside(declared, value, pair, delta) for pair in hopeful)
    except OutOfTimeError:
        return alone
    text = "the size of the noise and the distance of the values together tell them apart"
    return Leakage(moved, text) if moved > best else alone


def tail_epsilon(kind: NoiseKind, factor: float, dimension: int, delta: float) -> float:
    """The bound by the size of the noise alone: its Euclidean length, of Laplace noise the sum of absolute values."""
    if delta == 0 or factor == math.inf:
        return math.inf
    law = stats.gamma(dimension) if kind in PURE else stats.chi(dimension)
    reach = float(law.isf(delta))
    t = np.linspace(0.0, reach * factor, 4001)
    larger, smaller = law.sf(t / factor), law.logsf(t)
    useful = (larger > delta) & np.isfinite(smaller)
    return float(np.max(np.log(larger[useful] - delta) - smaller[useful], initial=0.0))


def two_scales_epsilon(mu: float, factor: float, delta: float) -> float:
    """The epsilon at delta of N(mu, factor^2) against N(0, 1), the larger of both orders."""
    z = np.linspace(-40.0, 40.0, 40_001) * max(1.0, factor) + mu / 2
    first, second = stats.norm.logpdf(z, mu, factor), stats.norm.logpdf(z)
    spacing = float(z[1] - z[0])

    def enough(epsilon: float) -> bool:
        sides = ((first, second), (second, first))
        return all(np.sum(np.maximum(np.exp(a) - np.exp(epsilon + b), 0.0)) * spacing <= delta for a, b in sides)

    low, high = 0.0, 1.0
    while not enough(high) and high < _MOST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low


def _beside(declared: DeclaredImplementation, value: DeclaredValue, pair: TwoScales, delta: float) -> float:
    """The bound by the noise of two scales beside values as far apart as they were seen."""
    if pair.factor > _MOST_FACTOR:
        return 0.0
    squares, numbers = 0.0, 0
    while numbers < NUMBERS * declared.effort:
        run = declared.record(pair.smaller, seed=declared.seed(), outputs=pair.outputs)
        noise = run.values[value.name].noise[pair.release]
        squares, numbers = squares + float(noise @ noise), numbers + noise.size
    most = math.sqrt(squares / float(stats.chi2.ppf(LEVEL, numbers)))
    return two_scales_epsilon(pair.moved / most, pair.factor, delta)


def _measured(declared: DeclaredImplementation, value: DeclaredValue, found: list[TwoScales]) -> Leakage:
    """The bound by counting, at most that of so many runs."""
    # where all other records are identical, batches without the changed one have one scale
    hopeful = sorted(found, key=lambda pair: (not pair.identical, -pair.factor))[:CHOICES]
    best, delta = 0.0, float(declared.pricing.delta)
    text = f"by counting in {TRIALS // 2} runs of each (confidence 1 - {LEVEL:g})"
    try:
        for pair in hopeful:
            best = max(best, _counted(declared, value, pair, delta))
            if best > declared.pricing.epsilon:
                break
    except OutOfTimeError:
        text += ", as many as there was time for"
    except NotApplicable as reason:
        text = f"runs are {reason}"
    return Leakage(best, text)


def _counted(declared: DeclaredImplementation, value: DeclaredValue, pair: TwoScales, delta: float) -> float:
    shown = [_released(declared, value, data, pair) for data in (pair.smaller, pair.larger)]
    half = TRIALS // 2
    middle = np.median(shown[0][:half], axis=0)
    one, other = (np.linalg.norm(rows - middle, axis=1) for rows in shown)
    return counted_epsilon((one[:half], other[:half]), (one[half:], other[half:]), delta, LEVEL / CHOICES)


def _released(declared: DeclaredImplementation, value: DeclaredValue, data: str, pair: TwoScales) -> Floats:
    """One release of many runs, [runs, numbers]; runs that are too short or have another shape are left at 0."""
    rows = np.zeros((TRIALS, pair.dimension))
    together = max(1, _AT_ONCE // (declared.declaration.releases(value) * max(1, pair.dimension)))
    for start in range(0, TRIALS, together):
        for k, run in enumerate(declared.trials(data, min(together, TRIALS - start)), start):
            array = run[value.name]
            if len(array) > pair.release and array[pair.release].size == pair.dimension:
                rows[k] = array[pair.release].ravel()
    return rows
