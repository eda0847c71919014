r"""The mean gradients of many models at once, each over a batch of its own or over all records.

They agree with :meth:`reference.problem.Problem.gradient` to rounding: only the order of summation differs.
"""

from __future__ import annotations

import numpy as np

from reference.arithmetic.system import Indices, Matrix
from reference.clipping import clipped_slopes
from reference.errors import NotFinite
from reference.problem import Problem

# A gathered record costs about as much as this many that are multiplied in one dense product.
DENSE_RATIO = 8


def batch_gradients(problem: Problem, x: Matrix, batches: Indices) -> Matrix:
    """The mean gradient of each run over its own batch; refuses one that is not finite."""
    few_of_many = problem.records > DENSE_RATIO * batches.shape[1]
    return _finite((_gathered if few_of_many else _scattered)(problem, x, batches))


def _gathered(problem: Problem, x: Matrix, batches: Indices) -> Matrix:
    """Few records of many: gather each run's batch."""
    records = problem.signed.take(batches, axis=0)
    slopes = _slopes(problem, np.matmul(records, x[:, :, None])[:, :, 0], batches)
    gradients: Matrix = np.matmul(slopes[:, None, :], records)[:, 0, :] / batches.shape[1]
    return gradients


def _scattered(problem: Problem, x: Matrix, batches: Indices) -> Matrix:
    """Many records of few: two dense products over all records, zero weight outside the batch."""
    runs, size = batches.shape
    flat = batches + problem.records * np.arange(runs)[:, None]
    margins = (x @ problem.signed.T).take(flat)
    weights = np.zeros((runs, problem.records))
    weights.put(flat, _slopes(problem, margins, batches))
    gradients: Matrix = weights @ problem.signed / size
    return gradients


def full_gradients(problem: Problem, x: Matrix) -> Matrix:
    """The mean gradient of each run over all records; refuses one that is not finite."""
    return _finite(_slopes(problem, x @ problem.signed.T, None) @ problem.signed / problem.records)


def _slopes(problem: Problem, margins: Matrix, batches: Indices | None) -> Matrix:
    slopes = problem.loss.slope(margins)
    if problem.clip is None:
        return slopes
    return clipped_slopes(slopes, problem.norms if batches is None else problem.norms[batches], problem.clip)


def _finite(g: Matrix) -> Matrix:
    if not np.isfinite(g).all():
        raise NotFinite("the gradient is not finite: features or the initial point are too large for binary64")
    return g
