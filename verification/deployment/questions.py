"""What is asked at the claimed size, each question complete in itself: it sends its data, runs, and looks."""

from __future__ import annotations

import contextlib
import math

import numpy as np

from accountant.mechanisms.words import Algorithm
from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.deployment import scenes
from verification.deployment.alike import alike
from verification.deployment.asking import (
    Asked,
    Clock,
    NotNeeded,
    Question,
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
from verification.deployment.reading import grain, standard_noise
from verification.deployment.shape_tests import shape_sightings
from verification.deployment.sighting import Aspect, Look
from verification.deployment.whole_replay import inputs, replay_sightings
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import Capability, Show

_LAST_VALUES = 1024
_FEW_ITERATIONS = 4


def silent(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise of every iteration of a run on records without gradient."""
    require_private(claimed)
    require_every_iterate(context)
    records = scenes.shared_silent(claimed.records, claimed.columns, context.scene_seed)
    name = context.session.send_once(records)
    fitting = clock.fitting(context, name, claimed)
    used = fitting.used
    runs = repeated(used)
    run = run_without_seed(context, name, used, runs)
    noise = standard_noise(used, records, run)
    # what repeats itself in another request does so in a few iterations: those of the clock will do, and those once
    # more in the very same words, for what is kept by request or drawn from a seed that is made of it
    start = fitting.start or another_request(context, name, used)
    same = joined([start.run, run_without_seed(context, name, start.claimed, 1)])
    again = standard_noise(start.claimed, records, same)
    where = "on silent records"
    found = [
        *size_sightings(where, noise),
        *shape_sightings(where, noise, context.rng, max(grain(used, run), grain(start.claimed, same)), again),
    ]
    look = Look("silent records", used.size, runs, tuple(found), (Aspect.NOISE,), pictures=drawn(where, noise))
    return Asked(look, Census.of(noise, whole=used is claimed), noise)


def mixed(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The noise of every iteration on ordinary records with outliers among them, and a replay of the same length."""
    require_private(claimed)
    scene = scenes.shared_mixed(claimed.records, claimed.columns, claimed.parameters.bound, context.scene_seed)
    if not scene.outside.shape[1]:
        raise NotApplicable("one column: nothing lies outside of what the records span")
    name = context.session.send_once(scene.records)
    found, covers, used, census, noise, runs = [], [], claimed, None, None, 1
    if context.sees_every_iterate:
        used = clock.fitting(context, name, claimed).used
        runs = repeated(used)
        run = run_without_seed(context, name, used, runs)
        noise = standard_noise(used, scene.records, run, scene.outside)
        where = "on ordinary records and outliers"
        found += [*size_sightings(where, noise), *shape_sightings(where, noise, context.rng, grain(used, run))]
        covers.append(Aspect.NOISE)
        census = Census.of(noise, whole=used is claimed)
    if context.can(Capability.REPLAY):
        given, batches = inputs(used, context.rng)
        with contextlib.suppress(RefusedRequest):  # what it runs is looked at; replays are compared at small sizes
            again = context.session.replay(name, used.mode.algorithm, used.parameters, given, batches)
            found += replay_sightings(used, scene.records, again, given, batches)
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
            run = run_without_seed(context, name, used, repeated(used))
            again = None if used.parameters.batch is None else another_request(context, name, used)
            return Asked(marked_look(used, scene, run, again))
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
    Question("silent", (Aspect.NOISE,), silent, as_claimed=True),
    Question("mixed", (Aspect.NOISE, Aspect.UPDATES), mixed, as_claimed=True),
    Question("marked", (Aspect.BATCHES, Aspect.CLIPPING), marked),
    Question("alike", (Aspect.CLIPPING, Aspect.NOISE), alike),
    Question("kinds", (Aspect.NOISE,), kinds),
    Question("last", (Aspect.NOISE,), last, as_claimed=True),
    Question("rare", (Aspect.NOISE,), rare),
)
