r"""mpADMM: Gaussian noise on the model after each epoch. [CL20] Algorithm 2.

Two releases:

* ``Release.ALL`` is the paper's: x, z and y are each perturbed after every epoch.
* ``Release.PRIMAL`` (statement P) perturbs x alone and computes z and y from the *noisy* x. They are then
  post-processing, and the same noise costs a third or less.

Statements SENS-X, SENS-Z, SENS-Y, JOINT, P, THEOREM-3, E1, E2, E11.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reference.arithmetic import Scalar, Vector, number_system
from reference.errors import InvalidParameter
from reference.problem import Problem, State
from reference.rounding import on_grid
from reference.updates import update_x, update_y, update_z


class Release(enum.Enum):
    """What is perturbed after each epoch."""

    ALL = "all"
    PRIMAL = "primal"


@dataclass(frozen=True, slots=True, eq=False)
class ModelNoise:
    """The noise of one epoch, already scaled by sigma; ``z`` and ``y`` are unused by ``Release.PRIMAL``."""

    x: Vector
    z: Vector | None = None
    y: Vector | None = None


def mpadmm(
    problem: Problem,
    initial: State,
    *,
    step_sizes: Iterable[Scalar],
    noise: Iterable[ModelNoise],
    release: Release = Release.ALL,
    grid: float | None = None,
) -> Iterator[State]:
    """Yield the released (x, z, y) after each epoch. [CL20] Algorithm 2, lines 3 to 10."""
    initial.require_dimension(problem.dimension)
    state, scalar = initial, number_system(initial.x).scalar
    epoch = _epoch_all if release is Release.ALL else _epoch_primal
    for eta, gamma in zip(step_sizes, noise, strict=False):
        state = epoch(problem, state, scalar(eta), gamma, grid)
        yield state.require_finite()


def _epoch_all(problem: Problem, old: State, eta: Scalar, gamma: ModelNoise, grid: float | None) -> State:
    """One epoch as printed: compute x, z, y, then perturb all three."""
    rho = problem.rho
    if gamma.z is None or gamma.y is None:
        raise InvalidParameter("release='all' perturbs x, z and y: noise for z or y is missing")
    g = problem.gradient(old.x)  # line 4
    x = update_x(g, old.x, old.z, old.y, rho=rho, eta=eta)  # line 5
    z = update_z(x, old.y, rho=rho, regularizer=problem.regularizer)  # line 6
    y = update_y(old.y, x, z, rho=rho)  # line 7
    return State(on_grid(x, grid) + gamma.x, on_grid(z, grid) + gamma.z, on_grid(y, grid) + gamma.y)  # line 9


def _epoch_primal(problem: Problem, old: State, eta: Scalar, gamma: ModelNoise, grid: float | None) -> State:
    """One epoch that perturbs x alone.

    *Deviates:* the paper perturbs z and y as well; computed from the noisy x they need no noise (statement P).
    """
    rho = problem.rho
    g = problem.gradient(old.x)
    x = on_grid(update_x(g, old.x, old.z, old.y, rho=rho, eta=eta), grid) + gamma.x
    z = update_z(x, old.y, rho=rho, regularizer=problem.regularizer)
    return State(x, z, update_y(old.y, x, z, rho=rho))
