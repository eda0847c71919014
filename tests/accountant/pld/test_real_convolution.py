"""Real convolutions by half-length transforms: within their proved error, and only where nothing wraps around."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.errors import CannotCertifyError
from accountant.pld import certified_fft
from accountant.pld.certified_fft import product, product_error, real_transform_error, transform_error, transformed


@pytest.mark.parametrize("length", [16, 256, 2048])
def test_a_product_is_the_convolution_within_its_error(length: int) -> None:
    rng = np.random.default_rng(length)
    first, second = rng.uniform(size=length // 2), rng.uniform(size=length // 2 + 1)
    found = product(transformed(first, length), transformed(second, length))
    true = np.convolve(first.astype(np.longdouble), second.astype(np.longdouble)).astype(np.float64)
    error = product_error(float(first.sum()), float(second.sum()), length)
    assert found.shape == (length,)
    assert float(np.linalg.norm(found - true)) <= error
    assert error <= 1e-13 * float(first.sum()) * float(second.sum())


def test_what_wraps_around_comes_back_with_the_other_sign() -> None:
    found = product(transformed(np.ones(16), 16), transformed(np.array([0.0, 1.0]), 16))
    assert found == pytest.approx(np.concatenate([[-1.0], np.ones(15)]), abs=1e-12)


def test_the_error_is_that_of_the_transform_and_of_the_twist() -> None:
    assert transform_error(512) < real_transform_error(1024) < transform_error(512) + 1e-15


def test_too_many_terms_are_refused() -> None:
    with pytest.raises(CannotCertifyError):
        transformed(np.ones(17), 16)


def test_a_wrong_twist_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above would catch a table that is off by 1e-12."""
    true = certified_fft._twist(256)
    monkeypatch.setattr(certified_fft, "_twist", lambda _: true * (1 + 1e-12))
    first = np.random.default_rng(1).uniform(size=128)
    found = product(transformed(first, 256), transformed(first, 256))
    error = product_error(float(first.sum()), float(first.sum()), 256)
    assert float(np.linalg.norm(found[:255] - np.convolve(first, first))) > error
