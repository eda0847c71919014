r"""DP-SGD with a proximal step: the baseline closest to ssADMM. [CL20] section 5.2, after Abadi et al. 2016.

    x <- prox_{eta lambda h}(x - eta (g + gamma)),    for L1 the soft threshold S_{lambda eta}

The noisy batch gradient is the same release as in ssADMM, and the proximal step is post-processing: so it is
accounted in the same way, with sensitivity 2C/m and amplification by batches without replacement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference.arithmetic import Indices, Scalar, Vector, number_system
from reference.problem import Problem, State
from reference.rounding import on_grid


def dpsgd(
    problem: Problem,
    initial: State,
    *,
    step_sizes: Iterable[Scalar],
    batches: Iterable[Indices],
    noise: Iterable[Vector],
    grid: float | None = None,
) -> Iterator[State]:
    """Yield the model after each iteration, as a state (x, x, y^0): z is x itself, the dual is never touched.

    ``noise`` holds the vectors that are added to the gradient, already scaled by sigma. ``problem.rho`` and
    ``initial.z`` play no part: there is no penalty and no copy.
    """
    initial.require_dimension(problem.dimension)
    x, scalar = initial.x, number_system(initial.x).scalar
    for eta, batch, gamma in zip(step_sizes, batches, noise, strict=False):
        g = on_grid(problem.gradient(x, batch), grid) + gamma
        x = proximal_step(problem, x, g, scalar(eta))
        yield State(x, x, initial.y).require_finite()


def proximal_step(problem: Problem, x: Vector, g: Vector, eta: Scalar) -> Vector:
    """The minimiser of <g, v> + lambda h(v) + ||v - x||^2/(2 eta): a step, then the prox of penalty 1/eta."""
    return problem.regularizer.prox(x - eta * g, 1 / eta)
