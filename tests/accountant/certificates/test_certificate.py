"""A certificate is written exactly, read back exactly, re-derived independently, and refused when it lies."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from fractions import Fraction
from typing import cast

import pytest

from accountant import (
    DPSVRG,
    Certificate,
    CertificateError,
    Gaussian,
    InvalidQuantityError,
    Ledger,
    MpADMM,
    Noise,
    ObjP,
    Poisson,
    Sensitivity,
    SsADMM,
    certificate,
    epsilon,
    read_certificate,
    recheck,
)
from accountant.certificates.certificate import Interval, ledger_record, read_ledger
from accountant.certificates.profile_check import proved_profile_upper, require_profile_lower
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import decimal_string, exact_string, fraction_of
from accountant.pricing import method_epsilon

LEDGERS: dict[str, Ledger] = {
    "ssadmm": SsADMM(records=1000, batch=100, noise_multiplier=4, iterations=20).ledger(),
    "discrete": SsADMM(records=1000, batch=100, noise_multiplier=4, iterations=20, noise=Noise.DISCRETE).ledger(),
    "mpadmm": MpADMM(records=1000, eta=4, rho="0.5", clip=1, sigma="0.01", iterations=10).ledger(),
    "printed": MpADMM(
        records=1000, eta=4, rho="0.5", clip=1, sigma="0.01", iterations=10, sensitivity=Sensitivity.PRINTED
    ).ledger(),
    "printed and discrete": MpADMM(
        records=1000,
        eta=4,
        rho="0.5",
        clip=1,
        sigma="0.01",
        iterations=10,
        sensitivity=Sensitivity.PRINTED,
        noise=Noise.DISCRETE,
    ).ledger(),
    "objp": ObjP(records=1000, epsilon="0.01", iterations=100).ledger(),
    "poisson": Poisson(sampling_rate="0.01", noise_multiplier=2, iterations=100).ledger(),
    "svrg": DPSVRG(records=1000, batch=100, iterations=10, inner=5, anchor_sigma="0.01", sigma="0.2", clip=1).ledger(),
    "gaussian": Gaussian(noise_multiplier=30, iterations=50).ledger(),
}


@pytest.fixture(scope="module")
def documents() -> dict[str, Certificate]:
    return {name: certificate(epsilon(ledger, "1e-6", digits=12)) for name, ledger in LEDGERS.items()}


@pytest.mark.parametrize("name", LEDGERS)
def test_a_certificate_survives_writing_and_reading(documents: dict[str, Certificate], name: str) -> None:
    document = documents[name]
    assert read_certificate(json.dumps(document.to_json())) == document
    assert read_ledger(document.ledger) == LEDGERS[name]


@pytest.mark.parametrize("name", LEDGERS)
def test_an_honest_certificate_is_re_derived(documents: dict[str, Certificate], name: str) -> None:
    subjects = [finding.subject for finding in recheck(documents[name])]
    assert subjects == [*documents[name].methods, "epsilon.upper", "epsilon.lower"]


def test_every_real_is_a_decimal_string(documents: dict[str, Certificate]) -> None:
    shape = documents["ssadmm"].to_json()
    assert shape["format"] == "dpadmm-account"
    assert shape["version"] == 2
    for method in documents["ssadmm"].methods.values():
        assert Fraction(method.lower) <= Fraction(method.epsilon) == Fraction(method.upper)
    assert set(documents["ssadmm"].methods) == {"lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks", "profile"}


def _changed(document: Certificate, changes: dict[str, object]) -> Certificate:
    values = {field.name: getattr(document, field.name) for field in dataclasses.fields(document)}
    make = cast(Callable[..., Certificate], Certificate)
    return make(**(values | changes))


def resigned(document: Certificate, **changes: object) -> Certificate:
    """The document with changes and a fitting digest: a liar who knows the format."""
    altered = _changed(document, changes)
    return dataclasses.replace(altered, digest=altered.expected_digest())


def scaled(document: Certificate, method: str, factor: str) -> Certificate:
    """A method's epsilon, and with it the claim, made smaller (or larger) by a factor."""
    record = document.methods[method]
    lower, upper = (
        decimal_string(Fraction(end) * Fraction(factor), 12, "down") for end in (record.lower, record.upper)
    )
    forged = dataclasses.replace(record, lower=lower, upper=upper, epsilon=upper)
    low = min(Fraction(document.epsilon.lower), Fraction(upper))
    interval = Interval(lower=decimal_string(low, 12, "down"), upper=min(upper, document.epsilon.upper, key=Fraction))
    return resigned(document, methods={**document.methods, method: forged}, epsilon=interval)


def test_an_altered_certificate_does_not_fit_its_digest(documents: dict[str, Certificate]) -> None:
    altered = dataclasses.replace(documents["gaussian"], delta="1e-5")
    with pytest.raises(CertificateError, match="digest"):
        recheck(altered)


@pytest.mark.parametrize("method", ["lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks"])
def test_a_renyi_epsilon_one_billionth_too_small_is_refused(documents: dict[str, Certificate], method: str) -> None:
    with pytest.raises(CertificateError, match=f"{method}: mpmath finds"):
        recheck(scaled(documents["ssadmm"], method, "0.999999999"))


def test_a_profile_a_two_thousandth_too_small_is_refused(documents: dict[str, Certificate]) -> None:
    with pytest.raises(CertificateError, match="above the stated delta"):
        recheck(scaled(documents["ssadmm"], "profile", "0.9995"))


def test_a_gaussian_epsilon_one_billionth_too_small_is_refused(documents: dict[str, Certificate]) -> None:
    with pytest.raises(CertificateError, match="gdp"):
        recheck(scaled(documents["gaussian"], "gdp", "0.999999999"))


LIES: dict[str, tuple[str, Callable[[Certificate], Certificate]]] = {
    "an order that was not the one used": (
        "mpmath finds",
        lambda c: resigned(
            c,
            methods={**c.methods, "lemma2-cks": dataclasses.replace(c.methods["lemma2-cks"], alpha="2")},
        ),
    ),
    "a theorem that is not this method's": (
        "contradicts itself",
        lambda c: resigned(
            c,
            methods={**c.methods, "lemma2-cks": dataclasses.replace(c.methods["lemma2-cks"], theorem="folklore")},
        ),
    ),
    "an epsilon below every method": (
        "below what every method supports",
        lambda c: resigned(c, epsilon=Interval(lower="0", upper="0.001")),
    ),
    "a lower end that nothing attains": (
        "no realisable pair|is no enclosure",
        lambda c: resigned(c, epsilon=Interval(lower=c.epsilon.upper, upper=c.epsilon.upper)),
    ),
    "soundness that the ledger denies": ("sound", lambda c: resigned(c, sound=False)),
    "a method not proved for these steps": (
        "not proved",
        lambda c: resigned(c, methods={**c.methods, "gdp": c.methods["lemma2-cks"]}),
    ),
    "an end below zero": (
        "no enclosure",
        lambda c: resigned(c, epsilon=Interval(lower="-1", upper=c.epsilon.upper)),
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused(documents: dict[str, Certificate], lie: str) -> None:
    message, tell = LIES[lie]
    with pytest.raises(CertificateError, match=message):
        recheck(tell(documents["ssadmm"]))


def test_a_lower_end_without_a_realisable_pair_is_refused(documents: dict[str, Certificate]) -> None:
    document = documents["objp"]
    with pytest.raises(CertificateError, match="realisable pair"):
        recheck(resigned(document, epsilon=Interval(lower="0.1", upper=document.epsilon.upper)))


def test_the_truth_behind_printed_sensitivities_is_re_derived(documents: dict[str, Certificate]) -> None:
    document = documents["printed"]
    claimed = document.methods["gdp"]
    with pytest.raises(CertificateError, match=r"epsilon\.upper|no enclosure"):
        recheck(resigned(document, epsilon=Interval(lower="0", upper=claimed.upper)))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "dpadmm-account", "version": 2}', "not json"])
def test_what_is_no_certificate_is_a_usage_error(text: str) -> None:
    with pytest.raises(InvalidQuantityError, match="not a certificate"):
        read_certificate(text)


def test_a_ledger_with_another_relation_than_its_steps_is_refused() -> None:
    record = ledger_record(LEDGERS["poisson"])
    lying = dataclasses.replace(record, neighbours="replace-one")
    with pytest.raises(InvalidQuantityError, match="neighbours"):
        read_ledger(lying)


def test_numbers_are_written_exactly_or_not_at_all() -> None:
    for value in (
        Fraction(1, 3),
        Fraction(1, 8),
        Fraction("1e-300"),
        Fraction(221, 48842),
        Fraction(12345678901234567890),
    ):
        assert Fraction(exact_string(value)) == value
    with pytest.raises(InvalidQuantityError, match="fewer digits"):
        exact_string(Fraction(1, 3**20_000))


@pytest.mark.parametrize(
    ("q", "nu", "count", "delta"),
    [
        ("3.4e-5", "2.22", 4, "1e-16"),  # single losses decide: a grid taken from the Renyi order is too coarse here
        pytest.param("2.81e-5", "22.9", 3, "1e-25", marks=pytest.mark.slow),
        ("1/100", "4", 50, "1/10"),  # epsilon = 0
    ],
)
def test_exact_integers_confirm_what_holds_and_nothing_smaller(q: str, nu: str, count: int, delta: str) -> None:
    steps = (SubsampledGaussianStep(Fraction(q), Fraction(nu), count),)
    bound = method_epsilon(Ledger(steps), Fraction(delta), "profile", digits=10).epsilon
    upper = fraction_of(bound.upper)
    proved_profile_upper(steps, Fraction(delta), upper)
    if upper > 0:
        assert "exact integers" in require_profile_lower(steps, Fraction(delta), fraction_of(bound.lower)).how
        with pytest.raises(CertificateError, match="above the stated delta"):
            proved_profile_upper(steps, Fraction(delta), upper * Fraction(99, 100))
    else:
        with pytest.raises(CertificateError, match="above the stated delta"):
            proved_profile_upper(steps, Fraction(1, 10**4), upper)


def test_a_method_of_the_default_answer_that_was_refused_is_confirmed() -> None:
    """Noise too small for the exact adversary, which the default effort asks: its certificate says so."""
    phases = [
        SsADMM(records=52715120, batch=6761, noise_multiplier="2e-15", iterations=2998),
        DPSVRG(records=733345, batch=5, noise_multiplier="714e5", inner=48, iterations=9311040),
    ]
    found = epsilon(phases[0].ledger() + phases[1].ledger(), "1e-73", effort="tight")
    assert "adversary" in found.refused
    assert recheck(certificate(found))
