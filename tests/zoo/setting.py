"""Parameters at which a bug acts: what a member claims to run, and what an audit of it asks for."""

from __future__ import annotations

from dataclasses import dataclass

from verification.wire.parameters import (
    SCHEMES,
    Algorithm,
    Law,
    LossName,
    Parameters,
    RegularizerName,
    RegularizerOptions,
    Release,
)


@dataclass(frozen=True, slots=True)
class ZooSetting:
    """A claim in the wire's words; sigma, C and rho are far from 1, where many bugs would be invisible."""

    records: int = 20
    columns: int = 4
    batch: int = 4
    bound: float = 0.5
    normalise: bool = False
    intercept: bool = False
    sigma: float | None = 0.2
    noise_multiplier: float | None = None
    eta: tuple[float, ...] = (0.5,)
    rho: float = 0.5
    lambda_: float = 0.1
    regularizer: RegularizerName = RegularizerName.L1
    shape: float | None = None  # a, of SCAD
    release: Release = Release.ALL
    parties: int = 2
    epsilon: float = 1.0

    def parameters(self, algorithm: Algorithm) -> Parameters:
        """The parameters object that asks for it, with what belongs to the algorithm and nothing else."""
        scheme = SCHEMES[algorithm]
        gaussian, full_gradients = scheme.law is Law.GAUSSIAN, "inner" in scheme.takes
        return Parameters(
            loss=LossName.LOGISTIC,
            regularizer=self.regularizer,
            lambda_=self.lambda_,
            options=RegularizerOptions(a=self.shape),
            rho=self.rho,
            eta=list(self.eta),
            iterations=len(self.eta),
            batch=self.batch if "batch" in scheme.takes else None,
            parties=self.parties if "parties" in scheme.takes else None,
            inner=len(self.eta) if full_gradients else None,
            sigma=self.sigma if gaussian else None,
            anchor_sigma=self.sigma if full_gradients else None,
            noise_multiplier=self.noise_multiplier if gaussian else None,
            epsilon=None if gaussian else self.epsilon,
            clip=None if self.normalise else self.bound,
            normalise=self.bound if self.normalise else None,
            intercept=self.intercept,
            release=self.release if "release" in scheme.takes else None,
        )
