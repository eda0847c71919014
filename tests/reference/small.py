"""A small problem that every test of the algorithms can share."""

from __future__ import annotations

import numpy as np

from reference.dataset import Dataset
from reference.losses import Logistic, Loss
from reference.problem import Problem
from reference.regularizers import L1, MCP, SCAD, ElasticNet, GroupL1, NuclearNorm, Regularizer, Unregularized

REGULARIZERS: dict[str, Regularizer] = {
    regularizer.name: regularizer
    for regularizer in (
        Unregularized(),
        L1(0.05),
        ElasticNet(0.05, 0.25),
        GroupL1(0.05, ((0, 1, 2), (4,))),
        NuclearNorm(0.05, 2, 3),
        SCAD(0.05),
        MCP(0.05),
    )
}


def small_data(records: int = 8, dimension: int = 6, seed: int = 0) -> Dataset:
    """Rows of length 1, of mixed sign, with a zero row and two collinear ones among them."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(records, dimension))
    features[1], features[2] = 0.0, -3 * features[0]
    return Dataset.of(features, np.where(rng.random(records) < 0.5, -1, 1)).normalised()


def small_problem(
    loss: Loss | None = None, regularizer: Regularizer | None = None, *, rho: float = 0.75, clip: float | None = None
) -> Problem:
    """Logistic loss and L1 unless another is asked for."""
    return Problem.of(small_data(), loss or Logistic(), regularizer or L1(0.05), rho=rho, clip=clip)
