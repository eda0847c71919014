"""One private run, from public choices to a model: what the command line and the estimators share.

A sparse model is made from a noisy one by setting to 0 the coefficients that the noise alone would explain. This uses
private iterates and public numbers only, so it is post-processing and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm, Sampling
from dpadmm.defaults import Setting, typical_noise
from reference.arithmetic import Vector
from reference.discrete_gaussian import ExactEntropy
from reference.errors import InvalidParameter, require_count, require_not_negative
from reference.mpadmm import Release, mpadmm
from reference.outputs import Finished, Output, finish
from reference.problem import Problem, State
from reference.randomness import Entropy, Randomness, Seeded, in_order, model_noise
from reference.regularizers import L1, MCP, SCAD, ElasticNet, GroupL1, NuclearNorm, Regularizer, Unregularized
from reference.schedules import Constant, InverseSquareRoot, PerEpoch, Schedule, steps
from reference.ssadmm import ssadmm

ALGORITHMS = (Algorithm.SSADMM, Algorithm.MPADMM)
"""The paper's two algorithms: those that train."""
SAMPLINGS = (Sampling.WITHOUT_REPLACEMENT, Sampling.FIXED_ORDER, Sampling.SHUFFLE)
"""How ssADMM may draw its batches."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What regularizers need beyond lambda; each uses its own."""

    l1_ratio: float = 0.5
    a: float = 3.7
    gamma: float = 3.0
    groups: tuple[tuple[int, ...], ...] = ()
    matrix: tuple[int, int] = (1, 1)


REGULARIZERS: dict[str, Callable[[float, Shape], Regularizer]] = {
    "none": lambda _lam, _shape: Unregularized(),
    "l1": lambda lam, _shape: L1(lam),
    "elastic-net": lambda lam, shape: ElasticNet(lam, shape.l1_ratio),
    "group-l1": lambda lam, shape: GroupL1(lam, shape.groups),
    "nuclear": lambda lam, shape: NuclearNorm(lam, *shape.matrix),
    "scad": lambda lam, shape: SCAD(lam, shape.a),
    "mcp": lambda lam, shape: MCP(lam, shape.gamma),
}
SCHEDULES: dict[str, Callable[[float, int, int], Schedule]] = {
    "constant": lambda eta, _records, _batch: Constant(eta),
    "per-epoch": PerEpoch,
    "inverse-sqrt": lambda eta, _records, _batch: InverseSquareRoot(eta),
}


@dataclass(frozen=True, slots=True)
class Training:
    """The public choices of a run, beside the problem itself.

    ``batch`` and ``sampling`` are for ssADMM alone and ``release`` for mpADMM alone; ``grid`` asks for exact discrete
    noise.
    """

    algorithm: Algorithm
    schedule: Schedule
    iterations: int
    batch: int
    release: Release = Release.PRIMAL
    grid: float | None = None
    sampling: Sampling = Sampling.WITHOUT_REPLACEMENT

    def __post_init__(self) -> None:
        if self.sampling not in SAMPLINGS:
            raise InvalidParameter(f"sampling must be one of {', '.join(SAMPLINGS)}, got sampling={self.sampling}")
        if self.algorithm not in ALGORITHMS:
            raise InvalidParameter(f"algorithm must be one of {', '.join(ALGORITHMS)}, got algorithm={self.algorithm}")
        require_count("iterations", self.iterations)
        require_count("batch", self.batch)

    def states(self, problem: Problem, sigma: float, randomness: Randomness) -> Iterator[State]:
        """The iterates, each private once the run's noise is accounted for."""
        require_not_negative("sigma", sigma)
        etas, start = steps(self.schedule, self.iterations), State.zero(problem.dimension)
        if self.algorithm is Algorithm.SSADMM:
            draw = {
                Sampling.WITHOUT_REPLACEMENT: randomness.batches,
                Sampling.FIXED_ORDER: in_order,
                Sampling.SHUFFLE: randomness.shuffled,
            }[self.sampling]
            batches = draw(problem.records, self.batch, self.iterations)
            noise = randomness.noise(problem.dimension, sigma, self.iterations)
            return ssadmm(problem, start, step_sizes=etas, batches=batches, noise=noise, grid=self.grid)
        gammas = model_noise(randomness, problem.dimension, sigma, self.iterations, self.release)
        return mpadmm(problem, start, step_sizes=etas, noise=gammas, release=self.release, grid=self.grid)


def randomness_for(seed: int | None, grid: float | None) -> Randomness:
    """System entropy unless a seed is given; exact discrete noise where there is a grid."""
    if grid is None:
        return Entropy() if seed is None else Seeded(seed)
    if seed is not None:
        raise InvalidParameter(
            f"discrete noise is for releases, which a seed would undo: give no seed, got seed={seed}"
        )
    return ExactEntropy(grid)


def run(
    training: Training,
    problem: Problem,
    sigma: float,
    randomness: Randomness,
    watch: Callable[[State], None] = lambda _state: None,
) -> Finished:
    """Train to the end; ``watch`` sees every iterate."""

    def watched() -> Iterator[State]:
        for state in training.states(problem, sigma, randomness):
            watch(state)
            yield state

    # What overflows here is refused by the reference, with a message; numpy need not warn beside it.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return finish(State.zero(problem.dimension), watched())


AUTO = "auto"
SPARSE = ("l1", "elastic-net", "group-l1", "scad", "mcp")
"""The penalties that select coefficients."""
HALF = 0.5
_MARGIN = 1.1


def without_noise(model: Vector, noise: float, *, keep_first: bool) -> Vector:
    """The model without coefficients of less than half of ``noise``; the first, an intercept, may be kept."""
    kept = np.abs(model) > HALF * noise
    if keep_first:
        kept[:1] = True
    return np.where(kept, model, 0.0)


def released(
    finished: Finished,
    training: Training,
    chosen: Setting,
    *,
    output: str,
    regularizer: str,
    sigma: float,
    intercept: bool,
) -> Vector:
    """The model that is released: post-processing of private iterates, by public numbers."""
    if output != AUTO:
        return finished.model(Output(output))
    if regularizer not in SPARSE:
        return finished.model(Output.LAST)
    noise = typical_noise(training.algorithm, chosen, training.schedule, sigma)
    return without_noise(finished.model(Output.SPARSE), noise, keep_first=intercept)


def least_rho(regularizer: str, shape: Shape | None) -> float:
    """A penalty parameter at which the proximal map of a regularizer that is not convex is continuous."""
    chosen = shape or Shape()
    if regularizer == "scad" and chosen.a > 1:
        return _MARGIN / (chosen.a - 1)
    if regularizer == "mcp" and chosen.gamma > 0:
        return _MARGIN / chosen.gamma
    return 0.0
