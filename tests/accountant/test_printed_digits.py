"""Printed ends enclose what was certified, keep the digits that it supports, and do not depend on guesses."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from accountant import (
    Bound,
    Gaussian,
    Ledger,
    Mechanism,
    MpADMM,
    SsADMM,
    SubsampledGaussianStep,
    calibrate_noise,
    certificate,
    epsilon,
)
from accountant.numbers import fraction_of
from accountant.pld import plan
from accountant.pld.composition import SubsampledGaussian, compose
from accountant.pld.convolution import ComposedLattice
from dpadmm.cli import group

ends = st.fractions(min_value=0, max_value=10**6, max_denominator=10**12)


@given(ends, ends, st.integers(1, 30))
def test_printing_rounds_outwards_and_widens_by_little(one: Fraction, other: Fraction, digits: int) -> None:
    bound = Bound.from_fractions(min(one, other), max(one, other))
    low, high = map(Fraction, bound.printed(digits))
    lower, upper = fraction_of(bound.lower), fraction_of(bound.upper)
    assert low <= lower
    assert upper <= high
    width = upper - lower
    for end, shown in ((lower, low), (upper, high)):
        assert abs(shown - end) <= width / 1000 + end * Fraction(10) ** (1 - digits)


@given(ends, st.fractions(min_value="0.001", max_value=1), st.fractions(min_value=-1, max_value=1))
def test_what_the_width_does_not_support_is_not_printed(lower: Fraction, width: Fraction, noise: Fraction) -> None:
    """Ends that move by a billionth of the width print the same, but where they cross a printed digit."""
    moved = noise * width / 10**9
    one, other = (
        Bound.from_fractions(max(end, Fraction(0)), max(end, Fraction(0)) + width).printed(15)
        for end in (lower, lower + moved)
    )
    for first, second in zip(one, other, strict=True):
        tiny = max(Fraction(first), Fraction(second)) < _unit(width)  # a lower end keeps digits of its own there
        assert tiny or abs(Fraction(first) - Fraction(second)) in (0, _unit(width))


def test_a_lower_end_far_below_the_upper_one_is_not_printed_as_0() -> None:
    assert Bound.from_fractions(Fraction(20318278), Fraction(10) ** 15).printed(15) == ("20310000", "1000000000000000")


def _unit(width: Fraction) -> Fraction:
    exponent = -4
    while Fraction(10) ** (exponent + 1) <= width:
        exponent += 1
    return Fraction(10) ** (exponent - 3)


PRICED: dict[str, Mechanism | Ledger] = {
    "gaussian": Gaussian(noise_multiplier=5, iterations=3),
    "ssadmm": SsADMM(records=500, batch=20, noise_multiplier=2, iterations=30),
    "mpadmm": MpADMM(records=500, eta=1, rho="0.5", clip=1, sigma="0.1", iterations=5),
    "paper": MpADMM(
        records=500, eta=1, rho="0.5", clip=1, sigma="0.1", iterations=5, release="all", sensitivity="printed"
    ),
    "mixed": SsADMM(records=500, batch=20, noise_multiplier=2, iterations=30).ledger()
    + Gaussian(noise_multiplier=9, iterations=1).ledger(),
}


@pytest.mark.parametrize("name", PRICED)
def test_every_printed_end_of_a_price_encloses_what_was_certified(name: str) -> None:
    report = epsilon(PRICED[name], "1e-5")
    document = certificate(report)
    assert Fraction(document.epsilon.lower) <= fraction_of(report.epsilon.lower)
    assert fraction_of(report.epsilon.upper) <= Fraction(document.epsilon.upper)
    for method, result in report.methods.items():
        record = document.methods[method]
        assert Fraction(record.lower) <= fraction_of(result.epsilon.lower)
        assert fraction_of(result.epsilon.upper) <= Fraction(record.upper)


def test_text_and_json_print_the_same_ends() -> None:
    options = ["ssadmm", "--records", "500", "--batch", "20", "--noise-multiplier", "2"]
    options += ["--iterations", "30", "--delta", "1e-5"]
    text = CliRunner().invoke(group, ["account", *options]).output
    document = json.loads(CliRunner().invoke(group, ["account", *options, "--format", "json"]).output)["epsilon"]
    assert f"epsilon in [{document['lower']}, {document['upper']}] at" in text


@pytest.mark.parametrize("shift", [-3e-2, -1e-3, 1e-9, 1e-3, 3e-2])
def test_another_start_of_the_root_search_prints_the_same(monkeypatch: pytest.MonkeyPatch, shift: float) -> None:
    steps = (SubsampledGaussianStep(Fraction(1, 50), Fraction(2), 40),)
    delta = Fraction(1, 10**5)
    before = certificate(epsilon(Ledger(steps, steps), delta, methods=["profile"])).epsilon
    guess = plan.epsilon_guess

    def elsewhere(lattice: ComposedLattice, start: float, delta: Fraction) -> float:
        return guess(lattice, start * (1 + shift), delta) * (1 + 1e-12 * shift)

    monkeypatch.setattr(plan, "epsilon_guess", elsewhere)
    assert certificate(epsilon(Ledger(steps, steps), delta, methods=["profile"])).epsilon == before


def test_certified_ends_are_short_decimals() -> None:
    """Nine digits and a few binary subdivisions: a guess that differs in the tenth digit does not show."""
    profile = compose([SubsampledGaussian(Fraction(1, 50), Fraction(2), 40)])
    for end in (profile.epsilon_lower(Fraction(1, 10**5)), profile.epsilon_upper(Fraction(1, 10**5))):
        assert (end * 10**9 * 16).denominator == 1


def test_what_is_printed_at_a_prompt_is_short_and_encloses() -> None:
    report = epsilon(Gaussian(noise_multiplier="2", iterations=3), delta="1e-6")
    least, most = (Fraction(end) for end in str(report.epsilon).strip("[]").split(", "))
    assert least <= report.epsilon.least.fraction() <= report.epsilon.most.fraction() <= most
    assert str(report) == f"epsilon in {report.epsilon} at delta 1e-6 (method gdp)"
    found = calibrate_noise(lambda noise: Gaussian(noise_multiplier=noise), epsilon=1, delta="1e-6")
    assert repr(found) == "<Calibration: 4.225 costs epsilon <= 0.999919 (method gdp)>"
    assert max(map(len, (repr(report), repr(report.epsilon), repr(found)))) < 100
    assert str(report.epsilon) in report._repr_html_()
