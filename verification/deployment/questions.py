"""What is asked at the claimed size, each question complete in itself: it sends its data, runs, and looks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.deployment import scenes
from verification.deployment.claimed import Claimed
from verification.deployment.last_model import last_deviation, without_penalty
from verification.deployment.marked import marked_look, quiet_noise
from verification.deployment.noise_tests import size_sightings
from verification.deployment.rare import Census
from verification.deployment.reading import standard_noise
from verification.deployment.shape_tests import shape_sightings
from verification.deployment.sighting import Aspect, Look
from verification.deployment.whole_replay import inputs, replay_sightings
from verification.picture import Draw
from verification.pictures import quantiles
from verification.wire.arrays import Floats
from verification.wire.messages import Capability, Show
from verification.wire.records import Records, Run

_FEW, _MORE = 16, 128
_SHORT_VALUES = 192
_LAST_VALUES = 1024
_SMALL_RECORDS = 64
_MOST_RUNS = 4000
_RUNS_A_REQUEST = 200
_ITERATIONS_WANTED, _RECORDS_SEEN, _MOST_REPEATED = 2000, 2_000_000, 20


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A look, and the runs whose noise can be counted for rare failures."""

    look: Look
    census: Census | None = None
    noise: dict[str, Floats] | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """How long a question may take, and how many iterations fit."""

    seconds: float

    def fitting(self, context: Context, name: str, claimed: Claimed) -> Claimed:
        """The claimed number of iterations, or as many as fit: measured on a few of them."""
        few, more = claimed.shortened(_FEW), claimed.shortened(_MORE)
        if few is claimed:
            return claimed
        first = self._took(context, name, few)
        each = first / few.parameters.iterations
        if each * claimed.parameters.iterations > self.seconds and more is not claimed:
            # part of it was for the request, not for the iterations
            longer = more.parameters.iterations - few.parameters.iterations
            each = max(self._took(context, name, more) - first, 1e-9) / max(1, longer)
        return claimed.shortened(max(few.parameters.iterations, int(self.seconds / max(each, 1e-9))))

    def _took(self, context: Context, name: str, claimed: Claimed) -> float:
        run_without_seed(context, name, claimed, 1)
        return context.session.last_seconds


class NotNeeded(NotApplicable):
    """Raised by a question that has nothing to look for here: leaving it out leaves nothing uncovered."""


Ask = Callable[[Context, Claimed, Clock], Asked]


@dataclass(frozen=True, slots=True)
class Question:
    """One scene: what it is called, what it can show, and how it is asked."""

    name: str
    aspects: tuple[Aspect, ...]
    ask: Ask


def run_without_seed(context: Context, name: str, claimed: Claimed, count: int) -> Run:
    """As in production: no seed. Always with an axis for the iteration."""
    return context.trials_of(context.session, name, claimed.parameters, count, None)


def repeated(claimed: Claimed) -> int:
    """How many whole runs: one of many iterations, several of few, as far as that is cheap."""
    by_length = _ITERATIONS_WANTED // claimed.parameters.iterations
    seen = claimed.parameters.batch or claimed.records
    by_cost = _RECORDS_SEEN // (seen * claimed.parameters.iterations)
    return max(1, min(_MOST_REPEATED, by_length, by_cost))


def _private(claimed: Claimed) -> None:
    if not claimed.private:
        raise NotNeeded(f"{claimed.mode} adds no noise and claims no privacy")


def _every_iterate(context: Context) -> None:
    if not context.sees_every_iterate:
        raise NotApplicable("needs every iterate, which the implementation does not show in full")


def silent(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise of every iteration of a run on records without gradient."""
    _private(claimed)
    _every_iterate(context)
    records = scenes.silent(claimed.records, claimed.columns, context.rng)
    name = context.session.send(records)
    used = clock.fitting(context, name, claimed)
    runs = repeated(used)
    noise = standard_noise(used, records, run_without_seed(context, name, used, runs))
    found = [*size_sightings("on silent records", noise), *shape_sightings("on silent records", noise, context.rng)]
    look = Look(
        "silent records", used.size, runs, tuple(found), (Aspect.NOISE,), pictures=_drawn("silent records", noise)
    )
    return Asked(look, Census.of(noise), noise)


def _drawn(where: str, noise: dict[str, Floats] | None) -> dict[Aspect, Draw]:
    if noise is None:
        return {}
    kept = list(noise.values())
    return {Aspect.NOISE: lambda: quantiles(where, kept)}


def mixed(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise of every iteration on ordinary records with outliers among them, and a replay of the same length."""
    _private(claimed)
    scene = scenes.mixed(claimed.records, claimed.columns, claimed.parameters.bound, context.rng)
    if not scene.outside.shape[1]:
        raise NotApplicable("one column: nothing lies outside of what the records span")
    name = context.session.send(scene.records)
    found, covers, used, census, noise, runs = [], [], claimed, None, None, 1
    if context.sees_every_iterate:
        used = clock.fitting(context, name, claimed)
        runs = repeated(used)
        noise = standard_noise(used, scene.records, run_without_seed(context, name, used, runs), scene.outside)
        where = "on ordinary records and outliers"
        found += [*size_sightings(where, noise), *shape_sightings(where, noise, context.rng)]
        covers.append(Aspect.NOISE)
        census = Census.of(noise)
    if context.can(Capability.REPLAY):
        given, batches = inputs(used, context.rng)
        again = context.session.replay(name, used.mode.algorithm, used.parameters, given, batches)
        found += replay_sightings(used, scene.records, again, given, batches)
        covers.append(Aspect.UPDATES)
    if not covers:
        raise NotApplicable("needs every iterate or replay")
    title = f"ordinary records, {scene.outliers} outliers"
    look = Look(title, used.size, runs, tuple(found), tuple(covers), pictures=_drawn(title, noise))
    return Asked(look, census, noise)


def marked(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """Who is in the batch, and how much each counts."""
    if "batch" not in claimed.scheme.takes:
        raise NotNeeded(f"{claimed.mode} draws no batches")
    _every_iterate(context)
    quiet = quiet_noise(claimed) if claimed.private else claimed
    m = claimed.parameters.batch or 1
    scene = scenes.marked(claimed.records, claimed.columns, m, claimed.parameters.bound, context.rng)
    name = context.session.send(scene.records)
    used = clock.fitting(context, name, quiet)
    return Asked(marked_look(used, scene, run_without_seed(context, name, used, repeated(used))))


def last(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise in the last model of whole runs, where nothing else is shown."""
    _private(claimed)
    if context.sees_every_iterate:
        raise NotNeeded("every iterate is shown, and looked at")
    plain = without_penalty(claimed)
    deviation = last_deviation(plain)
    if deviation is None:
        raise NotApplicable(f"the law of the last model of {claimed.mode} is not known in closed form")
    records = scenes.silent(claimed.records, claimed.columns, context.rng)
    name = context.session.send(records)
    runs = max(2, math.ceil(_LAST_VALUES / claimed.columns))
    spent, rows = 0.0, list[Floats]()
    while len(rows) < runs and (not rows or spent < clock.seconds):
        run = context.session.trials(name, plain.mode.algorithm, plain.parameters, 1, show=Show.LAST)
        spent += context.session.last_seconds
        rows.append(run.x[0] / deviation)
    noise = {"last model": np.array(rows)[:, None]}
    where = "in the last model"
    found = [*size_sightings(where, noise), *shape_sightings(where, noise, context.rng)]
    title = "silent records, last model alone"
    look = Look(title, plain.size, len(rows), tuple(found), (Aspect.NOISE,), pictures=_drawn(title, noise))
    return Asked(look, Census.of(noise), noise)


def rare(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """Many short runs in many requests: the quietest of all."""
    _private(claimed)
    wanted = max(1, math.ceil(_SHORT_VALUES / claimed.columns))
    steps = min(claimed.parameters.iterations, wanted if context.sees_every_iterate else 1)
    short = dataclasses.replace(_small(claimed), columns=claimed.columns).shortened(steps)
    records: Records = scenes.silent(short.records, short.columns, context.rng)
    name = context.session.send(records)
    spent, parts = 0.0, list[Census]()
    while sum(part.runs for part in parts) < _MOST_RUNS and (not parts or spent < clock.seconds):
        run = run_without_seed(context, name, short, _RUNS_A_REQUEST)
        spent += context.session.last_seconds
        parts.append(Census.of(standard_noise(short, records, run)))
    census = Census.joined(parts)
    drawn: dict[Aspect, Draw] = {Aspect.NOISE: census.picture}
    found = (census.sighting("of many"),)
    look = Look("many short runs", short.size, census.runs, found, (Aspect.NOISE,), pictures=drawn)
    return Asked(look, census)


def _small(claimed: Claimed) -> Claimed:
    """Few records, the claimed noise: for runs by the thousand."""
    count = min(claimed.records, max(_SMALL_RECORDS, claimed.parameters.parties or 1))
    small = dataclasses.replace(claimed, records=count)
    batch = claimed.parameters.batch
    return small if batch is None else small.with_parameters(batch=min(batch, max(1, count // 8)))


QUESTIONS = (
    Question("silent", (Aspect.NOISE,), silent),
    Question("mixed", (Aspect.NOISE, Aspect.UPDATES), mixed),
    Question("marked", (Aspect.BATCHES, Aspect.CLIPPING), marked),
    Question("last", (Aspect.NOISE,), last),
    Question("rare", (Aspect.NOISE,), rare),
)
