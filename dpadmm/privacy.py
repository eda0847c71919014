r"""What a run costs, and the noise that a target needs: computed by the accountant from exactly what is run.

The accountant sees public numbers only, as the rationals that the run's binary64 parameters are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from html import escape

import accountant
from accountant import Exact, Mechanism, MpADMM, Noise, SsADMM, decimal_string
from accountant.mechanisms.full_gradients import Proximal
from accountant.mechanisms.words import Algorithm
from accountant.pricing import Effort
from dpadmm.training import Training
from reference.mpadmm import Release
from reference.regularizers import Regularizer
from reference.schedules import steps

# A difference of two binary64 means of k vectors of length <= C is off by at most 2 gamma_{k+p+8} C: relative to the
# sensitivity 2C/k that is k (k + p + 8) 2^-52, with room for norms, quotients and the update itself.
UNIT = Fraction(1, 2**52)


@dataclass(frozen=True, slots=True)
class PrivateRun:
    """The public numbers on which the cost of a run depends; ``bound`` is C, which no gradient exceeds."""

    training: Training
    records: int
    dimension: int
    rho: float
    bound: float
    regularizer: Regularizer

    def mechanism(self, sigma: Fraction) -> Mechanism:
        """The run with noise of this size; its C has the rounding of binary64 and of the grid on top."""
        noise = Noise.GAUSSIAN if self.training.grid is None else Noise.DISCRETE
        etas = [Fraction(eta) for eta in steps(self.training.schedule, self.training.iterations)]
        if self.training.algorithm is Algorithm.SSADMM:
            batch = self.training.batch
            return SsADMM(
                records=self.records,
                batch=batch,
                sampling=self.training.sampling,
                iterations=self.training.iterations,
                sigma=sigma,
                clip=self._effective_bound(batch, per_unit=Fraction(batch, 2), copies=Fraction(1)),
                eta=etas,
                rho=Fraction(self.rho),
                noise=noise,
            )
        every = self.training.release is Release.ALL
        # The shortest step has the smallest sensitivity, so a grid weighs most there.
        per_unit = self.records * (Fraction(self.rho) + 1 / min(etas)) / 2
        # What the grid adds to (x, z, y) as a whole, as a share of what it adds to C: C moves them by sqrt(joint) each.
        joint = Proximal(self._lipschitz() or Fraction(1)).joint_factor(Fraction(self.rho)) if every else Fraction(1)
        return MpADMM(
            records=self.records,
            eta=etas,
            rho=Fraction(self.rho),
            clip=self._effective_bound(self.records, per_unit=per_unit, copies=(3 if every else 1) / joint),
            sigma=sigma,
            iterations=self.training.iterations,
            release=self.training.release.value,
            lipschitz=self._lipschitz() if every else None,
            noise=noise,
        )

    @property
    def theorem(self) -> str | None:
        """The theorem of verification's EndToEnd.v that the price is that of; none where the noise is not discrete."""
        if self.training.grid is None:
            return None
        if self.training.algorithm is Algorithm.SSADMM:
            return None if self.training.sampling.by_epochs else "ssADMM_is_private"
        if self.training.release is not Release.ALL:
            return "mpADMM_primal_is_private"
        return "mpADMM_is_private" if self.regularizer.convex else "mpADMM_is_private_where_prox_stretches"

    def _lipschitz(self) -> Fraction | None:
        if self.regularizer.convex:
            return None
        return Fraction(self.regularizer.lipschitz(self.rho)) * (1 + 8 * UNIT)

    def _effective_bound(self, summed: int, *, per_unit: Fraction, copies: Fraction) -> Fraction:
        """C with the rounding of binary64 on top, and that of the grid: Delta + grid sqrt(p) (statement GRID)."""
        bound = Fraction(self.bound) * (1 + summed * (summed + self.dimension + 8) * UNIT)
        if self.training.grid is None:
            return bound
        return bound + Fraction(self.training.grid) * _root_up(copies * self.dimension) * per_unit


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """(epsilon, delta) under replacement of one record, certified; and the noise that gives it."""

    epsilon: Fraction
    delta: Fraction
    sigma: float
    method: str
    not_covered: tuple[str, ...] = ()
    theorem: str | None = None

    def __str__(self) -> str:
        """The numbers, epsilon rounded up and delta down, and what they do not cover."""
        epsilon, delta = decimal_string(self.epsilon, 4, "up"), decimal_string(self.delta, 4, "down")
        head = f"epsilon <= {epsilon}, delta = {delta}, one record replaced (certified, method {self.method})"
        proved = [f"  proved in Coq: {self.theorem}, for exact arithmetic before rounding"] * bool(self.theorem)
        return "\n".join([head, *proved, *(f"  not covered: {item}" for item in self.not_covered)])

    def __repr__(self) -> str:
        return f"<Guarantee: {str(self).splitlines()[0]}, sigma = {self.sigma:.4g}>"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        first, *rest = map(escape, str(self).splitlines())
        lines = "".join(f"<li>{line.strip()}</li>" for line in rest)
        return f"<b>{first}</b><br>noise: sigma = {self.sigma:.4g}" + (f"<ul>{lines}</ul>" if lines else "")


def calibrated(run: PrivateRun, target_epsilon: Exact, delta: Exact, effort: Effort = "standard") -> Guarantee:
    """The least noise, to four digits and rounded up, whose certified epsilon is at most the target."""
    found = accountant.calibrate_noise(run.mechanism, epsilon=target_epsilon, delta=delta, effort=effort)
    sigma = accountant.float_up(found.value)  # more noise never costs more, so the certificate still holds
    return Guarantee(found.epsilon_upper, accountant.exact("delta", delta), sigma, found.method, theorem=run.theorem)


def priced(run: PrivateRun, sigma: float, delta: Exact, effort: Effort = "standard") -> Guarantee:
    """The certified epsilon of noise that was chosen by hand."""
    mechanism = run.mechanism(Fraction(sigma))
    report = accountant.epsilon(mechanism, delta, digits=6, effort=effort)
    method = min(report.methods, key=lambda name: report.methods[name].epsilon.most)
    epsilon = accountant.exact("epsilon", report.epsilon.upper)
    return Guarantee(epsilon, report.delta, sigma, method, theorem=run.theorem)


def _root_up(square: Fraction) -> Fraction:
    """A rational above the square root, by at most 2^-40."""
    return Fraction(math.isqrt((square.numerator << 80) // square.denominator) + 1, 1 << 40)
