r"""Approximates the Renyi curve of a ledger in float64, to choose an order: affects tightness, never soundness.

Every order gives a valid epsilon, and the order chosen is evaluated in balls (`renyi.conversion`). The integrals are
those of `renyi.tight` and `renyi.poisson`, by Gauss-Legendre panels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, Step, SubsampledGaussianStep
from accountant.pld.certified_exp import Floats
from accountant.pld.heuristics import loss_at
from accountant.pld.quadrature import unit_rule

_NODES: Final = 16
_MOST_PANELS: Final = 2000
_LARGEST: Final = 1e6
_LEAST_RATIO: Final = Fraction(1, 10**12)
"""Rates and multipliers below this are left to balls; at multipliers above 10^12 a release is almost nothing."""
_REACH: Final = 9.5
_CANCELLED: Final = 1e-10
"""A sum of terms of size 1 that is smaller than this is mostly rounding."""
_LOG_ROOT_TWO_PI: Final = 0.5 * math.log(2 * math.pi)


def moment_guess(steps: tuple[Step, ...]) -> Callable[[Fraction], float] | None:
    """Return a function from alpha to about K(alpha) = (alpha-1) eps(alpha), NaN where unknown; None if it never is."""
    parts = [_step_guess(step) for step in steps]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def guess(alpha: Fraction) -> float:
        if not 1 < alpha < _LARGEST:
            return math.nan
        with np.errstate(all="ignore"):
            return math.fsum(part(float(alpha)) for part in known)

    return guess


def _step_guess(step: Step) -> Callable[[float], float] | None:
    if isinstance(step, GaussianStep) and _LEAST_RATIO < step.ratio_squared < 1 / _LEAST_RATIO:
        ratio = float(step.ratio_squared)
        return lambda alpha: step.count * alpha * (alpha - 1) * ratio / 2
    if not isinstance(step, SubsampledGaussianStep | PoissonGaussianStep):
        return None
    if step.noise_multiplier >= 1 / _LEAST_RATIO:  # the second moment is all there is
        small = float(step.sampling_rate / step.noise_multiplier) ** 2
        return lambda alpha: step.count * alpha * (alpha - 1) * small / 2
    if step.sampling_rate < _LEAST_RATIO or step.noise_multiplier <= _LEAST_RATIO:
        return None
    q, nu = float(step.sampling_rate), float(step.noise_multiplier)
    if isinstance(step, PoissonGaussianStep):
        return lambda alpha: step.count * _poisson(q, nu, alpha)
    return lambda alpha: step.count * min(_tight(q, nu, alpha), alpha * (alpha - 1) / (2 * nu * nu))


def _tight(q: float, nu: float, alpha: float) -> float:
    """Return about log M(alpha) of the dominating pair of a batch without replacement."""
    c = 1 / (2 * nu)
    w, weights = _panels(0.0, max(alpha / nu - c, 0.0) + _REACH, nu, alpha)
    loss = loss_at(q, 1 / nu, w + c)
    exponent = alpha * loss - (w + c) ** 2 / 2
    shift = float(exponent.max()) if w.size else math.nan
    total = float((weights * np.exp(exponent - shift) * np.expm1(-(alpha - 1) * loss) * np.expm1(-alpha * loss)).sum())
    return _log1p_of(shift, total)


def _poisson(q: float, nu: float, alpha: float) -> float:
    """Return about log M(alpha) of a Poisson batch."""
    if q == 1:
        return alpha * (alpha - 1) / (2 * nu * nu)
    z, weights = _panels(-_REACH, alpha / nu + _REACH, nu, alpha)
    loss = loss_at(q, 1 / nu, z)
    exponent = alpha * loss - z * z / 2
    shift = max(float(exponent.max()), 0.0) if z.size else math.nan
    excess = np.expm1(np.minimum(loss, 700.0))
    linear = (1 + alpha * excess) * np.exp(-z * z / 2 - shift)
    total = float((weights * (np.exp(exponent - shift) - linear)).sum())
    if total < _CANCELLED and shift == 0:  # the second moment is all there is
        return math.log1p(alpha * (alpha - 1) / 2 * q * q * math.expm1(min(1 / nu**2, 700.0)))
    return _log1p_of(shift, total)


def _panels(low: float, high: float, nu: float, alpha: float) -> tuple[Floats, Floats]:
    """Return nodes and weights that follow a unit Gaussian times y^alpha; none where they would be too many."""
    width = min(1.0, nu, 2 / math.sqrt(1 + alpha / (4 * nu * nu)))
    if not (high - low) / width < _MOST_PANELS:
        return np.zeros(0), np.zeros(0)
    edges = np.linspace(low, high, math.ceil((high - low) / width) + 1)
    spacing = edges[1] - edges[0]
    nodes, weights = unit_rule(_NODES)
    points = np.asarray((edges[:-1, None] + spacing * nodes).ravel(), dtype=np.float64)
    return points, np.tile(spacing * weights, edges.size - 1)


def _log1p_of(shift: float, total: float) -> float:
    """Return log(1 + e^shift total/sqrt(2 pi)); NaN where nothing is known."""
    if not total > 0:
        return math.nan
    return float(np.logaddexp(0.0, shift + math.log(total) - _LOG_ROOT_TWO_PI))
