"""Gradients record by record, unclipped: what members that clip in a way of their own start from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.clipping import clipped_slopes
from reference.problem import Problem
from verification.served.stepwise import Batches
from verification.wire.arrays import Floats

_ENTRIES = 1 << 22  # of one temporary: 32 MiB


def weighted_gradients(problem: Problem, x: Floats, weights: Floats) -> Floats:
    """For each run the sum of clipped gradients, weighted by [R, n]; shape [R, p]."""
    slopes = problem.loss.slope(x @ problem.signed.T)
    if problem.clip is not None:
        slopes = clipped_slopes(slopes, problem.norms, problem.clip)
    total: Floats = (weights * slopes) @ problem.signed
    return total


def mean_of_records(
    problem: Problem, x: Floats, batch: Batches | None, change: Callable[[Floats], Floats] | None = None
) -> Floats:
    """The mean over each run's batch of `change` applied to unclipped gradients of shape [R, m, p]."""
    runs, size = len(x), problem.records if batch is None else batch.shape[1]
    block = max(1, _ENTRIES // (size * problem.dimension))
    means = []
    for start in range(0, runs, block):
        rows = slice(start, start + block)
        signed = problem.signed[None] if batch is None else problem.signed[batch[rows]]
        margins = np.matmul(signed, x[rows, :, None])[:, :, 0]
        gradients = problem.loss.slope(margins)[:, :, None] * signed
        means.append((gradients if change is None else change(gradients)).mean(axis=1))
    return np.concatenate(means)


def shortened(vectors: Floats, bound: float) -> Floats:
    """Vectors along the last axis, scaled down to the bound where they are longer."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors * np.where(norms > bound, bound / np.where(norms > 0, norms, 1.0), 1.0)
    return scaled
