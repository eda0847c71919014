r"""The one engine for many runs at once: Algorithms 1 and 2 on arrays with a row for each run, every step a method.

:class:`Vectorised` holds the iterations. Whoever trains many models supplies the gradient: :class:`Runs` for runs of
one problem on batches of their own (audits, the wire), `experiments.loops` for models with
parameters of their own on shared batches. Wrong implementations override a step (`verification.served.stepwise`). A
single run is the text of the paper: :mod:`reference.ssadmm`, :mod:`reference.mpadmm`.

Run r of :func:`ssadmm_many` sees the very batches and noise that :class:`reference.randomness.Seeded` with ``run=r``
draws. The states agree with R single runs to rounding: only the order of summation in the gradient differs, and the
balls of :mod:`reference.arithmetic.in_balls` enclose every order (tests/reference/test_number_systems.py, run by run).
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from reference.arithmetic.system import Indices, Matrix, Scalar
from reference.errors import InvalidParameter
from reference.gradients import batch_gradients, full_gradients
from reference.mpadmm import Release
from reference.problem import Problem, State
from reference.randomness import seeded_batches, seeded_noise
from reference.regularizers import Regularizer
from reference.schedules import Schedule, steps
from reference.updates import update_x, update_y, update_z

BLOCK_RUNS = 2048  # so that the temporaries of a small audit problem stay inside the cache

Noise: TypeAlias = dict[str, Matrix]
"""The noise of one iteration by the name of what it is added to: gradient; x, z, y; or x alone."""


class Splitting(Protocol):
    """What the updates need to know of a problem."""

    @property
    def regularizer(self) -> Regularizer:
        """The penalty lambda h."""

    @property
    def rho(self) -> Scalar:
        """ADMM's penalty parameter."""


P_contra = TypeVar("P_contra", bound=Splitting, contravariant=True)


class Vectorised(abc.ABC, Generic[P_contra]):
    """Algorithms 1 and 2 for R runs: x, z, y of shape [R, p]. Every step may be overridden."""

    @abc.abstractmethod
    def gradient(self, problem: P_contra, x: Matrix, batch: Indices | None) -> Matrix:
        """The mean gradient of each run over a batch, or over all records; shape [R, p]."""

    def noisy_gradient(self, gradient: Matrix, noise: Matrix) -> Matrix:
        """[CL20] Algorithm 1, line 6."""
        return gradient + noise

    def update_x(self, problem: P_contra, g: Matrix, old: State, eta: float) -> Matrix:
        """The x update."""
        return update_x(g, old.x, old.z, old.y, rho=problem.rho, eta=eta)

    def update_z(self, problem: P_contra, x: Matrix, y: Matrix) -> Matrix:
        """The z update."""
        return update_z(x, y, rho=problem.rho, regularizer=problem.regularizer)

    def update_y(self, problem: P_contra, y: Matrix, x: Matrix, z: Matrix) -> Matrix:
        """The y update."""
        return update_y(y, x, z, rho=problem.rho)

    def ssadmm_step(self, problem: P_contra, old: State, eta: float, batch: Indices, noise: Noise) -> State:
        """[CL20] Algorithm 1, lines 5 to 9."""
        g = self.noisy_gradient(self.gradient(problem, old.x, batch), noise["gradient"])
        x = self.update_x(problem, g, old, eta)
        z = self.update_z(problem, x, old.y)
        return State(x, z, self.update_y(problem, old.y, x, z))

    def mpadmm_step(self, problem: P_contra, old: State, eta: float, noise: Noise) -> State:
        """[CL20] Algorithm 2, lines 4 to 9; with noise for x alone, release primal."""
        x = self.update_x(problem, self.gradient(problem, old.x, None), old, eta)
        if set(noise) == {"x"}:
            x = x + noise["x"]
            z = self.update_z(problem, x, old.y)
            return State(x, z, self.update_y(problem, old.y, x, z))
        z = self.update_z(problem, x, old.y)
        y = self.update_y(problem, old.y, x, z)
        return State(x + noise["x"], z + noise["z"], y + noise["y"])

    def ssadmm(
        self,
        problem: P_contra,
        state: State,
        *,
        step_sizes: Iterable[float],
        batches: Iterable[Indices],
        noise: Iterable[Noise],
    ) -> Iterator[State]:
        """Yield the states of all runs after each iteration. [CL20] Algorithm 1."""
        for eta, batch, gamma in zip(step_sizes, batches, noise, strict=True):
            state = self.ssadmm_step(problem, state, eta, batch, gamma)
            yield state

    def mpadmm(
        self, problem: P_contra, state: State, *, step_sizes: Iterable[float], noise: Iterable[Noise]
    ) -> Iterator[State]:
        """Yield the released states of all runs after each epoch. [CL20] Algorithm 2."""
        for eta, gamma in zip(step_sizes, noise, strict=True):
            state = self.mpadmm_step(problem, state, eta, gamma)
            yield state


class Runs(Vectorised[Problem]):
    """Runs of one problem, each on batches of its own: a batch has shape [R, m]."""

    def gradient(self, problem: Problem, x: Matrix, batch: Indices | None) -> Matrix:
        """The mean gradient of each run; refuses one that is not finite."""
        return full_gradients(problem, x) if batch is None else batch_gradients(problem, x, batch)


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
    step_sizes = list(steps(schedule, iterations))

    def block(part: range) -> Iterator[State]:
        batches = seeded_batches(seed, part, problem.records, batch, iterations).swapaxes(0, 1)
        gammas = seeded_noise(seed, part, problem.dimension, sigma, iterations).swapaxes(0, 1)
        noise = ({"gradient": gamma} for gamma in gammas)
        state = _repeated(initial, problem, len(part))
        return Runs().ssadmm(problem, state, step_sizes=step_sizes, batches=batches, noise=noise)

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
    names = ("x", "z", "y") if release is Release.ALL else ("x",)
    step_sizes = list(steps(schedule, epochs))

    def block(part: range) -> Iterator[State]:
        gammas = seeded_noise(seed, part, len(names) * problem.dimension, sigma, epochs).swapaxes(0, 1)
        noise = (dict(zip(names, np.split(gamma, len(names), axis=1), strict=True)) for gamma in gammas)
        return Runs().mpadmm(problem, _repeated(initial, problem, len(part)), step_sizes=step_sizes, noise=noise)

    return _in_blocks(block, runs, epochs, problem.dimension, show)


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


def _repeated(initial: State, problem: Problem, runs: int) -> State:
    initial.require_dimension(problem.dimension)
    return State(*(np.broadcast_to(value, (runs, problem.dimension)) for value in (initial.x, initial.z, initial.y)))
