"""Honest implementations that differ from the reference, and dishonest ones of a known size.

``python -m tests.zoo.honest.variants NAME``
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.arithmetic.system import Indices
from reference.problem import Problem, State
from reference.vectorised import Noise
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Records


class MoreNoise(Stepwise):
    """One and a half times the claimed noise."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """More."""
        return 1.5 * super().scale_noise(standard, sigma)


class RandomStart(Stepwise):
    """Every run starts at a random point that does not depend on the data, unless it is told where to start."""

    _at_random = False

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Start at random where no start is named."""
        self._at_random = parameters.initial is None
        self._rng = np.random.default_rng(seed)
        try:
            return super().trials(records, algorithm, parameters, count, seed)
        finally:
            self._at_random = False

    def _started(self, state: State) -> State:
        if not self._at_random:
            return state
        start = self._rng.standard_normal(state.x.shape)
        return State(start, start, state.y)

    def ssadmm(
        self,
        problem: Problem,
        state: State,
        *,
        step_sizes: Iterable[float],
        batches: Iterable[Indices],
        noise: Iterable[Noise],
    ) -> Iterator[State]:
        """From there."""
        return super().ssadmm(problem, self._started(state), step_sizes=step_sizes, batches=batches, noise=noise)

    def mpadmm(
        self, problem: Problem, state: State, *, step_sizes: Iterable[float], noise: Iterable[Noise]
    ) -> Iterator[State]:
        """From there."""
        return super().mpadmm(problem, self._started(state), step_sizes=step_sizes, noise=noise)


class SinglePrecision(Stepwise):
    """Gradients in single precision, noise in double."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Round the model and the gradient."""
        rounded = x.astype(np.float32).astype(np.float64)
        return super().gradient(problem, rounded, batch).astype(np.float32).astype(np.float64)


class NoiseOnAGrid(Stepwise):
    """Noise in multiples of a power of two, added to gradients that are not: it hides nothing of their last bits."""

    step = 2.0**-24

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Round the noise."""
        return self.step * np.rint(super().scale_noise(standard, sigma) / self.step)


class Discrete(NoiseOnAGrid):
    """The same, added to gradients that are rounded to the same grid, as the reference's exact discrete noise is."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Round the gradient."""
        return self.step * np.rint(super().gradient(problem, x, batch) / self.step)


class FurtherLaplace(Stepwise):
    """The claimed noise and Laplace noise beside it."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Both."""
        further = np.random.default_rng().laplace(size=standard.shape)
        return super().scale_noise(standard, sigma) + sigma[:, None] * further


class FurtherCommon(Stepwise):
    """The claimed noise and one further value for all coordinates of a vector."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Both."""
        further = np.random.default_rng().standard_normal((*standard.shape[:2], 1))
        return super().scale_noise(standard, sigma) + sigma[:, None] * further


class Rounded(Stepwise):
    """Everything that is released is rounded to four decimals."""

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Round."""
        values = super().trials(records, algorithm, parameters, count, seed)
        return {name: np.round(array, 4) for name, array in values.items()}


class LessNoise(Stepwise):
    """The claimed noise divided by 1.2."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Less."""
        return super().scale_noise(standard, sigma) / 1.2


class HalfOf(Stepwise):
    """Half of the noise in one run of so many, at random."""

    one_in = 50

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Halve by chance."""
        half = np.random.default_rng().integers(self.one_in, size=len(standard)) == 0
        return super().scale_noise(standard, sigma) * np.where(half, 0.5, 1.0)[:, None, None]


class HalfOfFew(HalfOf):
    """So rare that a gate often misses it."""

    one_in = 2000


class MissingFromAThousand(Stepwise):
    """No noise from iteration 1,000 on."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Silence what is late."""
        return super().scale_noise(standard, sigma) * (np.arange(len(sigma)) < 1000)[:, None]


VARIANTS: dict[str, type[Stepwise]] = {
    "more-noise": MoreNoise,
    "random-start": RandomStart,
    "single-precision": SinglePrecision,
    "discrete": Discrete,
    "noise on a grid": NoiseOnAGrid,
    "further-laplace": FurtherLaplace,
    "further-common": FurtherCommon,
    "rounded": Rounded,
    "noise/1.2": LessNoise,
    "noise/2 in 1 run of 50": HalfOf,
    "noise/2 in 1 run of 2000": HalfOfFew,
    "no noise from iteration 1000 on": MissingFromAThousand,
}

if __name__ == "__main__":
    serve(VARIANTS[sys.argv[1]]())
