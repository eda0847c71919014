r"""Noisy gradients on fresh batches: [CL20] Algorithm 1, proximal DP-SGD, and our variant of DP-SVRG.

Each iteration releases a noisy batch gradient; everything after it is post-processing. The sensitivity of a batch that
holds the replaced record is 2C/m; of DP-SVRG's corrected gradient 4C/m, and of its full gradient 2C/n.

The algorithms without noise: they can be described, and have no price.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from accountant.errors import InvalidQuantityError, NotPrivateError, UnsupportedSchemeError
from accountant.mechanisms.fields import (
    Count,
    Field,
    MaybeNumber,
    MaybeSchedule,
    choice,
    count,
    described,
    maybe_number,
    maybe_schedule,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import NOISE, NORMALISE, BoundedGradients, GaussianNoise, TrainingMechanism
from accountant.mechanisms.quantities import require_without_replacement, sampling_rate
from accountant.mechanisms.steps import (
    GaussianStep,
    GroupStep,
    ShuffledStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise, Sampling
from accountant.numbers import shown

BATCH = "m, the batch size."
SAMPLING = "How batches are drawn: fresh in every iteration, or the next of an epoch (fixed-order, shuffle)."
SHUFFLED = "nothing is gained from the random order: no theorem about replaced records is certified here"
ETA = "eta, the step size, once or once an iteration."


@described
class NoisyBatches(GaussianNoise):
    """An algorithm that draws a fresh batch in every iteration."""

    priced: ClassVar[frozenset[Sampling]] = frozenset({Sampling.WITHOUT_REPLACEMENT})

    batch: Count = count(BATCH)
    sampling: Field[Sampling, Sampling | str] = choice(
        Sampling, SAMPLING, default=Sampling.WITHOUT_REPLACEMENT, stated=True
    )
    eta: MaybeSchedule = maybe_schedule(ETA, default=None)

    def check(self) -> None:
        """Refuse schemes without a price, and batches larger than the data."""
        super().check()
        if self.sampling not in self.priced:
            require_without_replacement(self.sampling)
        if self.sampling is not Sampling.WITH_REPLACEMENT:
            sampling_rate(self.batch, self.records)

    def drawn(self, nu: Fraction, noise: Noise = Noise.GAUSSIAN) -> Step:
        """Return T releases on fresh batches; nu is sigma over what one entry of a batch moves."""
        n, m, k, count = self.records, self.batch, self.group_size, self.iterations
        replaced = self.sampling is Sampling.WITH_REPLACEMENT
        if k == 1:
            if replaced:
                return WithReplacementStep(n, m, nu, count)
            return SubsampledGaussianStep(sampling_rate(m, n), nu, count, noise)
        if k + (0 if replaced else m - 1) >= n:  # no batch is without the group
            return GaussianStep(((m if replaced else min(m, k)) / nu) ** 2, count, noise)
        if noise is not Noise.GAUSSIAN:
            raise UnsupportedSchemeError("group_size on drawn batches has a price under real Gaussian noise alone")
        return GroupStep(n, m, nu, count, group=k, sampling=self.sampling)


@described
class NoisyGradients(NoisyBatches):
    """One noisy mean gradient an iteration: nu = sigma m/(2C)."""

    batched: ClassVar[tuple[str, ...]] = ("gradient",)
    replaced: ClassVar[bool] = True
    priced: ClassVar[frozenset[Sampling]] = frozenset(Sampling) - {Sampling.ALL, Sampling.POISSON}

    noise: Field[Noise, Noise | str] = choice(Noise, NOISE, default=Noise.GAUSSIAN)

    def spread(self) -> Fraction | None:
        """Return sigma, given or nu 2C/m."""
        if self.noise_multiplier is None or self.bound is None:
            return self.sigma
        return self.noise_multiplier * 2 * self.bound / self.batch

    def ledger(self) -> Ledger:
        r"""Return T subsampled Gaussian steps, or one release an epoch; a pair attains them under real noise."""
        nu = self.multiplier(lambda C: 2 * C / self.batch)
        if self.sampling.by_epochs:
            return self._epochs(nu)
        if self.sampling is Sampling.WITH_REPLACEMENT:
            if self.noise is not Noise.GAUSSIAN:
                raise UnsupportedSchemeError("batches with replacement have a price under real Gaussian noise alone")
            drawn = (self.drawn(nu),)
            return Ledger(drawn, realisable=drawn)
        steps = (self.drawn(nu, self.noise),)
        return Ledger(steps, realisable=steps if self.noise is Noise.GAUSSIAN else ())

    def _epochs(self, nu: Fraction) -> Ledger:
        r"""Return the releases that hold the record: one an epoch.

        Given what was released before, a batch without the record has the same law on both neighbours, whatever it is
        computed at; so of the B = floor(n/m) disjoint batches of an epoch one costs something, sensitivity 2C/m, and T
        iterations visit no batch more than ceil(T/B) times. A group of k costs most where few batches hold it: one of
        j of its records costs j^2 times as much. For an order that is drawn, condition on it: hockey-stick
        divergences are jointly convex. Who knows the order attains it.
        """
        batches = self.records // self.batch
        whole, rest = divmod(self.iterations, batches)
        visits = [(self._most_together(batches), whole), (self._most_together(rest), int(rest > 0))]
        if visits[0][0] == visits[1][0]:
            visits = [(visits[0][0], whole + 1)]
        steps = tuple(GaussianStep(square / nu**2, count, self.noise) for square, count in visits if count)
        if self.noise is not Noise.GAUSSIAN:
            return Ledger(steps)
        if self.sampling is Sampling.FIXED_ORDER:
            return Ledger(steps, realisable=steps)
        seen = ShuffledStep(
            batches, batches if whole else rest, Fraction(batches * self.batch, self.records), nu, whole or 1
        )
        return Ledger(steps, realisable=(seen,), notes=(SHUFFLED,))

    def _most_together(self, batches: int) -> Fraction:
        """Return the largest sum of j^2 over so many batches that hold j of the group's records each."""
        full, left = divmod(min(self.group_size, batches * self.batch), self.batch)
        return Fraction(full * self.batch**2 + left**2)


@described
class SsADMM(NoisyGradients):
    """Algorithm 1: noisy gradients on fresh batches without replacement."""

    algorithm: ClassVar[str] = "ssadmm"
    computed: ClassVar[tuple[str, ...]] = ("x", "z", "y")

    rho: MaybeNumber = maybe_number("rho, the penalty parameter.", default=None, priced=False)


@described
class DPSGD(NoisyGradients):
    """Proximal DP-SGD: it releases the same noisy gradients as ssadmm and costs the same."""

    algorithm: ClassVar[str] = "dpsgd"
    computed: ClassVar[tuple[str, ...]] = ("x",)


@described
class DPSVRG(NoisyBatches):
    """Our variant of DP-SVRG (after Wang, Ye and Xu 2017): a full gradient every `inner` iterations.

    `sigma` is the noise of the corrected batch gradients, `anchor_sigma` that of the full gradients; with a
    noise_multiplier both are that multiple of their sensitivity.
    """

    algorithm: ClassVar[str] = "dpsvrg"
    whole: ClassVar[tuple[str, ...]] = ("anchor",)
    batched: ClassVar[tuple[str, ...]] = ("gradient",)
    computed: ClassVar[tuple[str, ...]] = ("x",)

    inner: Count = count("Iterations between two full gradients; iterations is a multiple of it.")
    anchor_sigma: MaybeNumber = maybe_number(
        "With sigma: standard deviation of the noise on the full gradient.", default=None
    )

    def check(self) -> None:
        """Refuse a broken last epoch, and a full gradient whose noise is unknown or said twice."""
        super().check()
        if self.iterations % self.inner:
            raise InvalidQuantityError(
                f"iterations must be a multiple of inner={self.inner}, got iterations={self.iterations}"
            )
        if (self.sigma is None) != (self.anchor_sigma is None):
            given = ", ".join(
                f"{name}={value if value is None else shown(value)}"
                for name, value in (("sigma", self.sigma), ("anchor_sigma", self.anchor_sigma))
            )
            raise InvalidQuantityError(
                f"sigma and anchor_sigma belong together, and neither to noise_multiplier, got {given}"
            )

    def ledger(self) -> Ledger:
        r"""Return the full gradients, Delta = 2C/n, and the corrected batch gradients, Delta = 4C/m."""
        full_multiplier, epochs = self._full_multiplier(), self.iterations // self.inner
        full = GaussianStep((self.group_size / full_multiplier) ** 2, epochs)
        nu = self.multiplier(lambda C: 4 * C / self.batch)
        batches = self.drawn(nu)
        return Ledger((full, batches), realisable=(full,), notes=("our variant of DP-SVRG, not the authors' own",))

    def _full_multiplier(self) -> Fraction:
        if self.anchor_sigma is not None and self.bound is not None:
            return self.anchor_sigma * self.records / (2 * self.bound)
        return self.multiplier(lambda C: C)


RHO = "rho, the penalty parameter."


@described
class SADMM(BoundedGradients):
    """Stochastic ADMM: never private."""

    algorithm: ClassVar[str] = "sadmm"
    computed: ClassVar[tuple[str, ...]] = ("x", "z", "y")
    private: ClassVar[bool] = False

    batch: Count = count(BATCH)
    sampling: Field[Sampling, Sampling | str] = choice(
        Sampling, SAMPLING, default=Sampling.WITHOUT_REPLACEMENT, stated=True
    )
    eta: MaybeSchedule = maybe_schedule(ETA, default=None)
    rho: MaybeNumber = maybe_number(RHO, default=None, priced=False)

    def check(self) -> None:
        """Refuse batches larger than the data."""
        super().check()
        sampling_rate(self.batch, self.records)

    def ledger(self) -> Ledger:
        """Refuse: no epsilon is large enough."""
        raise NotPrivateError(f"{self.algorithm} adds no noise: it has no price")


@described
class ADMM(TrainingMechanism):
    """ADMM on all records: never private."""

    algorithm: ClassVar[str] = "admm"
    computed: ClassVar[tuple[str, ...]] = ("x", "z", "y")
    private: ClassVar[bool] = False

    normalise: MaybeNumber = maybe_number(NORMALISE, default=None, priced=False)
    rho: MaybeNumber = maybe_number(RHO, default=None, priced=False)
    eta: MaybeSchedule = maybe_schedule(ETA, default=None)

    def ledger(self) -> Ledger:
        """Refuse: no epsilon is large enough."""
        raise NotPrivateError(f"{self.algorithm} adds no noise: it has no price")
