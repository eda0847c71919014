r"""Where a block's composition lies, and what of a state may be called infinite. Guesses: `convolution` certifies.

The window is chosen by Chernoff's bound on the very masses that are composed: for further tilts a of both signs,
P[index >= n] <= e^{-a n h} prod (sum masses e^{a x})^count, and the n with the smallest reach is taken.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accountant.errors import CannotCertifyError
from accountant.pld.adversary.state import BoundState, cut
from accountant.pld.certified_exp import Floats
from accountant.pld.certified_fft import MAX_LENGTH
from accountant.pld.convolution import Window
from accountant.pld.types import LatticeStep

_LOG_TAIL: Final = math.log(1e-12)
_TILTS: Final = 24
_ROUNDS: Final = 2
_HIGHEST_ARGUMENT: Final = 600.0
_FINE_BINS: Final = 512
_COARSER: Final = 1.01
"""Each further bin is wider than the one before it by this factor: 2,000 bins reach 10^9 points."""
_LEAST_MASS: Final = 1e-290
FEWEST_POINTS: Final = 1 << 10


def window_for(steps: Sequence[LatticeStep], spacing: float, log_spill: float) -> Window:
    """Return a window beyond which the composed masses are about 1e-12 on either side; loss 0 lies inside.

    What lies above counts as infinite, so as a true mass it should not exceed e^log_spill.
    """
    scale = sum(step.count * float(step.log_scale.mid()) for step in steps)
    above, high = _reach(steps, spacing, 1.0, min(_LOG_TAIL, log_spill - scale))
    below, low = _reach(steps, spacing, -1.0, _LOG_TAIL)
    first = min(math.floor(-low / spacing) - 1, -1)
    points = math.ceil(high / spacing) + 2 - first
    length = max(FEWEST_POINTS, 1 << math.ceil(math.log2(max(points, 2))))
    if length > MAX_LENGTH:
        raise CannotCertifyError(f"a block of the adversary's recursion needs {length} points, more than {MAX_LENGTH}")
    return Window(first, length, below, above)


def _reach(steps: Sequence[LatticeStep], spacing: float, sign: float, log_tail: float) -> tuple[float, float]:
    """Return a further tilt and the distance from loss 0 at which Chernoff's bound with it is small."""
    widest = max(max(abs(step.first), step.masses.size + step.first) for step in steps) * spacing
    coarse = [_gathered(step, spacing) for step in steps]
    high = math.log(_HIGHEST_ARGUMENT / widest)
    low = high - math.log(1e6)
    best = (math.exp(low), math.inf)
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _TILTS)
        found = [(math.exp(a), _distance(coarse, sign, math.exp(a)) - log_tail / math.exp(a)) for a in grid]
        best = min([best, *found], key=lambda entry: entry[1])
        width = (high - low) / (_TILTS - 1)
        low, high = math.log(best[0]) - width, min(math.log(best[0]) + width, high)
    return best


def _gathered(step: LatticeStep, spacing: float) -> tuple[int, Floats, Floats]:
    """Return count, losses and masses of a step, gathered into bins that are fine about its largest mass.

    A step is taken up to 10^6 times: the moments of its bulk must be right, even where rare losses make it wide.
    """
    size = step.masses.size
    centre = int(np.argmax(step.masses))
    starts = np.unique(np.concatenate([[0], np.clip(centre + _bin_starts(size), 0, size - 1)]))
    x = spacing * np.arange(step.first, step.first + size, dtype=np.float64)
    masses = np.add.reduceat(step.masses, starts)
    means = np.add.reduceat(step.masses * x, starts) / np.maximum(masses, _LEAST_MASS)
    return step.count, np.where(masses > _LEAST_MASS, means, x[starts]), masses


@functools.lru_cache(maxsize=32)
def _bin_starts(size: int) -> NDArray[np.int64]:
    """Return the starts of the bins relatively to the centre, on both sides: every point, then ever fewer."""
    reach, width, starts = _FINE_BINS, 1.0, list(range(_FINE_BINS + 1))
    while reach < size:
        width *= _COARSER
        reach += math.ceil(width)
        starts.append(reach)
    right = np.array(starts, dtype=np.int64)
    return np.concatenate([-right[:0:-1], right])


def _distance(steps: Sequence[tuple[int, Floats, Floats]], sign: float, tilt: float) -> float:
    exponent = 0.0
    for count, x, masses in steps:
        moment = float((masses * np.exp(sign * tilt * x)).sum())
        exponent += count * math.log(moment) if 0 < moment < math.inf else math.inf
    return exponent / tilt


def trimmed(state: BoundState, log_share: float) -> BoundState:
    """Return the state without its highest masses, at most about e^log_share together, which count as infinite."""
    x = state.spacing * np.arange(1, state.masses.size + 1)
    true = state.masses * np.exp(np.maximum(float(state.log_scale.mid()) - state.theta * x, -700.0))
    tail = np.cumsum(true[::-1])[::-1]
    beyond = np.nonzero(tail <= math.exp(max(log_share, -690.0)))[0]
    return cut(state, max(int(beyond[0]), 1)) if beyond.size else state
