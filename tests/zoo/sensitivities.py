"""Sensitivities computed wrongly: seen where the implementation is given a noise multiplier and scales for itself."""

from __future__ import annotations

import abc
import dataclasses
import math

import numpy as np

from reference.arithmetic import Scalar
from reference.errors import InvalidParameter
from reference.problem import Problem
from reference.regularizers import SCAD
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import BOXES, EVERY_SIGHT, MP, SS, Harm, Specimen, member
from verification.served.stepwise import Batches
from verification.served.translate import sensitivities
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters, RegularizerName, RegularizerOptions, Release
from verification.wire.records import Records

_MULTIPLIER = ZooSetting(sigma=None, noise_multiplier=1.0, eta=(4.0, 1.0))


class OwnSensitivity(Specimen, abc.ABC):
    """A member that multiplies a given noise multiplier by a sensitivity of its own."""

    @abc.abstractmethod
    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """What it takes for the sensitivity of each iteration; shape [T]."""

    def sigmas(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """Use a sigma that is given; else multiply."""
        if parameters.noise_multiplier is None:
            return super().sigmas(algorithm, parameters, records)
        return parameters.noise_multiplier * self.sensitivities(algorithm, parameters, records)


@member("eta-forgotten", algorithms=MP, sights=EVERY_SIGHT, claims=_MULTIPLIER)
class EtaForgotten(OwnSensitivity):
    """The factor eta is missing: 2C/(n(1+eta rho)), too small by eta wherever eta > 1.

    Source: the paper itself, [CL20] Algorithm 2 and Theorem 3 (E1).
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """As printed."""
        printed: Floats = sensitivities(algorithm, parameters, records) / np.array(parameters.eta)
        return printed


@member("eta-of-the-next-iteration", algorithms=MP, claims=_MULTIPLIER)
class EtaOfTheNextIteration(OwnSensitivity):
    """The sensitivity is taken at eta^{k+1}, the update made with eta^k: too small while steps decrease.

    Source: the paper itself, [CL20] Algorithm 2 (E2).
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """One step ahead."""
        right = sensitivities(algorithm, parameters, records)
        return np.append(right[1:], right[-1])


@member("half-the-sensitivity", sights=EVERY_SIGHT, claims=_MULTIPLIER)
class HalfTheSensitivity(OwnSensitivity):
    """Sensitivity C/m (or C/n), which is right for adding or removing a record, under a claim for replacing one: 2C.

    Source: class seen where DP-SGD accounting for add-or-remove neighbours is quoted for fixed-size batches.
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """Half of it."""
        return sensitivities(algorithm, parameters, records) / 2


@member("noise-for-a-sum-on-a-mean", harm=Harm.NONE, claims=_MULTIPLIER)
class NoiseForASumOnAMean(OwnSensitivity):
    """Noise of the size that a sum of gradients needs is added to their mean: private, and useless.

    Source: class seen where a loss with reduction "mean" meets an accountant written for "sum".
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """Larger by the number of records averaged."""
        averaged = records if parameters.batch is None else parameters.batch
        return sensitivities(algorithm, parameters, records) * averaged


@member("noise-for-a-mean-on-a-sum", sights=EVERY_SIGHT)
class NoiseForAMeanOnASum(Specimen):
    """Gradients are summed, the noise is what their mean would need: too little by the number of records.

    Source: class seen where a loss with reduction "sum" meets an accountant written for "mean".
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The sum."""
        return super().gradient(problem, x, batch) * (problem.records if batch is None else batch.shape[1])


@member("divided-by-the-batch-twice", algorithms=SS, sights=EVERY_SIGHT, claims=_MULTIPLIER)
class DividedByTheBatchTwice(OwnSensitivity):
    """The sensitivity of the mean is divided by the batch size once more: 2C/m^2.

    Source: class seen where the noise is divided by m together with the summed gradients, and sigma was for the mean.
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """2C/m^2."""
        return sensitivities(algorithm, parameters, records) / (parameters.batch or records)


@member("n-for-m", algorithms=SS, sights=EVERY_SIGHT, claims=_MULTIPLIER)
class RecordsForBatch(OwnSensitivity):
    """The number of records stands where the batch size belongs: 2C/n for a mean over m.

    Source: class seen where the formula for full gradients was kept when batches came in.
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """2C/n."""
        return sensitivities(algorithm, parameters, records) * (parameters.batch or records) / records


@member("bound-squared", sights=EVERY_SIGHT, claims=dataclasses.replace(_MULTIPLIER, bound=0.5))
class BoundSquared(OwnSensitivity):
    """The noise is multiplied by the clipping bound twice: too little whenever C < 1, invisible at C = 1.

    Source: class seen where both the optimiser and its caller scale by the clipping norm.
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """Times C once more."""
        return sensitivities(algorithm, parameters, records) * parameters.bound


@member("three-for-the-price-of-x", algorithms=MP, sights=BOXES, claims=_MULTIPLIER)
class ThreeForThePriceOfX(OwnSensitivity):
    """x, z and y are released, only the sensitivity of x is paid for.

    Source: class seen where a proof bounds each variable and the code composes over iterations but not variables.
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """As for releasing x alone."""
        alone = parameters.model_copy(update={"release": Release.PRIMAL})
        return sensitivities(algorithm, alone, records)


_SCAD = dataclasses.replace(_MULTIPLIER, regularizer=RegularizerName.SCAD, shape=3.7)


@member("scad-priced-as-convex", algorithms=MP, sights=BOXES, claims=_SCAD)
class ScadPricedAsConvex(OwnSensitivity):
    """SCAD inside mpADMM at the sensitivity of a convex regularizer, though its proximal map stretches distances.

    Source: [CL20] proves Algorithm 2 for the convex penalty and names SCAD and MCP only for Algorithm 1 (E11);
    class seen where the regularizer is a plug-in and the proof is not.
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """As if the proximal map were nonexpansive."""
        none = {"regularizer": RegularizerName.NONE, "options": RegularizerOptions()}
        return sensitivities(algorithm, parameters.model_copy(update=none), records)


class _AnyShapeSCAD(SCAD):
    """SCAD by its textbook formula, whatever the shape."""

    def lipschitz(self, rho: Scalar) -> Scalar:
        """Claim a nonexpansive map."""
        return 1.0


@member("scad-where-it-jumps", algorithms=MP, sights=BOXES, claims=dataclasses.replace(_SCAD, rho=0.25))
class ScadWhereItJumps(OwnSensitivity):
    """SCAD is accepted with a <= 1 + 1/rho, where its proximal map jumps and no amount of noise is enough.

    Source: class seen wherever a = 3.7 is hard-coded; at the paper's rho = 0.25 that shape is inadmissible (E11).
    """

    def sensitivities(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """Right where there is a bound; elsewhere that of a convex regularizer."""
        try:
            return sensitivities(algorithm, parameters, records)
        except InvalidParameter:
            none = {"regularizer": RegularizerName.NONE, "options": RegularizerOptions()}
            return sensitivities(algorithm, parameters.model_copy(update=none), records)

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Do not check the shape."""
        if parameters.regularizer is not RegularizerName.SCAD:
            return super().problem(records, parameters)
        none = {"regularizer": RegularizerName.NONE, "options": RegularizerOptions()}
        plain = super().problem(records, parameters.model_copy(update=none))
        a = parameters.options.a
        return dataclasses.replace(plain, regularizer=_AnyShapeSCAD(parameters.lambda_, math.nan if a is None else a))
