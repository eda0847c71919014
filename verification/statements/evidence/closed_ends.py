"""Statements TOLD-DRAWS and LOSS-LEVELS: ends that need no lattice, beside those of the lattice and one another."""

from __future__ import annotations

from fractions import Fraction

from accountant.numbers import float_down, float_up
from accountant.pld.composition import compose
from accountant.profiles.loss_levels import attained_level, levels_of
from accountant.profiles.one_step import SubsampledGaussian
from accountant.profiles.revealed import revealed_epsilon
from accountant.tilted_levels import close_levels_of
from verification.lemmas.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind

DELTA = Fraction(1, 10**6)
MODERATE = (("1/2", "1/2", 20), ("1/10", "2/5", 300), ("1/100", "9/10", 5000), ("1/20", "3", 2000))
"""Rate, noise and number of steps: where a lattice serves."""
MANY = ("1/10", "4", 10**6)
LITTLE = (("1/200", "1e-3", 10**5), ("1/3", "1e-30", 10**6))


def _steps(case: tuple[str, str, int]) -> list[SubsampledGaussian]:
    rate, noise, count = case
    return [SubsampledGaussian(Fraction(rate), Fraction(noise), count)]


def told_draws_cost_no_less() -> Evidence:
    """Who is told the draws knows at least what a pair attains; with hardly any noise, hardly more."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - certified composition
        for case in MODERATE:
            told, attained = revealed_epsilon(_steps(case), DELTA), compose(_steps(case)).attained_epsilon(DELTA)
            if told is not None and told < attained:
                return EvidenceResult.check(False, f"{case}: {float(told)} is below what a pair attains")
        ratios = [_closeness(case) for case in LITTLE]
        text = f"{len(MODERATE)} ledgers on a lattice, {len(LITTLE)} with hardly any noise"
        return EvidenceResult.check(min(ratios) > 0.95, text, tightness=min(ratios))

    return Evidence("told draws beside the lattice", Kind.ENCLOSURE, run)


def _closeness(case: tuple[str, str, int]) -> float:
    told = revealed_epsilon(_steps(case), DELTA)
    return 0.0 if told is None else float(attained_level(levels_of(_steps(case)), DELTA) / told)


def losses_reach_no_more() -> Evidence:
    """Levels stay below what the lattice allows every mechanism, and for many steps close to what it attains."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - certified composition
        for case in (*MODERATE, MANY):
            steps = _steps(case)
            composed, level = compose(steps), attained_level(close_levels_of(steps, DELTA), DELTA)
            if level > composed.lattice_epsilon_upper(DELTA):
                return EvidenceResult.check(False, f"{case}: the level {float(level)} is above the lattice's upper end")
        close = float_down(level) / float_up(composed.attained_epsilon(DELTA))
        return EvidenceResult.check(close > 0.8, f"{len(MODERATE) + 1} ledgers on a lattice", tightness=close)

    return Evidence("loss levels beside the lattice", Kind.ENCLOSURE, run)
