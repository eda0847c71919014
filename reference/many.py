r"""R independent runs at once, vectorised over runs: what audits and experiments need by the ten thousand.

Run r sees the very batches and noise that :class:`reference.randomness.Seeded` with ``run=r`` draws. The states
agree with R single runs to rounding: only the order of summation in the gradient differs, and the balls of
:mod:`reference.arithmetic.in_balls` enclose every order (tests/reference/test_number_systems.py proves it run by run).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator

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

# A gathered record costs about as much as this many that are multiplied in one dense product.
DENSE_RATIO = 8
BLOCK_RUNS = 2048  # so that the temporaries of a small audit problem stay inside the cache


class Show(enum.Enum):
    """Which iterates of a run are kept."""

    EVERY_ITERATE = "every-iterate"
    LAST = "last"


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
    show: Show = Show.EVERY_ITERATE,
) -> State:
    """The states of many runs, each of x, z, y of shape runs x iterates x dimension. [CL20] Algorithm 1."""

    def block(part: range) -> Iterator[State]:
        batches = seeded_batches(seed, part, problem.records, batch, iterations)
        noise = seeded_noise(seed, part, problem.dimension, sigma, iterations)
        x, z, y = _repeated(initial, problem, len(part))
        rho = problem.rho
        for k, eta in enumerate(steps(schedule, iterations)):
            g = _batch_gradients(problem, x, batches[:, k]) + noise[:, k]
            x = update_x(g, x, z, y, rho=rho, eta=eta)
            z = update_z(x, y, rho=rho, regularizer=problem.regularizer)
            y = update_y(y, x, z, rho=rho)
            yield State(x, z, y)

    return _in_blocks(block, runs, iterations, problem.dimension, show)


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
    show: Show = Show.EVERY_ITERATE,
) -> State:
    """The released states of many runs, each of x, z, y of shape runs x iterates x dimension. [CL20] Algorithm 2."""
    p, rho, every = problem.dimension, problem.rho, release is Release.ALL

    def block(part: range) -> Iterator[State]:
        noise = seeded_noise(seed, part, 3 * p if every else p, sigma, epochs)
        x, z, y = _repeated(initial, problem, len(part))
        for k, eta in enumerate(steps(schedule, epochs)):
            gamma = noise[:, k]
            x = update_x(_full_gradients(problem, x), x, z, y, rho=rho, eta=eta)
            if not every:
                x = x + gamma
            z = update_z(x, y, rho=rho, regularizer=problem.regularizer)
            y = update_y(y, x, z, rho=rho)
            if every:
                x, z, y = x + gamma[:, :p], z + gamma[:, p : 2 * p], y + gamma[:, 2 * p :]
            yield State(x, z, y)

    return _in_blocks(block, runs, epochs, p, show)


def _in_blocks(
    block: Callable[[range], Iterator[State]], runs: range, iterations: int, dimension: int, show: Show
) -> State:
    """Run as many runs at a time as fit the cache, and collect what is shown."""
    if runs.step != 1 or runs.start < 0 or not len(runs):
        raise InvalidParameter(f"runs must be consecutive, from 0 on, at least one, got runs={runs}")
    every = show is Show.EVERY_ITERATE
    # Iterates first, so that each is written in one piece; shown as runs x iterates x dimension.
    shape = (iterations if every else 1, len(runs), dimension)
    shown = State(*(np.empty(shape).transpose(1, 0, 2) for _ in range(3)))
    for start in range(0, len(runs), BLOCK_RUNS):
        rows = slice(start, start + BLOCK_RUNS)
        state = None
        for k, state in enumerate(block(runs[rows])):
            if every or k == iterations - 1:
                column = k if every else 0
                shown.x[rows, column], shown.z[rows, column], shown.y[rows, column] = state.x, state.z, state.y
        if state is not None:
            # An iterate that is not finite makes y so, through x - z, and y never recovers: the last one tells.
            state.require_finite()
    return shown


def batch_gradients(problem: Problem, x: Matrix, batches: NDArray[np.intp]) -> Matrix:
    """The mean gradient of each run over its own batch; refuses one that is not finite."""
    return _finite(_batch_gradients(problem, x, batches))


def _batch_gradients(problem: Problem, x: Matrix, batches: NDArray[np.intp]) -> Matrix:
    few_of_many = problem.records > DENSE_RATIO * batches.shape[1]
    return (_gathered if few_of_many else _scattered)(problem, x, batches)


def _gathered(problem: Problem, x: Matrix, batches: NDArray[np.intp]) -> Matrix:
    """Few records of many: gather each run's batch."""
    records = problem.signed.take(batches, axis=0)
    slopes = _slopes(problem, np.matmul(records, x[:, :, None])[:, :, 0], batches)
    gradients: Matrix = np.matmul(slopes[:, None, :], records)[:, 0, :] / batches.shape[1]
    return gradients


def _scattered(problem: Problem, x: Matrix, batches: NDArray[np.intp]) -> Matrix:
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
    return _finite(_full_gradients(problem, x))


def _full_gradients(problem: Problem, x: Matrix) -> Matrix:
    return _slopes(problem, x @ problem.signed.T, None) @ problem.signed / problem.records


def seeded_batches(seed: int, runs: range, records: int, size: int, iterations: int) -> NDArray[np.intp]:
    """The batches of :class:`reference.randomness.Seeded`, runs x iterations x size."""
    require_batch(records, size, iterations)
    return subsets(_run_words(seed, BATCHES, runs, iterations, size), records)


def seeded_noise(seed: int, runs: range, dimension: int, sigma: float, iterations: int) -> Vector:
    """The noise of :class:`reference.randomness.Seeded`, runs x iterations x dimension."""
    require_noise(dimension, sigma, iterations)
    noise = normals(_run_words(seed, NOISE, runs, iterations, words_per_normals(dimension)), dimension)
    noise *= sigma
    return noise


def _run_words(seed: int, purpose: int, runs: range, iterations: int, width: int) -> Words:
    per_run = padded(iterations * width)
    words = PhiloxWords.at(seed, purpose, runs.start * per_run).words(len(runs) * per_run)
    return words.reshape(len(runs), per_run)[:, : iterations * width].reshape(len(runs), iterations, width)


def _repeated(initial: State, problem: Problem, runs: int) -> tuple[Matrix, Matrix, Matrix]:
    initial.require_dimension(problem.dimension)
    shape = (runs, problem.dimension)
    return np.broadcast_to(initial.x, shape), np.broadcast_to(initial.z, shape), np.broadcast_to(initial.y, shape)


def _slopes(problem: Problem, margins: Matrix, batches: NDArray[np.intp] | None) -> Matrix:
    slopes = problem.loss.slope(margins)
    if problem.clip is None:
        return slopes
    return clipped_slopes(slopes, problem.norms if batches is None else problem.norms[batches], problem.clip)


def _finite(g: Matrix) -> Matrix:
    if not np.isfinite(g).all():
        raise NotFinite("the gradient is not finite: features or the initial point are too large for binary64")
    return g
