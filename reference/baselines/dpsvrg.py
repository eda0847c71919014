r"""DP-SVRG: a noisy full gradient an epoch as control variate. **Our variant** of Wang, Ye and Xu 2017.

An epoch, from its anchor a = x:

    mu~ <- mean gradient of all records at a, plus N(0, s1^2)                      sensitivity 2C/n
    v   <- mean over B of (grad f(x) - grad f(a)) + mu~ + N(0, s2^2)               sensitivity 4C/m, batch amplified
    x   <- prox_{eta lambda h}(x - eta v)

Each record contributes two gradients to a batch, each of length at most C, so replacing it moves the mean by up to
4C/m: twice DP-SGD's figure. (Losses of a margin with slopes in [-1, 0], clipped or not, reach only half of it, 2C/m:
a record's two gradients point the same way. The accounting keeps the general bound.) The releases compose
heterogeneously. [CL20] section 5.2 dropped the algorithm because
the full gradients use up the budget; the experiments keep it so that this can be seen.

*Deviates* from the source: noise on the full gradient and on every inner step (theirs is on the inner step alone,
under another analysis), fresh batches without replacement, and a general proximal map.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reference.arithmetic import Indices, Scalar, Vector, number_system
from reference.baselines.dpsgd import proximal_step
from reference.errors import require_count, require_not_negative
from reference.problem import Problem, State
from reference.randomness import Randomness
from reference.rounding import on_grid
from reference.schedules import Schedule, steps


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """The inputs of one epoch; noise already scaled."""

    anchor_noise: Vector
    step_sizes: Iterable[Scalar]
    batches: Iterable[Indices]
    noise: Iterable[Vector]


def dpsvrg(problem: Problem, initial: State, *, epochs: Iterable[Epoch], grid: float | None = None) -> Iterator[State]:
    """Yield the model after each inner step, as a state (x, x, y^0)."""
    initial.require_dimension(problem.dimension)
    x, scalar = initial.x, number_system(initial.x).scalar
    for epoch in epochs:
        anchor = x
        full = on_grid(problem.gradient(anchor), grid) + epoch.anchor_noise
        for eta, batch, gamma in zip(epoch.step_sizes, epoch.batches, epoch.noise, strict=False):
            change = problem.gradient(x, batch) - problem.gradient(anchor, batch)
            x = proximal_step(problem, x, on_grid(change, grid) + full + gamma, scalar(eta))
            yield State(x, x, initial.y).require_finite()


def epochs(
    randomness: Randomness,
    *,
    records: int,
    dimension: int,
    batch: int,
    schedule: Schedule,
    count: int,
    inner: int,
    anchor_sigma: float,
    sigma: float,
) -> Iterator[Epoch]:
    """Draw the inputs of ``count`` epochs of ``inner`` steps.

    All noise comes from *one* stream, an epoch's anchor first: two calls of a seeded source would repeat each other,
    and the difference of two releases would show the data.
    """
    require_count("count", count)
    require_count("inner", inner)
    require_not_negative("anchor_sigma", anchor_sigma)
    require_not_negative("sigma", sigma)
    etas = steps(schedule, count * inner)
    batches = randomness.batches(records, batch, count * inner)
    draws = randomness.noise(dimension, 1.0, count * (inner + 1))
    for _ in range(count):
        # Lists, not views of the streams: an epoch that is not run to its end must not shift the next one.
        anchor = anchor_sigma * next(draws)
        noise = [sigma * draw for draw in itertools.islice(draws, inner)]
        yield Epoch(anchor, list(itertools.islice(etas, inner)), list(itertools.islice(batches, inner)), noise)
