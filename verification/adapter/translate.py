"""From the wire's words to the reference's own objects: records, parameters, sensitivities."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from reference import losses, regularizers
from reference.dataset import Dataset
from reference.losses import Loss
from reference.mpadmm import Release
from reference.problem import Problem, State
from reference.regularizers import Regularizer
from verification.adapter import parameters as wire
from verification.adapter.arrays import Floats, unpack
from verification.adapter.parameters import Algorithm, Parameters
from verification.adapter.records import Records

T = TypeVar("T")
_RELEASES = {wire.Release.ALL: Release.ALL, wire.Release.PRIMAL: Release.PRIMAL}


def loss_of(parameters: Parameters) -> Loss:
    """The loss that the parameters name."""
    return losses.LOSSES[str(parameters.loss)]


def regularizer_of(parameters: Parameters) -> Regularizer:  # noqa: PLR0911 - one return a regularizer
    """The regularizer that the parameters name, with its options."""
    lam, options = parameters.lambda_, parameters.options
    match parameters.regularizer:
        case wire.Regularizer.NONE:
            return regularizers.Unregularized()
        case wire.Regularizer.L1:
            return regularizers.L1(lam)
        case wire.Regularizer.ELASTIC_NET:
            return regularizers.ElasticNet(lam, _given(options.l1_ratio))
        case wire.Regularizer.GROUP_L1:
            return regularizers.GroupL1(lam, tuple(tuple(group) for group in _given(options.groups)))
        case wire.Regularizer.NUCLEAR:
            return regularizers.NuclearNorm(lam, *_given(options.shape))
        case wire.Regularizer.SCAD:
            return regularizers.SCAD(lam, _given(options.a))
        case wire.Regularizer.MCP:
            return regularizers.MCP(lam, _given(options.gamma))


def problem_of(records: Records, parameters: Parameters) -> Problem:
    """Preprocess the records (intercept first, then normalise) and return the reference's problem."""
    data = Dataset.of(records.features, records.labels)
    if parameters.intercept:
        data = data.with_intercept()
    if parameters.normalise is not None:
        data = data.normalised(parameters.normalise)
    regularizer = regularizer_of(parameters)
    return Problem.of(data, loss_of(parameters), regularizer, rho=parameters.rho, clip=parameters.clip)


def initial_of(parameters: Parameters, dimension: int) -> State:
    """The initial point: what the parameters say, or 0."""
    if parameters.initial is None:
        return State.zero(dimension)
    x, z, y = (unpack(getattr(parameters.initial, name), f"initial.{name}", (dimension,)) for name in ("x", "z", "y"))
    return State(x, z, y)


def release_of(parameters: Parameters) -> Release:
    """What mpADMM perturbs."""
    return _RELEASES[_given(parameters.release)]


def sensitivities(algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
    r"""The sensitivity of what each iteration's noise is added to, under replace-one; shape [T].

    ssADMM: the mean gradient of a batch that holds the record, 2C/m. mpADMM, release primal: Delta(x) =
    2C eta/(n(1+eta rho)), corrected by the eta that [CL20] forgot (claim E1), with eta^k (claim E2). Release all:
    the joint sensitivity of (x, z, y), sqrt(1+max(1,rho^2)) Delta(x) for a convex regularizer (claim J), and
    with L the stretch of a non-convex one sqrt(1+max(rho^2, L^2+rho^2(L-1)^2)) Delta(x) (claim E11).
    """
    C, rho = parameters.bound, parameters.rho
    eta = np.array(parameters.eta)
    if algorithm is Algorithm.SSADMM:
        return np.full(len(eta), 2 * C / _given(parameters.batch))
    primal: Floats = 2 * C * eta / (records * (1 + eta * rho))
    if parameters.release is wire.Release.PRIMAL:
        return primal
    return joint_factor(parameters) * primal


def joint_factor(parameters: Parameters) -> float:
    """The joint sensitivity of (x, z, y) over that of x."""
    rho, regularizer = parameters.rho, regularizer_of(parameters)
    if regularizer.convex:
        return math.sqrt(1 + max(1.0, rho**2))
    L = float(regularizer.lipschitz(rho))
    return math.sqrt(1 + max(rho**2, L**2 + rho**2 * (L - 1) ** 2))


def sigmas(algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
    """The standard deviation of each iteration's noise; shape [T]."""
    if parameters.sigma is not None:
        return np.full(parameters.iterations, parameters.sigma)
    return _given(parameters.noise_multiplier) * sensitivities(algorithm, parameters, records)


def _given(value: T | None) -> T:
    if value is None:
        raise AssertionError("validated parameters hold what their algorithm and regularizer need")
    return value
