"""Many runs without a seed: the quietest of all, the tails of all values, and whether two runs drew alike.

1. Runs of the claimed length, as many as fit: what fails rarely *and* late.
2. Short runs on as many records, which are many more.
3. Requests for a single run, by the hundred: a generator that is seeded from few bits, or from the clock, repeats.
4. Short runs on few records, by the thousand, with every loss and regularizer that is offered in turn.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from verification.questions import scenes
from verification.questions.noise import smaller
from verification.questions.question import Answer, Question, Size
from verification.reading.context import (
    FEWER_OF_ITS_OWN,
    FEWER_VALUES,
    Claimed,
    Clock,
    Context,
    NotApplicable,
    NotNeeded,
    joined,
)
from verification.reading.replayed import read_noise
from verification.statistics.noise_shape import TAILS, beyond, louder, repeats, without_scale
from verification.statistics.noise_size import Grams
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Cause, Test, union
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import options_for
from verification.wire.parameters import LossName, RegularizerName
from verification.wire.records import Records, Run

_SHORT_VALUES = 192
_SMALL_RECORDS = 64
_SMALL_BATCH = 32
_WHOLE_RUNS, _SIZED_RUNS, _REQUESTS, _SMALL_RUNS = 160, 1000, 600, 3000
_RUNS_A_REQUEST = 200
_REMEMBERED, _RUNS_AT_MOST = 1_200_000, 16_384
_RECORDS_SEEN, _VALUES_SHOWN = 2_000_000, 1_500_000
# its proximal map is slow, and says nothing that the others do not
_LEFT_OUT = (RegularizerName.NUCLEAR,)


@dataclass(slots=True, eq=False)
class ManyRuns:
    """What many requests showed: every run's noise, and how many values lie far out."""

    rng: np.random.Generator
    first: int  # draws before this one may hold a start at another point: their tails are not looked at
    parts: list[RunEnergies] = field(default_factory=list)
    values: int = 0
    beyond: list[int] = field(default_factory=lambda: [0] * len(TAILS))
    vectors: list[Floats] = field(default_factory=list)
    grams: Grams = field(default_factory=Grams)

    def add(self, noise: dict[str, Floats], *, whole: bool) -> None:
        """Count the runs of one request."""
        self.parts.append(RunEnergies.of(noise, whole=whole))
        for name, array in noise.items():
            self.grams.add(name, array)
            self.vectors.append(array.reshape(-1, array.shape[2]))
            sizes = np.abs(without_scale(array, self.rng)[:, self.first :][~louder(array)[:, self.first :]])
            self.values += sizes.size
            self.beyond = [n + int(np.sum(sizes > at)) for n, at in zip(self.beyond, TAILS, strict=True)]

    def tests(self) -> list[Test]:
        """The quietest run, the tails, and whether two of all noise vectors are one."""
        p_value, at = union(beyond("all values", self.values, self.beyond))
        shape = Test("noise-tails", Aspect.NOISE, p_value, f"least likely: {at}", Cause.NOISE_LAW)
        fresh = repeats("noise-freshness", np.vstack(self.vectors))
        p_value, at = union(self.grams.families())
        found = f"least likely: {at}" if at else "too few runs of one length"
        turned = Test("noise-directions", Aspect.NOISE, p_value, found, Cause.NOISE_SMALL)
        return [RunEnergies.joined(self.parts).test(), shape, turned, fresh]


@dataclass(frozen=True, slots=True)
class Sent:
    """Silent records behind the wire, and what is run on them."""

    name: str
    records: Records
    claimed: Claimed


def _sent(context: Context, claimed: Claimed) -> Sent:
    records = scenes.silent(claimed.records, claimed.columns, context.rng)
    return Sent(context.session.send(records), records, claimed)


def _requests(context: Context, sent: Sent, *, wanted: int, at_once: int, seconds: float) -> Iterator[Run]:
    """So many runs, a request at a time, until the time is up; at least one request, none where it is refused."""
    spent, runs, size = 0.0, 0, 1
    while runs < wanted and (not runs or spent < seconds):
        size = min(size, wanted - runs)
        try:
            run = context.unseeded(sent.name, sent.claimed, size)
        except RefusedRequest:  # it does not run this size, or with these words: the others are asked
            return
        took = context.session.last_seconds
        spent, runs = spent + took, runs + size
        yield run
        # four times as many as long as a request stays short, so that a slow implementation is not asked for too much
        size = min(at_once, 4 * size) if 8 * took < seconds else size


def _noise(context: Context, sent: Sent, *, wanted: int, at_once: int, seconds: float) -> Iterator[dict[str, Floats]]:
    """The noise of so many runs, a request at a time."""
    for run in _requests(context, sent, wanted=wanted, at_once=at_once, seconds=seconds):
        yield read_noise(context, sent.name, sent.claimed, sent.records, run)


def _settings(context: Context, claimed: Claimed) -> list[Claimed]:
    """The claimed one, then every other loss and regularizer that is offered."""
    offered = context.description
    others: list[tuple[LossName, RegularizerName]] = [
        (loss, penalty) for loss in offered.losses for penalty in offered.regularizers if penalty not in _LEFT_OUT
    ]
    own = (claimed.parameters.loss, claimed.parameters.regularizer)
    if claimed.scheme.law.name != "GAUSSIAN":
        others = []
    rho, columns = claimed.parameters.rho, claimed.columns
    return [
        claimed,
        *(
            claimed.with_parameters(loss=loss, regularizer=penalty, options=options_for(penalty, columns, rho))
            for loss, penalty in others
            if (loss, penalty) != own
        ),
    ]


def _small_batches(claimed: Claimed) -> Claimed:
    batch = claimed.parameters.batch
    return claimed if batch is None else claimed.with_parameters(batch=min(batch, _SMALL_BATCH))


def _cheap(claimed: Claimed, most: int) -> int:
    """So many runs, or as many as look at a bearable number of records and show a bearable number of values."""
    iterations = claimed.parameters.iterations
    seen = (claimed.parameters.batch or claimed.records) * iterations
    return max(1, min(most, _RECORDS_SEEN // seen, _VALUES_SHOWN // (iterations * claimed.columns)))


def _answering(context: Context, small: Claimed, sized: Sent, fewer: Claimed) -> tuple[Sent, Sent]:
    """What single runs and what many runs are asked of: the smallest that the implementation does not refuse."""
    for single, many in _smaller_first(context, small, sized, fewer):
        with contextlib.suppress(RefusedRequest):
            context.unseeded(single.name, single.claimed, 1)
            context.unseeded(many.name, many.claimed, 1)
            return single, many
    raise NotApplicable("short runs and small data are refused")


def _smaller_first(context: Context, small: Claimed, sized: Sent, fewer: Claimed) -> Iterator[tuple[Sent, Sent]]:
    with contextlib.suppress(RefusedRequest):
        tiny = _sent(context, small)
        yield Sent(tiny.name, tiny.records, small.shortened(1)), tiny
        yield tiny, tiny
    yield sized, sized
    long = Sent(sized.name, sized.records, fewer)
    yield long, long


def many_runs(context: Context, claimed: Claimed | None, clock: Clock) -> Answer:
    """Count the noise of many runs."""
    if claimed is None:
        raise NotNeeded("asked at the claimed size")
    context.require_private()
    wanted = max(1, math.ceil(_SHORT_VALUES / claimed.columns))
    short = claimed.shortened(wanted if context.sees_every_iterate else 1)
    small = smaller(short, _SMALL_RECORDS)
    seconds = clock.seconds / 4
    tally = ManyRuns(context.rng, first=1 if context.sees_every_iterate else 0)
    fewer = claimed.fitting(FEWER_VALUES)
    sized = _sent(context, fewer.shortened(short.parameters.iterations))
    fewer_runs = FEWER_OF_ITS_OWN if context.own else 1
    if context.sees_every_iterate and not context.own:
        # in smaller batches, which cost less: what is looked for here is rare and late
        long = fewer if fewer is claimed else _small_batches(fewer)
        at_length = Sent(sized.name, sized.records, long)
        for noise in _noise(context, at_length, wanted=_cheap(long, _WHOLE_RUNS), at_once=16, seconds=seconds):
            tally.add(noise, whole=fewer is claimed)
    at_once = _RUNS_A_REQUEST
    wanted = _cheap(short, _SIZED_RUNS // fewer_runs)
    for noise in _noise(context, sized, wanted=wanted, at_once=at_once, seconds=seconds):
        tally.add(noise, whole=sized.claimed is claimed)
    single, many = _answering(context, small, sized, fewer)
    # read all together: what takes the time is the reading of one run, not of many
    runs = list(_requests(context, single, wanted=_REQUESTS // min(2, fewer_runs), at_once=1, seconds=seconds))
    noise = read_noise(context, single.name, single.claimed, single.records, joined(runs))
    tally.add(noise, whole=False)
    settings = _settings(context, many.claimed)
    for setting in settings:
        here = Sent(many.name, many.records, setting)
        each = _cheap(setting, max(1, -(-_SMALL_RUNS // (fewer_runs * len(settings)))))
        for noise in _noise(context, here, wanted=each, at_once=at_once, seconds=seconds / len(settings)):
            tally.add(noise, whole=False)
    if not context.own:
        # so many values that a pool of a million starts again: only whether they come twice is looked at
        left = max(1, -(-_REMEMBERED // max(1, many.claimed.parameters.iterations * claimed.columns)))
        for noise in _noise(context, many, wanted=left, at_once=_RUNS_AT_MOST, seconds=seconds):
            tally.vectors += [array.reshape(-1, array.shape[2]) for array in noise.values()]
    energies = RunEnergies.joined(tally.parts)
    title = f"many runs, {len(runs)} requests for one, {len(settings)} losses and regularizers"
    tests = tuple(tally.tests())
    covers, vectors = (Aspect.NOISE,), tuple(tally.vectors)
    return Answer(title, sized.claimed.size, energies.runs, tests, covers, energies=energies, vectors=vectors)


QUESTIONS = (
    Question(
        "many-runs",
        many_runs,
        "noise that is missing or too small in one run of many; generators that are seeded from few bits or the clock",
        ("THEOREM-1", "THEOREM-3", "E18"),
        (Size.CLAIMED,),
    ),
)
