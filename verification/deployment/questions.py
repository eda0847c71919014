"""What is asked at the claimed size, each question complete in itself: it sends its data, runs, and looks."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm
from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.conformance.grids import common_step, on_grid
from verification.conformance.own_updates import as_the_reference
from verification.deployment import scenes
from verification.deployment.alike import alike
from verification.deployment.asking import (
    Asked,
    Clock,
    NotNeeded,
    Question,
    Start,
    another_request,
    drawn,
    joined,
    repeated,
    require_every_iterate,
    require_private,
    run_without_seed,
)
from verification.deployment.claimed import Claimed
from verification.deployment.kinds import kinds
from verification.deployment.last_model import last_deviation, without_penalty
from verification.deployment.many_runs import rare
from verification.deployment.marked import QUIET, marked_look, quiet_noise
from verification.deployment.noise_tests import size_sightings
from verification.deployment.rare import Census
from verification.deployment.reading import grain, read_noise, standard_noise
from verification.deployment.shape_tests import shape_sightings
from verification.deployment.sighting import Aspect, Look
from verification.deployment.whole_replay import inputs, replay_sightings
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import Capability, Show
from verification.wire.records import Records, Run

_LAST_VALUES = 1024
_SHORTER = (200, 50)
_FEW_ITERATIONS = 4


def silent(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise of every iteration of a run on records without gradient."""
    require_private(claimed)
    require_every_iterate(context)
    records = scenes.shared_silent(claimed.records, claimed.columns, context.scene_seed)
    name = context.session.send_once(records)
    fitting = clock.fitting(context, name, claimed)
    used, run, noise = _noise_of_a_run(context, Scene(name, records), fitting.used)
    runs = len(run.x)
    # what repeats itself in another request does so in a few iterations: those of the clock will do, and those once
    # more in the very same words, for what is kept by request or drawn from a seed that is made of it
    start = fitting.start or another_request(context, name, used)
    same = joined([start.run, run_without_seed(context, name, start.claimed, 1)])
    again = read_noise(context, name, start.claimed, records, same)
    exactly = None if context.own else max(grain(used, run), grain(start.claimed, same))
    where = "on silent records"
    found = [
        *size_sightings(where, noise, run.values),
        *shape_sightings(where, noise, context.rng, exactly, again, step=_step(context, used, noise, exactly)),
    ]
    look = Look("silent records", used.size, runs, tuple(found), (Aspect.NOISE,), pictures=drawn(where, noise))
    return Asked(look, Census.of(noise, whole=used is claimed), noise)


def _step(context: Context, claimed: Claimed, noise: dict[str, Floats], exactly: float | None) -> float:
    """The step of the noise's grid where what it is added to lies on it as well, as with exact discrete noise; else 0.

    Noise on a grid that a gradient is not on hides nothing of where between the points the gradient lies.
    """
    values = np.concatenate([array.ravel() for array in noise.values()])
    step = 0.0 if exactly is None else common_step(values, exactly)
    if not step:
        return 0.0
    scene = scenes.shared_mixed(claimed.records, claimed.columns, claimed.parameters.bound, context.scene_seed)
    once = claimed.shortened(1)
    run = run_without_seed(context, context.session.send_once(scene.records), once, 1)
    nothing = Records(np.zeros_like(scene.records.features[:1]), scene.records.labels[:1])
    noised = standard_noise(once, nothing, run)
    return step if all(on_grid(array, step, grain(once, run)) for array in noised.values()) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Records behind the wire, and what they do not span where that matters."""

    name: str
    records: Records
    outside: Floats | None = None


def _noise_of_a_run(context: Context, scene: Scene, claimed: Claimed) -> tuple[Claimed, Run, dict[str, Floats]]:
    """Run and read the noise; shorter where noise has to be found by replays and is not found at this length."""
    lengths = [claimed, *(claimed.shortened(k) for k in _SHORTER if context.own)]
    for number, used in enumerate(lengths):
        run = run_without_seed(context, scene.name, used, 1 if context.own else repeated(used))
        try:
            return used, run, read_noise(context, scene.name, used, scene.records, run, outside=scene.outside)
        except NotApplicable:
            if number == len(lengths) - 1:
                raise
    raise AssertionError("one of them was asked")


def _as_read(context: Context, claimed: Claimed, run: Run) -> Run:
    """A run whose gradients the reference's updates show."""
    return as_the_reference(context, claimed.parameters, run, claimed.records) if context.own else run


def _another_as_read(context: Context, name: str, claimed: Claimed) -> Start:
    start = another_request(context, name, claimed)
    return Start(start.claimed, _as_read(context, start.claimed, start.run))


def mixed(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise of every iteration on ordinary records with outliers among them, and a replay of the same length."""
    require_private(claimed)
    scene = scenes.shared_mixed(claimed.records, claimed.columns, claimed.parameters.bound, context.scene_seed)
    if not scene.outside.shape[1]:
        raise NotApplicable("one column: nothing lies outside of what the records span")
    name = context.session.send_once(scene.records)
    found, covers, used, census, noise, runs = [], [], claimed, None, None, 1
    if context.sees_every_iterate:
        fitting = clock.fitting(context, name, claimed).used
        used, run, noise = _noise_of_a_run(context, Scene(name, scene.records, scene.outside), fitting)
        runs = len(run.x)
        where, exactly = "on ordinary records and outliers", None if context.own else grain(used, run)
        found += [*size_sightings(where, noise), *shape_sightings(where, noise, context.rng, exactly)]
        covers.append(Aspect.NOISE)
        census = Census.of(noise, whole=used is claimed)
    if context.can(Capability.REPLAY):
        given, batches = inputs(used, context.rng)
        with contextlib.suppress(RefusedRequest):  # what it runs is looked at; replays are compared at small sizes
            again = context.session.replay(name, used.mode.algorithm, used.parameters, given, batches)
            replayed = replay_sightings(used, scene.records, again, given, batches)
            # what was added of the noise is known in the reference's units alone
            found += [s for s in replayed if not context.own or s.aspect is Aspect.UPDATES]
            covers.append(Aspect.UPDATES)
    if not covers:
        raise NotApplicable("needs every iterate or replay")
    title = f"ordinary records, {scene.outliers} outliers"
    look = Look(title, used.size, runs, tuple(found), tuple(covers), pictures=drawn(title, noise))
    return Asked(look, census, noise)


def marked(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """Which records are in the batch, and the weight of each; without batches the weights, in a few iterations."""
    if "batch" not in claimed.scheme.takes and claimed.mode.algorithm is not Algorithm.MPADMM:
        raise NotNeeded(f"{claimed.mode} draws no batches")
    require_every_iterate(context)
    m = claimed.parameters.batch or 1
    if claimed.parameters.batch is None:
        claimed = claimed.shortened(_FEW_ITERATIONS)
    ordinary = scenes.CHANGING if "inner" in claimed.scheme.takes else scenes.ORDINARY
    scene = scenes.marked(claimed.records, claimed.columns, m, claimed.parameters.bound, context.rng, ordinary=ordinary)
    name = context.session.send(scene.records)
    quiet = [quiet_noise(claimed, share) for share in QUIET] if claimed.private else [claimed]
    for number, asked in enumerate(quiet):
        try:
            used = clock.fitting(context, name, asked).used
            run = _as_read(context, used, run_without_seed(context, name, used, repeated(used)))
            again = None if used.parameters.batch is None else _another_as_read(context, name, used)
            return Asked(marked_look(used, scene, run, again, own=context.own))
        except RefusedRequest:  # it may refuse next to no noise
            if number == len(quiet) - 1:
                raise
    raise AssertionError("one of them was asked")


def last(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise in the last model of whole runs, where nothing else is shown."""
    require_private(claimed)
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
    look = Look(title, plain.size, len(rows), tuple(found), (Aspect.NOISE,), pictures=drawn(title, noise))
    return Asked(look, Census.of(noise, whole=True), noise)


QUESTIONS = (
    # first, because it tells whether the updates are the reference's
    Question("mixed", (Aspect.NOISE, Aspect.UPDATES), mixed, as_claimed=True),
    Question("silent", (Aspect.NOISE,), silent, as_claimed=True),
    Question("marked", (Aspect.BATCHES, Aspect.CLIPPING), marked),
    # the long ones first, so that two processes end together
    Question("rare", (Aspect.NOISE,), rare),
    Question("alike", (Aspect.CLIPPING, Aspect.NOISE), alike),
    Question("kinds", (Aspect.NOISE,), kinds),
    Question("last", (Aspect.NOISE,), last, as_claimed=True),
)
