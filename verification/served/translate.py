r"""From the wire's words to the reference's own objects: records, parameters, sensitivities, and honest rounding.

*How far two honest binary64 evaluations of one iteration may lie apart.* Let S bound every intermediate quantity and
u = 2^-53. One iteration makes at most (n + p + 40) roundings of quantities of size at most S, and an error made early
in it is stretched by at most L (`stretch`, in the maximum norm) before it ends. So the error is at most
(n + p + 40) u S (1 + L), and two evaluations differ by twice that. A factor of 16 is left for implementations that
round more often than that.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from reference import losses, regularizers
from reference.baselines.dpadmm import split
from reference.baselines.objp import Perturbation, perturbation
from reference.dataset import Dataset
from reference.losses import Loss
from reference.mpadmm import Release
from reference.problem import Problem, State
from reference.regularizers import Regularizer
from verification.wire import parameters as wire
from verification.wire.arrays import Floats, unpack
from verification.wire.parameters import SCHEMES, Algorithm, Law, Parameters, noised_names
from verification.wire.records import Records

T = TypeVar("T")
_RELEASES = {wire.Release.ALL: Release.ALL, wire.Release.PRIMAL: Release.PRIMAL}
SINGLE = 2.0**-18
r"""Relative differences up to this are single precision inside: another rounding, not another bound on a record.

With u = 2^-24, a clipped gradient of length C computed in single precision is off by at most, to first order and
relative to C: (p/2 + 1) u for its norm (a sum of p squares under a root), u for the quotient C/norm, u for the product,
2 u for features and slope that were rounded on the way, and n u for a mean over n records: (p/2 + n + 5) u. That is at
most 2^-18 = 64 u while p/2 + n <= 59. Conformance compares at p <= 10 and n <= 24.

What hides below it costs next to nothing: a bound exceeded by a factor of 1 + 2^-18 is noise too small by as much, and
changes no epsilon in its first five digits.
"""
_UNIT = 2.0**-53
_ROUNDINGS = 40
_ROOM = 16


def loss_of(parameters: Parameters) -> Loss:
    """The loss that the parameters name."""
    return losses.LOSSES[str(parameters.loss)]


def regularizer_of(parameters: Parameters) -> Regularizer:  # noqa: PLR0911 - one return a regularizer
    """The regularizer that the parameters name, with its options."""
    lam, options = parameters.lambda_, parameters.options
    match parameters.regularizer:
        case wire.RegularizerName.NONE:
            return regularizers.Unregularized()
        case wire.RegularizerName.L1:
            return regularizers.L1(lam)
        case wire.RegularizerName.ELASTIC_NET:
            return regularizers.ElasticNet(lam, _given(options.l1_ratio))
        case wire.RegularizerName.GROUP_L1:
            return regularizers.GroupL1(lam, tuple(tuple(group) for group in _given(options.groups)))
        case wire.RegularizerName.NUCLEAR:
            return regularizers.NuclearNorm(lam, *_given(options.shape))
        case wire.RegularizerName.SCAD:
            return regularizers.SCAD(lam, _given(options.a))
        case wire.RegularizerName.MCP:
            return regularizers.MCP(lam, _given(options.gamma))


def problem_of(records: Records, parameters: Parameters) -> Problem:
    """Preprocess the records (intercept first, then normalise) and return the reference's problem."""
    whole = _preprocessed(records, parameters.intercept, parameters.normalise)
    # the parameters are validated with one record, so that the lengths of all are computed once a data set
    first = Dataset(whole.signed[:1], np.ones(1))
    regularizer = regularizer_of(parameters)
    checked = Problem.of(first, loss_of(parameters), regularizer, rho=parameters.rho, clip=parameters.clip)
    return dataclasses.replace(checked, signed=whole.signed, norms=whole.norms)


@functools.lru_cache(maxsize=2)
def _preprocessed(records: Records, intercept: bool, normalise: float | None) -> Problem:
    """Signed rows and their lengths, of a loss and penalty that do not matter; records are never changed in place."""
    data = Dataset.of(records.features, records.labels)
    if intercept:
        data = data.with_intercept()
    if normalise is not None:
        data = data.normalised(normalise)
    return Problem.of(data, losses.Logistic(), regularizers.Unregularized(), rho=1.0)


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

    ssADMM and DP-SGD: the mean gradient of a batch that holds the record, 2C/m. DP-SVRG: the corrected gradient of
    such a batch, 4C/m (its full gradient: :func:`anchor_sensitivities`). mpADMM, release primal: Delta(x) =
    2C eta/(n(1+eta rho)), corrected by the eta that [CL20] forgot (E1), with eta^k (E2). Release all:
    the joint sensitivity of (x, z, y), sqrt(1+max(1,rho^2)) Delta(x) for a convex regularizer (statement J), and
    with L the stretch of a non-convex one sqrt(1+max(rho^2, L^2+rho^2(L-1)^2)) Delta(x) (E11). DP-ADMM: Delta(x)
    of the smallest party.
    """
    if SCHEMES[algorithm].law is not Law.GAUSSIAN:
        raise AssertionError(f"{algorithm} adds no Gaussian noise, so that nothing is scaled by a sensitivity")
    C, rho, eta = parameters.bound, parameters.rho, np.array(parameters.eta)
    averaged = SCHEMES[algorithm].averaged(parameters, records)
    if parameters.batch is not None:
        gradients_a_record = 2 if algorithm is Algorithm.DPSVRG else 1
        return np.full(len(eta), gradients_a_record * 2 * C / averaged)
    primal: Floats = 2 * C * eta / (averaged * (1 + eta * rho))
    return joint_factor(parameters) * primal if parameters.release is wire.Release.ALL else primal


def anchor_sensitivities(parameters: Parameters, records: int) -> Floats:
    """The sensitivity of DP-SVRG's full gradients, 2C/n; one an epoch."""
    epochs = parameters.iterations // _given(parameters.inner)
    return np.full(epochs, 2 * parameters.bound / records)


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


def claimed_distance(algorithm: Algorithm, parameters: Parameters, records: int) -> float:
    """How far apart neighbours may be in all Gaussian releases of a run together, in units of their noise."""
    apart = sensitivities(algorithm, parameters, records) / sigmas(algorithm, parameters, records)
    if algorithm is Algorithm.DPSVRG:
        anchors = anchor_sensitivities(parameters, records) / anchor_sigmas(parameters, records)
        apart = np.concatenate([apart, anchors])
    return float(np.linalg.norm(apart))


def party_sizes(parameters: Parameters, records: int) -> list[int]:
    """How many records each party of DP-ADMM holds: consecutive blocks, the larger ones first."""
    return [len(block) for block in np.array_split(np.arange(records), _given(parameters.parties))]


def party_name(party: int) -> str:
    """What the noise of one party of DP-ADMM is called."""
    return f"x of party {party + 1}"


def noise_scales(algorithm: Algorithm, parameters: Parameters, records: int) -> dict[str, Floats]:
    """The scale of every stream of noise, draw by draw: sigma, or 2C/eps' for objp; DP-ADMM has a stream a party."""
    if algorithm is Algorithm.OBJP:
        return {"objective": np.full(parameters.iterations, perturbation_of(parameters, records).scale)}
    if algorithm is Algorithm.DPADMM:
        scales = sigmas(algorithm, parameters, records)
        sizes = party_sizes(parameters, records)
        own = [1.0 if parameters.sigma is not None else min(sizes) / size for size in sizes]
        return {party_name(i): scales * share for i, share in enumerate(own)}
    scales_of_all = {name: sigmas(algorithm, parameters, records) for name in noised_names(algorithm, parameters)}
    if algorithm is Algorithm.DPSVRG:
        scales_of_all["anchor"] = anchor_sigmas(parameters, records)
    return scales_of_all


def anchor_sigmas(parameters: Parameters, records: int) -> Floats:
    """The standard deviation of the noise on each of DP-SVRG's full gradients."""
    sensitivity = anchor_sensitivities(parameters, records)
    if parameters.anchor_sigma is not None:
        return np.full(len(sensitivity), parameters.anchor_sigma)
    return _given(parameters.noise_multiplier) * sensitivity


def perturbation_of(parameters: Parameters, records: int) -> Perturbation:
    """How ADMM-objP spends the epsilon of an iteration."""
    return perturbation(
        _given(parameters.epsilon),
        loss=loss_of(parameters),
        records=records,
        rho=parameters.rho,
        length=_given(parameters.normalise),
    )


def parties_of(problem: Problem, parameters: Parameters) -> tuple[Problem, ...]:
    """The problems of DP-ADMM's parties."""
    return split(problem, _given(parameters.parties))


def _given(value: T | None) -> T:
    if value is None:
        raise AssertionError("validated parameters hold what their algorithm and regularizer need")
    return value


# -- rounding --------------------------------------------------------------------------------------------------------


def stretch(parameters: Parameters, problem: Problem) -> float:
    """How much one iteration can stretch an error in the maximum norm, over all its step sizes."""
    p, rho = problem.dimension, parameters.rho
    curvature = problem.loss.curvature * float(problem.norms.max()) ** 2 * np.sqrt(p)
    prox = max(1.0, float(problem.regularizer.lipschitz(rho))) * np.sqrt(p)
    largest = 1.0
    for eta in parameters.eta:
        x = (curvature + 1 / eta + rho + 1) / (rho + 1 / eta)
        z = prox * (x + 1 / rho)
        y = 1 + rho * (x + z)
        largest = max(largest, x, z, y)
    return float(largest)


def rounding_slack(parameters: Parameters, problem: Problem, values: Sequence[Floats], added: float = 0.0) -> float:
    """The largest honest difference between two evaluations of ADMM; ``added`` bounds the noise of a run, if any."""
    steps = np.array(parameters.eta)
    weight = 1 + parameters.rho + 1 / parameters.rho + float((1 / steps).max())
    return _slack(parameters, problem, values, weight, added) * (1 + stretch(parameters, problem))


def proximal_slack(parameters: Parameters, problem: Problem, values: Sequence[Floats], added: float = 0.0) -> float:
    """The same for a proximal step along up to three gradients: stretched by eta times their curvature."""
    eta = max(parameters.eta)
    weight = 1 + eta + float((1 / np.array(parameters.eta)).max())
    root = np.sqrt(problem.dimension)
    curvature = problem.loss.curvature * float(problem.norms.max()) ** 2 * root
    prox = max(1.0, *(float(problem.regularizer.lipschitz(1 / step)) for step in parameters.eta)) * root
    return float(_slack(parameters, problem, values, weight, added) * (1 + prox * (1 + eta * (1 + 3 * curvature))))


def _slack(parameters: Parameters, problem: Problem, values: Sequence[Floats], weight: float, added: float) -> float:
    scale = weight * (1 + max(float(np.abs(array).max()) for array in values) + parameters.bound)
    roundings = (problem.records + problem.dimension + _ROUNDINGS) * _UNIT * scale
    return 2 * (_ROOM * roundings + added)
