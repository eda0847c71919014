r"""The cells of a study that are trained together: one model each, on the same fold, batches and raw draws.

Cells differ in loss, lambda and noise. Sharing batches and standard normal draws between them (each scales the draws
by its own sigma) makes every cell's own distribution exactly right and the *differences* between cells less noisy:
common random numbers. It also turns a thousand matrix-vector products into one matrix product.

The products are computed in the precision of the records, everything else in binary64. In single precision, which the
studies use, a gradient is off by less than 1e-6 of its length, far below the noise that is added to it; the models are
measured and nothing is released, so no privacy rests on that (tests/experiments/test_precision.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import Indices, Matrix, Scalar, Vector
from reference.errors import NotFinite
from reference.losses import LOSSES, Logistic, Loss
from reference.regularizers import L1

ROWS_AT_ONCE = 1024  # rows of a full gradient at a time, so that margins and slopes stay in the cache

Rows = NDArray[np.float32] | NDArray[np.float64]
"""Records as rows label * features; the precision is that of the products."""


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """What each model is trained with; ``lambdas``, ``noise`` and ``ridge`` are columns, one entry a cell."""

    losses: tuple[tuple[Loss, slice], ...]
    lambdas: Matrix
    noise: Matrix
    anchor_noise: Matrix
    ridge: Matrix

    @classmethod
    def of(
        cls,
        losses: Sequence[str],
        lambdas: Sequence[float],
        noise: Sequence[float],
        *,
        anchor_noise: Sequence[float] | None = None,
        ridge: Sequence[float] | None = None,
    ) -> CellTable:
        """Cells in an order in which equal losses are neighbours."""
        none = [0.0] * len(losses)
        return cls(
            _groups(losses), _column(lambdas), _column(noise), _column(anchor_noise or none), _column(ridge or none)
        )

    @property
    def count(self) -> int:
        """How many models are trained."""
        return len(self.lambdas)

    @property
    def curvature(self) -> Matrix:
        """sup phi'' of each cell's loss, for records of length 1."""
        column = np.empty((self.count, 1))
        for loss, part in self.losses:
            column[part] = loss.curvature
        return column

    @property
    def regularizer(self) -> L1:
        """lambda ||x||_1 with each cell's own lambda: the reference's own prox, broadcast over cells."""
        return L1(cast(Scalar, self.lambdas))

    def batch_gradient(self, signed: Rows, batch: Indices, x: Matrix) -> Matrix:
        """The mean gradient of each cell over one shared batch."""
        return _finite(self._summed(signed[batch], x) / len(batch))

    def full_gradient(self, signed: Rows, x: Matrix) -> Matrix:
        """The mean gradient of each cell over all records."""
        total = np.zeros_like(x)
        for start in range(0, len(signed), ROWS_AT_ONCE):
            total += self._summed(signed[start : start + ROWS_AT_ONCE], x)
        return _finite(total / len(signed))

    def losses_of(self, signed: Matrix, x: Matrix) -> Vector:
        """The mean loss of each cell's model."""
        margins = x @ signed.T
        means = np.empty(self.count)
        for loss, part in self.losses:
            means[part] = loss.value(margins[part]).mean(axis=1)
        return means

    def _summed(self, records: Rows, x: Matrix) -> Matrix:
        slopes: Rows = np.matmul(x.astype(records.dtype), records.T)
        for loss, part in self.losses:
            _to_slopes(loss, slopes[part])
        return np.asarray(np.matmul(slopes, records), dtype=np.float64)


def _to_slopes(loss: Loss, margins: Rows) -> None:
    """Overwrite margins by the slopes of the loss: the reference's values to rounding, the logistic ones in place."""
    if not isinstance(loss, Logistic):
        margins[...] = loss.slope(np.asarray(margins, dtype=np.float64))
        return
    with np.errstate(over="ignore"):  # e^v = inf gives the slope -0, which is right to rounding
        np.exp(margins, out=margins)
    margins += 1
    np.divide(-1, margins, out=margins)


def _groups(losses: Sequence[str]) -> tuple[tuple[Loss, slice], ...]:
    starts = [i for i, name in enumerate(losses) if i == 0 or losses[i - 1] != name]
    ends = [*starts[1:], len(losses)]
    return tuple((LOSSES[losses[start]], slice(start, end)) for start, end in zip(starts, ends, strict=True))


def _column(values: Sequence[float]) -> Matrix:
    return np.asarray(values, dtype=np.float64)[:, None]


def _finite(g: Matrix) -> Matrix:
    if not np.isfinite(g).all():
        raise NotFinite("a gradient is not finite: the noise or the step size is too large for binary64")
    return g
