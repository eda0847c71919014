"""Neighbours on which a baseline's sensitivity is reached, and small problems to run everything on."""

from __future__ import annotations

import math

import numpy as np

from reference.arithmetic import Vector
from reference.dataset import Dataset
from reference.losses import HuberizedHinge, Logistic, Loss
from reference.problem import Problem
from reference.regularizers import L1, Regularizer, Unregularized

LOSSES: list[Loss] = [Logistic(), HuberizedHinge()]
FAR = 1e6  # times TILT it saturates both slopes: e^-1000 is 0 in binary64
TILT = 1e-3


def opposing_neighbours(records: int) -> tuple[Dataset, Dataset, Vector]:
    """Data sets that differ in record 0, and a point at which the two gradients of that record oppose."""
    rise = math.sqrt(1 - TILT**2)
    row, other = np.array([-TILT, rise]), np.array([-TILT, -rise])
    everyone = Dataset.of(np.tile(row, (records, 1)), np.ones(records))
    return everyone, everyone.replace(0, other, 1.0), np.array([FAR, 0.0])


def random_data(seed: int, records: int, dimension: int) -> Dataset:
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(records) < 0.5, -1.0, 1.0)
    return Dataset.of(rng.normal(size=(records, dimension)), labels).with_intercept().normalised()


def problem_of(
    data: Dataset,
    loss: Loss,
    *,
    regularizer: Regularizer | None = None,
    rho: float = 0.5,
    clip: float | None = None,
) -> Problem:
    return Problem.of(data, loss, regularizer or Unregularized(), rho=rho, clip=clip)


def small_problem(loss: Loss, *, seed: int = 1, records: int = 12, clip: float | None = None) -> Problem:
    return problem_of(random_data(seed, records, 3), loss, regularizer=L1(0.05), clip=clip)


def neighbours_at_random(rng: np.random.Generator, records: int) -> tuple[Dataset, Dataset]:
    """Unit rows, one of them replaced by a unit row of either label."""
    dimension = int(rng.integers(1, 4))
    data = random_data(int(rng.integers(2**31)), records, dimension)
    row = rng.normal(size=dimension + 1)
    if rng.random() < 0.5:
        row = -data.features[0]  # the opposite of what it replaces
    return data, data.replace(0, row / np.linalg.norm(row), float(rng.choice([-1.0, 1.0])))
