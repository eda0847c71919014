r"""Minimising a smooth, strongly convex function to a stated residual, with numpy alone.

Nesterov's constant-momentum scheme (Nesterov 2004, section 2.2.1, scheme III) for an L-smooth, mu-strongly convex
function contracts by about 1 - sqrt(mu/L) a step. The step size uses *bounds* on L and mu that hold for every data
set, so it reveals nothing. What comes back is at most residual/mu away from the minimiser.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reference.arithmetic import Vector
from reference.errors import RefusedByReference, require_positive


class NotConverged(RefusedByReference):
    """The residual that was asked for was not reached: an error, and nothing is returned."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How exactly to solve: stop at gradients this short, give up after so many steps."""

    residual: float = 1e-11
    most_steps: int = 20_000

    def __post_init__(self) -> None:
        require_positive("residual", self.residual)


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """A point, the length of the gradient there, and how many gradients it took."""

    x: Vector
    residual: float
    steps: int


def minimise(
    gradient: Callable[[Vector], Vector], start: Vector, *, smoothness: float, convexity: float, accuracy: Accuracy
) -> Minimum:
    """A point whose gradient is no longer than asked, else :class:`NotConverged`."""
    require_positive("smoothness", smoothness)
    require_positive("convexity", convexity)
    root = math.sqrt(min(1.0, convexity / smoothness))
    momentum = (1 - root) / (1 + root)
    x, ahead = start, start
    for step in range(accuracy.most_steps):
        g = gradient(ahead)
        length = float(np.linalg.norm(g))
        if length <= accuracy.residual:
            return Minimum(ahead, length, step + 1)
        following = ahead - g / smoothness
        ahead, x = following + momentum * (following - x), following
    raise NotConverged(
        f"the inner problem kept a residual of {length:.3g} after {accuracy.most_steps} steps, "
        f"residual <= {accuracy.residual} was asked for; raise most_steps or rho"
    )
