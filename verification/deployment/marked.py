r"""A run on marked records with little noise: which marks each batch held, how much each added, how many records.

The noisy gradient of each iteration follows from the iterates. In mark i's own column it is (in the batch or not) times
the record's clipped gradient over m; the weight of the mark is the ratio of the two, 0 or 1 if all is well. In the
column that all records share it counts the batch. In the columns that are 0 it is the noise alone: the floor below
which nothing is read. Without batches every record is in, and over m stands over n.

What costs privacy: a mark that adds more than C/m, one that comes too often, a batch that holds too many. A mark that
adds another part of what is allowed (clipped at less, or scaled) is a difference.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference.clipping import clipped_slopes
from verification.conformance.inside import INSIDE
from verification.conformance.inside.svrg import InsideSvrg
from verification.deployment.asking import Start
from verification.deployment.batch_tests import batch_sightings, chernoff
from verification.deployment.claimed import Claimed
from verification.deployment.scenes import Marked
from verification.deployment.sighting import Aspect, Cost, Look, Sighting
from verification.picture import Draw, Picture
from verification.pictures import shares
from verification.served.translate import problem_of
from verification.wire.arrays import Floats
from verification.wire.records import Records, Run

WHOLE = 1e-3
"""How far a weight may be from a whole number: single precision inside is allowed, another weight is not."""
NEARLY = 0.25
"""The same where gradients are taken at points of the implementation's own."""
QUIET = (1e-9, 1e-6, 1e-4)
"""Noise over one record's part in a gradient: the least that is not refused; of more, marks cannot be read."""
_CLEAR = 1e2  # only a gradient this far above the floor is read
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
    """What was read: weights [runs, T, marks], where they can be read, and the number of records in each batch."""

    weights: Floats
    clear: NDArray[np.bool_]
    allowed: Floats  # how far each weight may be from a whole number
    added: Floats  # what each mark added over what it may, C/m
    error: float  # how exactly that was read
    total: Floats | None
    first: int  # iterations before this one start elsewhere and are left out


def read_weights(claimed: Claimed, scene: Marked, run: Run) -> Weights | None:
    """The weights of all marks; None where the noise did not become small, so that nothing can be read."""
    parameters, inside = claimed.parameters, INSIDE[claimed.mode.algorithm]
    problem = problem_of(scene.alone, parameters)
    gradients = inside.batch_gradients(parameters, problem, run)
    x = inside.previous(parameters, problem, run).x
    own, common = _parts(claimed, scene, x)
    if isinstance(inside, InsideSvrg):
        at_anchor, common_there = _parts(claimed, scene, inside.anchors(parameters, problem, run))
        own, common = own - at_anchor, common - common_there
    m = float(parameters.batch or claimed.records)
    floor, first = _floor(claimed, scene, gradients)
    if floor is None:
        return None
    shown = gradients[:, :, scene.columns]
    bound = parameters.bound
    clear = np.abs(own) / m > _CLEAR * floor
    weights = np.divide(shown * m, own, out=np.zeros_like(own), where=clear)
    errors = np.divide(_ERRORS * floor * m, np.abs(own), out=np.zeros_like(own), where=clear)
    total = None
    if scene.common is not None:
        held = np.where(clear & (np.abs(weights) > _SHOWN), np.rint(weights), 0.0)
        alone = problem.signed[:, scene.common]
        marks = np.sum(held * _in_common(claimed, scene, x, alone), axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = (gradients[:, :, scene.common] * m - marks) / common + held.sum(axis=2)
        if isinstance(inside, InsideSvrg):
            total = None
    # what a gradient changed by, or that of a scaled record, is bounded by what it is at that point alone
    absolute = parameters.clip is not None and not isinstance(inside, InsideSvrg)
    added = np.abs(shown) * m / bound if absolute else np.abs(weights)
    error = max(WHOLE, _ERRORS * floor * m / bound) if absolute else float(errors.max(initial=WHOLE))
    return Weights(weights, clear, np.maximum(WHOLE, errors), added, error, total, first)


def _floor(claimed: Claimed, scene: Marked, gradients: Floats) -> tuple[float | None, int]:
    """The noise that is left, and the first iteration that starts where it is said to."""
    asked = float(claimed.parameters.sigma or 0.0)
    if not scene.quiet.size:
        return 10 * asked, 0
    each = np.sqrt(np.mean(gradients[:, :, scene.quiet] ** 2, axis=(0, 2)))
    readable = 0.1 * claimed.parameters.bound / float(claimed.parameters.batch or claimed.records) / _CLEAR
    first = 1 if each.size > 1 and each[0] > readable >= each[1:].max() else 0
    floor = float(each[first:].max())
    return (max(floor, asked), first) if floor <= readable else (None, first)


def _slopes(claimed: Claimed, records: Records, x: Floats) -> tuple[Floats, Floats]:
    """Slopes [runs, T, records] after clipping, and the signed features of the records."""
    problem = problem_of(records, claimed.parameters)
    slopes = problem.loss.slope(x @ problem.signed.T)
    if problem.clip is not None:
        slopes = clipped_slopes(slopes, problem.norms, problem.clip)
    return slopes, problem.signed


def _parts(claimed: Claimed, scene: Marked, x: Floats) -> tuple[Floats, Floats]:
    """Each mark's gradient in its own column, and an unmarked record's in the common one."""
    slopes, signed = _slopes(claimed, scene.alone, x)
    own = slopes * signed[np.arange(len(scene.columns)), scene.columns]
    if scene.common is None:
        return own, np.zeros(x.shape[:2])
    unmarked = int(np.setdiff1d(np.arange(len(scene.places) + 1), scene.places)[0])
    one = Records(scene.records.features[[unmarked]], scene.records.labels[[unmarked]])
    slope, common = _slopes(claimed, one, x)
    return own, slope[:, :, 0] * common[0, scene.common]


def _in_common(claimed: Claimed, scene: Marked, x: Floats, features: Floats) -> Floats:
    slopes, _ = _slopes(claimed, scene.alone, x)
    part: Floats = slopes * features
    return part


def marked_look(claimed: Claimed, scene: Marked, run: Run, again: Start | None = None, *, own: bool = False) -> Look:
    """Everything that marked records show; ``again`` is the start of a run of another request.

    ``own``: gradients were taken elsewhere than at the reference's x, so that weights are only nearly whole.
    """
    read = read_weights(claimed, scene, run)
    runs = len(run.x)
    if read is None:
        reason = "batches cannot be read off: the noise does not become small with sigma"
        return Look("marked records", claimed.size, runs, (), (), missing=reason)
    weights, clear = read.weights[:, read.first :], read.clear[:, read.first :]
    if own:
        read = dataclasses.replace(read, allowed=np.maximum(read.allowed, NEARLY), total=None)
    found = _weighed(read, scene)
    whole = all(s.p_value == 1.0 for s in found)
    counted = _counted(claimed, read, scene) if whole else []
    found += counted
    ordinary = ~scene.extreme
    held = np.abs(weights[:, :, ordinary]) > _present(read)[:, read.first :, ordinary]
    seen = np.asarray(clear[:, :, ordinary].all(axis=(0, 2))) & (claimed.parameters.batch is not None)
    if seen.any():
        found += batch_sightings(
            "at the claimed size",
            held[:, seen],
            scene.places[ordinary],
            records=claimed.records,
            batch=claimed.parameters.batch or 1,
            again=None if again is None else _held_again(again, scene, seen, read.first),
            groups={f"with label {label:+d}": scene.alone.labels[ordinary] == label for label in (-1, 1)},
            short=not whole or any(s.cost is Cost.NOTHING and s.p_value == 0.0 for s in counted),
        )
    covers = (Aspect.CLIPPING, *((Aspect.BATCHES,) if seen.any() else ()))
    kept = {"weights": weights, "clear": clear.astype(np.float64)}
    drawn: dict[Aspect, Draw] = {Aspect.CLIPPING: lambda: _weights_picture(scene, np.where(clear, weights, 0.0))}
    if seen.any():
        share = (claimed.parameters.batch or 1) / claimed.records
        drawn[Aspect.BATCHES] = lambda: _rates_picture(scene.places[ordinary], held[:, seen], share)
    return Look("marked records", claimed.size, runs, tuple(found), covers, kept, pictures=drawn)


def _held_again(again: Start, scene: Marked, seen: NDArray[np.bool_], first: int) -> NDArray[np.bool_] | None:
    """What the batches of another request held, in the iterations that could be read of the first one."""
    read = read_weights(again.claimed, scene, again.run)
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


def _weighed(read: Weights, scene: Marked) -> list[Sighting]:
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
        Sighting(
            "contribution at the claimed size",
            Aspect.CLIPPING,
            0.0 if not added[i] <= 1.0 + read.error else 1.0,
            f"record {scene.places[i]} (of {kind} length) adds up to {added[i]:.6g} times what it may",
            cause="a record counts for too much",
            deterministic=True,
        ),
        Sighting(
            "batch-mean at the claimed size",
            Aspect.BATCHES,
            0.0 if apart[j] > 0.0 else 1.0,
            f"record {scene.places[j]} has a weight of {part:.6g}: the gradient is the mean over a batch of m clipped "
            "ones if all are 0 or 1",
            Cost.NOTHING,
            "another gradient",
            deterministic=True,
        ),
    ]


def _counted(claimed: Claimed, read: Weights, scene: Marked) -> list[Sighting]:
    """The number of records in each batch: m, less those extreme ones that could not be read; fewer cost nothing."""
    if read.total is None:
        return []
    total = read.total[:, read.first :]
    m = int(claimed.parameters.batch or claimed.records)
    hidden = int(np.sum(~read.clear[:, read.first :] & scene.extreme))
    short = m - np.rint(total)
    whole = np.abs(total - np.rint(total)).max() <= WHOLE * m
    over = bool((short < 0).any())
    missing = int(np.maximum(short, 0).sum())
    p_value = 1.0
    if over or not whole or missing > hidden:
        p_value = 0.0
    elif hidden and missing > hidden * m / claimed.records:
        p_value = chernoff(missing, hidden, m / claimed.records)
    return [
        Sighting(
            "batch-size at the claimed size",
            Aspect.BATCHES,
            p_value,
            f"batches hold {total.min():.6g} to {total.max():.6g} records, asked for were {m}",
            Cost.NOTHING if whole and not over and missing > hidden else Cost.PRIVACY,
            "batches are not of the claimed size",
            deterministic=p_value == 0.0,
        )
    ]
