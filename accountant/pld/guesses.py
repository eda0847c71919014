r"""Guesses in float64: where to cut, truncate and tilt, which Renyi order to take. None affects soundness.

The normal distribution in plain Python, for guesses: where to cut, where to truncate. Never trusted.

Two scalars a composition need these; a library of special functions would cost more to import than the composition.

Heuristic parameters of a composition: tilt, truncation, window. They affect tightness, never soundness.

`convolution` bounds whatever they leave out, so special functions without an error bound are good enough in this file.

Approximates the Renyi curve of a ledger in float64, to choose an order: affects tightness, never soundness.

Every order gives a valid epsilon, and the order chosen is evaluated in balls (`renyi.conversion`). The integrals are
those of `renyi.integrals`, by Gauss-Legendre panels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, Step, SubsampledGaussianStep
from accountant.pld.certified_floats import Floats, unit_rule
from accountant.pld.types import (
    BinaryStep,
    ComposableStep,
    LaplaceLosses,
    MixedStep,
    Mixtures,
    Pair,
    Parts,
    ResponseLosses,
)

_LOG_ROOT_TWO_PI: Final = 0.5 * math.log(2 * math.pi)
_ERFC_UNDERFLOWS: Final = -37.0
_NEWTON_STEPS: Final = 60


def log_normal_cdf(x: float) -> float:
    """Return log Phi(x), to about 1e-13 of it."""
    if x > 0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2)))
    if x > _ERFC_UNDERFLOWS:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    square = 1 / (x * x)
    series = square * (-1 + square * (3 + square * (-15 + 105 * square)))
    return -x * x / 2 - _LOG_ROOT_TWO_PI - math.log(-x) + math.log1p(series)


def normal_quantile_of_log(log_mass: float) -> float:
    r"""Return the x with log Phi(x) = log_mass <= -1, by Newton's method.

    log Phi is concave and Phi(-t) <= e^{-t^2/2}: the start lies below the root, and the iterates rise to it.
    """
    x = -math.sqrt(-2 * log_mass)
    for _ in range(_NEWTON_STEPS):
        value = log_normal_cdf(x)
        step = (log_mass - value) * math.exp(value + x * x / 2 + _LOG_ROOT_TWO_PI)
        x += step
        if abs(step) <= 1e-14 * abs(x):
            break
    return x


_PANEL_NODES: Final = 16
_LAPLACE_NODES: Final = 64
MOST_RESPONSES: Final = 20_000
"""Pure releases of one epsilon that are put on a lattice together."""
WIDEST: Final = 1e5
_PANELLED: Final = 400.0
"""Up to this width the nodes are Gauss-Legendre panels; beyond it midpoints: a unit Gaussian needs no more, and panels
would be a hundred times as many."""
_MIDPOINT_SPACING: Final = 0.5
_MOST_MIDPOINTS: Final = 100_000
_MANY: Final = 1 << 12
"""Of more nodes than these the moments are taken one by one: 33 at once would leave the cache, and fill the memory."""
_RUN: Final = 16
_LOG_NOTHING: Final = -60.0
"""A term that is e to this of the largest, or less, does not change a sum of float64."""
_ZOOM_POINTS: Final = 33
_ZOOM_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class Sketch:
    """One-step losses with logarithms of quadrature weights, and how often the step is taken."""

    losses: Floats
    log_weights: Floats
    count: int
    outline: Outline | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Outline many nodes."""
        many = self.losses.size > _MANY
        object.__setattr__(self, "outline", Outline.of(self.losses, self.log_weights) if many else None)


@dataclass(frozen=True, slots=True)
class Outline:
    """Many nodes in runs of neighbours, and what no node of a run exceeds: most runs need not be looked at."""

    losses: Floats
    log_weights: Floats
    least: Floats
    largest: Floats
    heaviest: Floats

    @classmethod
    def of(cls, losses: Floats, log_weights: Floats) -> Outline:
        """Cut the nodes into runs; the last one is filled with nodes of no weight."""
        filling = (0, -losses.size % _RUN)
        runs = np.pad(losses, filling, mode="edge").reshape(-1, _RUN)
        weights = np.pad(log_weights, filling, constant_values=-np.inf).reshape(-1, _RUN)
        return cls(runs, weights, runs.min(axis=1), runs.max(axis=1), weights.max(axis=1))

    def log_sum(self, theta: float) -> float:
        """Return log E[e^{theta loss}] of one step."""
        most = self.heaviest + theta * (self.largest if theta > 0 else self.least)
        start = int(np.argmax(most))
        floor = float((self.log_weights[start] + theta * self.losses[start]).max()) + _LOG_NOTHING
        near = np.flatnonzero(most >= floor)
        exponent = self.log_weights[near] + theta * self.losses[near]
        highest = float(exponent.max())
        return highest + math.log(float(np.exp(exponent - highest).sum()))


def loss_at(q: float, mu: float, z: Floats) -> Floats:
    """Return log(1-q+q e^t), t = mu(z - mu/2), approximately."""
    t = mu * (z - mu / 2)
    moderate = np.log1p(q * np.expm1(np.clip(t, -600.0, 600.0))) if q < 1 else t
    return np.where(t <= 600.0, moderate, t + math.log(q))


def point_at(q: float, mu: float, loss: Floats) -> Floats:
    """Return the z with `loss_at` = loss, approximately; loss > log(1-q)."""
    ratio = np.expm1(np.minimum(loss, 50.0)) / q
    moderate = np.log1p(np.maximum(ratio, -1 + 1e-16)) if q < 1 else loss
    t = np.where(loss <= 50.0, moderate, loss - math.log(q))
    return np.asarray(t / mu + mu / 2)


def mixture_losses(step: Mixtures, z: Floats) -> Floats:
    """Return about log(P/Q) at z."""
    return _log_terms(step.first, z)[0] - _log_terms(step.second, -z)[0]


def mixture_slopes(step: Mixtures, z: Floats) -> tuple[Floats, Floats]:
    """Return about the derivative of `mixture_losses`, > 0, and that of the log of Q's density over losses."""
    _, mean, square = _log_terms(step.first, z)
    _, other_mean, other_square = _log_terms(step.second, -z)
    slope = np.maximum(mean + other_mean, 1e-300)
    return slope, (-z - other_mean - (square - other_square) / slope) / slope


def _log_terms(parts: Parts, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Return about log of the density over that of N(0), mean and variance of the shift given z."""
    shifts = np.array([shift for _, shift in parts])
    terms = np.log([weight for weight, _ in parts]) + shifts * (z[..., None] - shifts / 2)
    most = terms.max(axis=-1)
    weights = np.exp(terms - most[..., None])
    total = weights.sum(axis=-1)
    mean = (weights * shifts).sum(axis=-1) / total
    return most + np.log(total), mean, (weights * (shifts - mean[..., None]) ** 2).sum(axis=-1) / total


def sketch(step: ComposableStep, pair: Pair, z_top: float) -> Sketch:
    """Return the loss distribution of one step on quadrature nodes."""
    if isinstance(step, MixedStep):
        drawn = [(math.log(weight), sketch(part, pair, z_top)) for weight, part in step.parts]
        losses = np.concatenate([s.losses for _, s in drawn])
        return Sketch(losses, np.concatenate([s.log_weights + log for log, s in drawn]), step.count)
    if isinstance(step, ResponseLosses | LaplaceLosses):
        return closed_sketch(step)
    if isinstance(step, Mixtures):
        if not z_top < WIDEST:
            raise CannotCertifyError(
                f"a step with 1/nu={step.first[-1][1] or step.second[-1][1]:g} is too wide for a lattice"
            )
        z, log_weights = _nodes(min(-z_top, -9.0), max(z_top, 1.0))
        shape = _log_terms(step.first, z)[0] - z * z / 2 - _LOG_ROOT_TWO_PI
        return Sketch(mixture_losses(step, z), shape + log_weights, step.count)
    q, mu = step.q, step.mu
    pair = step.order if pair is Pair.DOMINATING else pair
    z_low = mu / 2 if pair is Pair.DOMINATING else min(-z_top, mu / 2 - 8)
    if not z_top - z_low < WIDEST:
        raise CannotCertifyError(f"a step with 1/nu={mu:g} is too wide for a lattice")
    z, log_weights = _nodes(z_low, z_top)
    losses = loss_at(q, mu, z)
    base = -z * z / 2 - _LOG_ROOT_TWO_PI + log_weights
    if pair is Pair.MIXTURE_FIRST:
        return Sketch(losses, base + losses, step.count)
    if pair is Pair.MIXTURE_SECOND:
        return Sketch(-losses, base, step.count)
    atom = (1 - q) * math.erf(mu / math.sqrt(8))
    parts = (losses, -losses, np.zeros(1 if atom > 0 else 0))
    weights = (base + losses, base, np.log(np.array([atom])) if atom > 0 else np.zeros(0))
    return Sketch(np.concatenate(parts), np.concatenate(weights), step.count)


@np.errstate(all="ignore")
def closed_sketch(step: ResponseLosses | LaplaceLosses) -> Sketch:
    """Return the losses and the logarithms of their weights, for guesses."""
    e = step.epsilon
    if isinstance(step, LaplaceLosses):
        nodes, weights = unit_rule(_LAPLACE_NODES)
        inner = e * (2 * nodes - 1)
        log_weights = np.log(2 * e * weights / 4) + (inner - e) / 2
        ends = np.array([-math.log(2) - e, -math.log(2)])
        return Sketch(np.concatenate([[-e], inner, [e]]), np.concatenate([ends[:1], log_weights, ends[1:]]), step.count)
    c = step.responses
    if c > MOST_RESPONSES:
        raise CannotCertifyError(f"more than {MOST_RESPONSES} pure releases of one epsilon")
    k = np.arange(c + 1, dtype=np.float64)
    ways = math.lgamma(c + 1) - np.array([math.lgamma(x + 1) + math.lgamma(c - x + 1) for x in k])
    return Sketch((c - 2 * k) * e, ways - k * e - c * math.log1p(math.exp(-e)), 1)


def _nodes(low: float, high: float) -> tuple[Floats, Floats]:
    """Return nodes between low and high, and the logarithms of their weights."""
    width = high - low
    if width > _PANELLED:
        number = min(math.ceil(width / _MIDPOINT_SPACING), _MOST_MIDPOINTS)
        spacing = width / number
        return low + spacing * (np.arange(number, dtype=np.float64) + 0.5), np.full(number, math.log(spacing))
    edges = np.linspace(low, high, max(12, math.ceil(width * 1.5)) + 1)
    spacing = edges[1] - edges[0]
    nodes, weights = unit_rule(_PANEL_NODES)
    z = np.asarray((edges[:-1, None] + spacing * nodes).ravel(), dtype=np.float64)
    return z, np.log(np.tile(spacing * weights, edges.size - 1))


def log_moment(sketches: Sequence[Sketch], theta: Floats) -> Floats:
    """Return the sum over all steps of log E[e^{theta loss}], for each theta; infinite where float64 overflows."""
    total = np.zeros(theta.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for s in sketches:
            if s.outline is not None:
                total += s.count * np.array([s.outline.log_sum(float(one)) for one in theta.flat]).reshape(theta.shape)
                continue
            exponent = s.log_weights + np.multiply.outer(theta, s.losses)
            highest = exponent.max(axis=-1)
            total += s.count * (highest + np.log(np.exp(exponent - highest[..., None]).sum(axis=-1)))
    return np.where(np.isnan(total), np.inf, total)


@np.errstate(all="ignore")
def tilted_deviation(sketches: Sequence[Sketch], theta: float) -> float:
    """Return the standard deviation of the composed loss after tilting by theta."""
    variance = 0.0
    for s in sketches:
        exponent = s.log_weights + theta * s.losses
        weight = np.exp(exponent - exponent.max())
        weight /= weight.sum()
        mean = float((weight * s.losses).sum())
        variance += s.count * float((weight * (s.losses - mean) ** 2).sum())
    return math.sqrt(variance)


def log_kernel_peak(theta: Floats) -> Floats:
    """Return log of max over x >= 0 of e^{-theta x}(1 - e^{-x}): what one loss adds to delta, at most."""
    return np.asarray(-theta * np.log1p(1 / theta) - np.log1p(theta))


def expected_epsilon(chernoff: float, theta: float, deviation: float) -> float:
    r"""Return about the epsilon behind Chernoff's bound: the saddle point's factor 1/(theta (1+theta) sd sqrt(2 pi)).

    Within 1% where theta sd lies between 2 and 10; where the Gaussian shape does not hold it is Chernoff's bound.
    """
    if not 2 <= theta * deviation <= 10:
        return chernoff
    factor = float(log_kernel_peak(np.array([theta]))[0]) + math.log(theta * (1 + theta) * deviation) + _LOG_ROOT_TWO_PI
    return chernoff - factor / theta


def truncation_point(steps: Sequence[ComposableStep], log_mass: float) -> float:
    """Return a z beyond which all steps together hold about e^log_mass of either distribution."""
    parts = [part for step in steps for part in _parts(step)]
    if not parts:
        return 0.0
    if any(part.q <= 0 for part in parts):
        raise CannotCertifyError("float64 cannot hold so small a sampling rate")
    share = min(log_mass - math.log(len(parts)), -3.0)
    tops = [
        max(
            -normal_quantile_of_log(share - math.log(s.count)),
            s.mu - normal_quantile_of_log(min(share - math.log(s.count) - math.log(s.q), -1.0)),
        )
        for s in parts
    ]
    return max(tops)


def _parts(step: ComposableStep) -> list[BinaryStep]:
    """Return the parts of a mixture, each with its probability in its rate."""
    if isinstance(step, BinaryStep):
        return [step]
    if isinstance(step, ResponseLosses | LaplaceLosses):
        return []
    if isinstance(step, Mixtures):
        return [BinaryStep(weight, shift, step.count) for weight, shift in step.first]
    return [BinaryStep(weight * part.q, part.mu, step.count) for weight, part in step.parts]


def tilt_for_delta(sketches: Sequence[Sketch], log_delta: float) -> tuple[float, float]:
    """Return the Chernoff-optimal theta for delta and the epsilon that it gives (may be negative)."""

    def epsilon(theta: Floats) -> Floats:
        return np.asarray((log_moment(sketches, theta) - log_delta + log_kernel_peak(theta)) / theta)

    return _minimise(epsilon, *_tilt_range(sketches))


@np.errstate(all="ignore")
def tilt_for_epsilon(sketches: Sequence[Sketch], epsilon: float) -> tuple[float, float]:
    """Return the Chernoff-optimal theta for epsilon and the log(delta) that it gives."""

    def log_delta(theta: Floats) -> Floats:
        return np.asarray(log_moment(sketches, theta) - theta * epsilon + log_kernel_peak(theta))

    return _minimise(log_delta, *_tilt_range(sketches))


def tail_tilts(sketches: Sequence[Sketch], theta: float, log_tail: float) -> tuple[float, float, float, float]:
    """Return (low, high, below, above): beyond low and high the tilted sum has mass about e^log_tail by Chernoff's
    bound with the further tilts -below and +above.
    """  # noqa: D205 - one sentence that does not fit one line
    scale = tilted_deviation(sketches, theta)
    widest = max(float(np.max(np.abs(s.losses))) for s in sketches)
    most = max(min(1e4 / scale, 300 / widest), 2e-2 / scale)
    at_theta = float(log_moment(sketches, np.array([theta]))[0])

    def reach(sign: float) -> Callable[[Floats], Floats]:
        return lambda extra: np.asarray((log_moment(sketches, theta + sign * extra) - at_theta - log_tail) / extra)

    above, high = _minimise(reach(1.0), 1e-2 / scale, most)
    below, low = _minimise(reach(-1.0), 1e-2 / scale, most)
    bottom, top = support(sketches)
    return max(-low, bottom), min(high, top), below, above


def support(sketches: Sequence[Sketch]) -> tuple[float, float]:
    """Return the least and the largest composed loss, truncation included."""
    bottom = sum(s.count * float(s.losses.min()) for s in sketches)
    return bottom, sum(s.count * float(s.losses.max()) for s in sketches)


@np.errstate(all="ignore")
def _tilt_range(sketches: Sequence[Sketch]) -> tuple[float, float]:
    deviation = max(tilted_deviation(sketches, 0.0), 1e-300)
    steepest = max(float(np.max(np.abs(np.diff(s.log_weights) / _nonzero(np.diff(s.losses))))) for s in sketches)
    widest = max(float(np.max(np.abs(s.losses))) for s in sketches)
    return min(1e-4 / deviation, 1e-2 / widest), max(1e3 / deviation, 2 * steepest)


def _nonzero(x: Floats) -> Floats:
    return np.where(np.abs(x) > 1e-300, x, np.inf)


def _minimise(function: Callable[[Floats], Floats], low: float, high: float) -> tuple[float, float]:
    """Return (argument, minimum) of a quasiconvex function by zooming in on a logarithmic grid."""
    lower, upper = math.log(low), math.log(high)
    for _ in range(_ZOOM_ROUNDS):
        grid = np.linspace(lower, upper, _ZOOM_POINTS)
        values = function(np.exp(grid))
        best = int(np.argmin(values))
        lower, upper = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _ZOOM_POINTS - 1)])
    return math.exp(float(grid[best])), float(values[best])


_NODES: Final = 16
_MOST_PANELS: Final = 2000
_LARGEST: Final = 1e6
_LEAST_RATIO: Final = Fraction(1, 10**12)
"""Rates and multipliers below this are left to balls; at multipliers above 10^12 a release is almost nothing."""
_REACH: Final = 9.5
_CANCELLED: Final = 1e-10
"""A sum of terms of size 1 that is smaller than this is mostly rounding."""


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
