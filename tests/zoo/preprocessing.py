"""Records prepared in a way that lets one of them move what is computed from the others, or grow beyond C."""

from __future__ import annotations

import dataclasses

import numpy as np

from reference.dataset import Dataset, min_max_bounds
from reference.problem import Problem
from tests.zoo.per_record import mean_of_records, shortened
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import EVERY_SIGHT, Specimen, member
from verification.served.stepwise import Batches
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Records

_NORMALISED = ZooSetting(normalise=True, bound=1.0)


def _with_features(records: Records, features: Floats) -> Records:
    return Records(np.ascontiguousarray(features), records.labels)


@member("intercept-after-normalising", claims=dataclasses.replace(_NORMALISED, intercept=True))
class InterceptAfterNormalising(Specimen):
    """The intercept is appended to rows already of length C: they reach sqrt(C^2 + 1).

    Source: the order that the paper's wording invites ([CL20] section 5); class seen in pipelines where the model, not
    the preprocessing, adds the intercept.
    """

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Normalise, then append."""
        if not parameters.intercept or parameters.normalise is None:
            return super().problem(records, parameters)
        rows = Dataset.of(records.features, records.labels).normalised(parameters.normalise).with_intercept()
        raw = parameters.model_copy(update={"intercept": False, "normalise": None, "clip": 1.0})
        plain = super().problem(Records(rows.features, records.labels), raw)
        return dataclasses.replace(plain, clip=None)


@member("scaled-by-the-longest-record", sights=EVERY_SIGHT, claims=_NORMALISED)
class ScaledByTheLongestRecord(Specimen):
    """All rows are divided by the length of the longest one: a single long record shrinks every other.

    Source: class seen wherever "normalise so that the largest norm is 1" is computed from the private data.
    """

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Divide by the largest norm."""
        plain = super().problem(records, parameters)
        if parameters.normalise is None:
            return plain
        raw = super().problem(records, parameters.model_copy(update={"normalise": None, "clip": 1.0}))
        longest = float(raw.norms.max()) or 1.0
        scale = parameters.normalise / longest
        return dataclasses.replace(plain, signed=raw.signed * scale, norms=raw.norms * scale)


@member("min-max-from-the-data", claims=_NORMALISED)
class MinMaxFromTheData(Specimen):
    """Each feature is mapped to [0, 1] by its own minimum and maximum in the data, before the rows are normalised.

    Source: the paper itself ([CL20] section 5, statement E12); class seen in nearly every experiment with tabular data.
    """

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Scale by bounds read from the private data."""
        data = Dataset.of(records.features, records.labels)
        return super().problem(_with_features(records, data.scaled(*min_max_bounds(data)).features), parameters)


@member("centred-on-the-mean", claims=_NORMALISED)
class CentredOnTheMean(Specimen):
    """Features are centred on the data's own mean before the rows are normalised: one record turns all the others.

    Source: class seen where a standard scaler is fitted on the private data ahead of a private estimator.
    """

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Subtract the mean."""
        return super().problem(_with_features(records, records.features - records.features.mean(axis=0)), parameters)


@member("mean-over-active-records", claims=ZooSetting(eta=(0.5, 0.5)))
class MeanOverActiveRecords(Specimen):
    """The gradient is averaged over the records whose loss is active, a number that depends on the data.

    Source: class seen with hinge losses and masked means, where zero terms are left out of the denominator.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Divide by the number of non-zero gradients."""
        bound = np.inf if problem.clip is None else float(problem.clip)
        size = problem.records if batch is None else batch.shape[1]
        active = mean_of_records(problem, x, batch, lambda g: (g != 0).any(axis=-1, keepdims=True).astype(np.float64))
        mean = mean_of_records(problem, x, batch, lambda g: shortened(g, bound))
        return mean / np.maximum(active, 1.0 / size)


@member("bound-from-the-batch", sights=EVERY_SIGHT)
class BoundFromTheBatch(Specimen):
    """Gradients are scaled so that the longest one in the batch has length C: one long gradient silences the others.

    Source: class seen in "adaptive clipping" that takes a batch's own maximum or median for the bound without
    paying for it.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Scale all by the observed maximum."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        bound = float(problem.clip)

        def scaled(gradients: Floats) -> Floats:
            longest = np.linalg.norm(gradients, axis=-1).max(axis=-1)[:, None, None]
            shrunk: Floats = gradients * (bound / np.maximum(longest, bound))
            return shrunk

        return mean_of_records(problem, x, batch, scaled)
