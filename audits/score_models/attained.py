r"""The curve that the hardest pair of ssADMM attains: the most that an audit of that pair can show.

In each of T independent steps the hardest pair (opposite records of largest gradients) shows
(1-q) N(0, nu^2) + q N(1, nu^2) against N(0, nu^2); this is the pair of the accountant's lower end. The *claimed* curve
of the same parameters dominates every pair: for each loss it takes the worse of both orders, and no pair attains it
when q < 1.

delta(eps) = E[(1 - e^(eps - L))_+], L the sum of the losses of T steps, in the worse of both orders. Each loss is
rounded up to a lattice, what lies beyond counts as infinite, and the error of the transform that convolves is added.
"""

from __future__ import annotations

import numpy as np

from audits.curves.privacy_curve import require_finite
from audits.curves.table import TableCurve
from audits.errors import AuditError
from audits.score_models.log_ratios import cells_of, convolved
from verification.wire.arrays import Floats

# all steps' cells together: by so much, at most, epsilon is too large
_WIDTH = 0.01
_POINTS = 200
_UNIT = float(np.finfo(np.float64).eps)


def attained_curve(rate: float, multiplier: float, steps: int) -> TableCurve:
    """Return at least the delta(epsilon) that the hardest pair attains in ``steps`` steps on batches of ``rate``.

    ``multiplier`` is nu = sigma m / (2C). Epsilon is too large by at most 0.01, half of that on average.
    """
    require_finite("multiplier", multiplier, strictly=True)
    if not 0.0 < rate < 1.0:
        raise AuditError(f"rate must be in (0, 1), got rate={rate!r}; with every record in every batch it is Gaussian")
    if steps < 1:
        raise AuditError(f"steps must be at least 1, got steps={steps!r}")
    both = [_Composed(rate, multiplier, steps, reverse=reverse) for reverse in (False, True)]
    last = 1.0
    while max(float(order.delta(np.array([last]))[0]) for order in both) > 1e-8 and last < 300.0:
        last *= 1.25
    epsilons = last * (np.arange(_POINTS) / (_POINTS - 1)) ** 1.5
    deltas = np.minimum(np.maximum(both[0].delta(epsilons), both[1].delta(epsilons)), 1.0)
    name = f"hardest pair of {steps} Gaussian steps at nu={multiplier:.4g} on batches of rate {rate:.4g}"
    return TableCurve(tuple(epsilons.tolist()), tuple(deltas.tolist()), name)


class _Composed:
    """The composed loss in one order: its positive part, and by how much everything else may raise delta."""

    def __init__(self, rate: float, nu: float, steps: int, *, reverse: bool) -> None:
        width = _WIDTH / steps
        masses, first, infinite = _one_step(rate, nu, width, reverse)
        total, error = convolved(masses, steps)
        losses = width * (steps * first + np.arange(total.size))
        positive = losses > 0.0
        self._losses = losses[positive]
        self._lost = steps * infinite + error
        # from the top: sums over all losses above each one
        kept = total[positive]
        self._above = np.append(np.cumsum(kept[::-1])[::-1], 0.0)
        self._weighed = np.append(np.cumsum((kept * np.exp(-self._losses))[::-1])[::-1], 0.0)

    def delta(self, epsilon: Floats) -> Floats:
        """Return at least delta at each epsilon >= 0."""
        at = np.searchsorted(self._losses, epsilon, side="right")
        found: Floats = np.maximum(self._above[at] - np.exp(epsilon) * self._weighed[at], 0.0) + self._lost
        return found


def _one_step(rate: float, nu: float, width: float, reverse: bool) -> tuple[Floats, int, float]:
    """The masses of one step's loss, rounded up to multiples of ``width``, from which multiple on, and what is lost."""
    law = cells_of(rate, nu, nu, width, taking_part=not reverse)
    inside, beyond = np.diff(law.below), max(1.0 - float(law.below[-1]), 0.0)
    if not reverse:
        return np.append(law.below[:1], inside), law.first, beyond + _UNIT
    # the loss is -l: a cell (a, b] of l is [-b, -a), rounded up to -a; below the last of them, to the last
    return np.append(beyond, inside[::-1]), -law.last, float(law.below[0]) + _UNIT
