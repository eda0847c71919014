"""The price of a declaration is that of its ledger, and what has no theorem is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from accountant import AccountantError, Gaussian, SsADMM, epsilon
from accountant.errors import CannotCertifyError, UnsupportedSchemeError
from accountant.mechanisms.words import Neighbours
from accountant.numbers import fraction_of
from tests.verification.declared.test_declaration import VALUE, declared
from verification.declared.price import attained_epsilon, price

DELTA = Fraction(1, 10**5)
SIZES = (Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE)
BATCHES = {"kind": "without-replacement", "batch": 10}


def test_plain_gaussian_releases() -> None:
    expected = epsilon(Gaussian(noise_multiplier=2, iterations=3), DELTA, digits=6).epsilon
    found = price(declared(iterations=3), 100, DELTA)
    assert abs(found - fraction_of(expected.upper)) < Fraction(1, 10**4)


def test_what_was_seen_is_a_lower_bound_below_the_price() -> None:
    found, seen = price(declared(), 100, DELTA), attained_epsilon(Fraction(1, 4), DELTA)
    assert 0 < seen <= found < seen + Fraction(1, 10**4)
    assert attained_epsilon(Fraction(0), DELTA) == 0


def test_batches_cost_what_ssadmm_costs() -> None:
    # sensitivity 2C/m = 1/5 at C = 1, m = 10; sigma 1 is a noise multiplier of 5
    value = VALUE | {"sensitivity": 0.25}
    mechanism = SsADMM(records=100, batch=10, iterations=4, noise_multiplier=4, sampling="without-replacement", clip=1)
    expected = epsilon(mechanism, DELTA, digits=6).epsilon
    found = price(declared(value, sampling=BATCHES, iterations=4), 100, DELTA)
    assert abs(found - fraction_of(expected.upper)) < Fraction(1, 10**3)


def test_two_values_of_one_batch_are_priced_together() -> None:
    one = VALUE | {"sensitivity": 0.3}
    other = VALUE | {"name": "v", "sensitivity": 0.4}
    both = price(declared(one, other, sampling=BATCHES, iterations=2), 100, DELTA)
    together = price(declared(VALUE, sampling=BATCHES, iterations=2), 100, DELTA)  # 0.3^2 + 0.4^2 = 0.5^2
    assert abs(both - together) < Fraction(1, 10**3)


def test_pure_releases_add_up_and_need_no_delta() -> None:
    laplace = VALUE | {"noise": "laplace", "norm": "l1"}
    assert price(declared(laplace, iterations=3), 10, Fraction(0)) == Fraction(3, 2)
    objective = VALUE | {"noise": "gamma-norm", "enters": "objective", "jacobian": 0.25}
    assert price(declared(objective), 10, Fraction(0)) == Fraction(3, 4)


def test_a_weight_is_a_larger_sensitivity() -> None:
    doubled = price(declared(), 10, DELTA, weights={"w": Fraction(2)})
    assert doubled == price(declared(VALUE | {"sensitivity": 1.0}), 10, DELTA)


@pytest.mark.parametrize(
    ("sampling", "neighbours"),
    [
        ({"kind": "poisson", "rate": 0.1}, "replace-one"),
        ({"kind": "poisson", "rate": 0.1}, "zero-out"),
        (BATCHES, "zero-out"),
        ({"kind": "with-replacement", "batch": 5}, "zero-out"),
        ({"kind": "with-replacement", "batch": 5, "amplification": "none"}, "add-or-remove"),
        (BATCHES | {"amplification": "none"}, "add-or-remove"),
    ],
)
def test_what_has_no_theorem_here_is_refused(sampling: dict[str, object], neighbours: str) -> None:
    with pytest.raises(AccountantError):
        price(declared(sampling=sampling, neighbours=neighbours), 100, DELTA)


def test_pure_noise_on_batches_is_refused_where_a_record_contributes_nothing() -> None:
    laplace = VALUE | {"noise": "laplace", "norm": "l1"}
    with pytest.raises(UnsupportedSchemeError):
        price(declared(laplace, sampling=BATCHES, neighbours="zero-out"), 100, DELTA)


def test_without_amplification_sampling_gains_nothing() -> None:
    none = declared(sampling=BATCHES | {"amplification": "none"}, neighbours="zero-out")
    assert price(none, 100, DELTA) == price(declared(neighbours="zero-out"), 100, DELTA)
    assert price(declared(sampling=BATCHES | {"amplification": "none"}), 100, DELTA) == price(declared(), 100, DELTA)
    sampling = {"kind": "with-replacement", "batch": 5, "amplification": "none"}
    fivefold = declared(VALUE | {"sensitivity": 2.5})  # all five entries may be copies of the record
    assert price(declared(sampling=sampling), 100, DELTA) == price(fivefold, 100, DELTA)


def test_draws_with_replacement_are_priced_by_their_theorem_under_both_relations() -> None:
    sampling = {"kind": "with-replacement", "batch": 10}
    found = {n: price(declared(sampling=sampling, iterations=2, neighbours=n), 100, DELTA) for n in SIZES}
    assert found[Neighbours.REPLACE_ONE] == found[Neighbours.ADD_OR_REMOVE]
    without = price(declared(sampling=BATCHES, iterations=2), 100, DELTA)
    none = price(declared(sampling=sampling | {"amplification": "none"}, iterations=2), 100, DELTA)
    assert without < found[Neighbours.REPLACE_ONE] < none


@pytest.mark.parametrize("kind", ["fixed-order", "shuffle"])
def test_epochs_are_priced_as_one_release_each_of_replaced_records(kind: str) -> None:
    sampling = {"kind": kind, "batch": 30}  # three batches an epoch; ten records are left out
    epochs = price(declared(sampling=sampling, iterations=7), 100, DELTA)
    assert epochs == price(declared(iterations=3), 100, DELTA)
    assert epochs < price(declared(sampling=sampling | {"amplification": "none"}, iterations=7), 100, DELTA)
    rising = VALUE | {"sensitivity": [0.1, 0.2, 0.5, 0.5, 0.1]}
    worst = VALUE | {"sensitivity": [0.5, 0.5]}
    found = price(declared(rising, sampling=sampling, iterations=5), 100, DELTA)
    assert found == price(declared(worst, iterations=2), 100, DELTA)
    with pytest.raises(CannotCertifyError, match="different batches"):
        price(declared(sampling=sampling, iterations=7, neighbours="add-or-remove"), 100, DELTA)


def test_batches_of_a_fixed_size_cost_the_same_if_a_record_is_added() -> None:
    both = [price(declared(sampling=BATCHES, iterations=2, neighbours=n), 100, DELTA) for n in SIZES]
    assert both[0] == both[1]


def test_pure_values_of_one_batch_are_amplified_together() -> None:
    one = VALUE | {"noise": "laplace", "norm": "l1"}
    other = one | {"name": "v"}
    found = price(declared(one, other, sampling=BATCHES, iterations=3), 100, Fraction(0))
    assert float(found) == pytest.approx(3 * math.log1p(0.1 * math.expm1(1.0)), rel=1e-12)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_mixture_of_noises_on_all_records_is_priced(neighbours: Neighbours) -> None:
    pure = VALUE | {"name": "v", "noise": "laplace", "norm": "l1", "sensitivity": 0.1}
    both = price(declared(VALUE, pure, iterations=2, neighbours=neighbours), 100, DELTA)
    alone = price(declared(VALUE, iterations=2, neighbours=neighbours), 100, DELTA)
    assert alone < both < alone + Fraction(3, 10)


def test_drawn_values_beside_one_of_all_records_are_priced() -> None:
    whole = VALUE | {"name": "v", "uses": "all", "count": 1, "sensitivity": 0.2}
    poisson = {"kind": "poisson", "rate": 0.1}
    both = price(declared(VALUE, whole, sampling=poisson, iterations=5, neighbours="add-or-remove"), 100, DELTA)
    alone = price(declared(VALUE, sampling=poisson, iterations=5, neighbours="add-or-remove"), 100, DELTA)
    assert alone < both


def test_different_noises_of_one_batch_are_refused() -> None:
    """Each shows something of the batch, so the other is not amplified given it."""
    pure = VALUE | {"name": "v", "noise": "laplace", "norm": "l1"}
    with pytest.raises(CannotCertifyError, match="share a batch"):
        price(declared(VALUE, pure, sampling=BATCHES), 100, DELTA)
