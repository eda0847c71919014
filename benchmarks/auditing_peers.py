"""Auditors behind one signature: ours and the peers', given the same scores and held to the same claim.

Every auditor answers two questions about scores of runs on the first and on the second neighbour: what epsilon (at
DELTA) do they show with 95 % confidence, and do they refute the claim? A peer knows no claim but epsilon at DELTA:
it refutes when its bound is above that. Peers are called with their defaults where they have any.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from audits.curves import ClaimFamily, PrivacyCurve
from audits.eprocess.confidence import band_point_bound, roc_band
from audits.eprocess.curve_test import CurveTest, design_test
from audits.eprocess.lower_bounds import held_out_bound, lower_bound, point_bound
from audits.eprocess.scores import ScoreModel
from benchmarks import one_run
from benchmarks.estimators import band_bound, gaussian_shaped_bound, point_refutes
from verification.wire.arrays import Floats

DELTA = 1e-5
ALPHA = 0.05
Sampler = Callable[[float, int, np.random.Generator], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True)
class Case:
    """A claim, the family it belongs to, and how scores are drawn at a strength."""

    name: str
    claim: PrivacyCurve
    epsilon: float
    strength: float
    family: ClaimFamily
    model: ScoreModel
    sample: Sampler


Bound = Callable[[Case, Floats, Floats], float]
Refutes = Callable[[Case, Floats, Floats], bool]


def require_number(name: str, value: float) -> float:
    """Return a bound that is a number; a NaN would compare as "no alarm"."""
    if math.isnan(value):
        raise ArithmeticError(f"{name}: an auditor answered NaN")
    return value


def above_the_claim(bound: Bound) -> Refutes:
    """Refute when the bound is above the claimed epsilon: all that can be done with a bound at one delta."""
    return lambda case, first, second: require_number(case.name, bound(case, first, second)) > case.epsilon


@dataclass(frozen=True, slots=True)
class Auditor:
    """One way from scores to a bound and to a verdict."""

    name: str
    bound: Bound
    refutes: Refutes
    package: str = "audits"
    note: str = ""

    @property
    def installed(self) -> bool:
        """Whether its package is here."""
        return importlib.util.find_spec(self.package) is not None


@dataclass(slots=True)
class CurveAuditor:
    """The e-process against the curve; one design for each claim and budget, as it is used in earnest."""

    _designs: dict[tuple[str, int], CurveTest] = field(default_factory=dict)

    def test(self, case: Case, budget: int) -> CurveTest:
        """Return the design, made from the claim alone."""
        if (case.name, budget) not in self._designs:
            made = design_test(case.claim, case.model, case.strength, alpha=ALPHA, budget=budget)
            self._designs[case.name, budget] = made
        return self._designs[case.name, budget]

    def refutes(self, case: Case, first: Floats, second: Floats) -> bool:
        """Whether the wealth ever reached 1/ALPHA."""
        return self.test(case, first.size).refutes(case.claim, first, second, ALPHA)

    @staticmethod
    def bound(case: Case, first: Floats, second: Floats) -> float:
        """Return the infimum of the family's claims that are not refuted."""
        return lower_bound(case.family, case.model, first, second, delta=DELTA).epsilon


CURVE = CurveAuditor()


def _band_bound(case: Case, first: Floats, second: Floats) -> float:
    return band_bound(case.family, first, second, delta=DELTA).epsilon


def _band_refutes(case: Case, first: Floats, second: Floats) -> bool:
    return roc_band(first, second, confidence=1.0 - ALPHA).excess(case.claim) > 0.0


def _point_band(_: Case, first: Floats, second: Floats) -> float:
    return band_point_bound(first, second, delta=DELTA).epsilon


def _point_bets(_: Case, first: Floats, second: Floats) -> float:
    return point_bound(first, second, delta=DELTA).epsilon


def _point_bets_refute(case: Case, first: Floats, second: Floats) -> bool:
    return point_refutes(first, second, epsilon=case.epsilon, delta=DELTA, alpha=ALPHA)


def _held_out(_: Case, first: Floats, second: Floats) -> float:
    return held_out_bound(first, second, delta=DELTA).epsilon


def _gaussian_shaped(case: Case, first: Floats, second: Floats) -> float:
    return gaussian_shaped_bound(case.claim, first, second, delta=DELTA).epsilon


def _coins(count: int) -> npt.NDArray[np.bool_]:
    """Return fair coins: canary i shows its first or its second score; fixed, so that all one-run rows see the same."""
    return np.random.default_rng(20_240_516).random(count) < 0.5


def _one_run(_: Case, first: Floats, second: Floats) -> float:
    coins = _coins(first.size)
    scores = np.where(coins, first, second)
    # a fifth of the coins guessed: fixed before the scores are seen, as the theorem asks
    seen = one_run.guess_by_score(scores, np.where(coins, 1.0, -1.0), max(2, first.size // 5))
    return one_run.point_lower_bound(seen, delta=DELTA).epsilon


def _jax_clopper_pearson(_: Case, first: Floats, second: Floats) -> float:
    from jax_privacy import auditing

    return float(auditing.CanaryScoreAuditor(first, second).epsilon_clopper_pearson(ALPHA, DELTA))


def _jax_split(_: Case, first: Floats, second: Floats) -> float:
    from jax_privacy import auditing

    auditor = auditing.CanaryScoreAuditor(first, second)
    return float(auditor.epsilon_clopper_pearson(ALPHA, DELTA, threshold_strategy=auditing.Split(seed=0)))


def _jax_gdp(_: Case, first: Floats, second: Floats) -> float:
    from jax_privacy import auditing

    return float(auditing.CanaryScoreAuditor(first, second).epsilon_from_gdp(ALPHA, DELTA))


def _jax_raw_counts(_: Case, first: Floats, second: Floats) -> float:
    from jax_privacy import auditing

    return float(auditing.CanaryScoreAuditor(first, second).epsilon_raw_counts(delta=DELTA))


def _jax_one_run(_: Case, first: Floats, second: Floats) -> float:
    from jax_privacy import auditing

    coins = _coins(first.size)
    return float(auditing.CanaryScoreAuditor(first[coins], second[~coins]).epsilon_one_run(ALPHA, DELTA))


def _by_bound(name: str, bound: Bound, package: str = "audits", note: str = "") -> Auditor:
    return Auditor(name, bound, above_the_claim(bound), package, note)


JAX = "jax_privacy"
AUDITORS = (
    Auditor("e-process, curve", CURVE.bound, CURVE.refutes),
    Auditor("Berk-Jones, curve", _band_bound, _band_refutes),
    _by_bound("Berk-Jones, (eps, delta)", _point_band),
    Auditor("e-process, (eps, delta)", _point_bets, _point_bets_refute),
    _by_bound("Clopper-Pearson, held out", _held_out),
    _by_bound("GDP-shaped", _gaussian_shaped, note="refuses claims that are not Gaussian"),
    _by_bound("one run, binomial", _one_run, note="a canary is one pair, of which one score is seen"),
    _by_bound("jax-privacy: Clopper-Pearson (default)", _jax_clopper_pearson, JAX),
    _by_bound("jax-privacy: Clopper-Pearson, split", _jax_split, JAX),
    _by_bound("jax-privacy: GDP", _jax_gdp, JAX, "answers for any scores"),
    _by_bound("jax-privacy: raw counts", _jax_raw_counts, JAX, "an estimate; it promises no confidence"),
    _by_bound("jax-privacy: one run (default)", _jax_one_run, JAX, "same canaries as ours"),
)
