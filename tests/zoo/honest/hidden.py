"""Honest implementations that compute something from the noisy gradient which hides its noise, each with a wrong twin.

``python -m tests.zoo.honest.hidden NAME``
"""

from __future__ import annotations

import sys

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.arithmetic.system import Indices
from reference.problem import Problem, State
from reference.vectorised import Noise
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters


class AfterNoise(Stepwise):
    """The noisy gradient goes through a function; the twins apply it, or choose it, before the noise."""

    clean = False

    def through(self, values: Floats) -> Floats:
        """What is computed of it."""
        raise NotImplementedError

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """After the noise, or before it."""
        if self.clean:
            return self.through(gradient) + noise
        return self.through(super().noisy_gradient(gradient, noise))


class Sign(AfterNoise):
    """The signs alone."""

    def through(self, values: Floats) -> Floats:
        """Of one size."""
        return 0.05 * np.sign(values)


class SignBefore(Sign):
    """The twin: of the clean gradient, where next to 0 a record turns a sign."""

    clean = True


class Clamp(AfterNoise):
    """Coordinates are cut to an interval."""

    def through(self, values: Floats) -> Floats:
        """Cut."""
        return np.clip(values, -0.05, 0.05)


class ClampHalf(Clamp):
    """The twin: half of the noise."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Half."""
        return super().scale_noise(standard, sigma) / 2


class Unit(AfterNoise):
    """Scaled to one length, whatever it was."""

    def through(self, values: Floats) -> Floats:
        """Of one length."""
        scaled: Floats = 0.1 * values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-300)
        return scaled


class UnitBefore(Unit):
    """The twin: the clean gradient is scaled, and a record turns it where it is short."""

    clean = True


class Quantised(AfterNoise):
    """Messages of few bits: multiples of a step."""

    def through(self, values: Floats) -> Floats:
        """Rounded."""
        return 0.01 * np.rint(values / 0.01)


class QuantisedBefore(Quantised):
    """The twin: before the noise, where a record moves a coordinate by a whole step."""

    clean = True


class TopHalf(Stepwise):
    """The larger half of the coordinates of the noisy gradient."""

    clean = False

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """The others are 0."""
        noisy = super().noisy_gradient(gradient, noise)
        sizes = np.abs(gradient if self.clean else noisy)
        return np.where(sizes >= np.median(sizes, axis=-1, keepdims=True), noisy, 0.0)


class TopHalfOfClean(TopHalf):
    """The twin: chosen by the clean gradient."""

    clean = True


class Adam(Stepwise):
    """Adam on the noisy gradients."""

    clean = False

    def _run(
        self, algorithm: Algorithm, problem: Problem, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        self._step, self._first, self._second = 0, np.zeros(1), np.zeros(1)
        return super()._run(algorithm, problem, parameters, noise, batches)

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """Over the root of the second moment."""
        noisy = super().noisy_gradient(gradient, noise)
        self._step += 1
        self._first = 0.9 * self._first + 0.1 * noisy
        self._second = 0.99 * self._second + 0.01 * (gradient if self.clean else noisy) ** 2
        first, second = self._first / (1 - 0.9**self._step), self._second / (1 - 0.99**self._step)
        moved: Floats = first / (np.sqrt(second) + 1e-3)
        return moved


class AdamOfClean(Adam):
    """The twin: the second moment is that of the clean gradients."""

    clean = True


class StopsOnReleased(Stepwise):
    """Once the released model is long, it is released again."""

    def stops(self, problem: Problem, x: Floats, batch: Indices) -> Floats:
        """Where no step is taken any more."""
        return np.asarray(np.linalg.norm(x, axis=-1, keepdims=True) > 1.0)

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Indices, noise: Noise) -> State:
        """The last one again, or a step."""
        new, stop = super().ssadmm_step(problem, old, eta, batch, noise), self.stops(problem, old.x, batch)
        return State(*(np.where(stop, a, b) for a, b in ((old.x, new.x), (old.z, new.z), (old.y, new.y))))


class StopsOnClean(StopsOnReleased):
    """The twin: once the clean gradient is short."""

    def stops(self, problem: Problem, x: Floats, batch: Indices) -> Floats:
        """Looks at the data."""
        return np.asarray(np.linalg.norm(self.gradient(problem, x, batch), axis=-1, keepdims=True) < 0.05)


HONEST: dict[str, type[Stepwise]] = {
    "sign": Sign,
    "clamp": Clamp,
    "unit-length": Unit,
    "quantised": Quantised,
    "top-half": TopHalf,
    "adam": Adam,
    "stops-on-released": StopsOnReleased,
}
TWINS: dict[str, type[Stepwise]] = {
    "sign-before": SignBefore,
    "clamp-half": ClampHalf,
    "unit-length-before": UnitBefore,
    "quantised-before": QuantisedBefore,
    "top-half-of-clean": TopHalfOfClean,
    "adam-of-clean": AdamOfClean,
    "stops-on-clean": StopsOnClean,
}

if __name__ == "__main__":
    serve({**HONEST, **TWINS}[sys.argv[1]]())
