"""What is measured on the test fold: accuracy, objective, and the coverage of the relevant attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.cells import CellTable
from experiments.synthetic import RELEVANT
from reference.arithmetic import Matrix, Vector


def accuracy(signed: Matrix, models: Matrix) -> Vector:
    """The share of records with a positive margin, one number a model; a margin of 0 decides nothing and is wrong."""
    share: Vector = (models @ signed.T > 0).mean(axis=1)
    return share


def objective(signed: Matrix, cells: CellTable, models: Matrix) -> Vector:
    """F(x) on the test fold: mean loss plus lambda ||x||_1, the intercept penalised as in training."""
    total: Vector = cells.losses_of(signed, models) + cells.lambdas[:, 0] * np.abs(models).sum(axis=1)
    return total


def coverage(models: Matrix, k: int) -> Vector:
    """xi_k: the share of the relevant attributes among the k largest coefficients, the intercept aside.

    [CL20] section 5.6. Ties, which only zeros have, are broken against the relevant attributes.
    """
    sizes = np.abs(models[:, 1:])
    # A stable sort of the reversed columns puts the irrelevant ones, which come last, first among equals.
    order = np.argsort(-sizes[:, ::-1], axis=1, kind="stable")[:, :k]
    chosen = sizes.shape[1] - 1 - order
    share: Vector = (chosen < RELEVANT).sum(axis=1) / RELEVANT
    return share


def coverages(models: Matrix, ks: Sequence[int]) -> Matrix:
    """xi_k for several k, one column each."""
    return np.column_stack([coverage(models, k) for k in ks]) if ks else np.empty((len(models), 0))
