"""The ledgers: sensitivities as corrected, as printed, and how far apart they are."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant import (
    DPADMM,
    DPSGD,
    Accounting,
    GaussianStep,
    Ledger,
    MpADMM,
    Noise,
    ObjP,
    Poisson,
    Proximal,
    Release,
    Sensitivity,
    SsADMM,
    epsilon,
    objective_perturbation,
)
from accountant.errors import InvalidQuantityError
from accountant.mechanisms.ledger import gdp_squared
from accountant.mechanisms.mechanism import ON_GRID
from accountant.numbers import fraction_of

positive = st.fractions(Fraction(1, 100), Fraction(100), max_denominator=1000)


def one_epoch(eta: object, rho: object, **more: object) -> Fraction:
    """(Delta/sigma)^2 of one epoch with n = 1000, C = 1, sigma = 2C/n."""
    ledger = MpADMM(records=1000, eta=eta, rho=rho, clip=1, sigma="1/500", iterations=1, **more).ledger()  # type: ignore[arg-type]  # forwarded
    square = gdp_squared(ledger.steps)
    assert square is not None
    return square


@given(positive, positive)
def test_the_primal_sensitivity_is_the_corrected_one(eta: Fraction, rho: Fraction) -> None:
    assert one_epoch(eta, rho, release=Release.PRIMAL) == (eta / (1 + eta * rho)) ** 2


@given(positive, positive)
def test_joint_release_is_cheaper_than_three_and_dearer_than_one(eta: Fraction, rho: Fraction) -> None:
    primal = one_epoch(eta, rho, release=Release.PRIMAL)
    joint, separate = one_epoch(eta, rho), one_epoch(eta, rho, accounting=Accounting.SEPARATE)
    assert joint == (1 + max(Fraction(1), rho**2)) * primal
    assert separate == (2 + rho**2) * primal
    assert primal < joint <= separate


@given(positive, positive)
def test_the_printed_ledger_is_sound_exactly_where_it_covers_the_truth(eta: Fraction, rho: Fraction) -> None:
    printed = MpADMM(
        records=1000, eta=eta, rho=rho, clip=1, sigma="1/500", iterations=3, sensitivity=Sensitivity.PRINTED
    ).ledger()
    true = MpADMM(
        records=1000, eta=eta, rho=rho, clip=1, sigma="1/500", iterations=3, accounting=Accounting.SEPARATE
    ).ledger()
    claimed, truth = gdp_squared(printed.steps), gdp_squared(true.steps)
    assert claimed is not None
    assert truth is not None
    assert truth == eta**2 * claimed
    assert printed.sound == (eta <= 1)
    assert printed.corrected == (() if eta <= 1 else true.steps)


def test_eta_four_costs_sixteen_times_what_is_printed_and_the_report_says_the_truth() -> None:
    printed = MpADMM(
        records=1000, eta=4, rho="0.5", clip=1, sigma="0.01", iterations=10, sensitivity=Sensitivity.PRINTED
    ).ledger()
    assert not printed.sound
    assert "16 times" in printed.notes[0]
    report = epsilon(printed, "1e-8")
    claimed, certified = report.methods["gdp"].epsilon, report.epsilon
    assert claimed.upper < certified.lower <= certified.upper
    true = epsilon(MpADMM(records=1000, eta=4, rho="0.5", clip=1, sigma="0.01", iterations=10).ledger(), "1e-8").epsilon
    assert certified.lower == true.lower


def test_the_printed_sensitivity_uses_the_next_step_size() -> None:
    falling = ["1", "0.5", "0.25"]
    printed = MpADMM(
        records=10, eta=falling, rho=1, clip=1, sigma=1, iterations=2, sensitivity=Sensitivity.PRINTED
    ).ledger()
    ratios = [Fraction(2, 10) / (1 + Fraction(step)) for step in falling[1:]]
    assert [step.ratio_squared for step in printed.steps if isinstance(step, GaussianStep)] == [
        3 * ratio**2 for ratio in ratios
    ]
    corrected = MpADMM(
        records=10, eta=falling[:2], rho=1, clip=1, sigma=1, iterations=2, release=Release.PRIMAL
    ).ledger()
    assert [step.ratio_squared for step in corrected.steps if isinstance(step, GaussianStep)] == [
        (Fraction(2, 10) / (1 + 1 / Fraction(step))) ** 2 for step in falling[:2]
    ]
    with pytest.raises(InvalidQuantityError, match="3 values"):
        MpADMM(
            records=10, eta=falling[:2], rho=1, clip=1, sigma=1, iterations=2, sensitivity=Sensitivity.PRINTED
        ).ledger()


@pytest.mark.parametrize("clip", ["1/3", "1", "5"])
def test_every_sensitivity_is_proportional_to_the_clipping_bound(clip: str) -> None:
    """With noise in units of C nothing depends on C."""
    sigma = Fraction(clip) / 7
    for sensitivity in Sensitivity:
        scaled, plain = (
            MpADMM(records=10, eta=3, rho=2, iterations=2, clip=c, sigma=s, sensitivity=sensitivity).ledger()
            for c, s in ((clip, sigma), (1, Fraction(1, 7)))
        )
        assert scaled == plain
    batches = SsADMM(records=10, batch=5, clip=clip, sigma=sigma, iterations=2).ledger()
    assert batches.steps == SsADMM(records=10, batch=5, noise_multiplier=Fraction(5, 14), iterations=2).ledger().steps


def test_batches_of_everything_are_a_gaussian_release_and_others_are_not() -> None:
    everything = SsADMM(records=10, batch=10, noise_multiplier=3, iterations=7).ledger()
    assert gdp_squared(everything.steps) == Fraction(7, 9)
    assert gdp_squared(SsADMM(records=10, batch=9, noise_multiplier=3, iterations=7).ledger().steps) is None
    assert gdp_squared(()) is None


def test_equal_epochs_are_one_step_and_a_schedule_is_many() -> None:
    assert MpADMM(records=10, eta=1, rho=1, clip=1, sigma=1, iterations=7).ledger().steps[0].count == 7
    varied = MpADMM(records=10, eta=["1", "1", "0.5"], rho=1, clip=1, sigma=1, iterations=3).ledger()
    assert [step.count for step in varied.steps] == [2, 1]


@given(st.fractions(Fraction(1, 4), Fraction(4), max_denominator=20), st.fractions(Fraction(1, 10), Fraction(9)))
def test_nonconvex_regularizers_pay_their_lipschitz_constant_or_are_refused(rho: Fraction, above: Fraction) -> None:
    tau = 1 / rho
    scad, mcp = Proximal.scad(1 + tau + above, rho), Proximal.mcp(tau + above, rho)
    assert scad.lipschitz == (tau + above) / above
    assert mcp.lipschitz == (tau + above) / above
    for proximal in (scad, mcp):
        assert 1 + proximal.lipschitz**2 <= proximal.joint_factor(rho) <= proximal.separate_factor(rho)
    with pytest.raises(InvalidQuantityError, match="primal"):
        Proximal.scad(1 + tau, rho)
    with pytest.raises(InvalidQuantityError, match="primal"):
        Proximal.mcp(tau, rho)


def test_the_usual_scad_and_mcp_are_refused_at_the_papers_rho() -> None:
    with pytest.raises(InvalidQuantityError, match="a > 1"):
        Proximal.scad("3.7", "0.25")
    with pytest.raises(InvalidQuantityError, match="gamma > "):
        Proximal.mcp(3, "0.25")


@pytest.mark.parametrize(("rho", "release", "factor"), [("1/2", "all", 2), ("3", "all", 10), ("3", "primal", 1)])
def test_a_pair_attains_the_joint_release_of_every_convex_regularizer(rho: str, release: str, factor: int) -> None:
    ledger = MpADMM(records=10, eta=2, rho=rho, clip=1, sigma=1, iterations=4, release=Release(release)).ledger()
    delta_x = Fraction(2, 10) / (Fraction(rho) + Fraction(1, 2))
    assert ledger.realisable == ledger.steps == (GaussianStep(factor * delta_x**2, 4),)
    bound = epsilon(ledger, "1e-6").epsilon
    assert fraction_of(bound.upper) <= fraction_of(bound.lower) * (1 + Fraction(1, 10**12))


def test_beyond_convex_regularizers_only_what_one_release_of_x_shows_is_called_realisable() -> None:
    ledger = MpADMM(records=10, eta=2, rho=3, clip=1, sigma=1, iterations=4, a="3.7").ledger()
    assert ledger.realisable == (GaussianStep((Fraction(2, 10) / Fraction(7, 2)) ** 2, 4),)


def test_the_joint_factor_beyond_convex_regularizers_is_the_larger_of_its_two_ends() -> None:
    """At rho = 10 the coordinates that do not move z cost 1 + rho^2; at rho = 1/2 those that stretch it cost more."""
    flat, steep = Proximal(Fraction(11, 10)), Proximal(Fraction(3))
    assert [Proximal().joint_factor(Fraction(rho)) for rho in (1, 2)] == [2, 5]
    assert Proximal(Fraction(2)).joint_factor(Fraction(2)) == 1 + 4 + 4
    assert flat.joint_factor(Fraction(10)) == 101
    assert steep.joint_factor(Fraction(1, 2)) == 1 + 9 + 1
    assert flat.separate_factor(Fraction(10)) == 1 + Fraction(121, 100) + 100
    assert steep.separate_factor(Fraction(1, 2)) == 1 + 9 + 1


def test_discrete_noise_claims_no_realisable_pair() -> None:
    ledger = MpADMM(records=10, eta=1, rho=1, clip=1, sigma=1, iterations=1, noise=Noise.DISCRETE).ledger()
    assert ledger.realisable == ()
    assert ledger.notes == (ON_GRID,)
    assert epsilon(ledger, "1e-6").epsilon.lower == 0


def test_dp_sgd_is_priced_like_ssadmm_and_dp_admm_like_one_party() -> None:
    same = [kind(records=10, batch=3, iterations=7, noise_multiplier=2).ledger() for kind in (SsADMM, DPSGD)]
    assert same[0] == same[1]
    two = DPADMM(records=1001, eta=2, rho=1, clip=1, sigma=1, iterations=5).ledger()
    assert two.steps == (GaussianStep((Fraction(2, 500) * Fraction(2, 3)) ** 2, 5),)
    with pytest.raises(InvalidQuantityError, match="parties must be at most records"):
        DPADMM(records=3, eta=2, rho=1, clip=1, sigma=1, iterations=5, parties=4).ledger()


def test_pure_steps_add_up_and_renyi_may_do_better() -> None:
    report = epsilon(ObjP(records=1000, epsilon="0.01", iterations=100).ledger(), "1e-8")
    assert report.methods["pure"].epsilon.contains(1)
    assert report.methods["rdp-cks"].epsilon.upper < 1
    assert "solved exactly" in report.ledger.notes[0]
    few = epsilon(ObjP(records=1000, epsilon=["0.5", "0.25"], iterations=2).ledger(), "1e-8")
    assert Fraction(749, 1000) < fraction_of(few.epsilon.upper) <= Fraction(3, 4)


def test_objective_perturbation_spends_no_more_than_it_has() -> None:
    mild = objective_perturbation(epsilon=1, records=1000, rho=1, curvature="1/4")
    assert mild.ridge.upper == 0
    assert 0 < fraction_of(mild.noise_epsilon.lower) < 1
    strong = objective_perturbation(epsilon="0.001", records=10, rho="0.01", curvature="1/4")
    assert strong.noise_epsilon.contains(Fraction(1, 2000))
    assert strong.ridge.lower > 0


def test_a_sampling_rate_above_one_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="sampling_rate"):
        Poisson(sampling_rate="1.5", noise_multiplier=1, iterations=1).ledger()


def test_adding_an_unsound_ledger_keeps_the_truth() -> None:
    printed = MpADMM(records=10, eta=4, rho=1, clip=1, sigma=1, iterations=1, sensitivity=Sensitivity.PRINTED).ledger()
    honest = SsADMM(records=10, batch=1, noise_multiplier=1, iterations=1).ledger()
    both: Ledger = printed + honest
    assert not both.sound
    assert both.corrected == printed.corrected + honest.steps
