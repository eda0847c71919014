"""The transform's error bound: attacked with adversarial vectors, in both norms, against balls."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from flint import acb, arb

from accountant.errors import InvalidQuantityError
from accountant.numbers import arb_precision
from accountant.pld import certified_fft as fft_error
from accountant.pld import convolution as pld_lattice
from accountant.pld.certified_fft import Complexes, forward, inverse_real, powers_product, transform_error
from accountant.pld.certified_floats import UNIT_ROUNDOFF, Floats

BITS = 160


def _exact(x: Floats, outputs: range) -> list[acb]:
    """The transform of exact float64 numbers at some outputs, as balls, by the definition."""
    length = x.size
    roots = [acb(arb(-2 * k) / length).exp_pi_i() for k in range(length)]
    numbers = [arb(float(v)) for v in x]
    return [sum((numbers[n] * roots[n * k % length] for n in range(length)), acb(0)) for k in outputs]


def _adversarial(length: int) -> dict[str, Floats]:
    generator = np.random.default_rng(length)
    n = np.arange(length)
    wide = 10.0 ** generator.uniform(-300, 0, length)
    return {
        "one atom": np.eye(1, length, length - 1)[0],
        "constant": np.full(length, 1 / 3),
        "signs": np.where(generator.random(length) < 0.5, -1.0, 1.0) / 3,
        "worst phase": np.cos(2 * np.pi * 7 * n / length) / 3,
        "probabilities": np.exp(-((n - length / 3) ** 2) / length),
        "eighty decades": wide,
        "just below a power of two": np.full(length, math.nextafter(1.0, 0)) * (1 - 1e-3 * n / length),
    }


@pytest.mark.parametrize("length", [4, 32, 256])
def test_error_stays_below_its_bound_on_adversarial_vectors_in_both_norms(length: int) -> None:
    bound = transform_error(length)
    worst = 0.0
    for x in _adversarial(length).values():
        computed = forward(x)
        with arb_precision(BITS):
            exact = _exact(x, range(length))
            errors = [abs(acb(complex(c)) - e) for c, e in zip(computed, exact, strict=True)]
            largest = max(float(error.upper()) for error in errors)
            euclid = math.sqrt(sum(float(error.upper()) ** 2 for error in errors))
        assert largest <= bound * float(np.abs(x).sum())
        assert euclid <= bound * math.sqrt(length) * float(np.linalg.norm(x))
        worst = max(worst, largest / (bound * float(np.abs(x).sum())))
    assert worst >= 1 / 400, "the bound is a worst case over paths; losing more than 400 would mean a slip in it"


def test_error_stays_below_its_bound_at_a_working_length() -> None:
    length = 1 << 14
    x = _adversarial(length)["probabilities"]
    x = x / x.sum()
    computed = forward(x)
    with arb_precision(BITS):
        for k in (0, 1, 77, length // 2, length - 1):
            error = abs(acb(complex(computed[k])) - _exact(x, range(k, k + 1))[0])
            assert float(error.upper()) <= transform_error(length)


def test_a_twiddle_factor_wrong_in_the_thirteenth_digit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = fft_error._roots

    def slightly_wrong(rows: int) -> Complexes:
        roots = honest(rows).copy()
        roots[rows // 4] *= 1 + 1e-12
        return roots

    monkeypatch.setattr(fft_error, "_roots", slightly_wrong)
    x = _adversarial(256)["one atom"]
    computed = forward(x)
    with arb_precision(BITS):
        errors = [abs(acb(complex(c)) - e) for c, e in zip(computed, _exact(x, range(256)), strict=True)]
    assert max(float(error.upper()) for error in errors) > transform_error(256)


def test_there_and_back_returns_the_vector_and_leaves_the_input_alone() -> None:
    x = np.random.default_rng(3).random(1 << 12)
    spectrum = forward(x)
    kept = spectrum.copy()
    back = inverse_real(spectrum)
    error = transform_error(x.size)
    assert float(np.linalg.norm(back - x)) <= 2.01 * error * float(np.linalg.norm(x))
    assert np.array_equal(spectrum, kept)


@pytest.mark.parametrize("exponent", [1, 2, 3, 1000, 65537])
def test_powers_stay_within_three_units_a_factor(exponent: int) -> None:
    base = np.exp(2j * np.pi * np.random.default_rng(5).random(40)) * (1 - 1e-7)
    computed = powers_product([(base, exponent), (base[::-1], 2)])
    bound = math.expm1((exponent + 1) * 3 * UNIT_ROUNDOFF)
    with arb_precision(BITS):
        worst = max(
            float(abs(acb(complex(c)) / (acb(complex(b)) ** exponent * acb(complex(r)) ** 2) - 1).upper())
            for c, b, r in zip(computed, base, base[::-1], strict=True)
        )
    assert worst <= bound
    assert exponent < 1000 or worst >= bound / 100


@pytest.mark.parametrize("length", [0, 2, 6, 1000, 1 << 23])
def test_other_lengths_are_refused(length: int) -> None:
    with pytest.raises(InvalidQuantityError, match="power of two"):
        transform_error(length)


def test_no_factor_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="at least one factor"):
        powers_product([])


def test_nothing_is_left_to_a_library_whose_rounding_and_threads_are_its_own() -> None:
    """No matrix product anywhere in the accountant: BLAS sums in an order of its own, and its threads cost ten times
    the work on the short vectors here."""
    for file in sorted(Path(pld_lattice.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            assert not isinstance(node, ast.MatMult), file
            assert not (isinstance(node, ast.Attribute) and node.attr in {"dot", "matmul", "vdot", "inner"}), file
