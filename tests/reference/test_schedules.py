from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.errors import InvalidParameter
from reference.schedules import Constant, InverseSquareRoot, Listed, PerEpoch, steps


def test_constant() -> None:
    assert list(steps(Constant(0.3), 4)) == [0.3] * 4


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 500))
def test_epochs_change_after_every_n_over_m_iterations(records: int, batch: int, k: int) -> None:
    batch = min(batch, records)
    epoch = 1 + math.floor(Fraction(k) / Fraction(records, batch))
    assert PerEpoch(2.0, records, batch).step(k) == 2.0 / epoch


def test_inverse_square_root_is_finite_from_the_first_step_on() -> None:
    assert list(steps(InverseSquareRoot(3.0), 4)) == [3.0, 3.0 / math.sqrt(2), 3.0 / math.sqrt(3), 1.5]


def test_listed_steps_and_their_end() -> None:
    assert list(steps(Listed((1.0, 0.5)), 2)) == [1.0, 0.5]
    with pytest.raises(InvalidParameter, match="eta lists 2 step sizes, iteration 2 needs another"):
        list(steps(Listed((1.0, 0.5)), 3))


@pytest.mark.parametrize("eta", [0.0, -1.0, math.inf, math.nan])
def test_every_schedule_refuses_a_step_that_is_not_positive_and_finite(eta: float) -> None:
    for make in (Constant, InverseSquareRoot, lambda e: PerEpoch(e, 10, 2), lambda e: Listed((1.0, e))):
        with pytest.raises(InvalidParameter, match="eta must be finite and > 0, got eta="):
            make(eta)


def test_schedules_refuse_impossible_counts() -> None:
    with pytest.raises(InvalidParameter, match="batch must be at most 10, got batch=11"):
        PerEpoch(1.0, 10, 11)
    with pytest.raises(InvalidParameter, match="iterations must be an integer >= 1, got iterations=0"):
        steps(Constant(1.0), 0)
