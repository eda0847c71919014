"""Requests made to measure: the simplest parameters that an adapter's own description allows."""

from __future__ import annotations

from collections.abc import Sequence

from verification.adapter.arrays import Floats, pack
from verification.adapter.messages import Capability, StartResult
from verification.adapter.parameters import (
    Algorithm,
    Initial,
    Loss,
    Parameters,
    Regularizer,
    RegularizerOptions,
    Release,
)


def options_for(regularizer: Regularizer, dimension: int, rho: float) -> RegularizerOptions:
    """Admissible options: for SCAD and MCP well inside the region where their proximal map is continuous."""
    match regularizer:
        case Regularizer.ELASTIC_NET:
            return RegularizerOptions(l1_ratio=0.5)
        case Regularizer.GROUP_L1:
            return RegularizerOptions(groups=[[j for j in (i, i + 1) if j < dimension] for i in range(0, dimension, 2)])
        case Regularizer.NUCLEAR:
            rows = 2 if dimension % 2 == 0 else 1
            return RegularizerOptions(shape=(rows, dimension // rows))
        case Regularizer.SCAD:
            return RegularizerOptions(a=3.7 + 2 / rho)
        case Regularizer.MCP:
            return RegularizerOptions(gamma=3.0 + 2 / rho)
        case _:
            return RegularizerOptions()


def initial_point(x: Floats, z: Floats, y: Floats) -> Initial:
    """An initial point, packed."""
    return Initial(x=pack(x), z=pack(z), y=pack(y))


def parameters_for(
    description: StartResult,
    algorithm: Algorithm,
    dimension: int,
    *,
    eta: Sequence[float],
    batch: int | None = None,
    sigma: float | None = None,
    noise_multiplier: float | None = None,
    bound: float = 1.0,
    rho: float = 1.0,
    lambda_: float = 0.0,
    loss: Loss | None = None,
    regularizer: Regularizer | None = None,
    release: Release = Release.ALL,
    initial: Initial | None = None,
    normalise: bool | None = None,
    intercept: bool = False,
) -> Parameters:
    """Return complete parameters, in the implementation's own terms where the caller leaves them open.

    Clipping is preferred to normalising (`normalise=None`), the loss and regularizer that it named first to others.
    """
    by_normalising = Capability.CLIP not in description.capabilities if normalise is None else normalise
    chosen = regularizer or description.regularizers[0]
    ssadmm = algorithm is Algorithm.SSADMM
    return Parameters(
        loss=loss or description.losses[0],
        regularizer=chosen,
        lambda_=lambda_,
        options=options_for(chosen, dimension, rho),
        rho=rho,
        eta=list(eta),
        iterations=len(eta),
        batch=batch if ssadmm else None,
        sigma=sigma,
        noise_multiplier=noise_multiplier,
        clip=None if by_normalising else bound,
        normalise=bound if by_normalising else None,
        intercept=intercept,
        release=None if ssadmm else release,
        initial=initial,
    )
