"""Composition of pure releases: sound against the definition and against real Laplace noise, and without loss."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
import scipy.stats
from mpmath import mp, mpf

from accountant import (
    CannotCertifyError,
    CertificateError,
    Gaussian,
    InvalidQuantityError,
    Laplace,
    Ledger,
    Neighbours,
    Poisson,
    Pure,
    UnsupportedSchemeError,
    certificate,
    epsilon,
    read_certificate,
    recheck,
)
from accountant.certificates.mpmath_route import randomised_response_delta
from accountant.numbers import fraction_of
from accountant.profiles.pure import pure_epsilon, side_epsilon

TENTH = Fraction(1, 10)


def kov15(step: Fraction, count: int, i: int) -> mpf:
    """delta_i of [KOV15] Theorem 3.3, at epsilon (count - 2 i) step, as it is printed there."""
    e = mp.mpf(step.numerator) / step.denominator
    terms = [mp.binomial(count, k) * (mp.exp((count - k) * e) - mp.exp((count - 2 * i + k) * e)) for k in range(i)]
    return mp.fsum(terms) / (1 + mp.exp(e)) ** count


@pytest.mark.parametrize(("count", "i"), [(1, 0), (2, 1), (7, 3), (100, 20), (100, 49)])
def test_epsilon_is_where_the_formula_as_printed_has_delta(count: int, i: int) -> None:
    with mp.workdps(50):
        printed = fraction_of(kov15(TENTH, count, i))
    if i == 0:
        assert printed == 0
        return
    found = pure_epsilon([(TENTH, count)], printed)
    there = (count - 2 * i) * TENTH
    assert fraction_of(found.lower) - Fraction(1, 10**20) <= there <= fraction_of(found.upper) + Fraction(1, 10**20)


@pytest.mark.parametrize(
    "releases",
    [[(TENTH, 30)], [(Fraction(1, 2), 3), (TENTH, 20)], [(Fraction(1), 1), (Fraction(1, 3), 4), (TENTH, 5)]],
)
@pytest.mark.parametrize("delta", [Fraction(1, 10**12), Fraction(1, 10**5), Fraction(1, 10)])
def test_epsilon_encloses_where_the_definition_of_delta_meets_delta(
    releases: list[tuple[Fraction, int]], delta: Fraction
) -> None:
    found = pure_epsilon(releases, delta, digits=20)
    lower, upper = fraction_of(found.lower), fraction_of(found.upper)
    assert upper - lower <= upper / 10**18
    assert upper <= sum(e * n for e, n in releases)
    assert fraction_of(randomised_response_delta(releases, upper, 40)) <= delta * (1 + Fraction(1, 10**25))
    if lower > 0:
        assert fraction_of(randomised_response_delta(releases, lower, 40)) >= delta * (1 - Fraction(1, 10**15))


def test_a_delta_that_every_test_keeps_costs_nothing_and_zero_costs_the_sum() -> None:
    assert fraction_of(pure_epsilon([(TENTH, 1)], Fraction(1, 2)).upper) == 0
    assert pure_epsilon([(TENTH, 3)], Fraction(0)).contains(Fraction(3, 10))


def test_too_many_different_epsilons_are_refused() -> None:
    with pytest.raises(CannotCertifyError, match="too many"):
        pure_epsilon([(Fraction(1, k), 9) for k in range(2, 8)], Fraction(1, 1000))


def test_two_laplace_releases_cost_no_more_than_is_said() -> None:
    """The hockey-stick divergence of two Laplace releases: that of one, integrated over the loss of the other."""
    report = epsilon(Laplace(noise_multiplier=1, iterations=2), "1e-2")

    def alone(at: mpf) -> mpf:
        if at >= 1:
            return mpf(0)
        return 1 - mp.exp((at - 1) / 2) if at >= -1 else 1 - mp.exp(at)

    with mp.workdps(20):
        bound = mpf(str(report.epsilon.upper))
        # the other's draw x: below 0 its loss is 1, above 1 it is -1, between them 1 - 2 x
        between = mp.quad(lambda x: mp.exp(-x) / 2 * alone(bound - 1 + 2 * x), [0, (2 - bound) / 2, 1])
        attained = alone(bound - 1) / 2 + between + mp.exp(-1) / 2 * alone(bound + 1)
    assert mpf("1e-3") < attained <= mpf("1e-2")


def test_the_price_of_known_epsilons_is_exact_and_that_of_laplace_is_a_bound() -> None:
    known = epsilon(Pure(epsilon="0.1", iterations=100), "1e-5")
    assert fraction_of(known.epsilon.upper) - fraction_of(known.epsilon.lower) < Fraction(1, 10**12)
    assert known.methods["optimal-pure"].epsilon.upper < known.methods["rdp-cks"].epsilon.upper
    laplace = epsilon(Laplace(noise_multiplier=10, iterations=100), "1e-5")
    assert known.epsilon.lower * mpf("0.95") < laplace.epsilon.lower < known.epsilon.lower
    assert laplace.methods["optimal-pure"].epsilon == known.methods["optimal-pure"].epsilon
    assert laplace.epsilon.upper < known.epsilon.upper


@pytest.mark.parametrize("spent", ["1e-9", "0.1", "1", "30"])
def test_the_side_of_a_laplace_release_is_randomised_response(spent: str) -> None:
    """P[z > D/2] of the two data sets, scale 1 and D = epsilon; one release attains epsilon + 2 log(1 - delta)."""
    e, delta = float(spent), 1e-5
    likely, seldom = scipy.stats.laplace.logsf(-e / 2), scipy.stats.laplace.logsf(e / 2)
    assert float(side_epsilon(Fraction(spent))) == pytest.approx(likely - seldom, rel=1e-7)
    lower = epsilon(Laplace(noise_multiplier=1 / Fraction(spent)), "1e-5").epsilon.lower
    assert float(fraction_of(lower)) <= max(e + 2 * math.log1p(-delta), 0.0)


def test_delta_zero_is_the_sum_and_only_for_pure_steps() -> None:
    report = epsilon(Pure(epsilon=["0.1", "0.25"], iterations=2, neighbours="add-or-remove"), 0)
    assert set(report.methods) == {"pure"}
    assert report.epsilon.contains(Fraction(35, 100))
    with pytest.raises(InvalidQuantityError, match="Gaussian noise has none"):
        epsilon(Gaussian(noise_multiplier=1), 0)
    with pytest.raises(UnsupportedSchemeError, match="at delta = 0"):
        epsilon(Pure(epsilon="0.1"), 0, methods=["rdp-cks"])


def test_pure_steps_compose_with_others_of_their_relation_only() -> None:
    poisson = Poisson(sampling_rate="0.1", noise_multiplier=2, iterations=3).ledger()
    pure = Pure(epsilon="0.1", neighbours=Neighbours.ADD_OR_REMOVE).ledger()
    both = epsilon(poisson + pure, "1e-5")
    assert both.epsilon.upper > epsilon(poisson, "1e-5").epsilon.upper
    with pytest.raises(UnsupportedSchemeError, match="one neighbouring relation"):
        Ledger(poisson.steps + Pure(epsilon="0.1").ledger().steps)


@pytest.mark.parametrize("delta", ["0", "1e-5"])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_certificate_is_read_back_and_rederived(delta: str, relation: Neighbours) -> None:
    for mechanism in (
        Pure(epsilon="0.1", iterations=50, neighbours=relation),
        Laplace(noise_multiplier=3, neighbours=relation),
    ):
        written = certificate(epsilon(mechanism, delta))
        read = read_certificate(_text(written.to_json()))
        assert read == written
        recheck(read)


def test_a_certificate_that_understates_is_refused() -> None:
    honest = certificate(epsilon(Pure(epsilon="0.1", iterations=50), "1e-5")).to_json()
    methods = honest["methods"]
    assert isinstance(methods, dict)
    record = methods["optimal-pure"]
    record["lower"] = record["epsilon"] = record["upper"] = "2.5"
    honest["epsilon"] = {"lower": "2.5", "upper": "2.5"}
    forged = read_certificate(_text(honest | {"digest": ""}))
    signed = read_certificate(_text(honest | {"digest": forged.expected_digest()}))
    with pytest.raises(CertificateError, match="upper end exceeds"):
        recheck(signed)


def _text(document: dict[str, object]) -> str:
    return json.dumps(document)
