r"""ssADMM: Gaussian noise on subsampled gradients. [CL20] Algorithm 1.

1. :func:`ssadmm` is the deterministic core: step sizes, batches and noise are *inputs*, so test vectors and ports
   can replay it, in any number system.
2. :mod:`reference.randomness` draws batches and noise: seeded for reproduction, from system entropy for release.
3. :mod:`reference.outputs` picks what is released: the last x, the averaged one, or the sparse z.

Statements SENS-GRADIENT (2C/m), THEOREM-1, THEOREM-2, E8, E18.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference.arithmetic import Indices, Scalar, Vector, number_system
from reference.problem import Problem, State
from reference.rounding import on_grid
from reference.updates import update_x, update_y, update_z


def ssadmm(
    problem: Problem,
    initial: State,
    *,
    step_sizes: Iterable[Scalar],
    batches: Iterable[Indices],
    noise: Iterable[Vector],
    grid: float | None = None,
) -> Iterator[State]:
    """Yield (x, z, y) after each iteration. [CL20] Algorithm 1, lines 3 to 10.

    ``noise`` holds the vectors that are added to the gradient, already scaled by sigma. With a ``grid``, the
    gradient is first rounded to multiples of it: what an exact discrete Gaussian is added to. The run ends with the
    shortest of the three inputs; an iterate that overflowed is refused, never yielded.
    """
    initial.require_dimension(problem.dimension)
    x, z, y = initial.x, initial.z, initial.y
    rho, scalar = problem.rho, number_system(x).scalar
    for eta, batch, gamma in zip(step_sizes, batches, noise, strict=False):
        g = problem.gradient(x, batch)  # line 5
        g = on_grid(g, grid) + gamma  # line 6
        x = update_x(g, x, z, y, rho=rho, eta=scalar(eta))  # line 7
        z = update_z(x, y, rho=rho, regularizer=problem.regularizer)  # line 8
        y = update_y(y, x, z, rho=rho)  # line 9
        yield State(x, z, y).require_finite()
