r"""R independent runs at once, vectorised over runs: what audits and experiments need by the ten thousand.

Run r sees the very batches and noise that :class:`reference.randomness.Seeded` with ``run=r`` draws. The states
agree with R single runs to rounding: only the order of summation in the gradient differs, and the balls of
:mod:`reference.arithmetic.balls` enclose every order (tests/reference/test_many.py proves it run by run).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic.system import Matrix, Vector
from reference.clipping import clipped_slopes
from reference.errors import InvalidParameter, NotFinite
from reference.mpadmm import Release
from reference.problem import Problem, State
from reference.randomness import BATCHES, NOISE, require_batch, require_noise
from reference.schedules import Schedule, steps
from reference.updates import update_x, update_y, update_z
from reference.words import PhiloxWords, Words, normals, padded, subsets, words_per_normals

# Gathering m rows moves about this many times more memory per record than multiplying by all n rows computes.
DENSE_RATIO = 16


def ssadmm_many(
    problem: Problem,
    initial: State,
    *,
    schedule: Schedule,
    batch: int,
    sigma: float,
    iterations: int,
    seed: int,
    runs: range,
) -> Iterator[State]:
    """Yield the states of the runs after each iteration, each of x, z, y with a run a row. [CL20] Algorithm 1."""
    batches = seeded_batches(seed, runs, problem.records, batch, iterations)
    noise = seeded_noise(seed, runs, problem.dimension, sigma, iterations)
    x, z, y = _repeated(initial, problem, len(runs))
    rho = problem.rho
    for k, eta in enumerate(steps(schedule, iterations)):
        g = batch_gradients(problem, x, batches[:, k]) + noise[:, k]
        x = update_x(g, x, z, y, rho=rho, eta=eta)
        z = update_z(x, y, rho=rho, regularizer=problem.regularizer)
        y = update_y(y, x, z, rho=rho)
        yield State(x, z, y)


def mpadmm_many(
    problem: Problem,
    initial: State,
    *,
    schedule: Schedule,
    sigma: float,
    epochs: int,
    release: Release,
    seed: int,
    runs: range,
) -> Iterator[State]:
    """Yield the released states of the runs after each epoch. [CL20] Algorithm 2."""
    p, rho = problem.dimension, problem.rho
    every = release is Release.ALL
    noise = seeded_noise(seed, runs, 3 * p if every else p, sigma, epochs)
    x, z, y = _repeated(initial, problem, len(runs))
    for k, eta in enumerate(steps(schedule, epochs)):
        gamma = noise[:, k]
        x = update_x(full_gradients(problem, x), x, z, y, rho=rho, eta=eta)
        if not every:
            x = x + gamma
        z = update_z(x, y, rho=rho, regularizer=problem.regularizer)
        y = update_y(y, x, z, rho=rho)
        if every:
            x, z, y = x + gamma[:, :p], z + gamma[:, p : 2 * p], y + gamma[:, 2 * p :]
        yield State(x, z, y)


def batch_gradients(problem: Problem, x: Matrix, batches: NDArray[np.intp]) -> Matrix:
    """The mean gradient of each run over its own batch."""
    runs, size = batches.shape
    if problem.records > DENSE_RATIO * size:
        rows = problem.features[batches]
        labels = problem.labels[batches]
        slopes = _slopes(problem, labels * np.einsum("rmp,rp->rm", rows, x), problem.norms[batches])
        return _finite(np.einsum("rm,rmp->rp", slopes * labels, rows) / size)
    labels = problem.labels[batches]
    margins = labels * np.take_along_axis(x @ problem.features.T, batches, axis=1)
    weights = np.zeros((runs, problem.records))
    np.put_along_axis(weights, batches, _slopes(problem, margins, problem.norms[batches]) * labels, axis=1)
    return _finite(weights @ problem.features / size)


def full_gradients(problem: Problem, x: Matrix) -> Matrix:
    """The mean gradient of each run over all records."""
    slopes = _slopes(problem, problem.labels * (x @ problem.features.T), problem.norms)
    return _finite((slopes * problem.labels) @ problem.features / problem.records)


def seeded_batches(seed: int, runs: range, records: int, size: int, iterations: int) -> NDArray[np.intp]:
    """The batches of :class:`reference.randomness.Seeded`, runs x iterations x size."""
    require_batch(records, size, iterations)
    return subsets(_run_words(seed, BATCHES, runs, iterations, size), records)


def seeded_noise(seed: int, runs: range, dimension: int, sigma: float, iterations: int) -> Vector:
    """The noise of :class:`reference.randomness.Seeded`, runs x iterations x dimension."""
    require_noise(dimension, sigma, iterations)
    return sigma * normals(_run_words(seed, NOISE, runs, iterations, words_per_normals(dimension)), dimension)


def _run_words(seed: int, purpose: int, runs: range, iterations: int, width: int) -> Words:
    if runs.step != 1 or runs.start < 0 or not len(runs):
        raise InvalidParameter(f"runs must be consecutive, from 0 on, at least one, got runs={runs}")
    per_run = padded(iterations * width)
    words = PhiloxWords.at(seed, purpose, runs.start * per_run).words(len(runs) * per_run)
    return words.reshape(len(runs), per_run)[:, : iterations * width].reshape(len(runs), iterations, width)


def _repeated(initial: State, problem: Problem, runs: int) -> tuple[Matrix, Matrix, Matrix]:
    initial.require_dimension(problem.dimension)
    shape = (runs, problem.dimension)
    return np.broadcast_to(initial.x, shape), np.broadcast_to(initial.z, shape), np.broadcast_to(initial.y, shape)


def _slopes(problem: Problem, margins: Matrix, norms: Matrix) -> Matrix:
    slopes = problem.loss.slope(margins)
    return slopes if problem.clip is None else clipped_slopes(slopes, norms, problem.clip)


def _finite(g: Matrix) -> Matrix:
    if not np.isfinite(g).all():
        raise NotFinite("the gradient is not finite: features or the initial point are too large for binary64")
    return g
