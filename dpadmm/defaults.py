r"""Step sizes and penalty that are not given: from n, p and the privacy target, all of them public.

The rows have length 1 (or gradients are clipped to C). Let s_k = eta_k/(1 + eta_k rho) be how far a unit gradient moves
the model in iteration k, and S = s_1 + ... + s_T the *reach* of a run. Noise calibrated to mu-GDP gives each
coefficient, without any gradient, a standard deviation of about 2CS/(n mu), whatever T is; and a model cannot become
longer than CS. Rows of length 1 have features of about 1/sqrt(p), so the curvature of the loss falls like 1/p and a
reach has to be compared with p. So S/p is what has to be chosen, as a function of

    r = n mu/sqrt(p),

the number of records over the noise that p coefficients get at the target (epsilon, delta). mu is the accountant's: the
inverse of the noise multiplier at which one Gaussian release meets the target. The table of reaches was chosen on
simulated data (`python -m experiments.defaults`), so nothing private was read for it.
"""

from __future__ import annotations

import functools
import math
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise

import accountant
from accountant import Exact
from accountant.mechanisms.words import Algorithm
from reference.errors import InvalidParameter, require_count
from reference.schedules import Schedule

MOST_ITERATIONS = 10**7
"""More are refused at once: the step size of each is kept, which takes 32 bytes and more."""
EPOCHS = 5
"""Of ssADMM, whose batches make many steps an epoch."""
STEP, FEWEST, MOST = 10.0, 20, 400
"""mpADMM: no s_k is longer than this, within so many epochs. With rows of length 1 the logistic loss has curvature at
most 1/4, so that steps up to 8 cannot overshoot; the noise that a reach costs does not depend on the number of steps.
"""
PENALTY = {Algorithm.SSADMM: 4.0, Algorithm.MPADMM: 1.0}
"""rho times the first step size."""
LAMBDA = 1e-4
TYPICAL = 500.0
"""The r that is assumed where the noise itself is given, and with it no target."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run needs beside the noise."""

    iterations: int
    eta: float
    rho: float


@dataclass(frozen=True, slots=True)
class Given:
    """What the user said, None where nothing; ``schedule`` has the first step 1, and says how steps fall."""

    schedule: Schedule
    iterations: int | None = None
    eta: float | None = None
    rho: float | None = None


@dataclass(frozen=True, slots=True)
class ProblemSize:
    """The public numbers of a problem; ``bound`` is C, ``least_rho`` what a regularizer that is not convex needs."""

    records: int
    batch: int
    dimension: int
    bound: float = 1.0
    least_rho: float = 0.0


def setting(algorithm: Algorithm, size: ProblemSize, given: Given, target: tuple[Exact, Exact] | None) -> Setting:
    """What is given, and the rest so that the run has the reach of the table; refuses what could not be run."""
    if given.iterations is not None:
        require_count("iterations", given.iterations, at_most=MOST_ITERATIONS)
    reach = size.dimension * reach_at(algorithm, TYPICAL if target is None else signal(size, *target))
    iterations = number_of_iterations(algorithm, size, reach) if given.iterations is None else given.iterations
    if algorithm is Algorithm.MPADMM:
        reach = min(reach, STEP * iterations)
    reach /= size.bound**2
    eta, rho = given.eta, given.rho
    if eta is None:
        falls = [1 / given.schedule.step(k) for k in range(iterations)]
        eta = _step(falls, reach, rho, PENALTY[algorithm])
        if rho is None and size.least_rho > PENALTY[algorithm] / eta:
            rho = size.least_rho
            eta = _step(falls, reach, rho, PENALTY[algorithm])
    if rho is None:
        rho = max(PENALTY[algorithm] / eta, size.least_rho) if eta > 0 else 1.0  # a step that is none is refused later
    return Setting(iterations, eta, rho)


def number_of_iterations(algorithm: Algorithm, size: ProblemSize, reach: float) -> int:
    """Five epochs of batches, or as many full gradients as the reach needs."""
    if algorithm is Algorithm.SSADMM:
        return max(1, EPOCHS * size.records // size.batch)
    return min(MOST, max(FEWEST, math.ceil(reach / STEP)))


def typical_noise(algorithm: Algorithm, chosen: Setting, schedule: Schedule, sigma: float) -> float:
    """The standard deviation that the noise alone, without any gradient, gives a coefficient after a run.

    Without gradients and penalty the iterates are a random walk: each adds its noise, in ssADMM times s_k.
    """
    if algorithm is not Algorithm.SSADMM:
        return sigma * math.sqrt(chosen.iterations)
    moves = (1 / (chosen.rho + 1 / schedule.step(k)) for k in range(chosen.iterations))
    return sigma * math.sqrt(math.fsum(move * move for move in moves))


def signal(size: ProblemSize, epsilon: Exact, delta: Exact) -> float:
    """r = n mu/sqrt(p)."""
    return size.records * _mu(epsilon, delta) / math.sqrt(size.dimension)


@functools.lru_cache(maxsize=64)
def _mu(epsilon: Exact, delta: Exact) -> float:
    found = accountant.calibrate_noise(
        lambda noise: accountant.Gaussian(noise_multiplier=noise), epsilon=epsilon, delta=delta, digits=3
    )
    noise = float(found.value)
    if noise < sys.float_info.min:
        raise InvalidParameter(
            f"epsilon is too large for private training: its noise is below the smallest float, got epsilon={epsilon}"
        )
    return 1.0 / noise


def _step(falls: Sequence[float], reach: float, rho: float | None, penalty: float) -> float:
    """The first step size at which steps of eta/falls[k] have this reach."""
    if rho is None:
        return reach / math.fsum(1 / (fall + penalty) for fall in falls)
    # a step cannot reach beyond 1/rho, so a large penalty ends in the largest step that still makes a difference
    low, high = 0.0, 64.0 / rho
    for _ in range(60):
        middle = (low + high) / 2
        short = math.fsum(middle / (fall + middle * rho) for fall in falls) < reach
        low, high = (middle, high) if short else (low, middle)
    return high


def reach_at(algorithm: Algorithm, r: float) -> float:
    """The reach per coefficient: between two entries of the table by logarithms, beyond them constant."""
    table = _table()[algorithm]
    if r <= table[0][0]:
        return table[0][1]
    for (left, low), (right, high) in pairwise(table):
        if r <= right:
            share = math.log(r / left) / math.log(right / left)
            return math.exp((1 - share) * math.log(low) + share * math.log(high))
    return table[-1][1]


@functools.cache
def _table() -> dict[Algorithm, tuple[tuple[float, float], ...]]:
    document = tomllib.loads((resources.files("dpadmm") / "defaults.toml").read_text("utf-8"))
    return {
        algorithm: tuple((float(row["r"]), float(row["reach"])) for row in document[algorithm.value])
        for algorithm in PENALTY
    }
