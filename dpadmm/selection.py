"""Sparse models from noisy ones: coefficients that the noise alone would explain are set to 0.

Only private iterates and public numbers are used, so this is post-processing and costs nothing.
"""

from __future__ import annotations

import numpy as np

from dpadmm.training import Shape
from reference.arithmetic import Vector

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


def least_rho(regularizer: str, shape: Shape | None) -> float:
    """A penalty parameter at which the proximal map of a regularizer that is not convex is continuous."""
    chosen = shape or Shape()
    if regularizer == "scad" and chosen.a > 1:
        return _MARGIN / (chosen.a - 1)
    if regularizer == "mcp" and chosen.gamma > 0:
        return _MARGIN / chosen.gamma
    return 0.0
