"""The hardest neighbours that an implementation allows.

All records are u' but one, which is u or u'. The gradients of u and u' oppose each other at full length C, and stay
constant while the iterates move, so that one pair attains the claimed sensitivity in every iteration:

* clipping: features of length 8C at x = 0, along and against one axis; clipped at every margin below 1.9;
* normalised features, huberized hinge: margins below 1 - h = 0.5 have slope -1; x = 0 and small steps keep them there;
* normalised features, logistic loss: only far out do the sigmoids saturate, so the start is moved to a large x0
  (a search that never moves x0 sees half the sensitivity and looks safe).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Initial, LossName
from verification.wire.records import Records
from verification.wire.simple_parameters import initial_point

DIMENSION = 2
SMALL_STEP = 2.0**-7
_TILT = 0.01
_FAR = 2.0**14  # times the tilt: margins of -160, where the sigmoid is 1 to the last bit


@dataclass(frozen=True, slots=True, eq=False)
class HardPair:
    """Neighbours that differ in record 0, with the start and loss at which they are hardest to tell apart."""

    first: Records
    second: Records
    initial: Initial | None
    loss: LossName
    normalise: bool
    attained: float  # the distance of the two mean gradients, times n, over 2C
    held: bool = False  # by a penalty so strong that z stays 0: then y follows x, where without a penalty it stays 0

    @property
    def start(self) -> float:
        """The largest coordinate of the initial point."""
        return 0.0 if self.initial is None else _FAR


def hard_pair(context: Context, count: int, bound: float = 1.0, *, normalise: bool = False) -> HardPair:
    """Return the hardest pair of `count` records; by clipping unless only normalising is offered, or asked for."""
    losses = context.description.losses
    if context.clips and not (normalise and context.can(Capability.NORMALISE)):
        axis = np.array([8.0 * bound, 0.0])
        return HardPair(*_pair(count, axis, -axis), None, losses[0], normalise=False, attained=1.0)
    if LossName.HUBER in losses:
        axis = np.array([2.0 * bound, 0.0])
        return HardPair(*_pair(count, axis, -axis), None, LossName.HUBER, normalise=True, attained=1.0)
    if not context.can(Capability.INITIAL):
        raise NotApplicable("with normalised features and the logistic loss, needs the capability initial")
    height = float(np.sqrt(1 - _TILT**2))
    first = 2.0 * bound * np.array([-_TILT, height])
    second = 2.0 * bound * np.array([-_TILT, -height])
    far = np.array([_FAR / bound, 0.0])
    initial = initial_point(far, far, np.zeros(DIMENSION))
    return HardPair(*_pair(count, first, second), initial, LossName.LOGISTIC, normalise=True, attained=height)


def silent_pair(pair: HardPair) -> HardPair:
    """An empty record for the odd one, and z held at 0: counts and losses differ where opposites agree, y moves."""
    first = pair.second.replace(0, np.zeros(DIMENSION), 1)
    return replace(pair, first=first, attained=pair.attained / 2, held=True)


def _pair(count: int, odd: Floats, usual: Floats) -> tuple[Records, Records]:
    labels = np.ones(count, dtype=np.int64)
    usual_records = Records(np.tile(usual, (count, 1)), labels)
    return usual_records.replace(0, odd, 1), usual_records
