r"""What one record changes at the claimed size, on ordinary data: the same batch and noise, one record replaced.

Scaling, skipping, stopping and weighting are harmless only if one step moves by at most what is claimed, 2C/m through
the x update, whichever record of the batch is replaced by whatever. A record that is turned round, empty, of one huge
column, or so long that low precision overflows shows preprocessing, skipped steps, weights and step sizes of the data.

Where a threshold, rounding or a choice of the largest coordinates comes before the noise, a record counts for more next
to the jump. All records are along (+-1, ..., +-1), so that all coordinates reach a threshold together; the mean is
moved from next to nothing to C, and where the step does not follow in proportion, the jump is found by bisection and
neighbours are put to both sides of it. One record is also given the other label, which shows weights made of labels.
A bound made of the batch's own lengths, such as a quantile, and a mean that leaves records out jump where so many
records are long: of records along one direction some are short, or turned round, and one more becomes long.

A threshold *after* the noise jumps as well, and costs nothing: there the noise hides the record. So a step that moves
too far is asked again with the noise moved by what the record moves the mean gradient: the same x shows that x is a
function of the noised value.

Without replay all records are the batch, the noise is next to nothing, and nothing can be asked again. There a step
that moves too far is held against the implementation only where noise of the size of the move, and larger and smaller
noise, comes out as it went in: of one normal law, whose size is what the move is compared with.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm
from verification.outcome import Aspect, Cause
from verification.pictures import against_claim
from verification.questions import scenes
from verification.questions.question import OBSERVABLE, Answer, Question, Size
from verification.reading.context import (
    EVERY_MODE,
    FEWER_VALUES,
    Claimed,
    Clock,
    Context,
    Mode,
    NotApplicable,
)
from verification.reading.inverter import INVERTERS, with_count
from verification.reading.replayed import (
    SIZES,
    UNREAD,
    UNSEEN,
    as_the_reference,
    inputs,
    noised_gradients,
    reference_run,
)
from verification.reading.values import DEVIATIONS, TINY_SIGMA, quietened, standard_noise
from verification.served.serve import Values
from verification.served.translate import problem_of
from verification.statistics import tails
from verification.statistics.test import Test
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterFault, AdapterRefusal, Fault
from verification.wire.messages import Capability
from verification.wire.records import Records, Run

_SMALL_RECORDS, _SMALL_COLUMNS, _SMALL_BATCH = 200, 12, 20
_LENGTHS = (1e3, 1e9, 1e20)
_LADDER_VALUES, _FEWEST, _LONG, _SHORT, _MARKS = 100_000, 4, 4.0, 1 / 64, 12
_LEAST, _MOST, _GRID, _MOST_JUMPS = 1e-7, 0.75, 24, 4
_PROPORTION, _EXACTLY, _ROUNDINGS = 0.02, 1e-9, 16
_QUIET_VALUES, _PLAIN_RUNS, _UNLIKE = 16, 200, 1e-6


@dataclass(frozen=True, slots=True)
class Moved:
    """How far x moved when a record was replaced, and how."""

    share: float  # of what is allowed
    change: str


def small_run(context: Context) -> Claimed:
    """A few hundred records: more than any small test has, so that branches for large data are taken."""
    parameters = context.parameters(_SMALL_COLUMNS, eta=[0.5], batch=_SMALL_BATCH, sigma=1.0, rho=0.5, lambda_=0.0)
    return Claimed(context.mode, _SMALL_RECORDS, _SMALL_COLUMNS, parameters)


def changes(record: Floats, bound: float, largest: float, rng: np.random.Generator) -> dict[str, Floats]:
    """What a record is replaced by."""
    column = np.zeros_like(record)
    column[int(rng.integers(record.size))] = min(1e6, largest) * bound
    direction = rng.standard_normal(record.size)
    direction /= np.linalg.norm(direction)
    found = {"turned round": -record, "made empty": np.zeros_like(record), "one huge column": column}
    lengths = [length for length in _LENGTHS if length * bound <= largest]
    return found | {f"of length {length:g} C": length * bound * direction for length in lengths}


def dependence(context: Context, at_size: Claimed | None, _clock: Clock) -> Answer:
    """Replace one record of the batch in every way, and compare one step."""
    claimed = (at_size or small_run(context)).fitting(FEWER_VALUES).shortened(1)
    context.require_private()
    claimed = claimed.with_parameters(lambda_=0.0)
    parameters = claimed.parameters
    replayed = context.can(Capability.REPLAY)
    if not replayed and parameters.batch is not None:
        claimed = claimed.with_parameters(batch=claimed.records)
        parameters = claimed.parameters
    records = scenes.mixed(claimed.records, claimed.columns, parameters.bound, context.rng, extreme=(1.0,)).records
    m = parameters.batch or claimed.records
    members = np.sort(context.rng.permutation(claimed.records)[:m])
    place = int(members[int(context.rng.integers(m))])
    batches = None if parameters.batch is None else [members.tolist()]
    noise = inputs(claimed, context.rng)[0]
    try:
        usual = _step(context, claimed, records, batches, noise, may_refuse=False)
    except NotApplicable:  # what is computed from noisy values hides noise of this size
        noise = {name: 0.0 * array for name, array in noise.items()}
        usual = _step(context, claimed, records, batches, noise, may_refuse=False)
    allowed = INVERTERS[context.mode.algorithm].moves(parameters, claimed.records)["x"]
    slack = INVERTERS[context.mode.algorithm].slack(parameters, problem_of(records, parameters), {"x": usual.x[0]}, 0.0)
    rounding = _ROUNDINGS * precision_of(usual.x) * float(np.linalg.norm(usual.x))
    if rounding > allowed:
        reason = f"x is given in too few digits: rounding moves it by up to {rounding:.3g}, a record by {allowed:.3g}"
        return Answer("ordinary records, one replaced", claimed.size, 0, (), (), missing=reason)
    slack += rounding + (0.0 if replayed else _QUIET_VALUES * DEVIATIONS * TINY_SIGMA)
    most = 1 + context.rounding
    moved = [Moved(0.0, "nothing could be replaced")]
    for name, features in changes(records.features[place], parameters.bound, context.largest, context.rng).items():
        other = records.replace(place, features, int(records.labels[place]))
        with contextlib.suppress(AdapterRefusal):
            share = _share(context, claimed, other, batches, noise=noise, usual=(usual, allowed, slack))
            if most < share < np.inf:
                means = [
                    problem_of(each, parameters).gradient(np.zeros(claimed.columns), members)
                    for each in (records, other)
                ]
                for hidden in hiding(noise, means[1] - means[0], allowed / (2 * parameters.bound / m)):
                    again = _share(context, claimed, other, batches, noise=hidden, usual=(usual, allowed, slack))
                    share = 1.0 if again == 0 else share
            moved.append(Moved(share, f"record {place} is replaced: {name}"))
    with contextlib.suppress(AdapterRefusal):
        moved += _at_jumps(context, claimed, allowed, slack, noise)
    if not replayed and max(each.share for each in moved) > most:
        size = _plain_noise(context, claimed)
        if size is None:
            reason = f"one step moves too far, or is hidden: {UNREAD}"
            return Answer("ordinary records, one replaced", claimed.size, 0, (), (), missing=reason)
        most *= max(1.0, size)
    return _answer(claimed, moved, most)


def _plain_noise(context: Context, claimed: Claimed) -> float | None:
    """The largest size of the noise over the claimed one, if noise is normal at all sizes about a record's move."""
    records = scenes.silent_records(claimed.records, claimed.columns)
    name = context.session.send(records)
    part = 2 * claimed.parameters.bound / (claimed.parameters.batch or claimed.records)
    sizes, values = list[float](), list[Floats]()
    for sigma in (*(times * part for times in SIZES), claimed.parameters.bound):
        asked = claimed.with_parameters(sigma=sigma, noise_multiplier=None)
        noise = standard_noise(asked, records, context.unseeded(name, asked, _PLAIN_RUNS))
        values.append(np.concatenate([array.ravel() for array in noise.values()]))
        sizes.append(float(np.sqrt(np.mean(values[-1] ** 2))))
    laws = [tails.kolmogorov(each / max(size, 1e-300)) for each, size in zip(values, sizes, strict=True)]
    alike = [tails.two_samples(values[0], each, tails.Side.EITHER) for each in values[1:]]
    return max(sizes) if min(*laws, *alike) > _UNLIKE else None


def precision_of(x: Floats) -> float:
    """The unit of the numbers that x is given in: 8, 11, 24 or 53 bits."""
    mantissas = np.frexp(x)[0]
    exact = (bits for bits in (8, 11, 24) if np.all(np.ldexp(mantissas, bits) == np.rint(np.ldexp(mantissas, bits))))
    return float(2.0 ** -next(exact, 53))


def hiding(noise: Values, moved: Floats, rate: float) -> Iterator[Values]:
    """The noise that would hide a mean gradient that moved by so much, if x is a function of their sum."""
    for sign in (-1.0, 1.0):
        shifts = {"gradient": sign * moved, "x": sign * rate * moved}
        yield {name: array + shifts.get(name, 0.0) for name, array in noise.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Ladder:
    """Records along one dense direction whose mean gradient is any multiple q C of it, and a step on them."""

    context: Context
    claimed: Claimed
    direction: Floats  # of length 1, all coordinates alike but for their signs
    across: Floats  # of length 1, orthogonal to it
    slope: float  # of the loss at 0
    noise: Values
    slack: float
    allowed: float

    def step(
        self, t: float | Floats, special: Floats | None = None, noise: Values | None = None, label: int = 1
    ) -> Floats:
        """x after a step on records of gradient t C, with labels in turn, of which one is another."""
        parameters, n = self.claimed.parameters, self.claimed.records
        labels = np.where(np.arange(n) % 2, -1, 1).astype(np.int64)
        features = np.outer(labels * t, parameters.bound / self.slope * self.direction)
        if special is not None:
            features[0], labels[0] = special, label
        records = Records(features, labels)
        batches = None if parameters.batch is None else [list(range(parameters.batch))]
        x: Floats = _step(self.context, self.claimed, records, batches, noise or self.noise).x[0, 0]
        return x

    def moves(self, q: float, axis: Floats | None = None, *, relabelled: bool = False) -> float:
        """How far x moves where a record of gradient -C along the axis, at a mean of q C, is turned round."""
        m = self.claimed.parameters.batch or self.claimed.records
        t = (q * m + 1) / (m - 1) if axis is None else q
        if abs(t) > 1:
            return 0.0
        along = self.direction if axis is None else axis
        special = _LONG * self.claimed.parameters.bound / self.slope * along
        other, label = (special, -1) if relabelled else (-special, 1)
        part = 2 * self.claimed.parameters.bound / m
        return self.apart(self.step(t, special), lambda noise: self.step(t, other, noise, label), part * along)

    def apart(self, here: Floats, there: Callable[[Values], Floats], part: Floats) -> float:
        """How far apart both are; what is allowed where noise moved by a record's part of the gradient hides it."""
        moved = float(np.linalg.norm(here - there(self.noise)))
        if moved - self.slack > (1 + self.context.rounding) * self.allowed:
            m = self.claimed.parameters.batch or self.claimed.records
            for hidden in hiding(self.noise, part, self.allowed * m / (2 * self.claimed.parameters.bound)):
                if np.linalg.norm(here - there(hidden)) <= self.slack:
                    return self.allowed
        return moved

    def crossing(self, low: float) -> tuple[float, int]:
        """How far x moves where one record more has the gradient C and not low C, and how many have: where most."""
        m = self.claimed.parameters.batch or self.claimed.records

        def lengths(k: int) -> Floats:
            return np.where(np.arange(self.claimed.records) < k, _LONG, low)

        at = functools.cache(lambda k: self.step(lengths(k)))

        def rate(ends: tuple[int, int]) -> float:
            return float(np.linalg.norm(at(ends[1]) - at(ends[0]))) / (ends[1] - ends[0])

        marks = np.unique(np.linspace(0, m, _MARKS + 1).astype(int)).tolist()
        worst = (0, 1)
        for ends in sorted(itertools.pairwise(marks), key=rate)[-_MOST_JUMPS:]:
            here = ends
            while here[1] - here[0] > 1:
                middle = sum(here) // 2
                here = max((here[0], middle), (middle, here[1]), key=rate)
            worst = max(worst, here, key=rate)
        part = (1 - max(low, -1.0)) * self.claimed.parameters.bound / m * self.direction
        return self.apart(at(worst[0]), lambda noise: self.step(lengths(worst[1]), noise=noise), part), worst[0]

    def jumps(self) -> list[float]:
        """Means q on either side of where the step is out of proportion, the second less by one record's part."""
        grid = np.geomspace(_LEAST, _MOST, _GRID)
        values = [float(self.step(q) @ self.direction) for q in grid]
        part = 2 / (self.claimed.parameters.batch or self.claimed.records)
        rate, found = abs(values[-1] - values[0]) / (grid[-1] - grid[0]), [-part / 2]
        rises, widths = np.abs(np.diff(values)), np.diff(grid)
        steep = np.flatnonzero(rises > (1 + _PROPORTION) * rate * widths + self.slack)
        for i in steep[np.argsort(rate * widths[steep] - rises[steep])][:_MOST_JUMPS]:
            low, below, high, above = grid[i], values[i], grid[i + 1], values[i + 1]
            while high - low > _EXACTLY * high:
                middle = (low + high) / 2
                there = float(self.step(middle) @ self.direction)
                if abs(there - below) / (middle - low) > abs(above - there) / (high - middle):
                    high, above = middle, there
                else:
                    low, below = middle, there
            found += [low, high - part]
        return found


def _at_jumps(context: Context, at_size: Claimed, allowed: float, slack: float, noise: Values) -> list[Moved]:
    """The moves next to jumps, and where a record decides between coordinates that are as large."""
    claimed = at_size.fitting(_LADDER_VALUES)
    m = claimed.parameters.batch or claimed.records
    if claimed.parameters.clip is None or m < _FEWEST or claimed.parameters.intercept:
        return []
    signs = context.rng.choice([-1.0, 1.0], claimed.columns)
    across = signs * np.where(np.arange(claimed.columns) % 2, -1.0, 1.0)
    empty = Records(np.zeros((1, claimed.columns)), np.ones(1, dtype=np.int64))
    slope = float(abs(problem_of(empty, claimed.parameters).loss.slope(np.zeros(1))[0]))
    root = np.sqrt(claimed.columns)
    # without batches fewer records count for more each
    scale = allowed if claimed.parameters.batch is not None else allowed * at_size.records / claimed.records
    # rounding of the values themselves: every coordinate by a unit of the mean gradient, on both sides
    slack += 2 * context.unit * scale * m / 2
    ladder = _Ladder(context, claimed, signs / root, across / root, slope, noise, slack, scale)
    one = "the first of equal records is"
    found = [Moved(ladder.moves(q), f"{one} turned round, at a mean gradient of {q:.6g} C") for q in ladder.jumps()]
    found += [Moved(ladder.moves(q, ladder.across), f"{one} another, all coordinates {q:g} C") for q in (0.02, 0.3)]
    for low in (_SHORT, -_LONG):
        moved, k = ladder.crossing(low)
        found.append(Moved(moved, f"one of equal records, of gradient {max(low, -1.0):g} C, joins {k} of gradient C"))
    found += [Moved(ladder.moves(q, relabelled=True), f"{one} relabelled, mean gradient {q:g} C") for q in (-0.7, 0.7)]
    return [Moved(max(0.0, each.share - slack) / scale, each.change) for each in found]


def _step(
    context: Context,
    claimed: Claimed,
    records: Records,
    batches: list[list[int]] | None,
    noise: Values,
    *,
    may_refuse: bool = True,
) -> Run:
    """x after one iteration with this noise, as the reference would have shown the same gradient; [1, 1, p]."""
    session, algorithm, parameters = context.session, context.mode.algorithm, claimed.parameters
    if context.hides:
        moved = noised_gradients(context, records, parameters, noise, batches, may_refuse=may_refuse)
        if moved is None:
            raise NotApplicable(UNSEEN)
        return reference_run(algorithm, parameters, {key: each[None] for key, each in moved.items()}, claimed.columns)
    name = session.send(records, may_refuse=may_refuse)
    if not context.can(Capability.REPLAY):
        if context.own:
            raise NotApplicable(UNREAD)
        quiet = quietened(algorithm, parameters)
        return context.trials_of(session, name, quiet, 1, None, may_refuse=may_refuse)
    run = with_count(session.replay(name, algorithm, parameters, noise, batches, may_refuse=may_refuse))
    return as_the_reference(context, parameters, run, claimed.records, quiet=True) if context.own else run


def _share(
    context: Context,
    claimed: Claimed,
    records: Records,
    batches: list[list[int]] | None,
    *,
    noise: Values,
    usual: tuple[Run, float, float],
) -> float:
    """How far the record moved x, over what is allowed; infinite where the output is not finite."""
    try:
        run = _step(context, claimed, records, batches, noise)
    except AdapterFault as fault:
        if fault.fault is not Fault.NOT_FINITE:
            raise
        return np.inf
    before, allowed, slack = usual
    return max(0.0, float(np.linalg.norm(run.x - before.x)) - slack) / allowed


def _answer(claimed: Claimed, moved: list[Moved], most: float) -> Answer:
    worst = max(moved, key=lambda each: each.share)
    text = f"one step moves by {worst.share:.6g} times what is allowed when {worst.change}, n = {claimed.records:,}"
    drawn = {each.change: (each.share, 1.0) for each in moved if np.isfinite(each.share)}
    test = Test(
        "moves-with-a-record",
        Aspect.CLIPPING,
        0.0 if worst.share > most else 1.0,
        text,
        Cause.CONTRIBUTION,
        deterministic=True,
        draw=lambda: against_claim(
            "The sensitivity witness",
            "How far one step moves when one record of the batch is replaced.",
            drawn,
            "share of what is allowed",
        ),
        witness=text,
    )
    return Answer("ordinary records, one replaced", claimed.size, len(moved), (test,), (Aspect.CLIPPING,))


QUESTIONS = (
    Question(
        "dependence",
        dependence,
        "updates that depend on the data by more than one record's share: columns scaled by statistics of the data, "
        "steps that are skipped or shortened where a gradient is large, weights of the batch",
        ("SENS-GRADIENT", "SENS-X"),
        (Size.SMALL, Size.CLAIMED),
        needs=OBSERVABLE,
        modes=(*EVERY_MODE, Mode(Algorithm.DPSGD)),
        statistical=False,
        settles_updates=True,
    ),
)
