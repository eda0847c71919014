r"""Releases that are described by their noise alone: Laplace and pure ones, ADMM-objP, Gaussian, Poisson batches.

Pure releases on drawn records: what sampling leaves of their epsilon.

A record takes part with probability q. Whether it does or not, the rest of the batch is drawn alike, so the output is
(1-q) A + q P1 on one neighbour and (1-q) A + q Q1 on the other, with any two of A, P1 and Q1 within a factor e^eps:

- `without-replacement`, q = m/n, eps for one replaced entry of the batch: A completes the batch by another record. If a
  record is added or removed, n the larger number, the smaller data set's output is A itself.
- `poisson`, eps for one added or removed record, neighbours `add-or-remove`: the other output is A itself.

So the outputs are within a factor 1 + q (e^eps - 1): of P/Q the numerator is at most (1-q) A + q e^eps min(A, Q1), and
that is at most (1 + q (e^eps - 1)) ((1-q) A + q Q1), because min(A, Q1) <= (1-q) A + q Q1. [BBG18] Theorems 8 and 9 at
delta = 0.

Mechanisms that are pure, delta = 0: Laplace noise, and any release of which only the epsilon is known.

ADMM-objP (Wang and Zhang 2019): every subproblem has a perturbed objective and is solved exactly.

Mechanisms that are only priced: plain Gaussian releases, and Poisson batches to compare with other accountants.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from accountant.errors import InvalidQuantityError, UnsupportedSchemeError
from accountant.mechanisms.fields import (
    Count,
    Field,
    MaybeNumber,
    MaybeSchedule,
    Number,
    Schedule,
    choice,
    count,
    count_or,
    described,
    maybe_number,
    maybe_schedule,
    number,
    schedule,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import NOISE, NORMALISE, Mechanism, TrainingMechanism, at_each_step
from accountant.mechanisms.quantities import count as whole_number
from accountant.mechanisms.quantities import positive
from accountant.mechanisms.steps import GaussianStep, LaplaceStep, PoissonGaussianStep, PureStep
from accountant.mechanisms.words import Neighbours, Noise, Sampling
from accountant.numbers import Bound, Exact, arb_from_fraction, arb_precision, fraction_from_arb, shown

_BITS = 128


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return log(1 + q (e^eps - 1)), rounded up in about the 38th digit; exactly epsilon for q = 1."""
    if rate == 1:
        return epsilon
    with arb_precision(_BITS):
        found = (arb_from_fraction(rate) * arb_from_fraction(epsilon).expm1()).log1p()
        return min(fraction_from_arb(found.upper()), epsilon)


def require_pure_theorem(sampling: Sampling, neighbours: Neighbours) -> None:
    """Refuse a scheme whose gain is not proved above for a pure release."""
    if sampling in (Sampling.ALL, Sampling.WITHOUT_REPLACEMENT):
        return
    if sampling is Sampling.POISSON and neighbours is Neighbours.ADD_OR_REMOVE:
        return
    raise UnsupportedSchemeError(
        f"{sampling} batches under {neighbours} neighbours have no theorem here for a pure release; "
        "without-replacement has one, and poisson under add-or-remove"
    )


RELATION = "Which data sets are neighbours: the relation that the sensitivity, or epsilon, is for."
SAMPLING = "How the records of a release are drawn: all, without-replacement, or poisson (add-or-remove)."


@described
class PureReleases(Mechanism):
    """Pure releases, each on all records or on freshly drawn ones."""

    iterations: Count = count_or("How many adaptive releases.", default=1)
    neighbours: Field[Neighbours, Neighbours | str] = choice(Neighbours, RELATION, default=Neighbours.REPLACE_ONE)
    sampling: Field[Sampling, Sampling | str] = choice(Sampling, SAMPLING, default=Sampling.ALL)
    sampling_rate: MaybeNumber = maybe_number("q: m/n, or Poisson's probability; not with sampling all.", default=None)

    def check(self) -> None:
        """Refuse a scheme without a theorem, and a rate that is missing, superfluous or above 1."""
        require_pure_theorem(self.sampling, self.neighbours)
        if (self.sampling is Sampling.ALL) != (self.sampling_rate is None):
            raise InvalidQuantityError(f"sampling_rate belongs to drawn records, got sampling={self.sampling.value!r}")
        if self.sampling_rate is not None and self.sampling_rate > 1:
            raise InvalidQuantityError(
                f"sampling_rate must lie in (0, 1], got sampling_rate={shown(self.sampling_rate)}"
            )

    def step(self, epsilon: Fraction, count: int) -> PureStep:
        """Return so many releases of this epsilon, less what sampling gains."""
        rate = Fraction(1) if self.sampling_rate is None else self.sampling_rate
        return PureStep(amplified_epsilon(epsilon, rate), count, self.neighbours)


@described
class Laplace(PureReleases):
    """Laplace noise on everything: pure, each release costs the L1 sensitivity over the scale."""

    algorithm: ClassVar[str] = "laplace"

    noise_multiplier: Number = number("The scale b over the L1 sensitivity.")

    def ledger(self) -> Ledger:
        """Return the releases; some pair of neighbours is as far apart as the L1 sensitivity allows."""
        epsilon = 1 / self.noise_multiplier
        if self.sampling is not Sampling.ALL:
            return Ledger((self.step(epsilon, self.iterations),))
        steps = (LaplaceStep(epsilon, self.iterations, self.neighbours),)
        return Ledger(steps, realisable=steps)


@described
class Pure(PureReleases):
    """Releases of which only the pure epsilon is known: an exponential mechanism, randomised response, gamma noise."""

    algorithm: ClassVar[str] = "pure"
    calibrated: ClassVar[str] = "epsilon"

    epsilon: Schedule = schedule("The pure epsilon of each release: once, or once an iteration.")

    def check(self) -> None:
        """Refuse a schedule of another length."""
        super().check()
        at_each_step("epsilon", self.epsilon, self.iterations, self.iterations)

    def ledger(self) -> Ledger:
        """Return the pure epsilons, which randomised response attains where nothing is drawn."""
        each = self.iterations if len(self.epsilon) == 1 else 1
        steps = tuple(self.step(epsilon, each) for epsilon in self.epsilon)
        return Ledger(steps, realisable=steps if self.sampling is Sampling.ALL else ())


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
    e, n = positive("epsilon", epsilon), whole_number("records", records)
    r, c = positive("rho", rho), positive("curvature", curvature)
    with arb_precision(256):
        rest = arb_from_fraction(e) - 2 * arb_from_fraction(c / (n * r)).log1p()
        if rest > 0:
            return ObjectivePerturbation(Bound.from_arb(rest), Bound.from_fractions(Fraction(0), Fraction(0)))
        ridge = arb_from_fraction(c) / (n * arb_from_fraction(e / 4).expm1()) - arb_from_fraction(r)
        return ObjectivePerturbation(Bound.from_fractions(e / 2, e / 2), Bound.from_arb(ridge))


@described
class Gaussian(Mechanism):
    """Plain Gaussian releases: exact."""

    algorithm: ClassVar[str] = "gaussian"

    noise_multiplier: Number = number("sigma over the replace-one sensitivity.")
    iterations: Count = count_or("How many adaptive releases.", default=1)
    noise: Field[Noise, Noise | str] = choice(Noise, NOISE, default=Noise.GAUSSIAN)

    def ledger(self) -> Ledger:
        """Return the releases; some pair of neighbours is as far apart as the sensitivity allows."""
        steps = (GaussianStep(1 / self.noise_multiplier**2, self.iterations, self.noise),)
        return Ledger(steps, realisable=steps if self.noise is Noise.GAUSSIAN else ())


@described
class Poisson(Mechanism):
    """DP-SGD with Poisson batches: another neighbouring relation, for comparison."""

    algorithm: ClassVar[str] = "poisson"

    sampling_rate: Number = number("q, the probability of joining a batch.")
    noise_multiplier: Number = number("sigma/C: add-or-remove neighbours.")
    iterations: Count = count("T, the number of iterations.")

    def check(self) -> None:
        """Refuse a rate above 1."""
        if self.sampling_rate > 1:
            raise InvalidQuantityError(
                f"sampling_rate must lie in (0, 1], got sampling_rate={shown(self.sampling_rate)}"
            )

    def ledger(self) -> Ledger:
        """Return T Poisson-subsampled steps; a record beside records that add nothing attains them."""
        steps = (PoissonGaussianStep(self.sampling_rate, self.noise_multiplier, self.iterations),)
        return Ledger(steps, realisable=steps)
