r"""The noise: its size, shape, independence and freshness, where the gradient is known or has no part.

`silent`: no record has a gradient. `mixed`: ordinary records with outliers; what they do not span is noise, whatever
the batch was. `last`: the last model of whole runs, where nothing else is shown. `processes` and `seeds`: what two new
processes, and neighbouring seeds, draw. `data shapes`: short runs on many kinds of data with columns that are 0.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from verification.questions import scenes
from verification.questions.as_replayed import noise_as_replayed
from verification.questions.question import (
    OBSERVABLE,
    Answer,
    Question,
    Size,
    drawn,
)
from verification.reading.context import (
    FEWER_OF_ITS_OWN,
    FEWER_VALUES,
    Claimed,
    Clock,
    Context,
    NotApplicable,
    NotNeeded,
    Start,
    another_request,
    joined,
    repeated,
    require_every_iterate,
)
from verification.reading.replayed import READABLE, grain, inputs, noise_of_runs, read_noise, replay_tests
from verification.reading.values import common_step, last_deviation, on_grid, standard_noise, without_penalty
from verification.statistics.noise_shape import FEWEST_EQUAL, commonest, length_test, repeats, shape_tests
from verification.statistics.noise_size import size_tests
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Cause, TailFamily, Test, union
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import Capability, Show, initial_point
from verification.wire.parameters import Law
from verification.wire.records import Records, Run
from verification.wire.session import Session

_LAST_VALUES = 1024
_SHORTER = (200, 50)
_SMALL_RECORDS, _SMALL_COLUMNS, _SMALL_ITERATIONS = 8, 6, 3
_SMALL_RUNS, _SMALL_AGAIN = 2000, 500
_ROUNDINGS_OF_A_GRADIENT = 16
_SMALL_SIGMA = 3.0  # well above C = 1: clipping after the noise, or noise in other units, shows


def small_run(context: Context, batch: int = 3) -> Claimed:
    """A few iterations at ordinary step sizes on a few records, run many times; one where only the last is shown.

    The start is named where the implementation can be told it: a random one is read as noise of the first iteration.
    """
    wanted = 4 if "inner" in context.scheme.takes else _SMALL_ITERATIONS  # two epochs of two steps
    iterations = context.iterations(wanted) if context.sees_every_iterate else 1
    parameters = context.parameters(
        _SMALL_COLUMNS,
        eta=[1.0 / (k + 1) for k in range(iterations)],
        batch=batch,
        sigma=_SMALL_SIGMA,
        rho=0.5,
        lambda_=context.penalty(0.1),
        initial=initial_point(*np.zeros((3, _SMALL_COLUMNS))) if context.can(Capability.INITIAL) else None,
    )
    return Claimed(context.mode, _SMALL_RECORDS, _SMALL_COLUMNS, parameters, context.count(_SMALL_RUNS))


def silent(context: Context, at_size: Claimed | None, clock: Clock) -> Answer:
    """The noise of every iteration of runs on records without gradient."""
    claimed = at_size or small_run(context)
    context.require_private()
    if at_size is not None:
        require_every_iterate(context)
    if context.hides:
        return noise_as_replayed(context, claimed)
    records = scenes.shared_silent(claimed.records, claimed.columns, context.scene_seed)
    name = context.session.send_once(records)
    fitting = clock.fitting(context, name, claimed)
    used, run, noise = _noise_of_a_run(context, Scene(name, records), fitting.used)
    # what repeats itself in another request does so in a few iterations: those of the clock will do, and those once
    # more in the very same words, for what is kept by request or drawn from a seed that is made of it
    start = fitting.start or _another(context, name, used)
    same = joined([start.run, context.unseeded(name, start.claimed, len(start.run.x))])
    again = read_noise(context, name, start.claimed, records, same)
    exactly = None if context.own else max(grain(used, run), grain(start.claimed, same))
    step, shared = _grid(context, used, noise, exactly)
    constant = _constant(context, used, noise, exactly)
    shapes = shape_tests(noise, context.rng, exactly, again, step=step, shared=shared, constant=constant)
    found = [
        *size_tests(noise, run.values),
        *shapes,
        *([length_test(noise)] if used.scheme.law is Law.OBJECTIVE else []),
    ]
    vectors = tuple(array.reshape(-1, array.shape[2]) for array in noise.values())
    answer = _answer("silent records", used, run, found, noise, whole=used is at_size)
    return dataclasses.replace(answer, vectors=vectors)


def _another(context: Context, name: str, used: Claimed) -> Start:
    if used.runs is None:
        return another_request(context, name, used)
    return Start(used, context.unseeded(name, used, min(used.runs, context.count(_SMALL_AGAIN))))


def _answer(
    title: str,
    used: Claimed,
    run: Run,
    found: list[Test],
    noise: dict[str, Floats] | None,
    *,
    whole: bool,
    covers: tuple[Aspect, ...] = (Aspect.NOISE,),
) -> Answer:
    draw = drawn(title, noise)
    tests = tuple(dataclasses.replace(t, draw=draw) if t.aspect is Aspect.NOISE else t for t in found)
    energies = None if noise is None else RunEnergies.of(noise, whole=whole)
    return Answer(title, used.size, len(run.x), tests, covers, energies=energies, noise=noise)


def _grid(context: Context, claimed: Claimed, noise: dict[str, Floats], exactly: float | None) -> tuple[float, bool]:
    """The step of the noise's grid, 0 where there is none, and whether what it is added to lies on it as well.

    With exact discrete noise it does. Noise on a grid that a gradient is not on hides nothing of where between the
    points the gradient lies.
    """
    values = np.concatenate([array.ravel() for array in noise.values()])
    step = 0.0 if exactly is None else common_step(values, exactly)
    if not step:
        return 0.0, False
    scene = _mixed_records(context, claimed)
    once = claimed.shortened(1)
    run = context.unseeded(context.session.send_once(scene.records), once, 1)
    nothing = Records(np.zeros_like(scene.records.features[:1]), scene.records.labels[:1])
    noised = standard_noise(once, nothing, run)
    return step, all(on_grid(array, step, grain(once, run)) for array in noised.values())


def _constant(context: Context, claimed: Claimed, noise: dict[str, Floats], exactly: float | None) -> float | None:
    """What post-processing shows in place of some noisy values, such as the small ones; None where nothing is.

    Where noise itself is missing the same shows on equal records too, whose gradient is known and not 0.
    """
    if exactly is None or claimed.mode.algorithm not in READABLE:
        return None
    found = commonest(np.concatenate([array.ravel() for array in noise.values()]), exactly)
    if found is None:
        return None
    rows = np.ones((claimed.records, claimed.columns)) * claimed.parameters.bound / np.sqrt(claimed.columns)
    records = Records(rows, np.ones(claimed.records, dtype=np.int64))
    run = context.unseeded(context.session.send(records), claimed, repeated(claimed))
    there = np.concatenate([array.ravel() for array in standard_noise(claimed, records, run).values()])
    near = np.abs(there - found) <= _ROUNDINGS_OF_A_GRADIENT * max(exactly, grain(claimed, run))
    return None if np.sum(near) >= FEWEST_EQUAL else found


def _mixed_records(context: Context, claimed: Claimed) -> scenes.Mixed:
    extreme = context.within(scenes.EXTREME, claimed.parameters.bound)
    extreme = extreme if claimed.runs is None else scenes.LONG
    return scenes.shared_mixed(claimed.records, claimed.columns, claimed.parameters.bound, context.scene_seed, extreme)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Records behind the wire, and what they do not span where that matters."""

    name: str
    records: Records
    outside: Floats | None = None


def _noise_of_a_run(context: Context, scene: Scene, claimed: Claimed) -> tuple[Claimed, Run, dict[str, Floats]]:
    """Run and read the noise; shorter where noise has to be found by replays and is not found at this length."""
    lengths = [claimed, *(claimed.shortened(k) for k in _SHORTER if context.own and claimed.runs is None)]
    for number, used in enumerate(lengths):
        count = 1 if context.own and used.runs is None else repeated(used)
        run = context.run(scene.name, used.parameters, count)
        try:
            return used, run, read_noise(context, scene.name, used, scene.records, run, outside=scene.outside)
        except NotApplicable:
            if number == len(lengths) - 1:
                raise
    raise AssertionError("one of them was asked")


def mixed(context: Context, at_size: Claimed | None, clock: Clock) -> Answer:
    """The noise of every iteration on ordinary records with outliers among them, and a replay of the same length."""
    claimed = at_size or small_run(context)
    context.require_private()
    scene = _mixed_records(context, claimed)
    if not scene.outside.shape[1]:
        raise NotApplicable("one column: nothing lies outside of what the records span")
    name = context.session.send_once(scene.records)
    found, covers, used, noise = list[Test](), list[Aspect](), claimed, None
    run = Run({"x": np.zeros((1, 1, 1))})
    if context.sees_every_iterate if at_size is not None else context.can(Capability.TRIALS):
        fitting = clock.fitting(context, name, claimed).used
        used, run, noise = _noise_of_a_run(context, Scene(name, scene.records, scene.outside), fitting)
        exactly = None if context.own else grain(used, run)
        found += [*size_tests(noise), *shape_tests(noise, context.rng, exactly)]
        covers.append(Aspect.NOISE)
    if context.can(Capability.REPLAY):
        given, batches = inputs(used, context.rng)
        with contextlib.suppress(RefusedRequest):  # what it runs is looked at; replays are compared at small sizes
            again = context.session.replay(name, used.mode.algorithm, used.parameters, given, batches)
            replayed = replay_tests(used, scene.records, again, context.with_noise(given), batches)
            # what was added of the noise is known in the reference's units alone
            found += [t for t in replayed if not context.own or t.aspect is Aspect.UPDATES]
            covers.append(Aspect.UPDATES)
    if not covers:
        raise NotApplicable("needs every iterate or replay")
    title = f"ordinary records, {scene.outliers} outliers"
    return _answer(title, used, run, found, noise, whole=used is at_size, covers=tuple(covers))


def last(context: Context, claimed: Claimed | None, clock: Clock) -> Answer:
    """The noise in the last model of whole runs, where nothing else is shown."""
    if claimed is None or context.sees_every_iterate:
        raise NotNeeded("every iterate is shown, and looked at")
    context.require_private()
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
    found = [*size_tests(noise), *shape_tests(noise, context.rng)]
    shown = Run({"x": np.array(rows)[:, None]})
    return _answer("silent records, last model alone", plain, shown, found, noise, whole=True)


def processes(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
    """Two new processes, asked the same first question: a seed fixed at import shows only at the same position."""
    context.require_private()
    small = small_run(context)
    count = min(small.runs or 1, context.count(_SMALL_AGAIN))
    with context.another() as first, context.another() as second:
        vectors = [row for process in (first, second) for row in _vectors(context, small, process, count, [None])]
    found = repeats("noise-differs-between-processes", np.vstack(vectors))
    return Answer("two processes", small.size, 2, (found,), ())


def seeds(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
    """Neighbouring seeds and none at all: no noise vector twice."""
    context.require_private()
    small, base = small_run(context), int(context.rng.integers(1 << 52))
    every = [0, 1, 2, base, base + 1, base + (1 << 32), None]
    found = repeats("seeds-differ", np.vstack(_vectors(context, small, context.session, context.count(100), every)))
    test = dataclasses.replace(found, detail=f"{found.detail} under seven different seeds")
    return Answer("seven seeds", small.size, len(every), (test,), ())


def _vectors(
    context: Context, small: Claimed, session: Session, count: int, every: Sequence[int | None]
) -> list[Floats]:
    """The noise of so many runs under every seed, [draws, p]."""
    records = scenes.silent_records(small.records, small.columns)
    name, found = session.send(records), list[Floats]()
    for seed in every:
        run = context.trials_of(session, name, small.parameters, count, seed)
        noise = noise_of_runs(context, records, small.parameters, run)
        found += [array.reshape(-1, array.shape[2]) for array in noise.values()]
    return found


_SHAPE_RECORDS, _VALUES, _FEWEST_RUNS, _ITERATIONS = 1000, 2000, 8, 3
DrawFeatures = Callable[[np.random.Generator, int, int, float], Floats]


def _dense(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    return rng.standard_normal((count, columns)) * bound


def _at_the_bound(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    features = _dense(rng, count, columns, bound)
    lengths = 2 * bound * np.where(np.arange(count) % 2, 1.0, 1.0 + 1e-9)
    scaled: Floats = features / np.linalg.norm(features, axis=1, keepdims=True) * lengths[:, None]
    return scaled


DATA_SHAPES: dict[str, DrawFeatures] = {
    "labels all +1": _dense,
    "labels all -1": _dense,
    "labels in order": _dense,
    "one label rare": _dense,
    "rows in order": lambda rng, count, columns, bound: np.sort(_dense(rng, count, columns, bound), axis=0),
    "few distinct rows": lambda rng, count, columns, bound: _dense(rng, 5, columns, bound)[rng.integers(5, size=count)],
    "features not negative": lambda rng, count, columns, bound: np.abs(_dense(rng, count, columns, bound)),
    "features between 0 and 1": lambda rng, count, columns, _: rng.random((count, columns)),
    "tiny features": lambda rng, count, columns, _: 1e-6 * rng.standard_normal((count, columns)),
    "whole numbers, unscaled": lambda rng, count, columns, _: np.rint(1e5 * rng.random((count, columns)) ** 8),
    "one-hot categories": lambda rng, count, columns, bound: bound * np.eye(columns)[rng.integers(columns, size=count)],
    "sparse rows": lambda rng, count, columns, bound: (
        _dense(rng, count, columns, bound) * (rng.random((count, columns)) < 0.05)
    ),
    "rows without features among others": lambda rng, count, columns, bound: (
        _dense(rng, count, columns, bound) * (np.arange(count) % 2)[:, None]
    ),
    "rows at the bound": _at_the_bound,
    "a constant column": lambda rng, count, columns, bound: np.column_stack(
        [np.full(count, bound), _dense(rng, count, columns, bound)[:, 1:]]
    ),
}


def labels_of(kind: str, rng: np.random.Generator, count: int) -> Floats:
    """Labels, as the kind says; both signs at random otherwise."""
    plain = np.where(rng.random(count) < 0.5, -1.0, 1.0)
    special_kinds = {
        "labels all +1": np.ones(count),
        "labels all -1": -np.ones(count),
        "labels in order": np.sort(plain),
        "one label rare": np.where(np.arange(count) == count // 3, 1.0, -1.0),
    }
    return special_kinds.get(kind, plain)


def records_of(kind: str, rng: np.random.Generator, count: int, columns: int, bound: float) -> tuple[Records, Floats]:
    """Records of a kind, and the columns that are 0 in all of them, as a basis [p, r]."""
    hidden = max(1, columns // 4)
    order = rng.permutation(columns)
    features = np.zeros((count, columns))
    features[:, order[hidden:]] = DATA_SHAPES[kind](rng, count, columns - hidden, bound)
    return Records(features, labels_of(kind, rng, count).astype(np.int64)), np.eye(columns)[:, order[:hidden]]


def data_shapes(context: Context, claimed: Claimed | None, clock: Clock) -> Answer:
    """The size of the noise on every kind of data."""
    if claimed is None:
        raise NotNeeded("asked at the claimed size")
    context.require_private()
    if claimed.columns == 1:
        raise NotApplicable("one column: none is 0 in all records")
    iterations = _ITERATIONS if context.sees_every_iterate else 1
    sizes = [smaller(claimed, _SHAPE_RECORDS).shortened(iterations), claimed.fitting(FEWER_VALUES)]
    spent, parts, families, refused = 0.0, list[RunEnergies](), list[TailFamily](), list[str]()
    for kind in DATA_SHAPES:
        if parts and spent > clock.seconds:
            break
        seen = _noise_on(context, kind, sizes)
        spent += context.session.last_seconds
        if seen is None:
            refused.append(kind)
            continue
        parts.append(RunEnergies.of(seen))
        families += [_size(kind, name, array) for name, array in seen.items()]
    if not parts:
        raise NotApplicable("every kind of data is refused")
    p_value, at = union(families)
    found = Test("noise-size-by-data", Aspect.NOISE, p_value, f"least likely: {at}", Cause.NOISE_SMALL)
    late = len(DATA_SHAPES) - len(parts) - len(refused)
    left = f", {late} kinds for want of time not" if late else ""
    left += f", refused: {', '.join(refused)}" if refused else ""
    energies = RunEnergies.joined(parts)
    title = f"{len(parts)} kinds of data{left}"
    return Answer(title, sizes[0].size, energies.runs, (found,), (Aspect.NOISE,), energies=energies)


def _noise_on(context: Context, kind: str, sizes: list[Claimed]) -> dict[str, Floats] | None:
    """The noise of a few runs on a kind of data; None where it is refused. Sizes before one that is run are dropped."""
    for number, size in enumerate(sizes):
        records, outside = records_of(kind, context.rng, size.records, size.columns, size.parameters.bound)
        values = size.parameters.iterations * max(1, size.columns // 4)
        try:
            name = context.session.send(records)
            wanted = _VALUES // FEWER_OF_ITS_OWN if context.own else _VALUES
            run = context.unseeded(name, size, max(_FEWEST_RUNS, -(-wanted // values)))
        except RefusedRequest:
            continue
        del sizes[:number]
        return read_noise(context, name, size, records, run, outside=outside)
    return None


def _size(kind: str, name: str, noise: Floats) -> TailFamily:
    total = float(np.sum(noise**2))
    label = f"(noise of {name}: {np.sqrt(total / noise.size):.4g} of the claimed size)"
    return TailFamily(kind, np.array([special.chdtr(noise.size, total)]), lambda _: label)


def smaller(claimed: Claimed, records: int) -> Claimed:
    """At most so many records, the claimed noise; batches of an eighth of them at most."""
    count = min(claimed.records, max(records, claimed.parameters.parties or 1))
    small = dataclasses.replace(claimed, records=count)
    batch = claimed.parameters.batch
    return small if batch is None else small.with_parameters(batch=min(batch, max(1, count // 8)))


SEEDS = Question(
    "seeds-differ",
    seeds,
    "seeds that are ignored, truncated or collide: the same noise under different seeds or under none",
    ("E18",),
    (Size.SMALL,),
    needs=(frozenset({Capability.TRIALS, Capability.SEED}),),
)
QUESTIONS = (
    # first, because it tells whether the updates are the reference's
    Question(
        "mixed",
        mixed,
        "noise scaled by the data, or switched on only where the gradient is small; noise that is given and not added",
        ("THEOREM-1", "THEOREM-3"),
        (Size.SMALL, Size.CLAIMED),
        needs=OBSERVABLE,
        as_claimed=True,
    ),
    Question(
        "silent",
        silent,
        "noise too small or of another shape: variance for deviation, a forgotten factor, one draw for all coordinates "
        "or iterations, a generator that is seeded anew, a coarse grid, truncated tails",
        ("THEOREM-1", "THEOREM-3", "E18"),
        (Size.SMALL, Size.CLAIMED),
        as_claimed=True,
    ),
    Question("processes", processes, "a fixed default seed", ("E18",), (Size.SMALL,)),
    Question(
        "data-shapes",
        data_shapes,
        "noise that depends on the kind of data: labels of one sign, sparse or constant columns, sorted rows",
        ("THEOREM-1", "THEOREM-3"),
        (Size.CLAIMED,),
    ),
    Question(
        "last",
        last,
        "noise too small in the last model, where nothing else is shown",
        ("THEOREM-1", "THEOREM-3"),
        (Size.CLAIMED,),
        as_claimed=True,
    ),
)
