"""What rounding explains is measured: in which numbers values are given, and what noise would have hidden."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from accountant.mechanisms.words import Algorithm
from tests.verification.questions.in_process import InProcess
from tests.zoo.honest.same_claim import Bfloat16Gradients
from verification.questions.dependence import hiding, precision_of
from verification.questions.updates import working_unit
from verification.reading.context import DOUBLE, Context, Mode
from verification.served.loopback import Loopback
from verification.wire.arrays import Floats

Step = Callable[[Floats, Floats], Floats]


@pytest.mark.parametrize(("kind", "bits"), [(np.float16, 11), (np.float32, 24), (np.float64, 53)])
def test_the_bits_that_values_are_given_in(kind: type[np.float16 | np.float32 | np.float64], bits: int) -> None:
    values = np.random.default_rng(1).standard_normal(50).astype(kind).astype(np.float64)
    assert precision_of(values) == 2.0**-bits
    assert precision_of(np.append(values, 0.0)) == 2.0**-bits


def test_one_value_with_more_bits_shows_that_all_have_them() -> None:
    values = np.random.default_rng(2).standard_normal(50).astype(np.float32).astype(np.float64)
    values[7] += 2.0**-40
    assert precision_of(values) == 2.0**-53


def test_noise_that_hides_a_record_leaves_a_function_of_the_noised_mean_alone() -> None:
    rng = np.random.default_rng(3)
    mean, other, noise = rng.standard_normal((3, 12))

    def after(value: Floats, drawn: Floats) -> Floats:
        noised = value + drawn
        return np.where(np.abs(noised) > 1, noised, 0.0)

    def before(value: Floats, drawn: Floats) -> Floats:
        return np.where(np.abs(value) > 1, value, 0.0) + drawn

    def apart(step: Step) -> float:
        given = hiding({"gradient": noise}, other - mean, 0.5)
        return min(float(np.abs(step(other, each["gradient"]) - step(mean, noise)).max()) for each in given)

    assert apart(after) < 1e-12
    assert apart(before) > 0.1


@pytest.mark.parametrize(("implementation", "unit"), [(Bfloat16Gradients, 2.0**-8), (Loopback, DOUBLE)])
def test_the_rounding_of_an_implementation_is_that_of_its_format_whatever_the_records(
    implementation: type[Loopback], unit: float
) -> None:
    for seed in range(6):
        session, rng = InProcess(implementation()), np.random.default_rng(seed)
        found = working_unit(Context(session, Mode(Algorithm.SSADMM), rng, lambda: InProcess(implementation())))
        assert unit <= found <= 2 * unit
