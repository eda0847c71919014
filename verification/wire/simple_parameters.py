"""The simplest parameters that an adapter's own description allows."""

from __future__ import annotations

from collections.abc import Sequence

from verification.wire.arrays import Floats, pack
from verification.wire.messages import Capability, StartResult
from verification.wire.parameters import (
    Algorithm,
    Initial,
    LossName,
    Parameters,
    RegularizerName,
    RegularizerOptions,
    Release,
)
from verification.wire.schemes import SCHEMES, Law

PARTIES = 2
EPSILON = 1.0


def options_for(regularizer: RegularizerName, dimension: int, rho: float) -> RegularizerOptions:
    """Admissible options: for SCAD and MCP well inside the region where their proximal map is continuous."""
    match regularizer:
        case RegularizerName.ELASTIC_NET:
            return RegularizerOptions(l1_ratio=0.5)
        case RegularizerName.GROUP_L1:
            return RegularizerOptions(groups=[[j for j in (i, i + 1) if j < dimension] for i in range(0, dimension, 2)])
        case RegularizerName.NUCLEAR:
            rows = 2 if dimension % 2 == 0 else 1
            return RegularizerOptions(shape=(rows, dimension // rows))
        case RegularizerName.SCAD:
            return RegularizerOptions(a=3.7 + 2 / rho)
        case RegularizerName.MCP:
            return RegularizerOptions(gamma=3.0 + 2 / rho)
        case _:
            return RegularizerOptions()


def _two_epochs(iterations: int) -> int:
    return iterations // 2 if iterations % 2 == 0 else iterations


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
    loss: LossName | None = None,
    regularizer: RegularizerName | None = None,
    release: Release = Release.ALL,
    initial: Initial | None = None,
    normalise: bool | None = None,
    intercept: bool = False,
    parties: int = PARTIES,
    inner: int | None = None,
    anchor_sigma: float | None = None,
    epsilon: float = EPSILON,
) -> Parameters:
    """Return complete parameters, in the implementation's own terms where the caller leaves them open.

    Clipping is preferred to normalising (`normalise=None`), the loss and regularizer that it named first to others.
    What does not belong to the algorithm is left out: noise is what it calls noise, an `epsilon` an iteration for
    objp, none for those that are not private. DP-SVRG has two epochs where it can, and one sigma, by default.
    """
    scheme = SCHEMES[algorithm]
    by_normalising = Capability.CLIP not in description.capabilities if normalise is None else normalise
    by_normalising = by_normalising or not scheme.clips
    chosen = regularizer or description.regularizers[0]
    gaussian = scheme.law is Law.GAUSSIAN
    full_gradients = "inner" in scheme.takes
    return Parameters(
        loss=loss or description.losses[0],
        regularizer=chosen,
        lambda_=lambda_,
        options=options_for(chosen, dimension, min(rho, scheme.prox_weight(rho, list(eta)))),
        rho=rho,
        eta=list(eta),
        iterations=len(eta),
        batch=batch if "batch" in scheme.takes else None,
        parties=parties if "parties" in scheme.takes else None,
        inner=(inner or _two_epochs(len(eta))) if full_gradients else None,
        sigma=sigma if gaussian else (0.0 if scheme.law is Law.NONE else None),
        anchor_sigma=(sigma if anchor_sigma is None else anchor_sigma) if full_gradients else None,
        noise_multiplier=noise_multiplier if gaussian else None,
        epsilon=epsilon if scheme.law is Law.OBJECTIVE else None,
        clip=None if by_normalising else bound,
        normalise=bound if by_normalising else None,
        intercept=intercept,
        release=release if "release" in scheme.takes else None,
        initial=initial,
    )
