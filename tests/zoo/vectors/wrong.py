"""Implementations with one thing wrong each: every one must fail a vector, and one whose flag names its bug.

``python -m tests.zoo.vectors.wrong NAME`` serves one over the wire.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from reference.dataset import Dataset
from reference.problem import Problem, State
from reference.regularizers import L1, MCP, SCAD, ElasticNet, GroupL1, NuclearNorm
from reference.updates import update_x
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records


class LambdaAsThreshold(Stepwise):
    """The threshold is lambda, not lambda/rho."""

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        return super().update_z(dataclasses.replace(problem, rho=1.0), x, y / problem.rho)


class OldDual(Stepwise):
    """The z update takes the y of two iterations ago: 0 instead of y."""

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        return super().update_z(problem, x, 0 * y)


class OldCopyInDual(Stepwise):
    """The y update takes the z from before the z update."""

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Values) -> State:
        new = super().ssadmm_step(problem, old, eta, batch, noise)
        return State(new.x, new.z, self.update_y(problem, old.y, new.x, old.z))


class NextStep(Stepwise):
    """Iteration k uses eta^{k+1}."""

    def replay(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        eta = [*parameters.eta[1:], parameters.eta[-1]]
        shifted = parameters.model_copy(update={"eta": eta})
        return super().replay(records, algorithm, shifted, noise, batches)


class NoEta(Stepwise):
    """x moves by g/(1 + eta rho): the eta that the paper forgot."""

    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        return update_x(g / eta, old.x, old.z, old.y, rho=problem.rho, eta=eta)


class MeanOverAll(Stepwise):
    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        g = super().gradient(problem, x, batch)
        return g if batch is None else g * batch.shape[1] / problem.records


class IgnoresStart(Stepwise):
    def replay(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        return super().replay(records, algorithm, parameters.model_copy(update={"initial": None}), noise, batches)


class ExchangedNoise(Stepwise):
    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        if "z" in noise:
            noise = {"x": noise["x"], "z": noise["y"], "y": noise["z"]}
        return super().mpadmm_step(problem, old, eta, noise)


class PrimalTooLate(Stepwise):
    """Release primal: z and y come from x before its noise."""

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        if "z" in noise:
            return super().mpadmm_step(problem, old, eta, noise)
        zero = 0 * noise["x"]
        return super().mpadmm_step(problem, old, eta, {"x": noise["x"], "z": zero, "y": zero})


class NoClipping(Stepwise):
    def problem(self, records: Records, parameters: Parameters) -> Problem:
        return dataclasses.replace(super().problem(records, parameters), clip=None)


class ClipsFeatures(Stepwise):
    """Rows, not gradients, are scaled down to C."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        problem = super().problem(records, parameters)
        if problem.clip is None:
            return problem
        factor = np.minimum(1.0, problem.clip / np.maximum(problem.norms, 1e-300))
        return dataclasses.replace(problem, signed=problem.signed * factor[:, None], clip=None)


class InterceptAfterNormalising(Stepwise):
    def problem(self, records: Records, parameters: Parameters) -> Problem:
        problem = super().problem(records, parameters)
        if not parameters.intercept or parameters.normalise is None:
            return problem
        data = Dataset.of(records.features, records.labels).normalised(parameters.normalise).with_intercept()
        return dataclasses.replace(problem, signed=data.labels[:, None] * data.features)


class NaiveLength(Stepwise):
    """Lengths are roots of sums of squares, which over- and underflow."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        problem = super().problem(records, parameters)
        with np.errstate(all="ignore"):
            return dataclasses.replace(problem, norms=np.sqrt((problem.signed**2).sum(axis=1)))


class BoundIsOne(Stepwise):
    """C is taken for 1, whatever was asked for."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        bound = {"clip": 1.0} if parameters.normalise is None else {"normalise": 1.0}
        return super().problem(records, parameters.model_copy(update=bound))


class DividesByZero(Stepwise):
    """Rows are divided by their length even if it is 0, and what comes out, NaN, is replaced by C."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        problem = super().problem(records, parameters)
        lengths = np.sqrt((problem.signed**2).sum(axis=1))
        if parameters.normalise is None or lengths.all():
            return problem
        rows = np.where(lengths[:, None] > 0, problem.signed, parameters.normalise)
        return dataclasses.replace(problem, signed=rows)


class OneMinusSigmoid(Stepwise):
    """The slope as sigmoid(v) - 1: nothing is left of it beyond v = 37."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        problem = super().problem(records, parameters)
        if problem.loss.name != "logistic":
            return problem
        return dataclasses.replace(problem, loss=_Cancelling())


class _Cancelling:
    name, steepest, curvature = "logistic", 1.0, 0.25

    def value(self, margin: Floats) -> Floats:
        return np.logaddexp(0.0, -margin)

    def slope(self, margin: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-margin)) - 1


class WideHinge(Stepwise):
    """The huberized hinge with h = 1."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        problem = super().problem(records, parameters)
        if problem.loss.name != "huber":
            return problem
        return dataclasses.replace(problem, loss=dataclasses.replace(problem.loss, h=1.0))  # type: ignore[type-var]  # the protocol does not say that every loss is a dataclass


class IgnoresLabels(Stepwise):
    def problem(self, records: Records, parameters: Parameters) -> Problem:
        return super().problem(Records(records.features, np.ones_like(records.labels)), parameters)


class SinglePrecision(Stepwise):
    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        with np.errstate(over="ignore"):
            return super().update_x(problem, g, old, eta).astype(np.float32).astype(np.float64)


class FlushesToZero(Stepwise):
    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        x = super().update_x(problem, g, old, eta)
        return np.where(np.abs(x) < np.finfo(np.float64).tiny, 0.0, x)


class _OtherRegularizer(Stepwise):
    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        return super().update_z(self._with_other(problem), x, y)

    def _with_other(self, problem: Problem) -> Problem:
        raise NotImplementedError


class RidgeForL1(_OtherRegularizer):
    def _with_other(self, problem: Problem) -> Problem:
        reg = problem.regularizer
        if not isinstance(reg, ElasticNet):
            return problem
        return dataclasses.replace(problem, regularizer=ElasticNet(reg.lam, 1 - reg.l1_ratio))


class FoldedAsL1(_OtherRegularizer):
    def _with_other(self, problem: Problem) -> Problem:
        reg = problem.regularizer
        return dataclasses.replace(problem, regularizer=L1(reg.lam)) if isinstance(reg, SCAD | MCP) else problem


class GroupsAsL1(_OtherRegularizer):
    def _with_other(self, problem: Problem) -> Problem:
        reg = problem.regularizer
        return dataclasses.replace(problem, regularizer=L1(reg.lam)) if isinstance(reg, GroupL1) else problem


class ColumnMajor(_OtherRegularizer):
    def _with_other(self, problem: Problem) -> Problem:
        reg = problem.regularizer
        if not isinstance(reg, NuclearNorm):
            return problem
        return dataclasses.replace(problem, regularizer=NuclearNorm(reg.lam, reg.columns, reg.rows))


class JumpsAtThreshold(Stepwise):
    """A hard threshold: w is kept whole beyond lambda/rho."""

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        z = super().update_z(problem, x, y)
        return np.where(z != 0, x + y / problem.rho, 0.0) if isinstance(problem.regularizer, L1) else z


class NoReplay(Stepwise):
    """Honest, and shows nothing but trials."""

    capabilities = tuple(capability for capability in Capability if capability is not Capability.REPLAY)


# Each wrong implementation, and the flags whose cases must each catch it.
class CrashesOnHugeRows(Stepwise):
    """Ends without an answer at the first record whose square overflows."""

    def replay(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        if np.abs(records.features).max() > 1e150:
            sys.exit("overflow")
        return super().replay(records, algorithm, parameters, noise, batches)


WRONG: dict[type[Stepwise], tuple[str, ...]] = {
    LambdaAsThreshold: ("threshold",),
    OldDual: ("old-dual", "plain"),
    OldCopyInDual: ("old-dual",),
    NextStep: ("step-index",),
    NoEta: ("step-size",),
    MeanOverAll: ("batch-mean",),
    IgnoresStart: ("initial",),
    ExchangedNoise: ("noise-order",),
    PrimalTooLate: ("release",),
    NoClipping: ("clipping",),
    ClipsFeatures: ("clipping",),
    InterceptAfterNormalising: ("intercept",),
    NaiveLength: ("huge-row", "tiny-row"),
    BoundIsOne: ("scale", "normalising"),
    DividesByZero: ("zero-row",),
    OneMinusSigmoid: ("saturated",),
    WideHinge: ("huber-knees",),
    IgnoresLabels: ("labels",),
    SinglePrecision: ("precision",),
    FlushesToZero: ("subnormal",),
    RidgeForL1: ("elastic-net",),
    FoldedAsL1: ("folded",),
    GroupsAsL1: ("groups",),
    ColumnMajor: ("matrix",),
    JumpsAtThreshold: ("at-threshold",),
}

if __name__ == "__main__":
    kinds: tuple[type[Stepwise], ...] = (*WRONG, NoReplay, CrashesOnHugeRows)
    serve({kind.__name__: kind for kind in kinds}[sys.argv[1]]())
