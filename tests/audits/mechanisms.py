"""Mechanisms whose privacy is known exactly: what an honest auditor must not accuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from audits.curves import ApproximateCurve, GaussianCurve, PrivacyCurve, gaussian_delta_upper, rounded_up
from audits.eprocess.scores import GaussianScores, SampledScores, ScoreModel
from benchmarks.estimators import LaplaceCurve
from verification.wire.arrays import Floats


@dataclass(frozen=True, slots=True)
class SubsampledGaussianCurve(PrivacyCurve):
    r"""The dominating profile of one step on a batch without replacement (statement D).

    delta(eps) = q H_G(log(1 + (e^eps - 1)/q)) with H_G the curve of (1/nu)-GDP, replace-one neighbours.
    """

    rate: float
    noise_multiplier: float

    def delta(self, epsilon: Floats) -> Floats:
        """Return the profile D at each epsilon, rounded up."""
        eps = np.asarray(epsilon, dtype=np.float64)
        inner = np.log1p(np.expm1(eps) / self.rate)
        # H_G decreases: rounding its argument down rounds the result up.
        inner = np.maximum(inner * (1.0 - 16.0 * 2.0**-53), 0.0)
        return rounded_up(self.rate * gaussian_delta_upper(1.0 / self.noise_multiplier, inner))

    def describe(self) -> str:
        """Return the claim in one short phrase."""
        return f"one Gaussian step at nu={self.noise_multiplier:.6g} on a batch of rate {self.rate:.6g}"


Sample = Callable[[float, int, np.random.Generator], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True)
class Honest:
    """A mechanism, the claim it obeys (exactly, unless it leaks nothing) and the strength of that claim."""

    name: str
    claim: PrivacyCurve
    strength: float
    sample: Sample
    model: ScoreModel
    designed_for: float

    def draw(self, shape: tuple[int, ...], seed: int) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(seed)
        first, second = self.sample(self.strength, int(np.prod(shape)), rng)
        return first.reshape(shape), second.reshape(shape)


def gaussian(mu: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.normal(mu, 1.0, count), rng.normal(0.0, 1.0, count)


def silent(_: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.normal(0.0, 1.0, count), rng.normal(0.0, 1.0, count)


def laplace(epsilon: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.laplace(epsilon, 1.0, count), rng.laplace(0.0, 1.0, count)


def randomised_response(epsilon: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    truth = 1.0 / (1.0 + np.exp(-epsilon))
    return (rng.random(count) < truth).astype(np.float64), (rng.random(count) >= truth).astype(np.float64)


RATE, NU = 0.2, 0.5


def subsampled(strength: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """One step at noise NU/strength: (1-q) N(0) + q N(1) against N(0)."""
    sigma = NU / strength
    chosen = rng.random(count) < RATE
    return chosen + rng.normal(0.0, sigma, count), rng.normal(0.0, sigma, count)


def mu_of(epsilon: float, delta: float) -> float:
    return float(brentq(lambda m: float(GaussianCurve(m).delta(np.array([epsilon]))[0]) - delta, 1e-3, 10.0))


MU = mu_of(1.0, 1e-5)

HONEST = [
    Honest("no leak", GaussianCurve(MU), MU, silent, GaussianScores(), MU),
    Honest("no leak, tiny pure claim", ApproximateCurve(0.05), 0.05, silent, SampledScores(laplace), 0.05),
    Honest("exact Gaussian", GaussianCurve(MU), MU, gaussian, GaussianScores(), MU),
    Honest("Laplace, its own curve", LaplaceCurve(1.0), 1.0, laplace, SampledScores(laplace), 1.0),
    Honest("Laplace, pure claim", ApproximateCurve(1.0), 1.0, laplace, SampledScores(laplace), 1.0),
    Honest(
        "randomised response",
        ApproximateCurve(1.0),
        1.0,
        randomised_response,
        SampledScores(randomised_response),
        1.0,
    ),
    Honest(
        "subsampled Gaussian",
        SubsampledGaussianCurve(RATE, NU),
        1.0,
        subsampled,
        SampledScores(subsampled),
        1.0,
    ),
]
