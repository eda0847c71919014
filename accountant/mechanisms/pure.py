r"""Releases that are described by their noise alone: Laplace and pure ones, ADMM-objP, Gaussian, Poisson batches.

Mechanisms that are pure, delta = 0: Laplace noise, and any release of which only the epsilon is known.

A group of k records: along k neighbours in a row every factor e^eps is met k times, so k eps holds, sampled or not.

ADMM-objP (Wang and Zhang 2019): every subproblem has a perturbed objective and is solved exactly.

Mechanisms that are only priced: plain Gaussian releases, and Poisson batches to compare with other accountants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.declaration import (
    Declaration,
    NoisyRelease,
    Protection,
    amplified_epsilon,
    require_pure_theorem,
)
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
from accountant.mechanisms.steps import GaussianStep, GroupStep, LaplaceStep, PoissonGaussianStep, PureStep, Step
from accountant.mechanisms.words import Neighbours, Noise, Sampling
from accountant.numbers import Bound, Exact, arb_from_fraction, arb_precision, shown

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

    def _declared(self, steps: tuple[Step, ...]) -> Declaration:
        """As on all records, and how the records are drawn: what that gains is for the price to say."""
        found = super()._declared(steps)
        if self.sampling is Sampling.ALL:
            return found
        kind = Protection.LAPLACE if isinstance(self, Laplace) else Protection.PURE
        each = tuple((epsilon, step.count) for epsilon, step in zip(self.epsilons(), steps, strict=True))
        drawn = NoisyRelease(found.releases[0].names, kind, each, drawn=True)
        drawing = replace(found, sampling=self.sampling, rate=self.sampling_rate, group=self.group_size)
        return replace(drawing, releases=(drawn,))

    def epsilons(self) -> tuple[Fraction, ...]:
        """Return the pure epsilons on all records: one for all releases, or one for each."""
        raise NotImplementedError

    def step(self, epsilon: Fraction, count: int) -> PureStep:
        """Return so many releases of this epsilon, less what sampling gains."""
        rate = Fraction(1) if self.sampling_rate is None else self.sampling_rate
        return PureStep(self.group_size * amplified_epsilon(epsilon, rate), count, self.neighbours)


@described
class Laplace(PureReleases):
    """Laplace noise on everything: pure, each release costs the L1 sensitivity over the scale."""

    algorithm: ClassVar[str] = "laplace"

    noise_multiplier: Number = number("The scale b over the L1 sensitivity.")

    def epsilons(self) -> tuple[Fraction, ...]:
        """Return the L1 sensitivity over the scale."""
        return (1 / self.noise_multiplier,)

    def ledger(self) -> Ledger:
        """Return the releases; some pair of neighbours is as far apart as the L1 sensitivity allows."""
        (epsilon,) = self.epsilons()
        if self.sampling is not Sampling.ALL:
            return Ledger((self.step(epsilon, self.iterations),))
        steps = (LaplaceStep(self.group_size * epsilon, self.iterations, self.neighbours),)
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

    def epsilons(self) -> tuple[Fraction, ...]:
        """Return those that are stated."""
        return self.epsilon

    def ledger(self) -> Ledger:
        """Return the pure epsilons, which randomised response attains where nothing is drawn."""
        each = self.iterations if len(self.epsilon) == 1 else 1
        steps = tuple(self.step(epsilon, each) for epsilon in self.epsilon)
        return Ledger(steps, realisable=steps if self.sampling is Sampling.ALL and self.group_size == 1 else ())


EXACTLY = "pure DP only if every subproblem is solved exactly: report the solver's residual beside it"


@described
class ObjP(TrainingMechanism):
    """ADMM-objP (Wang and Zhang 2019): pure DP each iteration, if solved exactly."""

    algorithm: ClassVar[str] = "objp"
    whole: ClassVar[tuple[str, ...]] = ("objective",)
    computed: ClassVar[tuple[str, ...]] = ("x", "z", "y")
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
        each = self.iterations if len(self.epsilon) == 1 else 1
        return Ledger(tuple(PureStep(self.group_size * e, each) for e in self.epsilon), notes=(EXACTLY,))


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
        steps = (GaussianStep((self.group_size / self.noise_multiplier) ** 2, self.iterations, self.noise),)
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
        q, nu, k = self.sampling_rate, self.noise_multiplier, self.group_size
        related = Neighbours.ADD_OR_REMOVE
        steps: tuple[Step, ...] = (PoissonGaussianStep(q, nu, self.iterations),)
        if k > 1 and q == 1:
            steps = (GaussianStep((k / nu) ** 2, self.iterations, neighbours=related),)
        elif k > 1:
            steps = (GroupStep(q.denominator, q.numerator, nu, self.iterations, related, k, Sampling.POISSON),)
        return Ledger(steps, realisable=steps)
