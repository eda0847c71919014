"""Single precision inside: the tolerance covers it, and no wrong bound of any size that matters hides below it."""

from __future__ import annotations

import numpy as np
import pytest

from verification.served.translate import SINGLE
from verification.wire.arrays import Floats

C = 0.8


def single_precision_error(columns: int, records: int) -> float:
    """The relative error, at most and to first order, of a mean clipped gradient in single precision (see `SINGLE`)."""
    return (columns / 2 + records + 5) * 2.0**-24


def mean_gradient(features: Floats, labels: Floats, x: Floats, kind: type[np.floating]) -> Floats:
    """The mean clipped gradient of the logistic loss, every operation in one precision."""
    signed, at, bound = (features * labels[:, None]).astype(kind), x.astype(kind), kind(C)
    slopes = -1 / (1 + np.exp(np.clip(signed @ at, -80, 80)))
    gradients = slopes[:, None] * signed
    norms = np.sqrt(np.sum(gradients * gradients, axis=1))
    clipped = gradients * np.minimum(kind(1), bound / norms)[:, None]
    total = np.zeros(features.shape[1], dtype=kind)
    for row in clipped:
        total = total + row
    return np.asarray(total / kind(len(features)), dtype=np.float64)


@pytest.mark.parametrize(("columns", "records"), [(3, 2), (6, 8), (10, 24)])
def test_an_honest_gradient_in_single_precision_stays_under_the_tolerance(columns: int, records: int) -> None:
    """At least half of the records are clipped, as where the tolerance is used: on the length of a bounded gradient."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(500):
        direction = rng.standard_normal(columns)
        features = np.tile(direction / np.linalg.norm(direction) * rng.uniform(5, 1e6), (records, 1))
        labels = np.ones(records)
        x = -rng.random() * features[0] / np.linalg.norm(features[0]) ** 2
        double, single = (mean_gradient(features, labels, x, kind) for kind in (np.float64, np.float32))
        worst = max(worst, abs(float(np.linalg.norm(single) / np.linalg.norm(double)) - 1.0))
    assert worst <= single_precision_error(columns, records) <= SINGLE


def test_what_hides_below_the_tolerance_is_no_more_than_it() -> None:
    assert single_precision_error(10, 24) <= SINGLE < 4e-6
