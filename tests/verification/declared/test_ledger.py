"""The price of a declaration is that of its ledger, and what has no theorem is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant import CannotCertifyError, Gaussian, SsADMM, epsilon
from accountant.numbers import fraction_of
from tests.verification.declared.test_declaration import VALUE, declared
from verification.declared.ledger import price

DELTA = Fraction(1, 10**5)
BATCHES = {"scheme": "fixed-size", "batch": 10}


def test_plain_gaussian_releases() -> None:
    expected = epsilon(Gaussian(noise_multiplier=2, iterations=3), DELTA, digits=6).epsilon
    found = price(declared(iterations=3), 100, DELTA)
    assert abs(found.upper - fraction_of(expected.upper)) < Fraction(1, 10**4)
    assert found.lower == 0


def test_what_was_seen_is_a_lower_bound_below_the_price() -> None:
    found = price(declared(), 100, DELTA, attained=Fraction(1, 4))
    assert 0 < found.lower <= found.upper < found.lower + Fraction(1, 10**4)


def test_batches_cost_what_ssadmm_costs() -> None:
    # sensitivity 2C/m = 1/5 at C = 1, m = 10; sigma 1 is a noise multiplier of 5
    value = VALUE | {"sensitivity": 0.25}
    mechanism = SsADMM(records=100, batch=10, iterations=4, noise_multiplier=4, sampling="without-replacement", clip=1)
    expected = epsilon(mechanism, DELTA, digits=6).epsilon
    found = price(declared(value, sampling=BATCHES, iterations=4), 100, DELTA)
    assert abs(found.upper - fraction_of(expected.upper)) < Fraction(1, 10**3)


def test_two_values_of_one_batch_are_priced_together() -> None:
    one = VALUE | {"sensitivity": 0.3}
    other = VALUE | {"name": "v", "sensitivity": 0.4}
    both = price(declared(one, other, sampling=BATCHES, iterations=2), 100, DELTA)
    together = price(declared(VALUE, sampling=BATCHES, iterations=2), 100, DELTA)  # 0.3^2 + 0.4^2 = 0.5^2
    assert abs(both.upper - together.upper) < Fraction(1, 10**3)


def test_pure_releases_add_up_and_need_no_delta() -> None:
    laplace = VALUE | {"noise": "laplace", "norm": "l1"}
    assert price(declared(laplace, iterations=3), 10, Fraction(0)).upper == Fraction(3, 2)
    objective = VALUE | {"noise": "gamma-norm", "enters": "objective", "jacobian": 0.25}
    assert price(declared(objective), 10, Fraction(0)).upper == Fraction(3, 4)


def test_a_weight_is_a_larger_sensitivity() -> None:
    doubled = price(declared(), 10, DELTA, weights={"w": Fraction(2)})
    assert doubled.upper == price(declared(VALUE | {"sensitivity": 1.0}), 10, DELTA).upper


@pytest.mark.parametrize(
    ("sampling", "neighbours"),
    [
        (BATCHES, "add-or-remove"),
        ({"scheme": "poisson", "rate": 0.1}, "replace-one"),
        ({"scheme": "with-replacement", "batch": 5}, "replace-one"),
    ],
)
def test_what_has_no_theorem_here_is_refused(sampling: dict[str, object], neighbours: str) -> None:
    with pytest.raises(CannotCertifyError):
        price(declared(sampling=sampling, neighbours=neighbours), 100, DELTA)


def test_without_amplification_sampling_gains_nothing() -> None:
    sampling = {"scheme": "with-replacement", "batch": 5, "amplification": "none"}
    assert price(declared(sampling=sampling), 100, DELTA).upper == price(declared(), 100, DELTA).upper
