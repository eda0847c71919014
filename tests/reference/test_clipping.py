from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference.arithmetic import FLOAT64, Vector
from reference.clipping import clipped_slopes
from reference.dataset import Dataset
from reference.losses import Logistic
from reference.problem import Problem
from reference.regularizers import Unregularized
from tests.reference.hostile import LARGEST, LEAST, vectors

norms = st.one_of(st.floats(0, LARGEST), st.sampled_from([0.0, LEAST, 1.0, LARGEST]))
bounds = st.one_of(st.floats(1e-300, 1e300), st.sampled_from([1.0, 0.5]))


@pytest.mark.parametrize(
    ("slope", "norm", "bound", "expected"),
    [
        (-0.7, 0.0, 1.0, -0.7),  # norm = 0: the slope
        (-0.7, 1.0, 1.0, -0.7),  # short enough: bit for bit
        (-0.5, 2.0, 1.0, -0.5),  # exactly at the bound: bit for bit
        (-1.0, 4.0, 1.0, -0.25),  # too long: sign(slope) bound/norm
        (0.9, 4.0, 1.0, 0.25),
        (-1.0, LARGEST, 1.0, -1.0 / LARGEST),
        (-1.0, LEAST, 1.0, -1.0),
        (-LEAST, LEAST, 1.0, -LEAST),  # the product underflows: still the slope
    ],
)
def test_each_row_of_the_table(slope: float, norm: float, bound: float, expected: float) -> None:
    assert clipped_slopes(np.array([slope]), np.array([norm]), bound)[0] == expected


@given(st.floats(-1, 0), norms, bounds)
@example(-1.0, LARGEST, 1e-300)
def test_no_gradient_is_longer_than_the_bound(slope: float, norm: float, bound: float) -> None:
    result = clipped_slopes(np.array([slope]), np.array([norm]), bound)[0]
    # One division and one product: 2 units of 2^-53, and an underflow of the quotient times the norm.
    assert abs(result) * norm <= bound * (1 + 2.0**-52) + norm * LEAST
    assert abs(result) <= abs(slope) * (1 + 2.0**-52)
    assert result == slope or np.sign(result) in (0, np.sign(slope))


@given(vectors(3, st.floats(-1e100, 1e100)), vectors(3), st.floats(1e-6, 1e6))
def test_a_clipped_gradient_is_the_scaled_raw_one(record: Vector, x: Vector, bound: float) -> None:
    data = Dataset.of([record], [1])
    clipped = Problem.of(data, Logistic(), Unregularized(), rho=1.0, clip=bound).gradient(x)
    raw = Problem.of(data, Logistic(), Unregularized(), rho=1.0).gradient(x)
    length, raw_length = float(FLOAT64.norm(clipped)), float(FLOAT64.norm(raw))
    assert length <= bound * (1 + 1e-15)
    # Parallel and of the same direction: each side is a few roundings (16 units of 2^-53 together) of the products
    # of the lengths; the last term is for products below the normal range.
    tolerance = 16 * 2.0**-53 * length * raw_length + 1e-300
    np.testing.assert_allclose(clipped * raw_length, raw * length, rtol=0, atol=tolerance)


def test_clipping_the_mean_instead_of_each_record_would_be_caught() -> None:
    # Two records whose gradients cancel: the clipped mean is 0 either way only if both are clipped alike.
    data = Dataset.of([[10.0], [-0.1]], [1, 1])
    problem = Problem.of(data, Logistic(), Unregularized(), rho=1.0, clip=1.0)
    per_record = problem.gradient(np.zeros(1))[0]
    assert per_record == (-1.0 + 0.05) / 2
    mean_then_clip = max(-1.0, (-5.0 + 0.05) / 2)
    assert mean_then_clip != per_record
