r"""What a run from the inside shows of itself: whether the noise is added, and whether an objective is minimised.

Rounding and clamping what is about to be released is post-processing. So a difference between what is released and
value plus noise is excused if it is that of single precision, or if, over all numbers of all runs, what is released
never falls where value plus noise rises, and is near it or at an end of what is ever released.

Noise in an objective: with w the minimiser of J(w) + <b, w>, b = -grad J(w), the density of w is that of the noise at
-grad J(w), times the determinant of the Hessian of J. Neighbours differ by the sensitivity of grad J at a given w,
which `comparison` measures, and by the ratio of the determinants, which is measured here by central differences of the
gradient that is shown.

Values that are given as released must be followed: a run with the seed of one run and the releases of another one must
not compute what the first has computed (`not_followed`).
"""

from __future__ import annotations

import math

import numpy as np

from verification.declared.comparison import FAILED, Witness
from verification.declared.implementation import DeclaredImplementation, same_start
from verification.neighbours.families import Others, StartingPoint, history
from verification.neighbours.neighbours import Neighbours
from verification.wire.arrays import Floats
from verification.wire.declaration import Declaration, DeclaredValue, NoiseKind
from verification.wire.faults import AdapterFault
from verification.wire.records import Records
from verification.wire.session import Recorded, is_symmetric

_DOUBLE, _SINGLE = 1e-9, 4 * 2.0**-24
"""Of the largest number: value, noise and sum are each rounded once in single precision."""
_NEAR = 0.05
"""A rounded release may be so far from value plus noise, over the typical size of the noise: coarser rounding is
declared as a value of its own that is computed from the release."""
RESIDUAL = 1e-6
"""The gradient at the released point may be so long, over the length of the noise."""
NOT_SOLVED = 1e-2
"""Where it is longer than this, the released point is no minimiser of the objective with its noise."""
JACOBIAN_SLACK = 1e-3
_STEP = 1e-4
_KINDS = (Others.ZERO, Others.ALIGNED, Others.RANDOM)
_FAR = (3.0, 10.0)  # margins at which the other records count for little
_MOST_COLUMNS = 12


def not_followed(declared: DeclaredImplementation, records: Records) -> str:
    """Why nothing can be asked about later releases: the adapter goes on from values of its own; empty if it does not.

    Two seeds lead to different values; the first seed is asked again with the releases of the second. Whoever then
    computes something as before has not used them, although it uses what it releases itself.
    """
    data, seeds = declared.send(records), (declared.seed(), declared.seed())
    try:
        own = declared.record(data, seed=seeds[0])
        batches = own.batches or None
        other = declared.record(data, seed=seeds[1], batches=batches)
        given = history(StartingPoint.OWN, other, declared.declaration, np.zeros(1), declared.rng)
        answer = declared.record(data, seed=seeds[0], outputs=given, batches=batches)
    except AdapterFault as fault:
        if fault.fault in FAILED:
            return ""
        raise
    told = "state that is kept between releases must follow the values that are given as released (`outputs`)"
    if twice := mirrored(declared.declaration, [own, other]):
        return twice
    shown = [[run.values[value.name] for run in (own, other, answer)] for value in declared.declaration.values]
    if any(_kept([each.released for each in runs]) for runs in shown if runs[0].noise.size):
        return f"the adapter was given other values as released, and shows its own again: {told}"
    if not all(same_start(value, (own, other)) for value in declared.declaration.noised):
        return ""  # its start is random: what differs may differ for that
    if any(_kept([each.before if each.noise.size else each.released for each in runs]) for runs in shown):
        return f"whichever values are given as released, the adapter goes on from its own: {told}"
    return ""


def mirrored(declaration: Declaration, runs: list[Recorded]) -> str:
    """Which value is a symmetric matrix with symmetric noise in all runs, and is not declared so; empty if none is."""
    added = [value for value in declaration.noised if value.noise in (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE)]
    for value in (value for value in added if value.enters == "value" and not value.symmetric):
        shown = [run.values[value.name] for run in runs]
        parts = [part for each in shown for part in (each.before, each.noise)]
        size = math.isqrt(parts[0].shape[1])
        square = size > 1 and all(part.shape[1] == size * size for part in parts)
        same = square and all(is_symmetric(part.reshape(-1, size, size)) for part in parts)
        if same and any(each.noise.any() for each in shown):
            remedy = "declare it `symmetric`, or release its upper triangle (`np.triu_indices`) alone"
            return f"{value.name} is a symmetric matrix with symmetric noise, and most numbers count twice: {remedy}"
    return ""


def _kept(arrays: list[Floats]) -> bool:
    """Whether the third is the first again, and the second is another."""

    def equal(first: Floats, second: Floats) -> bool:
        return first.shape == second.shape and np.allclose(first, second, rtol=_DOUBLE, atol=0.0)

    return equal(arrays[2], arrays[0]) and not equal(arrays[1], arrays[0])


def not_added(declared: DeclaredImplementation, data: str, runs: list[Recorded]) -> tuple[str, str]:
    """What is wrong, empty if nothing is; and what is only rounded or clamped, in words."""
    notes = []
    for value in declared.declaration.noised:
        if value.enters == "objective":
            gap = residual(declared, value, data, runs[0], declared.seed())
            if gap > NOT_SOLVED:
                text = f"{value.name} does not minimise the objective with its noise: the gradient is {gap:.3g} of it"
                return text, ""
            continue
        if not all(is_sum(run, value) for run in runs):
            lost = _no_function(value, runs)
            if lost:
                return lost, ""
            notes.append(f"{value.name} is rounded or clamped after its noise")
    return "", "; ".join(notes)


def is_sum(run: Recorded, value: DeclaredValue) -> bool:
    """Whether released is value plus noise, but for the rounding of the arithmetic, and that hides no noise."""
    shown = run.values[value.name]
    gap = float(np.abs(shown.released - shown.before - shown.noise).max(initial=0.0))
    size = 1.0 + max(np.abs(shown.before).max(initial=0.0), np.abs(shown.released).max(initial=0.0))
    single = gap <= _SINGLE * size and gap <= _NEAR * _NEAR * float(np.median(np.abs(shown.noise)))
    return gap <= _DOUBLE * size or single


def _no_function(value: DeclaredValue, runs: list[Recorded]) -> str:
    """Why released is no rounded or clamped value plus noise; empty if it may be."""
    shown = [run.values[value.name] for run in runs]
    released, before, noise = (
        np.concatenate([part.ravel() for part in parts])
        for parts in zip(*((s.released, s.before, s.noise) for s in shown), strict=True)
    )
    sums: Floats = before + noise
    gaps = np.abs(released - sums)
    near = gaps <= _NEAR * float(np.median(np.abs(noise)))
    clamped = ((released == released.max()) & (sums >= released)) | ((released == released.min()) & (sums <= released))
    order = np.argsort(sums, kind="stable")
    falls = np.maximum.accumulate(released[order]) - released[order]
    slack = _SINGLE * (1.0 + float(np.abs(released).max(initial=0.0)))
    if np.all(near | clamped) and float(falls.max(initial=0.0)) <= slack and np.mean(near) >= 0.5:
        return ""
    worst = int(np.argmax(np.where(near | clamped, 0.0, gaps))) if not np.all(near | clamped) else int(np.argmax(gaps))
    share = float(np.abs(released[worst] - before[worst])) / max(float(np.abs(noise[worst])), 1e-300)
    return (
        f"what is released of {value.name} is not its value plus its noise, nor a rounding of that (off by "
        f"{gaps[worst]:.4g}; {share:.4g} of the noise arrives)"
    )


def residual(declared: DeclaredImplementation, value: DeclaredValue, data: str, recorded: Recorded, seed: int) -> float:
    """How far the released points are from minimising what they are said to minimise, over the noise's length."""
    outputs = {
        v.name: recorded.values[v.name].released.reshape(-1, *recorded.values[v.name].shape)
        for v in declared.declaration.noised
    }
    again = declared.record(data, seed=seed, outputs=outputs).values[value.name]
    gap = np.linalg.norm(again.before + recorded.values[value.name].noise, axis=1)
    lengths = np.linalg.norm(recorded.values[value.name].noise, axis=1)
    return float(np.max(gap / np.maximum(lengths, 1e-300)))


def determinants(declared: DeclaredImplementation, value: DeclaredValue) -> Witness | None:
    """The largest difference of log-determinants between neighbours that was seen; None in too many dimensions."""
    families, worst = declared.families, Witness(0.0, "")
    for kind in _KINDS:
        for pair in families.neighbours(kind, 0, families.direction()):
            names = declared.send_both(pair)
            own = declared.record(names[0], seed=1)
            width = own.values[value.name].released.shape[1]
            if width > _MOST_COLUMNS:
                return None
            for where, point in _points(pair, width) if kind is Others.ZERO else [("at zero", np.zeros(width))]:
                at = np.zeros_like(own.values[value.name].released)
                at[0] = point
                sizes = [_log_determinant(declared, value, name, own, at) for name in names]
                difference = abs(sizes[0] - sizes[1])
                if difference > worst.size:
                    worst = Witness(difference, f"{where}; {pair.text()}")
    return worst


def _points(pair: Neighbours, width: int) -> list[tuple[str, Floats]]:
    """Models at which to compare: zero, and far along and against the changed record.

    Coordinates beyond those of the features, such as an intercept, bring its margin back to zero, so that the changed
    record counts in full where the others, whose loss is flat there, count for nothing.
    """
    found = [("at zero", np.zeros(width))]
    record = pair.first.features[pair.position]
    square = float(record @ record)
    extra = width - len(record)
    if square == 0.0 or extra < 0:
        return found
    for margin in (sign * far for far in _FAR for sign in (1.0, -1.0)):
        rest = np.full(extra, -margin / max(extra, 1))
        found.append((f"far along the record ({margin:g})", np.concatenate([record * (margin / square), rest])))
    return found


def _log_determinant(
    declared: DeclaredImplementation, value: DeclaredValue, data: str, own: Recorded, at: Floats
) -> float:
    """Log-determinant of the Hessian at a point, of the first release."""
    columns = []
    shape = own.values[value.name].shape
    for j in range(at.shape[1]):
        sides = []
        for sign in (1.0, -1.0):
            point = at.copy()
            point[0, j] += sign * _STEP
            outputs = {
                v.name: np.zeros((declared.declaration.releases(v), *own.values[v.name].shape))
                for v in declared.declaration.noised
            }
            outputs[value.name] = point.reshape(len(point), *shape)
            sides.append(declared.record(data, seed=1, outputs=outputs).values[value.name].before[0])
        columns.append((sides[0] - sides[1]) / (2 * _STEP))
    return float(np.linalg.slogdet(np.array(columns))[1])
