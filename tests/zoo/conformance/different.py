"""Honest implementations that differ from the reference: no check may call them less private.

``python -m tests.zoo.conformance.different NAME`` serves one, as a black box.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from reference.problem import Problem, State
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records


class BlackBox(Stepwise):
    capabilities = tuple(c for c in Capability if c is not Capability.REPLAY)


class ClipsAtHalf(BlackBox):
    """Gradients are clipped at C/2."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        clip = problem.clip
        return super().gradient(problem if clip is None else dataclasses.replace(problem, clip=clip / 2), x, batch)


class SmallerBatches(BlackBox):
    """Batches of half the size; the sum is still divided by m."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        if batch is None:
            return super().gradient(problem, x, batch)
        half = max(1, batch.shape[1] // 2)
        scaled: Floats = super().gradient(problem, x, batch[:, :half]) * half / batch.shape[1]
        return scaled


class Rounds(BlackBox):
    """What is released is rounded to six decimals."""

    def rounding(self, values: Floats) -> Floats:
        return np.round(values, 6)

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        values = super().trials(records, algorithm, parameters, count, seed)
        return {name: self.rounding(array) for name, array in values.items()}


class ReleasesSinglePrecision(Rounds):
    def rounding(self, values: Floats) -> Floats:
        return values.astype(np.float32).astype(np.float64)


class StartsElsewhere(BlackBox):
    """At 1 where no start is named."""

    def _run(
        self,
        algorithm: Algorithm,
        problem: Problem,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        self._moved = 0.0 if parameters.initial is not None else 1.0
        return super()._run(algorithm, problem, parameters, noise, batches)

    def ssadmm(self, problem: Problem, state: State, **inputs):  # type: ignore[no-untyped-def] # passed on
        return super().ssadmm(problem, State(state.x + self._moved, state.z + self._moved, state.y), **inputs)

    def mpadmm(self, problem: Problem, state: State, **inputs):  # type: ignore[no-untyped-def] # passed on
        return super().mpadmm(problem, State(state.x + self._moved, state.z + self._moved, state.y), **inputs)


DIFFERENT = {
    kind.__name__: kind for kind in (ClipsAtHalf, SmallerBatches, Rounds, ReleasesSinglePrecision, StartsElsewhere)
}

if __name__ == "__main__":
    serve(DIFFERENT[sys.argv[1]]())
