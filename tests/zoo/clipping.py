"""Gradients that are not bounded as the proof assumes, though a clipping norm is claimed."""

from __future__ import annotations

import dataclasses

import numpy as np

from reference.problem import Problem, State
from tests.zoo.per_record import mean_of_records, shortened
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import EVERY_SIGHT, SS, Harm, Specimen, member
from verification.served.serve import Values
from verification.served.stepwise import Batches
from verification.served.translate import loss_of, regularizer_of
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Records


@member("clip-ignored", sights=EVERY_SIGHT)
class ClipIgnored(Specimen):
    """The clipping norm is accepted and never applied.

    Source: class seen where an option is parsed but not passed on; silent configuration is its usual cause.
    """

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Forget it."""
        return dataclasses.replace(super().problem(records, parameters), clip=None)


@member("clip-the-batch", sights=EVERY_SIGHT)
class ClipTheBatch(Specimen):
    """The mean gradient of the batch is clipped, not each record's: one record can move it by 2C, not 2C/m.

    Source: class seen wherever a framework's gradient-norm clipping is used after the backward pass of a mean loss;
    APPFL's ADMM trainers do.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Average, then clip."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        return shortened(mean_of_records(problem, x, batch), float(problem.clip))


@member("clip-after-noise", algorithms=SS, sights=EVERY_SIGHT)
class ClipAfterNoise(Specimen):
    """The noisy gradient is clipped, and the gradient before the noise is not.

    Source: class seen where clipping sits in the optimiser and the noise in the loss or a hook before it.
    """

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Values) -> State:
        """Average, add noise, clip."""
        if problem.clip is None:
            return super().ssadmm_step(problem, old, eta, batch, noise)
        g = shortened(mean_of_records(problem, old.x, batch) + noise["gradient"], float(problem.clip))
        x = self.update_x(problem, g, old, eta)
        z = self.update_z(problem, x, old.y)
        return State(x, z, self.update_y(problem, old.y, x, z))


@member("clip-each-coordinate", sights=EVERY_SIGHT)
class ClipEachCoordinate(Specimen):
    """Each coordinate is clipped to C, so the Euclidean norm reaches C sqrt(p).

    Source: class seen where "clip by value" is taken for "clip by norm"; frameworks offer both side by side.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Clip by value."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        bound = float(problem.clip)
        return mean_of_records(problem, x, batch, lambda gradients: np.clip(gradients, -bound, bound))


@member("clip-by-sum-of-absolutes", harm=Harm.NONE)
class ClipBySumOfAbsolutes(Specimen):
    """Gradients are clipped in the norm of absolute values, which is the larger one: private, and not what is claimed.

    Source: class seen where the order of the norm is an option (APPFL's `clip_norm`) and is set to 1.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Scale down to a sum of absolute values of C."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        bound = float(problem.clip)

        def clipped(gradients: Floats) -> Floats:
            sums = np.abs(gradients).sum(axis=-1, keepdims=True)
            return gradients * np.minimum(1.0, bound / np.where(sums > 0, sums, bound))

        return mean_of_records(problem, x, batch, clipped)


@member("clip-by-blocks", sights=EVERY_SIGHT)
class ClipByBlocks(Specimen):
    """Two blocks of coordinates are clipped to C each, so the whole reaches C sqrt 2.

    Source: class seen with per-layer clipping whose bound is not divided by the root of the number of layers.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Clip each half on its own."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        bound, half = float(problem.clip), problem.dimension // 2

        def clipped(gradients: Floats) -> Floats:
            blocks = (gradients[..., :half], gradients[..., half:])
            return np.concatenate([shortened(block, bound) for block in blocks], axis=-1)

        return mean_of_records(problem, x, batch, clipped)


@member("nan-passes-the-clip", claims=ZooSetting(eta=(0.5, 0.5)))
class NanPassesTheClip(Specimen):
    """A record of NaN is not longer than C, since no comparison with NaN holds; it then erases the whole gradient.

    Source: class seen wherever clipping is written `if norm > C`; replacing NaN afterwards hides it.
    """

    def load(self, records: Records) -> None:
        """Accept anything."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Build it from records that nobody has looked at."""
        features = records.features
        if parameters.intercept:
            features = np.column_stack([np.ones(len(features)), features])
        with np.errstate(all="ignore"):
            norms = np.sqrt((features**2).sum(axis=1))
            if parameters.normalise is not None:
                features = np.where(norms > 0, parameters.normalise / norms, 1.0)[:, None] * features
                norms = np.sqrt((features**2).sum(axis=1))
        signed, regularizer = records.labels[:, None] * features, regularizer_of(parameters)
        return Problem(signed, loss_of(parameters), regularizer, parameters.rho, parameters.clip, norms)

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Clip, average, and replace NaN by 0."""
        bound = np.inf if problem.clip is None else float(problem.clip)
        with np.errstate(all="ignore"):
            return np.nan_to_num(mean_of_records(problem, x, batch, lambda g: shortened(g, bound)))
