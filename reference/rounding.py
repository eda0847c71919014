"""Rounding to a grid before exact discrete noise is added."""

from __future__ import annotations

import numpy as np

from reference.arithmetic import Vector


def on_grid(value: Vector, grid: float | None) -> Vector:
    r"""The nearest multiples of the grid; the value itself where there is none.

    Discrete Gaussian noise hides integers, so the value must lie on the noise's own grid. Each coordinate moves by
    at most grid/2, hence neighbours move apart by at most grid * sqrt(p) more: the sensitivity to account for is
    Delta + grid sqrt(p) (claim GRID).
    """
    return value if grid is None else np.rint(value / grid) * grid
