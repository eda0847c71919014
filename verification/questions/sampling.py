r"""A run on marked records with little noise: which marks each batch held, how much each added, how many records.

In mark i's own column the noisy gradient is (in the batch or not) times the record's clipped gradient over m; the
weight of the mark is the ratio of the two, 0 or 1 if all is well. In the columns that the records of each part share
it counts them. In the columns that are 0 it is the noise alone, below which, or below the rounding of released values,
nothing is read. Without batches every record is in, and over m stands over n.

What costs privacy: a mark that adds more than C/m, one that comes too often, a batch that holds too many.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from accountant.mechanisms.words import Algorithm, Sampling
from reference.clipping import clipped_slopes
from verification.outcome import Draw, Picture
from verification.pictures import shares
from verification.questions import scenes
from verification.questions.as_replayed import batches_as_replayed
from verification.questions.question import Answer, Question, Size
from verification.questions.scenes import Marked
from verification.reading.context import (
    Claimed,
    Clock,
    Context,
    NotNeeded,
    Start,
    another_request,
    repeated,
    require_every_iterate,
)
from verification.reading.inverter import INVERTERS, SvrgInverter, with_count
from verification.reading.replayed import as_the_reference
from verification.reading.values import no_noise, resolution
from verification.served.translate import problem_of
from verification.statistics.batches import PartCounts, batch_tests, by_epochs, chernoff, epoch_tests
from verification.statistics.test import Aspect, Cause, Cost, Test
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import Capability, initial_point
from verification.wire.records import Records, Run

WHOLE = 1e-3
"""How far a weight may be from a whole number: single precision inside is allowed, another weight is not."""
QUIET = (1e-9, 1e-6, 1e-4)
"""Noise over one record's part in a gradient: the least that is not refused; of more, marks cannot be read."""
_CLEAR = 1e2  # only a gradient this far above the floor is read
_UNITS = 4.0  # a weight is off by so many roundings at most: features, slope, norm and product
_ERRORS = 10.0  # a weight is allowed so many times the floor
_SHOWN = 0.25
_PRESENT = 2 * WHOLE


def quiet_noise(claimed: Claimed, share: float = QUIET[0]) -> Claimed:
    """The same with noise far below one record's part in a gradient."""
    sigma = share * claimed.parameters.bound / (claimed.parameters.batch or claimed.records)
    if claimed.parameters.inner is not None:
        return claimed.with_parameters(sigma=1e-6 * sigma, anchor_sigma=1e-6 * sigma, noise_multiplier=None)
    return claimed.with_parameters(sigma=sigma, noise_multiplier=None)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What was read: weights [runs, T, marks], where they can be read, and how many records each batch held."""

    weights: Floats
    clear: NDArray[np.bool_]
    allowed: Floats  # how far each weight may be from a whole number
    added: Floats  # what each mark added over what it may, C/m
    error: float  # how exactly that was read
    counts: Floats | None  # of the unmarked records of each part of the data, [runs, T, parts]
    counted: float  # how far rounding of released values can move a batch's sum of them
    marks: Floats  # how many marks the batch held, [runs, T]
    first: int  # iterations before this one start elsewhere and are left out


def read_weights(claimed: Claimed, scene: Marked, run: Run, unit: float = 0.0) -> Weights | None:
    """The weights of all marks; None where the noise did not become small, so that nothing can be read."""
    parameters, inside = claimed.parameters, INVERTERS[claimed.mode.algorithm]
    problem = problem_of(scene.alone, parameters)
    gradients = inside.batch_gradients(parameters, problem, run)
    x = inside.previous(parameters, problem, run).x
    own, common = _parts(claimed, scene, x)
    if isinstance(inside, SvrgInverter):
        at_anchor, common_there = _parts(claimed, scene, inside.anchors(parameters, problem, run))
        own, common = own - at_anchor, common - common_there
    m = float(parameters.batch or claimed.records)
    rounding = rounding_of(claimed, run)
    floor, first = _floor(claimed, scene, gradients, rounding)
    if floor is None:
        return None
    shown = gradients[:, :, scene.columns]
    bound = parameters.bound
    clear = np.abs(own) / m > _CLEAR * floor
    weights = np.divide(shown * m, own, out=np.zeros_like(own), where=clear)
    errors = np.divide(_ERRORS * floor * m, np.abs(own), out=np.zeros_like(own), where=clear)
    held = np.where(clear & (np.abs(weights) > _SHOWN), np.rint(weights), 0.0)
    counts, counted = None, 0.0
    if scene.shared.size and not isinstance(inside, SvrgInverter):
        alone = problem.signed[:, scene.shared]
        marks = (held * _slopes(claimed, scene.alone, x)[0]) @ alone
        with np.errstate(divide="ignore", invalid="ignore"):
            counts = (gradients[:, :, scene.shared] * m - marks) / common
            counted = float(np.sum(rounding * m / np.abs(common), axis=2).max()) if rounding else 0.0
        if not counted <= _SHOWN:
            counts = None
    # what a gradient changed by, or that of a scaled record, is bounded by what it is at that point alone
    absolute = parameters.clip is not None and not isinstance(inside, SvrgInverter)
    added = np.abs(shown) * m / bound if absolute else np.abs(weights)
    off = max(WHOLE, _UNITS * unit)
    error = max(off, _ERRORS * floor * m / bound) if absolute else float(errors.max(initial=off))
    return Weights(weights, clear, np.maximum(off, errors), added, error, counts, counted, held.sum(axis=2), first)


def rounding_of(claimed: Claimed, run: Run) -> float:
    """How far rounding x, z, y to decimals moves a gradient that is read off; 0 for single precision and better."""
    values = list(run.values.values())
    unit = max(resolution(array[:1]) for array in values)
    if unit <= max(float(np.abs(array[:1]).max()) for array in values) * 2.0**-23:
        return 0.0
    parameters = claimed.parameters
    return unit * (0.5 + parameters.rho + max(1 / eta for eta in parameters.eta))


def _floor(claimed: Claimed, scene: Marked, gradients: Floats, rounding: float) -> tuple[float | None, int]:
    """The noise that is left, and the first iteration that starts where it is said to."""
    asked = max(float(claimed.parameters.sigma or 0.0), rounding)
    if not scene.quiet.size:
        return 10 * asked, 0
    each = np.sqrt(np.mean(gradients[:, :, scene.quiet] ** 2, axis=(0, 2)))
    readable = 0.1 * claimed.parameters.bound / float(claimed.parameters.batch or claimed.records) / _CLEAR
    first = 1 if each.size > 1 and each[0] > readable >= each[1:].max() else 0
    floor = max(float(each[first:].max()), rounding)
    return (max(floor, asked), first) if floor <= readable else (None, first)


def _slopes(claimed: Claimed, records: Records, x: Floats) -> tuple[Floats, Floats]:
    """Slopes [runs, T, records] after clipping, and the signed features of the records."""
    problem = problem_of(records, claimed.parameters)
    slopes = problem.loss.slope(x @ problem.signed.T)
    if problem.clip is not None:
        slopes = clipped_slopes(slopes, problem.norms, problem.clip)
    return slopes, problem.signed


def _parts(claimed: Claimed, scene: Marked, x: Floats) -> tuple[Floats, Floats]:
    """Each mark's gradient in its own column, and that of an unmarked record of each part in the column they share."""
    slopes, signed = _slopes(claimed, scene.alone, x)
    own = slopes * signed[np.arange(len(scene.columns)), scene.columns]
    if not scene.shared.size:
        return own, np.zeros((*x.shape[:2], 0))
    rows = np.zeros((scene.shared.size, scene.records.columns))
    rows[np.arange(scene.shared.size), scene.shared] = np.abs(scene.records.features[:, scene.shared]).max(axis=0)
    slope, common = _slopes(claimed, Records(rows, np.ones(len(rows), dtype=np.int64)), x)
    return own, slope * common[np.arange(len(rows)), scene.shared]


def marked_answer(
    claimed: Claimed,
    scene: Marked,
    run: Run,
    again: Start | None = None,
    *,
    own: bool = False,
    unit: float = 0.0,
    memory: Floats | None = None,
) -> Answer:
    """Everything that marked records show; ``again`` is the start of a run of another request.

    ``own``: gradients were taken elsewhere than at the reference's x. A mark in the batch adds C/m at most, but it is
    not known how much, so that weights need not be whole. ``memory`` is the weight of a mark in the iterations after
    the one whose batch held it, where gradients are averaged over iterations.
    """
    read = _fresh(read_weights(claimed, scene, run, unit), memory)
    runs = len(run.x)
    if read is None:
        reason = "batches cannot be read off: the noise does not become small with sigma, or values are rounded"
        return Answer("marked records", claimed.size, runs, (), (), missing=reason)
    weights, clear = read.weights[:, read.first :], read.clear[:, read.first :]
    if own:
        read = dataclasses.replace(read, counts=None)
    found = _weighed(read, scene)
    whole = all(s.p_value == 1.0 for s in found)
    found = found[:1] if own else found
    counted = _counted(claimed, read, scene) if whole else []
    found += counted
    ordinary = ~scene.extreme
    held = np.abs(weights[:, :, ordinary]) > _present(read)[:, read.first :, ordinary]
    seen = np.asarray(clear[:, :, ordinary].all(axis=(0, 2))) & (claimed.parameters.batch is not None)
    sampling, epochs = claimed.parameters.sampling, False
    if seen.any() and sampling is not None:
        read_as = np.zeros((runs, read.first + held.shape[1], held.shape[2]), dtype=np.bool_)
        read_as[:, read.first :][:, seen] = held[:, seen]
        found += epoch_tests(
            read_as,
            scene.places[ordinary],
            records=claimed.records,
            batch=claimed.parameters.batch or 1,
            shuffle=sampling is Sampling.SHUFFLE,
            every=bool(seen.all()) and not read.first and not own,
        )
    elif seen.any():
        epochs = bool(seen.all()) and by_epochs(held, records=claimed.records, batch=claimed.parameters.batch or 1)
        found += batch_tests(
            held[:, seen],
            scene.places[ordinary],
            records=claimed.records,
            batch=claimed.parameters.batch or 1,
            again=None if again is None else _held_again(again, scene, seen, read.first, memory),
            parts=_part_counts(read, scene, seen) if counted and whole else None,
            groups={f"with label {label:+d}": scene.alone.labels[ordinary] == label for label in (-1, 1)},
            short=not whole or any(s.cost is Cost.NOTHING and s.p_value == 0.0 for s in counted),
        )
    covers = (Aspect.CLIPPING, *((Aspect.BATCHES,) if seen.any() else ()))
    weighed: Draw = lambda: _weights_picture(scene, np.where(clear, weights, 0.0))  # noqa: E731
    share = (claimed.parameters.batch or 1) / claimed.records
    rated: Draw = lambda: _rates_picture(scene.places[ordinary], held[:, seen], share)  # noqa: E731
    drawn = {Aspect.BATCHES: rated if seen.any() else weighed}
    tests = tuple(dataclasses.replace(t, draw=drawn.get(t.aspect, weighed)) for t in found)
    return Answer("marked records", claimed.size, runs, tests, covers, by_epochs=epochs)


def _part_counts(read: Weights, scene: Marked, seen: NDArray[np.bool_]) -> PartCounts | None:
    """How often the unmarked records of each part of the data came; nothing where that is no whole number."""
    if read.counts is None:
        return None
    counts = read.counts[:, read.first :][:, seen]
    if not np.abs(counts - np.rint(counts)).max() <= _SHOWN:
        return None
    unmarked = np.bincount(np.delete(scene.part, scene.places), minlength=scene.shared.size)
    return PartCounts(np.rint(counts).astype(np.int64).sum(axis=(0, 1)), unmarked)


def _fresh(read: Weights | None, memory: Floats | None) -> Weights | None:
    """The weights that each batch by itself gave, where they are kept on in later iterations."""
    if read is None or memory is None:
        return read
    fresh = signal.lfilter([1.0], memory[: read.weights.shape[1]], read.weights, axis=1)
    return dataclasses.replace(read, weights=fresh)


def _memory(context: Context, claimed: Claimed, scene: Marked, name: str) -> Floats | None:
    """The weights of marks that are in the first batch of a replay alone, by iteration; None where none is kept on."""
    m, ordinary = claimed.parameters.batch or 0, ~scene.extreme
    others = np.setdiff1d(np.arange(claimed.records), scene.places)
    marks = scene.places[ordinary][:m]
    if not context.can(Capability.REPLAY) or not m or others.size < m or claimed.parameters.iterations < 2:
        return None
    first = np.concatenate([marks, others[: m - marks.size]])
    batches = [first.tolist(), *[others[:m].tolist()] * (claimed.parameters.iterations - 1)]
    silence = no_noise(claimed.mode.algorithm, claimed.parameters, claimed.columns)
    run = context.session.replay(name, claimed.mode.algorithm, claimed.parameters, silence, batches)
    read = read_weights(claimed, scene, _as_read(context, claimed, with_count(run)), context.unit)
    if read is None:
        return None
    seen = np.flatnonzero(np.isin(scene.places, marks) & read.clear.all(axis=(0, 1)))
    kept: Floats = read.weights[0][:, seen].mean(axis=1) if seen.size else np.zeros(claimed.parameters.iterations)
    return kept if kept[0] > _PRESENT and np.abs(kept[1:]).max() > _PRESENT else None


def _carried_on(context: Context, claimed: Claimed, scene: Marked, run: Run) -> Floats | None:
    """The same without replay: an exponential mean of gradients, whose weights sum to at most 1; None otherwise.

    Most marks are not drawn twice in a row, so that from one iteration to the next most weights shrink by one factor.
    Batches that are kept, or come again, do not shrink, and a sum of more than 1 is no contraction: neither is read so.
    """
    read = None if context.can(Capability.REPLAY) else read_weights(claimed, scene, run, context.unit)
    if read is None or read.first or claimed.parameters.batch is None:
        return None
    weights = read.weights[:, :, ~scene.extreme]
    before, after = weights[:, :-1], weights[:, 1:]
    ratios = (after / np.where(before == 0, 1.0, before))[np.abs(before) > _PRESENT]
    kept = float(np.median(ratios)) if ratios.size else 0.0
    if not _DECAYS < kept < 1 - _DECAYS or np.mean(np.abs(ratios - kept) < _DECAYS) < _MOSTLY:
        return None
    fresh = after - kept * before
    drawn = np.concatenate([fresh[np.abs(fresh) > _PRESENT], weights[:, 0][np.abs(weights[:, 0]) > _PRESENT]])
    first = float(np.median(drawn)) if drawn.size else 0.0
    if not 0 < first <= (1 - kept) * (1 + _DECAYS):
        return None
    memory: Floats = np.array([first * kept**k for k in range(claimed.parameters.iterations)])
    return memory


def _held_again(
    again: Start, scene: Marked, seen: NDArray[np.bool_], first: int, memory: Floats | None
) -> NDArray[np.bool_] | None:
    """What the batches of another request held, in the iterations that could be read of the first one."""
    read = _fresh(read_weights(again.claimed, scene, again.run), memory)
    if read is None:
        return None
    held = np.abs(read.weights[:, first:, ~scene.extreme]) > _present(read)[:, first:, ~scene.extreme]
    return np.asarray(held[:, seen[: held.shape[1]]])


def _present(read: Weights) -> Floats:
    """From which weight on a mark is in the batch, with whatever part of it."""
    return np.maximum(_PRESENT, read.allowed)


def _weights_picture(scene: Marked, shown: Floats) -> Picture:
    return shares(
        "The sensitivity witness",
        "How much the record at each position counted for at most, over its clipped gradient over m; 1 is claimed.",
        scene.places,
        np.abs(shown).max(axis=(0, 1)),
        1.0,
        axes=("position of the record", "largest weight"),
    )


def _rates_picture(places: NDArray[np.intp], held: NDArray[np.bool_], share: float) -> Picture:
    return shares(
        "Batch positions",
        "How often the record at each marked position was drawn; the claim is the same share for all.",
        places,
        held.mean(axis=(0, 1)),
        share,
        axes=("position of the record", "share of the batches"),
    )


def _weighed(read: Weights, scene: Marked) -> list[Test]:
    """No record adds more than C/m, wherever it stands and however long it is; whether each adds what is claimed."""
    clear, allowed = read.clear[:, read.first :], read.allowed[:, read.first :]
    shown = np.where(clear, read.weights[:, read.first :], 0.0)
    added = read.added[:, read.first :].max(axis=(0, 1))
    apart = (np.abs(shown - np.rint(shown)) - allowed).max(axis=(0, 1))
    apart = np.maximum(apart, (np.abs(shown) - 1.0 - allowed).max(axis=(0, 1)))
    i, j = int(np.argmax(added)), int(np.argmax(apart))
    kind = "extreme" if scene.extreme[i] else "ordinary"
    part = float(shown[:, :, j].flat[np.argmax(np.abs(shown - np.clip(np.rint(shown), 0, 1))[:, :, j])])
    return [
        Test(
            "contribution",
            Aspect.CLIPPING,
            0.0 if not added[i] <= 1.0 + read.error else 1.0,
            f"record {scene.places[i]} (of {kind} length) adds up to {added[i]:.6g} times what it may",
            Cause.CONTRIBUTION,
            deterministic=True,
        ),
        Test(
            "batch-mean",
            Aspect.BATCHES,
            0.0 if apart[j] > 0.0 else 1.0,
            f"record {scene.places[j]} has a weight of {part:.6g}: the gradient is the mean over a batch of m clipped "
            "ones if all are 0 or 1",
            Cause.UPDATE,
            Cost.NOTHING,
            deterministic=True,
        ),
    ]


def _counted(claimed: Claimed, read: Weights, scene: Marked) -> list[Test]:
    """The number of records in each batch: m, less those extreme ones that could not be read; fewer cost nothing."""
    if read.counts is None:
        return []
    total = (read.counts.sum(axis=2) + read.marks)[:, read.first :]
    m = int(claimed.parameters.batch or claimed.records)
    hidden = int(np.sum(~read.clear[:, read.first :] & scene.extreme))
    short = m - np.rint(total)
    whole = np.abs(total - np.rint(total)).max() <= max(read.error * m, read.counted)
    over = bool((short < 0).any())
    missing = int(np.maximum(short, 0).sum())
    p_value = 1.0
    if over or not whole or missing > hidden:
        p_value = 0.0
    elif hidden and missing > hidden * m / claimed.records:
        p_value = chernoff(missing, hidden, m / claimed.records)
    return [
        Test(
            "batch-size",
            Aspect.BATCHES,
            p_value,
            f"batches hold {total.min():.6g} to {total.max():.6g} records, asked for were {m}",
            Cause.BATCH_SIZE,
            Cost.NOTHING if whole and not over and missing > hidden else Cost.PRIVACY,
            deterministic=p_value == 0.0,
        )
    ]


_SMALL_RECORDS, _SMALL_COLUMNS, _SMALL_BATCH, _SMALL_ITERATIONS, _SMALL_RUNS = 10, 12, 3, 5, 1500
_FEW_ITERATIONS = 4
_DECAYS, _MOSTLY = 0.02, 0.5


def small_run(context: Context) -> Claimed:
    """Ten records in batches of three, many times; small steps, or for DP-SVRG large ones, show every record."""
    changes = "inner" in context.scheme.takes
    iterations = _SMALL_ITERATIONS if context.sees_every_iterate else 1
    eta = [1.0] * (iterations + 1) if changes else [2.0**-6] * iterations
    parameters = context.parameters(
        _SMALL_COLUMNS,
        eta=eta,
        batch=_SMALL_BATCH,
        sigma=1.0,
        regularizer=context.plain,
        inner=len(eta),
        # said, so that one that starts at random otherwise can be read as well
        initial=initial_point(*np.zeros((3, _SMALL_COLUMNS))) if context.can(Capability.INITIAL) else None,
    )
    return Claimed(context.mode, _SMALL_RECORDS, _SMALL_COLUMNS, parameters, context.count(_SMALL_RUNS))


def marked(context: Context, at_size: Claimed | None, clock: Clock) -> Answer:
    """Which records are in the batch, and the weight of each; without batches the weights, in a few iterations."""
    claimed = at_size or small_run(context)
    if "batch" not in claimed.scheme.takes and claimed.mode.algorithm is not Algorithm.MPADMM:
        raise NotNeeded(f"{claimed.mode} draws no batches")
    if at_size is not None:
        require_every_iterate(context)
    m = claimed.parameters.batch or 1
    if claimed.parameters.batch is None:
        claimed = dataclasses.replace(claimed.shortened(_FEW_ITERATIONS), runs=None)
    ordinary = scenes.CHANGING if "inner" in claimed.scheme.takes else scenes.ORDINARY
    scene = scenes.marked(
        claimed.records,
        claimed.columns,
        m,
        claimed.parameters.bound,
        context.rng,
        ordinary=ordinary,
        extreme_lengths=context.within(scenes.EXTREME, claimed.parameters.bound)
        if at_size is not None
        else scenes.LONG,
    )
    name = context.session.send(scene.records)
    quiet = [quiet_noise(claimed, share) for share in QUIET] if claimed.private else [claimed]
    for number, asked in enumerate(quiet):
        try:
            if context.hides and context.can(Capability.REPLAY) and m < claimed.records:
                return batches_as_replayed(context, asked, scene)
            used = clock.fitting(context, name, asked).used
            run = _as_read(context, used, context.run(name, used.parameters, repeated(used)))
            again = None if used.parameters.batch is None else _another_as_read(context, name, used)
            memory = _memory(context, used, scene, name) if context.own else _carried_on(context, used, scene, run)
            own = context.own or memory is not None
            return marked_answer(used, scene, run, again, own=own, unit=context.unit, memory=memory)
        except RefusedRequest:  # it may refuse next to no noise
            if number == len(quiet) - 1:
                raise
    raise AssertionError("one of them was asked")


def _as_read(context: Context, claimed: Claimed, run: Run) -> Run:
    """A run whose gradients the reference's updates show."""
    return as_the_reference(context, claimed.parameters, run, claimed.records, quiet=True) if context.own else run


def _another_as_read(context: Context, name: str, claimed: Claimed) -> Start:
    start = another_request(context, name, claimed)
    return Start(start.claimed, _as_read(context, start.claimed, start.run))


QUESTIONS = (
    Question(
        "marked",
        marked,
        "a record that adds more than C/m, at whatever position and length; batches of another size, records that are "
        "drawn more often than others, a shuffle accounted as subsampling, batches kept for several iterations or runs"
        ", a record that comes back within an epoch",
        ("E18", "SENS-GRADIENT"),
        (Size.SMALL, Size.CLAIMED),
    ),
)
