r"""How much noise an (algorithm, epsilon, accounting) needs: asked of the accountant, never typed in.

Two accountings, as the results compare them:

* ``paper``: the sensitivities as printed, Lemma 2 for batches, Proposition 1 to convert;
* ``certified``: the corrected sensitivities (E1), x, z and y of an epoch priced jointly (J), the exact Gaussian
  profile, and the certified composition of the dominating profile for batches.

Whatever noise an accounting asks for, ``certified_epsilon`` says what running with it costs in truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from accountant import (
    DPADMM,
    DPSGD,
    DPSVRG,
    Calibration,
    Ledger,
    Mechanism,
    MpADMM,
    Release,
    Sensitivity,
    SsADMM,
    calibrate_noise,
    decimal_string,
    float_up,
    methods_for,
    objective_perturbation,
)
from accountant import epsilon as price
from accountant.numbers import fraction_of
from experiments import folds
from experiments.config import AccountingName, AlgorithmName, Algorithms, Objective
from reference.losses import LOSSES

CLIP = "1"  # records are normalised to length 1 and both losses have slopes in [-1, 0]
DIGITS = 4  # of sigma, rounded up: at most 1e-3 more noise than needed

MechanismOf = Callable[[Fraction, AccountingName], Mechanism]


@dataclass(frozen=True, slots=True)
class Level:
    """The noise of one cell, and what it costs.

    ``sigma`` is the standard deviation that is added (for ADMM-objP the scale 2C/eps' of ||b||), ``anchor_sigma``
    DP-SVRG's second one, ``ridge`` ADMM-objP's. ``certified_epsilon`` is None where only pure privacy is claimed.
    """

    sigma: float
    anchor_sigma: float
    ridge: float
    method: str
    certified_epsilon: str | None


@dataclass(frozen=True, slots=True)
class NoiseSetting:
    """What every training fold shares: its (smallest) size, the batch, delta."""

    records: int
    delta: str

    @property
    def batch(self) -> int:
        """m."""
        return folds.batch_size(self.records)

    def iterations(self, epochs: int) -> int:
        """T."""
        return folds.iterations(epochs, self.records, self.batch)


class Calibrator(Protocol):
    """Who decides how much noise is enough."""

    def level(self, algorithm: AlgorithmName, accounting: AccountingName, epsilon: str, loss: str) -> Level:
        """The least noise for (epsilon, delta) under an accounting."""


@dataclass(frozen=True, slots=True)
class Accountant:
    """Calibration by :mod:`accountant`."""

    algorithms: Algorithms
    setting: NoiseSetting

    def level(self, algorithm: AlgorithmName, accounting: AccountingName, epsilon: str, loss: str) -> Level:
        """The least noise for (epsilon, delta) under an accounting."""
        if algorithm in {"objp", "objp-once"}:
            return self._objective(
                self.algorithms.objp if algorithm == "objp" else self.algorithms.objp_once, epsilon, loss
            )
        mechanism_of = self._mechanisms(algorithm)
        claimed = _as_claimed(mechanism_of, accounting)
        found = _calibrated(claimed, epsilon, self.setting.delta, _method(claimed, accounting))
        return Level(
            sigma=float_up(found.value),
            anchor_sigma=float_up(self._anchor(found.value)) if algorithm == "dpsvrg" else 0.0,
            ridge=0.0,
            method=found.method,
            certified_epsilon=self._certified(found, mechanism_of(found.value, "certified"), accounting),
        )

    def _certified(self, found: Calibration, mechanism: Mechanism, accounting: AccountingName) -> str:
        upper = found.epsilon_upper
        if accounting == "paper":
            report = price(mechanism, self.setting.delta, methods=[methods_for(mechanism)[-1]])
            upper = fraction_of(report.epsilon.upper)
        return decimal_string(upper, DIGITS, "up")

    def _anchor(self, sigma: Fraction) -> Fraction:
        """DP-SVRG's s1 = r nu2 2C/n with nu2 = s2 m/(4C): the ratio of the two noise multipliers is fixed."""
        nu = sigma * self.setting.batch / (4 * Fraction(CLIP))
        return Fraction(self.algorithms.dpsvrg.anchor_ratio) * nu * 2 * Fraction(CLIP) / self.setting.records

    def _objective(self, chosen: Objective, epsilon: str, loss: str) -> Level:
        """The budget in equal parts: pure privacy, so no accounting does better than the sum."""
        each = Fraction(epsilon) / chosen.iterations
        found = objective_perturbation(
            epsilon=each, records=self.setting.records, rho=chosen.rho, curvature=Fraction(LOSSES[loss].curvature)
        )
        scale = 2 * Fraction(CLIP) / fraction_of(found.noise_epsilon.lower)
        ridge = max(Fraction(0), fraction_of(found.ridge.upper))
        return Level(float_up(scale), 0.0, float_up(ridge), "pure", None)

    def _mechanisms(self, algorithm: AlgorithmName) -> MechanismOf:
        s, a = self.setting, self.algorithms

        def mechanism(sigma: Fraction, accounting: AccountingName) -> Mechanism:
            match algorithm:
                case "ssadmm" | "dpsgd":
                    kind, epochs = (SsADMM, a.ssadmm.epochs) if algorithm == "ssadmm" else (DPSGD, a.dpsgd.epochs)
                    T = s.iterations(epochs)
                    return kind(records=s.records, batch=s.batch, iterations=T, sigma=sigma, clip=CLIP)
                case "mpadmm" | "mpadmm-primal":
                    m = a.mpadmm if algorithm == "mpadmm" else a.mpadmm_primal
                    return MpADMM(
                        records=s.records,
                        eta=m.eta,
                        rho=m.rho,
                        clip=CLIP,
                        sigma=sigma,
                        iterations=m.epochs,
                        release=Release.ALL if algorithm == "mpadmm" else Release.PRIMAL,
                        sensitivity=Sensitivity.PRINTED if accounting == "paper" else Sensitivity.CORRECTED,
                    )
                case "dpadmm":
                    d = a.dpadmm
                    return DPADMM(
                        records=s.records,
                        eta=d.eta,
                        rho=d.rho,
                        clip=CLIP,
                        sigma=sigma,
                        iterations=d.epochs,
                        parties=d.parties,
                    )
                case "dpsvrg":
                    inner = s.iterations(1)
                    return DPSVRG(
                        records=s.records,
                        batch=s.batch,
                        iterations=a.dpsvrg.epochs * inner,
                        inner=inner,
                        anchor_sigma=self._anchor(sigma),
                        sigma=sigma,
                        clip=CLIP,
                    )
                case "objp" | "objp-once":
                    raise AssertionError("ADMM-objP is pure and has no sigma")

        return mechanism


def _as_claimed(mechanism_of: MechanismOf, accounting: AccountingName) -> Callable[[Fraction], Ledger]:
    """The ledger as the accounting has it, right or wrong: the paper's claim is repeated, not repaired."""
    return lambda sigma: Ledger(mechanism_of(sigma, accounting).ledger().steps)


def _method(ledger_of: Callable[[Fraction], Ledger], accounting: AccountingName) -> str:
    """The paper's own method comes first in the accountant's list, the tightest proved one last."""
    proved = methods_for(ledger_of(Fraction(1)))
    return proved[0] if accounting == "paper" else proved[-1]


def _calibrated(ledger_of: Callable[[Fraction], Ledger], epsilon: str, delta: str, method: str) -> Calibration:
    """The accountant's answer, remembered: a ledger at noise 1 tells which family is scaled."""
    key = (ledger_of(Fraction(1)), epsilon, delta, method)
    if key not in _REMEMBERED:
        _REMEMBERED[key] = calibrate_noise(ledger_of, epsilon=epsilon, delta=delta, method=method, digits=DIGITS)
    return _REMEMBERED[key]


_REMEMBERED: dict[tuple[Ledger, str, str, str], Calibration] = {}
