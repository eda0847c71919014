"""Values on a grid, as exact discrete noise gives them.

Noise on a grid is as good as any if what it is added to lies on the grid as well; if not, the last bits of the sum are
those of what should be hidden.
"""

from __future__ import annotations

import numpy as np

from verification.wire.arrays import Floats

_SAME = 1e-12


def common_step(values: Floats, grain: float) -> float:
    """The step of a grid that all values lie on, as far as they can be read (``grain``); 0 where there is none.

    Of values that lie on no grid each is this close to a multiple with probability at most 1/20.
    """
    sizes, same = np.sort(np.abs(np.ravel(values))), max(_SAME, grain)
    gaps = np.diff(sizes)
    step = float(np.min(gaps, where=gaps > 8 * same, initial=np.inf))
    reach = 64 * step
    while 100 * same < step < np.inf:
        near = sizes[sizes <= reach]
        whole = np.rint(near / step)
        if whole.any():
            step = float(np.sum(near * whole) / np.sum(whole * whole))
        if float(np.max(np.abs(near - whole * step), initial=0.0)) > 2 * same:
            return 0.0
        if near.size == sizes.size:
            return step
        reach *= 8  # the step is known the better the farther it reaches
    return 0.0


def on_grid(values: Floats, step: float, grain: float) -> bool:
    """Whether all values are multiples of the step, as far as they can be read."""
    off = np.abs(values - step * np.rint(values / step))
    # the step itself is known to within a rounding or two of the largest value
    return bool(np.all(off <= 4 * max(_SAME, grain) + 1e-9 * step * np.abs(values / step)))
