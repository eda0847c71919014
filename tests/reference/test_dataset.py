from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference.arithmetic import Matrix
from reference.dataset import Dataset, min_max_bounds, row_norms
from reference.errors import InvalidData, InvalidParameter
from tests.reference.hostile import LARGEST, LEAST, finite, rows


def dataset(features: Matrix) -> Dataset:
    return Dataset.of(features, np.ones(len(features)))


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        ([[1.0], [math.nan]], [1, -1], "features must be finite, got nan in row 1, column 0"),
        ([[1.0, 2.0], [1.0, -math.inf]], [1, -1], "got -inf in row 1, column 1"),
        ([[1.0], [2.0]], [1, 0], "labels must be -1 or \\+1, got 0.0 in row 1"),
        ([[1.0], [2.0]], [1, math.nan], "labels must be -1 or \\+1, got nan in row 1"),
        ([[1.0], [2.0]], [1], "there must be one label for each record, 2 in all, got shape \\(1,\\)"),
        ([1.0, 2.0], [1, 1], "features must be a non-empty matrix of records x features, got shape \\(2,\\)"),
        (np.zeros((0, 3)), [], "got shape \\(0, 3\\)"),
        (np.zeros((3, 0)), [1, 1, 1], "got shape \\(3, 0\\)"),
    ],
)
def test_bad_records_are_refused_by_row(features: Matrix, labels: list[float], message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        Dataset.of(features, labels)


def test_records_cannot_be_changed_afterwards() -> None:
    mine = np.ones((2, 2))
    data = Dataset.of(mine, [1, -1])
    mine[0, 0] = math.nan
    assert data.features[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        data.features[0, 0] = 2.0


def test_a_neighbour_differs_in_one_record_only() -> None:
    data = Dataset.of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1, 1, -1])
    other = data.replace(1, [7.0, 8.0], -1)
    assert other.features.tolist() == [[1.0, 2.0], [7.0, 8.0], [5.0, 6.0]]
    assert other.labels.tolist() == [1, -1, -1]
    assert data.features.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert other.records == data.records == 3


@pytest.mark.parametrize("row", [-1, 3])
def test_a_neighbour_needs_an_existing_row(row: int) -> None:
    with pytest.raises(InvalidParameter, match=f"row must lie in 0..2, got row={row}"):
        Dataset.of([[1.0], [2.0], [3.0]], [1, 1, 1]).replace(row, [1.0], 1)


def test_a_neighbours_record_is_validated() -> None:
    data = Dataset.of([[1.0, 1.0]], [1])
    with pytest.raises(InvalidData, match="a record must have 2 features, got shape \\(\\)"):
        data.replace(0, 3.0, 1)  # numpy would have broadcast it
    with pytest.raises(InvalidData, match=r"labels must be -1 or \+1, got 2.0 in row 0"):
        data.replace(0, [1.0, 1.0], 2)


@given(rows(st.floats(-1e307, 1e307)))
@example(np.array([[LEAST], [LARGEST], [0.0]]))
@example(np.array([[LEAST, LEAST], [1e300, 1e-300], [3.0, 4.0]]))
def test_normalised_rows_have_length_one_or_are_zero(features: Matrix) -> None:
    normalised = dataset(features).normalised()
    zero = ~features.any(axis=1)
    assert not normalised.features[zero].any()
    for row, original in zip(normalised.features[~zero], features[~zero], strict=True):
        # Two normalisations: 1 to within the roundings of the last division and of the norm, p/2 + 3 units at most.
        assert math.hypot(*row) == pytest.approx(1.0, abs=(len(row) / 2 + 3) * 2.0**-53)
        largest = int(np.abs(original).argmax())
        assert np.sign(row[largest]) == np.sign(original[largest])


@given(rows(finite))
def test_norms_neither_overflow_nor_underflow_unless_the_length_does(features: Matrix) -> None:
    lengths = [math.hypot(*row) for row in features]
    if math.isinf(max(lengths)):
        with pytest.raises(InvalidData, match="too long to measure in binary64"):
            row_norms(features)
    else:
        # p products, p - 1 sums and a square root; denormal lengths carry half a unit of their own.
        np.testing.assert_allclose(
            row_norms(features), lengths, rtol=(features.shape[1] / 2 + 2) * 2.0**-52, atol=LEAST
        )


def test_the_intercept_belongs_before_the_normalisation() -> None:
    data = Dataset.of([[3.0, 4.0], [0.0, 0.0]], [1, -1])
    right = data.with_intercept().normalised()
    assert right.features[:, 0].tolist() == [1 / math.sqrt(26), 1.0]
    assert row_norms(right.features).max() <= 1 + 2.0**-52
    # The trap: the other order makes rows of length sqrt 2, and C = 1 is broken.
    wrong = data.normalised().with_intercept()
    assert row_norms(wrong.features)[0] == pytest.approx(math.sqrt(2))


def test_normalising_to_another_length() -> None:
    assert dataset(np.array([[3.0, 4.0]])).normalised(0.5).features.tolist() == [[0.3, 0.4]]
    with pytest.raises(InvalidParameter, match="length must be finite and > 0, got length=0"):
        dataset(np.ones((1, 1))).normalised(0)


@given(rows(finite), finite, finite)
def test_scaling_by_public_bounds_lands_in_the_unit_interval(features: Matrix, a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if math.isinf(high - low):
        with pytest.raises(InvalidParameter, match="bounds must be finite with lower <= upper, column 0"):
            dataset(features).scaled(low, high)
        return
    scaled = dataset(features).scaled(low, high).features
    assert ((scaled >= 0) & (scaled <= 1)).all()
    if high > low:
        assert (scaled[features >= high] == 1).all()
        assert (scaled[features <= low] == 0).all()


def test_scaling_does_not_look_at_other_records() -> None:
    data = Dataset.of([[1.0], [2.0]], [1, 1])
    one = data.scaled(0.0, 4.0)
    two = data.replace(1, [1e9], 1).scaled(0.0, 4.0)
    assert one.features[0] == two.features[0] == 0.25
    # The paper's way does: a neighbour changes every row (E12).
    low, high = min_max_bounds(data)
    far_low, far_high = min_max_bounds(data.replace(0, [-8.0], 1))
    assert data.scaled(low, high).features[1] == 1.0
    assert data.scaled(far_low, far_high).features[0] == 0.9


@pytest.mark.parametrize("bounds", [(1.0, 0.0), (0.0, math.nan), (-math.inf, 0.0)])
def test_scaling_refuses_bounds_that_are_none(bounds: tuple[float, float]) -> None:
    with pytest.raises(InvalidParameter, match="bounds must be finite with lower <= upper, column 0 has"):
        dataset(np.ones((1, 1))).scaled(*bounds)
