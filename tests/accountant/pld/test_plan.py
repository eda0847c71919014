"""Plans of compositions: what a refusal leaves behind."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from accountant.errors import CannotCertifyError
from accountant.pld.plan import within_float64


@pytest.mark.parametrize("reason", [CannotCertifyError("too coarse"), OverflowError("too large")])
def test_who_keeps_a_refusal_does_not_keep_the_arrays_it_was_found_with(reason: Exception) -> None:
    arrays: list[weakref.ref[np.ndarray]] = []

    def composed() -> None:
        array = np.zeros(1000)
        arrays.append(weakref.ref(array))
        raise reason

    with pytest.raises(CannotCertifyError) as kept, within_float64():
        composed()
    assert arrays[0]() is None
    assert kept.value.__traceback__ is not None  # where it happened is still told
