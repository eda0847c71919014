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
from accountant.mechanisms.steps import GaussianStep, SubsampledGaussianStep, WithReplacementStep
from accountant.mechanisms.words import Noise, Sampling
from accountant.numbers import shown

BATCH = "m, the batch size."
SAMPLING = "How batches are drawn, fresh in every iteration; of shuffled epochs there is no theorem here."
ETA = "eta, the step size, once or once an iteration."


@described
class NoisyBatches(GaussianNoise):
    """An algorithm that draws a fresh batch in every iteration."""

    replaced: ClassVar[bool] = False  # whether batches with replacement have a price too

    batch: Count = count(BATCH)
    sampling: Field[Sampling, Sampling | str] = choice(
        Sampling, SAMPLING, default=Sampling.WITHOUT_REPLACEMENT, stated=True
    )
    eta: MaybeSchedule = maybe_schedule(ETA, default=None)

    def check(self) -> None:
        """Refuse other schemes than batches without replacement, and batches larger than the data."""
        super().check()
        if self.sampling is not Sampling.WITH_REPLACEMENT or not self.replaced:
            require_without_replacement(self.sampling)
            sampling_rate(self.batch, self.records)


@described
class NoisyGradients(NoisyBatches):
    """One noisy mean gradient an iteration: nu = sigma m/(2C)."""

    replaced: ClassVar[bool] = True

    noise: Field[Noise, Noise | str] = choice(Noise, NOISE, default=Noise.GAUSSIAN)

    def spread(self) -> Fraction | None:
        """Return sigma, given or nu 2C/m."""
        if self.noise_multiplier is None or self.bound is None:
            return self.sigma
        return self.noise_multiplier * 2 * self.bound / self.batch

    def ledger(self) -> Ledger:
        r"""Return T subsampled Gaussian steps; the worst pair of neighbours attains them under real noise."""
        nu = self.multiplier(lambda C: 2 * C / self.batch)
        if self.sampling is Sampling.WITH_REPLACEMENT:
            if self.noise is not Noise.GAUSSIAN:
                raise UnsupportedSchemeError("batches with replacement have a price under real Gaussian noise alone")
            drawn = (WithReplacementStep(self.records, self.batch, nu, self.iterations),)
            return Ledger(drawn, realisable=drawn)
        steps = (SubsampledGaussianStep(sampling_rate(self.batch, self.records), nu, self.iterations, self.noise),)
        return Ledger(steps, realisable=steps if self.noise is Noise.GAUSSIAN else ())


@described
class SsADMM(NoisyGradients):
    """Algorithm 1: noisy gradients on fresh batches without replacement."""

    algorithm: ClassVar[str] = "ssadmm"

    rho: MaybeNumber = maybe_number("rho, the penalty parameter.", default=None, priced=False)


@described
class DPSGD(NoisyGradients):
    """Proximal DP-SGD: it releases the same noisy gradients as ssadmm and costs the same."""

    algorithm: ClassVar[str] = "dpsgd"


@described
class DPSVRG(NoisyBatches):
    """Our variant of DP-SVRG (after Wang, Ye and Xu 2017): a full gradient every `inner` iterations.

    `sigma` is the noise of the corrected batch gradients, `anchor_sigma` that of the full gradients; with a
    noise_multiplier both are that multiple of their sensitivity.
    """

    algorithm: ClassVar[str] = "dpsvrg"

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
        full = GaussianStep(1 / full_multiplier**2, epochs)
        nu = self.multiplier(lambda C: 4 * C / self.batch)
        batches = SubsampledGaussianStep(sampling_rate(self.batch, self.records), nu, self.iterations)
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
    private: ClassVar[bool] = False

    normalise: MaybeNumber = maybe_number(NORMALISE, default=None, priced=False)
    rho: MaybeNumber = maybe_number(RHO, default=None, priced=False)
    eta: MaybeSchedule = maybe_schedule(ETA, default=None)

    def ledger(self) -> Ledger:
        """Refuse: no epsilon is large enough."""
        raise NotPrivateError(f"{self.algorithm} adds no noise: it has no price")
