"""Parameters at which a bug acts: what a member claims to run, and what an audit of it asks for."""

from __future__ import annotations

from dataclasses import dataclass

from verification.adapter.parameters import Algorithm, Loss, Parameters, Regularizer, RegularizerOptions, Release


@dataclass(frozen=True, slots=True)
class Setting:
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
    regularizer: Regularizer = Regularizer.L1
    shape: float | None = None  # a, of SCAD
    release: Release = Release.ALL

    def parameters(self, algorithm: Algorithm) -> Parameters:
        """The parameters object that asks for it."""
        ssadmm = algorithm is Algorithm.SSADMM
        return Parameters(
            loss=Loss.LOGISTIC,
            regularizer=self.regularizer,
            lambda_=self.lambda_,
            options=RegularizerOptions(a=self.shape),
            rho=self.rho,
            eta=list(self.eta),
            iterations=len(self.eta),
            batch=self.batch if ssadmm else None,
            sigma=self.sigma,
            noise_multiplier=self.noise_multiplier,
            clip=None if self.normalise else self.bound,
            normalise=self.bound if self.normalise else None,
            intercept=self.intercept,
            release=None if ssadmm else self.release,
        )
