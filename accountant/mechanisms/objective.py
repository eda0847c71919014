r"""ADMM-objP (Wang and Zhang 2019): every subproblem has a perturbed objective and is solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from accountant.mechanisms.fields import (
    MaybeNumber,
    MaybeSchedule,
    Schedule,
    described,
    maybe_number,
    maybe_schedule,
    schedule,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import NORMALISE, TrainingMechanism, at_each_step
from accountant.mechanisms.quantities import count, positive
from accountant.mechanisms.steps import PureStep
from accountant.numbers import Bound, Exact, arb_from_fraction, arb_precision

EXACTLY = "pure DP only if every subproblem is solved exactly: report the solver's residual beside it"


@described
class ObjP(TrainingMechanism):
    """ADMM-objP (Wang and Zhang 2019): pure DP each iteration, if solved exactly."""

    algorithm: ClassVar[str] = "objp"
    calibrated: ClassVar[str] = "epsilon"

    epsilon: Schedule = schedule("The pure epsilon that each iteration may cost: once, or once an iteration.")
    normalise: MaybeNumber = maybe_number(NORMALISE, default=None, priced=False)
    rho: MaybeNumber = maybe_number("rho, the penalty parameter.", default=None, priced=False)
    eta: MaybeSchedule = maybe_schedule("eta, the step size, once or once an iteration.", default=None)

    def check(self) -> None:
        """Refuse a schedule of another length."""
        super().check()
        at_each_step("epsilon", self.epsilon, self.iterations, self.iterations)

    def ledger(self) -> Ledger:
        """Return the pure epsilons."""
        if len(self.epsilon) == 1:
            return Ledger((PureStep(self.epsilon[0], self.iterations),), notes=(EXACTLY,))
        return Ledger(tuple(PureStep(each, 1) for each in self.epsilon), notes=(EXACTLY,))


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation:
    """What ADMM-objP needs to spend epsilon_k: use `noise_epsilon.lower` and `ridge.upper`."""

    noise_epsilon: Bound
    ridge: Bound


def objective_perturbation(*, epsilon: Exact, records: int, rho: Exact, curvature: Exact) -> ObjectivePerturbation:
    r"""Return eps' and the extra ridge of Wang and Zhang 2019 for one iteration's budget.

    eps' = eps_k - 2 log(1 + c/(n rho)), c = sup phi'' max||s||^2; if that is not positive, eps' = eps_k/2 with the
    ridge c/(n (e^{eps_k/4} - 1)) - rho. The norm of b is Gamma(p, 2C/eps').
    """
    e, n = positive("epsilon", epsilon), count("records", records)
    r, c = positive("rho", rho), positive("curvature", curvature)
    with arb_precision(256):
        rest = arb_from_fraction(e) - 2 * arb_from_fraction(c / (n * r)).log1p()
        if rest > 0:
            return ObjectivePerturbation(Bound.from_arb(rest), Bound.from_fractions(Fraction(0), Fraction(0)))
        ridge = arb_from_fraction(c) / (n * arb_from_fraction(e / 4).expm1()) - arb_from_fraction(r)
        return ObjectivePerturbation(Bound.from_fractions(e / 2, e / 2), Bound.from_arb(ridge))
