"""The prices: a table of known values, what is refused, what is capped, and the corners where binary64 goes wrong."""

from __future__ import annotations

import functools
import re
from fractions import Fraction

import pytest

from accountant import (
    DPSVRG,
    Bound,
    Gaussian,
    Ledger,
    Noise,
    Poisson,
    Report,
    Sampling,
    SsADMM,
    UnsupportedSchemeError,
    epsilon,
    methods_for,
)
from accountant.errors import BinaryFloatError, CannotCertifyError, InvalidQuantityError
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, SubsampledGaussianStep
from accountant.numbers import fraction_of
from accountant.pricing import RENYI
from accountant.renyi.conversion import epsilon_at
from accountant.renyi.moments import Subsampling, ledger_log_moment

TABLE = [
    # n, m, nu, T; lemma2-prop1 and its alpha; lemma2-cks; wbk27-cks; R on a coarse grid; L upper, L lower
    ((48842, 221, 4, 2210), ("0.83618", 39, "0.71054", "0.57780", "0.3045", "0.2850", "0.2610")),
    ((48842, 221, 2, 2210), ("1.49490", 25, "1.31259", "1.26868", "0.7106", "0.6690", "0.5785")),
    ((40000, 200, 1, 200), ("2.21956", 10, "1.85835", "1.85835", "1.7700", "1.0390", "1.0095")),
    ((1000, 100, 8, 1000), ("10.24256", 4, "9.49278", "4.81394", "2.3397", "2.2140", "2.1305")),
]


def upper(bound: Bound) -> Fraction:
    return fraction_of(bound.upper)


def rounds_to(bound: Bound, figure: str) -> bool:
    """Whether every number in the bound rounds to the figure."""
    places = len(figure.partition(".")[2])
    return all(round(fraction_of(end), places) == Fraction(figure) for end in (bound.lower, bound.upper))


@pytest.fixture(scope="module", params=TABLE, ids=["adult-4", "adult-2", "synthetic-1", "small-8"])
def row(request: pytest.FixtureRequest) -> tuple[Report, tuple[str, int, str, str, str, str, str]]:
    (n, m, nu, T), figures = request.param
    return epsilon(SsADMM(records=n, batch=m, noise_multiplier=nu, iterations=T).ledger(), "1e-8"), figures


def test_the_table_is_reproduced(row: tuple[Report, tuple[str, int, str, str, str, str, str]]) -> None:
    report, (prop1, alpha, cks, wbk27, tight, at_most, at_least) = row
    assert rounds_to(report.methods["lemma2-prop1"].epsilon, prop1)
    assert report.methods["lemma2-prop1"].alpha == alpha
    assert rounds_to(report.methods["lemma2-cks"].epsilon, cks)
    assert rounds_to(report.methods["wbk27-cks"].epsilon, wbk27)
    assert upper(report.methods["tight-rdp-cks"].epsilon) <= Fraction(tight)
    assert upper(report.epsilon) <= Fraction(at_most)
    assert fraction_of(report.epsilon.lower) >= Fraction(at_least)


def test_methods_are_ordered_and_enclose(row: tuple[Report, tuple[str, int, str, str, str, str, str]]) -> None:
    report, _ = row
    uppers = [upper(report.methods[name].epsilon) for name in methods_for(report.ledger)]
    assert uppers == sorted(uppers, reverse=True)
    for name in RENYI.keys() & report.methods.keys():
        bound = report.methods[name].epsilon
        assert fraction_of(bound.width) <= upper(bound) / 10**report.digits
    assert report.epsilon.upper == report.methods["profile"].epsilon.upper


@pytest.mark.parametrize("method", ["tight-rdp-cks", "wbk27-cks", "lemma2-cks", "lemma2-prop1"])
def test_no_order_on_a_fine_grid_beats_the_one_found(method: str) -> None:
    ledger = SsADMM(records=48842, batch=221, noise_multiplier=4, iterations=2210).ledger()
    found = epsilon(ledger, "1e-8", methods=[method]).methods[method]
    theorem, conversion, _ = RENYI[method]
    moment = functools.partial(ledger_log_moment, ledger, theorem)
    for k in range(-40, 60):
        alpha = 1 + Fraction(40) * Fraction(11, 10) ** k
        if alpha < 2 or alpha > 400:
            continue
        other = epsilon_at(moment, alpha, Fraction(1, 10**8), conversion, digits=8)
        assert upper(found.epsilon) <= upper(other) * (1 + Fraction(1, 10**6)), alpha


CORNERS = {
    "tiny q: log1p": (SsADMM(records=10**9, batch=1, noise_multiplier=10, iterations=1).ledger(), "1e-30"),
    "q = 1/2, nu = 1000: cancellation": (
        SsADMM(records=2, batch=1, noise_multiplier=1000, iterations=1000).ledger(),
        "1e-8",
    ),
    "nu = 2e8": (SsADMM(records=200, batch=1, noise_multiplier="2e8", iterations=1000).ledger(), "1e-12"),
    "delta = 1e-12": (SsADMM(records=100, batch=1, noise_multiplier="0.8", iterations=200).ledger(), "1e-12"),
    "delta = 1e-100": (SsADMM(records=100, batch=1, noise_multiplier="0.8", iterations=200).ledger(), "1e-100"),
    "delta = 0.1": (SsADMM(records=100, batch=1, noise_multiplier=4, iterations=10).ledger(), "0.1"),
    "delta = 0.5": (SsADMM(records=10, batch=5, noise_multiplier=1, iterations=3).ledger(), "0.5"),
    "q = 1": (SsADMM(records=10, batch=10, noise_multiplier=10, iterations=10).ledger(), "1e-8"),
    "one step": (SsADMM(records=100, batch=1, noise_multiplier=1, iterations=1).ledger(), "1e-8"),
    "a million steps": (SsADMM(records=10**5, batch=100, noise_multiplier=4, iterations=10**6).ledger(), "1e-8"),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners_are_answered_and_never_below_the_realisable_pair(name: str) -> None:
    ledger, delta = CORNERS[name]
    report = epsilon(ledger, delta, digits=10)
    lower = fraction_of(report.epsilon.lower)
    assert 0 <= lower <= upper(report.epsilon)
    for method, result in report.methods.items():
        assert upper(result.epsilon) >= lower, method
    unamplified = Gaussian(noise_multiplier=ledger.steps[0].noise_multiplier, iterations=ledger.steps[0].count).ledger()  # type: ignore[union-attr]  # all of them are sampled steps
    plain = epsilon(unamplified, delta, methods=["gdp"]).epsilon
    assert upper(report.epsilon) <= upper(plain) * (1 + Fraction(1, 1000))


def test_a_tiny_rate_does_not_round_to_nothing() -> None:
    report = epsilon(CORNERS["tiny q: log1p"][0], "1e-30", methods=["tight-rdp-cks", "wbk27-cks"], digits=10)
    tiny = ledger_log_moment(CORNERS["tiny q: log1p"][0], Subsampling.WBK27, Fraction(2), 200)
    assert 0 < tiny < Fraction(1, 10**17).__float__()
    assert upper(report.epsilon) > 0


def test_a_discrete_gaussian_gets_only_what_is_proved_for_it() -> None:
    ledger = SsADMM(records=1000, batch=10, noise_multiplier=2, iterations=10, noise=Noise.DISCRETE).ledger()
    report = epsilon(ledger, "1e-6")
    assert set(report.methods) == {"lemma2-prop1", "lemma2-cks"}
    assert report.epsilon.lower == 0
    for method in ("profile", "tight-rdp-cks", "wbk27-cks"):
        with pytest.raises(UnsupportedSchemeError, match="not proved"):
            epsilon(ledger, "1e-6", methods=[method])
    plain = Gaussian(noise_multiplier=2, iterations=3, noise=Noise.DISCRETE).ledger()
    assert set(epsilon(plain, "1e-6").methods) == {"rdp-prop1", "rdp-cks"}


def test_poisson_gets_neither_lemma_2_nor_company() -> None:
    ledger = Poisson(sampling_rate="0.01", noise_multiplier=1, iterations=10).ledger()
    assert set(methods_for(ledger)) == {"rdp-prop1", "rdp-cks", "profile"}
    with pytest.raises(UnsupportedSchemeError, match="not proved"):
        epsilon(ledger, "1e-6", methods=["lemma2-cks"])
    with pytest.raises(UnsupportedSchemeError, match="one neighbouring relation"):
        ledger + SsADMM(records=100, batch=1, noise_multiplier=1, iterations=1).ledger()


@pytest.mark.parametrize("sampling", [Sampling.POISSON, Sampling.ALL])
def test_other_samplings_are_refused_with_what_would_be_right(sampling: Sampling) -> None:
    with pytest.raises(UnsupportedSchemeError, match="without-replacement"):
        SsADMM(records=100, batch=1, noise_multiplier=1, iterations=1, sampling=sampling).ledger()


BAD: dict[str, dict[str, object]] = {
    "delta must lie": {"delta": "0"},
    "delta must lie strictly": {"delta": "1"},
    "delta must lie strictly between": {"delta": "-1e-8"},
    "delta must be a finite": {"delta": "nan"},
    "noise_multiplier must be finite and > 0": {"noise_multiplier": "0"},
    "noise_multiplier must be finite": {"noise_multiplier": "-1"},
    "noise_multiplier must be a finite number": {"noise_multiplier": "nan"},
    "batch must be at most records": {"batch": 101},
    "batch must be >= 1": {"batch": 0},
    "iterations must be >= 1": {"iterations": 0},
    "iterations must be a whole number": {"iterations": "7"},
    "records must be >= 1": {"records": -5},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_a_name_a_value_and_a_remedy(message: str) -> None:
    given: dict[str, object] = {
        "records": 100,
        "batch": 1,
        "noise_multiplier": "1",
        "iterations": 5,
        "delta": "1e-8",
    } | BAD[message]
    delta = given.pop("delta")
    with pytest.raises(InvalidQuantityError, match=re.escape(message)):
        epsilon(SsADMM(**given).ledger(), delta)  # type: ignore[arg-type]  # wrong on purpose


def test_binary_floats_are_refused_at_the_door() -> None:
    ledger = SsADMM(records=100, batch=1, noise_multiplier=1, iterations=5).ledger()
    with pytest.raises(BinaryFloatError):
        epsilon(ledger, 1e-8)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(BinaryFloatError):
        SsADMM(records=100, batch=1, noise_multiplier=0.5, iterations=5).ledger()  # type: ignore[arg-type]  # wrong on purpose


def test_either_a_multiplier_or_sigma_and_clip() -> None:
    by_sigma = SsADMM(records=100, batch=10, sigma="0.4", clip=1, iterations=5).ledger()
    assert by_sigma == SsADMM(records=100, batch=10, noise_multiplier=2, iterations=5).ledger()
    with pytest.raises(InvalidQuantityError, match="either noise_multiplier, or sigma"):
        SsADMM(records=100, batch=10, sigma="0.4", iterations=5).ledger()


def test_phases_add_up_and_order_does_not_matter() -> None:
    one = SsADMM(records=1000, batch=10, noise_multiplier=2, iterations=50).ledger()
    two = SsADMM(records=1000, batch=40, noise_multiplier=4, iterations=30).ledger()
    both, swapped = epsilon(one + two, "1e-6"), epsilon(two + one, "1e-6")
    assert upper(both.epsilon) >= max(upper(epsilon(part, "1e-6").epsilon) for part in (one, two))
    assert abs(upper(both.epsilon) - upper(swapped.epsilon)) <= upper(both.epsilon) / 10**3
    halves = Ledger((SubsampledGaussianStep(Fraction(1, 100), Fraction(2), 25),) * 2)
    whole = epsilon(one, "1e-6", methods=["lemma2-cks"]).methods["lemma2-cks"].epsilon
    assert epsilon(halves, "1e-6", methods=["lemma2-cks"]).methods["lemma2-cks"].epsilon == whole


def test_a_mixed_ledger_is_composed_whole() -> None:
    ledger = DPSVRG(
        records=10000, batch=100, iterations=500, inner=100, anchor_sigma="0.01", sigma="0.2", clip=1
    ).ledger()
    report = epsilon(ledger, "1e-8")
    full_only = epsilon(Ledger((ledger.steps[0],)), "1e-8").methods["gdp"].epsilon
    assert report.epsilon.lower <= full_only.upper
    assert upper(report.methods["profile"].epsilon) <= upper(report.methods["tight-rdp-cks"].epsilon)


def test_nothing_that_can_be_certified_is_an_error_and_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise CannotCertifyError("no convergence")

    monkeypatch.setattr("accountant.pricing.best_epsilon", broken)
    with pytest.raises(CannotCertifyError, match="no convergence"):
        epsilon(Gaussian(noise_multiplier=2, noise=Noise.DISCRETE), "1e-6")


def test_a_method_that_fails_is_named_and_the_others_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise CannotCertifyError("grid too small")

    monkeypatch.setattr("accountant.pld.ledger_steps.compose", broken)
    report = epsilon(SsADMM(records=100, batch=1, noise_multiplier=1, iterations=5).ledger(), "1e-6")
    assert report.refused == {"profile": "grid too small"}
    assert report.epsilon.upper == report.methods["tight-rdp-cks"].epsilon.upper
    assert report.epsilon.lower == 0


def test_steps_refuse_what_no_mechanism_has() -> None:
    for build in (
        lambda: GaussianStep(Fraction(0), 1),
        lambda: SubsampledGaussianStep(Fraction(3, 2), Fraction(1), 1),
        lambda: PoissonGaussianStep(Fraction(1, 2), Fraction(1), 0),
        lambda: Ledger(()),
    ):
        with pytest.raises(InvalidQuantityError):
            build()


@pytest.mark.parametrize("digits", [8, 30, 50])
@pytest.mark.parametrize("method", ["lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks"])
def test_the_digits_that_were_asked_for_are_there(digits: int, method: str) -> None:
    ledger = SsADMM(records=1000, batch=10, noise_multiplier=2, iterations=5).ledger()
    found = epsilon(ledger, "1e-6", methods=[method], digits=digits).methods[method].epsilon
    lower, upper = fraction_of(found.lower), fraction_of(found.upper)
    assert 0 < lower <= upper <= lower * (1 + Fraction(1, 10**digits))


@pytest.mark.parametrize("digits", [8, 30, 50])
def test_the_exact_gaussian_has_the_digits_that_were_asked_for(digits: int) -> None:
    found = epsilon(Gaussian(noise_multiplier=3, iterations=7).ledger(), "1e-6", methods=["gdp"], digits=digits)
    lower, upper = (
        fraction_of(end) for end in (found.methods["gdp"].epsilon.lower, found.methods["gdp"].epsilon.upper)
    )
    assert 0 < lower <= upper <= lower * (1 + Fraction(1, 10**digits))
