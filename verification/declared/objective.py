r"""Noise in an objective: whether the released point minimises it, and how much neighbours' Hessians differ.

With w the minimiser of J(w) + <b, w>, b = -grad J(w): the density of w is that of the noise at -grad J(w), times the
determinant of the Hessian of J. Neighbours differ by the sensitivity of grad J at a given w, which `pairs` measures,
and by the ratio of the determinants, which is measured here by central differences of the gradient that is shown.
"""

from __future__ import annotations

import numpy as np

from verification.declared.bench import Bench
from verification.declared.seen import Witness
from verification.neighbours.families import Domain, Families, Others
from verification.neighbours.neighbours import Neighbours
from verification.wire.arrays import Floats
from verification.wire.declaration import DeclaredValue
from verification.wire.declared_session import LabelledPoints, Recorded

RESIDUAL = 1e-6
"""The gradient at the released point may be so long, over the length of the noise."""
NOT_SOLVED = 1e-2
"""Where it is longer than this, the released point is no minimiser of the objective with its noise."""
RELATIVE = 1e-3
_STEP = 1e-4
_KINDS = (Others.ZERO, Others.ALIGNED, Others.RANDOM)
_FAR = (3.0, 10.0)  # margins at which the other records count for little
_MOST_COLUMNS = 12


def residual(bench: Bench, value: DeclaredValue, data: str, recorded: Recorded, seed: int) -> float:
    """How far the released points are from minimising what they are said to minimise, over the noise's length."""
    outputs = {
        v.name: recorded.values[v.name].released.reshape(-1, *recorded.values[v.name].shape)
        for v in bench.declaration.noised
    }
    again = bench.record(data, seed=seed, outputs=outputs).values[value.name]
    gap = np.linalg.norm(again.before + recorded.values[value.name].noise, axis=1)
    lengths = np.linalg.norm(recorded.values[value.name].noise, axis=1)
    return float(np.max(gap / np.maximum(lengths, 1e-300)))


def determinants(bench: Bench, value: DeclaredValue) -> Witness | None:
    """The largest difference of log-determinants between neighbours that was seen; None in too many dimensions."""
    families = Families(Domain.of(bench.declaration, bench.records, bench.columns), bench.rng)
    worst = Witness(0.0, "")
    for kind in _KINDS:
        for pair in families.neighbours(kind, 0, families.direction()):
            names = (bench.send(pair.first), bench.send(pair.second))
            own = bench.record(names[0], seed=1)
            width = own.values[value.name].released.shape[1]
            if width > _MOST_COLUMNS:
                return None
            for where, point in _points(pair, width) if kind is Others.ZERO else [("at zero", np.zeros(width))]:
                at = np.zeros_like(own.values[value.name].released)
                at[0] = point
                sizes = [_log_determinant(bench, value, name, own, at) for name in names]
                difference = abs(sizes[0] - sizes[1])
                if difference > worst.size:
                    worst = Witness(difference, f"{where}; {pair.text()}")
    return worst


def _points(pair: Neighbours[LabelledPoints], width: int) -> list[tuple[str, Floats]]:
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


def _log_determinant(bench: Bench, value: DeclaredValue, data: str, own: Recorded, at: Floats) -> float:
    """Log-determinant of the Hessian at a point, of the first release."""
    columns = []
    shape = own.values[value.name].shape
    for j in range(at.shape[1]):
        sides = []
        for sign in (1.0, -1.0):
            point = at.copy()
            point[0, j] += sign * _STEP
            outputs = {
                v.name: np.zeros((bench.declaration.releases(v), *own.values[v.name].shape))
                for v in bench.declaration.noised
            }
            outputs[value.name] = point.reshape(len(point), *shape)
            sides.append(bench.record(data, seed=1, outputs=outputs).values[value.name].before[0])
        columns.append((sides[0] - sides[1]) / (2 * _STEP))
    return float(np.linalg.slogdet(np.array(columns))[1])
