r"""The simulated data of [CL20] section 5.3: correlated features, 20 relevant of 100, a noisy logit."""

from __future__ import annotations

import numpy as np

from reference.arithmetic import Vector
from reference.dataset import Dataset

FEATURES = 100
RELEVANT = 20
CORRELATION = 0.5


def true_model(features: int = FEATURES) -> Vector:
    """x_1..x_10 = 0.5, 1, ..., 5; x_11..x_20 = -x_1..-x_10; the rest 0; with fewer features each part in proportion."""
    half = max(1, RELEVANT * features // (2 * FEATURES))
    rise = 0.5 * np.arange(1, half + 1) * (RELEVANT // 2) / half
    return np.concatenate([rise, -rise, np.zeros(features - 2 * half)])


def simulate(seed: int, rows: int, features: int = FEATURES) -> Dataset:
    r"""Rows s ~ N(0, Sigma), Sigma_ij = 0.5^{|i-j|}; P(l = 1) = 1/(1 + exp(-x.s + iota)), iota ~ N(0, 1).

    Sigma is that of a stationary autoregression of order one, which is how it is drawn: no Cholesky factor needed.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(features,)))
    s = rng.normal(size=(rows, features))
    for column in range(1, features):
        s[:, column] = CORRELATION * s[:, column - 1] + np.sqrt(1 - CORRELATION**2) * s[:, column]
    logit = s @ true_model(features) - rng.normal(size=rows)
    # logit > -log(1/u - 1) has probability 1/(1 + e^-logit), and never overflows.
    u = rng.random(rows)
    labels = np.where(logit > np.log(np.maximum(u, 1e-300)) - np.log1p(-u), 1.0, -1.0)
    return Dataset.of(s, labels)
