r"""What a run costs, and the noise that a target needs: the accountant, told exactly what is run.

The accountant sees public numbers only, as the rationals that the run's binary64 parameters are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import accountant
from accountant import Exact, Ledger, Noise, Proximal
from dpadmm.training import Algorithm, Training
from reference.mpadmm import Release
from reference.regularizers import Regularizer
from reference.schedules import steps

# A difference of two binary64 means of k vectors of length <= C is off by at most 2 gamma_{k+p+8} C: relative to the
# sensitivity 2C/k that is k (k + p + 8) 2^-52, with room for norms, quotients and the update itself.
UNIT = Fraction(1, 2**52)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The public numbers on which the cost of a run depends; ``bound`` is C, which no gradient exceeds."""

    training: Training
    records: int
    dimension: int
    rho: float
    bound: float
    regularizer: Regularizer

    def ledger(self, sigma: Fraction) -> Ledger:
        """The releases of the run with noise of this size."""
        noise = Noise.GAUSSIAN if self.training.grid is None else Noise.DISCRETE
        etas = [Fraction(eta) for eta in steps(self.training.schedule, self.training.iterations)]
        if self.training.algorithm is Algorithm.SSADMM:
            batch = self.training.batch
            return accountant.ssadmm(
                records=self.records,
                batch=batch,
                iterations=self.training.iterations,
                sigma=sigma,
                clip=self._effective_bound(batch, per_unit=Fraction(batch, 2), copies=1),
                noise=noise,
            )
        every = self.training.release is Release.ALL
        # The shortest step has the smallest sensitivity, so a grid weighs most there.
        per_unit = self.records * (Fraction(self.rho) + 1 / min(etas)) / 2
        return accountant.mpadmm(
            records=self.records,
            eta=etas,
            rho=Fraction(self.rho),
            clip=self._effective_bound(self.records, per_unit=per_unit, copies=3 if every else 1),
            sigma=sigma,
            epochs=self.training.iterations,
            release=accountant.Release(self.training.release.value),
            proximal=self._proximal() if every else None,
            noise=noise,
        )

    def _proximal(self) -> Proximal | None:
        if self.regularizer.convex:
            return None
        return Proximal(Fraction(self.regularizer.lipschitz(self.rho)) * (1 + 8 * UNIT))

    def _effective_bound(self, summed: int, *, per_unit: Fraction, copies: int) -> Fraction:
        """C with the rounding of binary64 on top, and that of the grid: Delta + grid sqrt(p) (statement GRID)."""
        bound = Fraction(self.bound) * (1 + summed * (summed + self.dimension + 8) * UNIT)
        if self.training.grid is None:
            return bound
        return bound + Fraction(self.training.grid) * _root_up(copies * self.dimension) * per_unit


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(epsilon, delta) under replacement of one record, certified; and the noise that gives it."""

    epsilon: Fraction
    delta: Fraction
    sigma: float
    method: str


def calibrated(mechanism: Mechanism, target_epsilon: Exact, delta: Exact) -> Guarantee:
    """The least noise, to four digits and rounded up, whose certified epsilon is at most the target."""
    found = accountant.calibrate_noise(mechanism.ledger, epsilon=target_epsilon, delta=delta)
    sigma = accountant.float_up(found.value)  # more noise never costs more, so the certificate still holds
    return Guarantee(found.epsilon_upper, accountant.exact("delta", delta), sigma, found.method)


def priced(mechanism: Mechanism, sigma: float, delta: Exact) -> Guarantee:
    """The certified epsilon of noise that was chosen by hand."""
    ledger = mechanism.ledger(Fraction(sigma))
    method = accountant.methods_for(ledger)[-1]  # the tightest one that is proved for it
    report = accountant.epsilon(ledger, delta, methods=[method], digits=6)
    return Guarantee(accountant.exact("epsilon", report.epsilon.upper), report.delta, sigma, method)


def _root_up(square: int) -> Fraction:
    """A rational not below the square root, and above it by less than 2^-40."""
    return Fraction(math.isqrt(square << 80) + 1, 1 << 40)
