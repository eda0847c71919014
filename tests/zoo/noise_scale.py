"""Noise of the wrong size: squared, averaged away, scaled by what it protects, or missing where it is needed."""

from __future__ import annotations

import numpy as np

from reference.problem import Problem, State
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import BOXES, EVERY_SIGHT, MP, SS, Harm, Specimen, member
from verification.served.serve import Values
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters

_THREE_STEPS = ZooSetting(eta=(0.5, 0.5, 0.5))
_PARTIES = 4


@member("variance-as-deviation", sights=EVERY_SIGHT)
class VarianceAsDeviation(Specimen):
    """The variance is passed where a standard deviation is asked for: too little noise whenever sigma < 1.

    Source: class seen wherever one library's normal takes a deviation and the next one's a variance or covariance.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Square the deviation."""
        return super().scale_noise(standard, sigma**2)


@member("noise-averaged-over-parties", sights=EVERY_SIGHT)
class NoiseAveragedOverParties(Specimen):
    """Each of four parties adds noise of the claimed size and the average is released, with half of it left.

    Source: class seen in federated code that accounts locally for a release that is made after aggregation.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """The mean of independent draws has a deviation smaller by the root of their number."""
        return super().scale_noise(standard, sigma / np.sqrt(_PARTIES))


@member("noise-of-every-party-summed", harm=Harm.NONE)
class NoiseOfEveryPartySummed(Specimen):
    """Four parties each add noise of the full size to a sum: twice the noise that is claimed.

    Source: class seen where distributed noise generation forgets to split the noise between the parties.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """The sum of independent draws has a deviation larger by the root of their number."""
        return super().scale_noise(standard, sigma * np.sqrt(_PARTIES))


@member("noise-on-even-iterations", sights=EVERY_SIGHT, claims=_THREE_STEPS)
class NoiseOnEvenIterations(Specimen):
    """Noise is added in every second iteration only, and accounted for as if always.

    Source: class seen where gradient accumulation or delayed communication skips the noisy branch.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Silence the odd iterations."""
        silent = np.arange(len(sigma)) % 2 == 1
        return super().scale_noise(standard, np.where(silent, 0.0, sigma))


@member("last-iterate-clean", sights=EVERY_SIGHT)
class LastIterateClean(Specimen):
    """The last iteration adds no noise: the model that is published is the clean one.

    Source: class seen where noise is added at the top of the loop to the model of the iteration before.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Silence the last iteration."""
        last = np.arange(len(sigma)) == len(sigma) - 1
        return super().scale_noise(standard, np.where(last, 0.0, sigma))


@member("noise-shrinks-with-the-step", sights=EVERY_SIGHT)
class NoiseShrinksWithTheStep(Specimen):
    """Noise is multiplied by the step size before it enters the gradient or the model, and so counts less.

    Source: class seen where noise meant for the update is added to the gradient, and the optimiser scales it again.
    """

    def sigmas(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """Scale by the step size."""
        scaled: Floats = super().sigmas(algorithm, parameters, records) * np.array(parameters.eta)
        return scaled


@member("noise-scaled-by-observed-gradient", algorithms=SS, sights=EVERY_SIGHT)
class NoiseScaledByObservedGradient(Specimen):
    """Noise is proportional to the norm of the gradient it protects: no gradient, no noise.

    Source: class seen in "adaptive" noise schemes that replace the sensitivity by an observed norm.
    """

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """Scale the noise by what it is added to."""
        noisy: Floats = gradient + noise * np.linalg.norm(gradient, axis=-1, keepdims=True)
        return noisy


@member("noise-on-support-only", algorithms=MP, sights=BOXES)
class NoiseOnSupportOnly(Specimen):
    """Noise is added to the non-zero coordinates of z alone: the support, which depends on the data, is exact.

    Source: class seen in sparse private learning, where noise on zeros is felt to be waste.
    """

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        """Leave the zeros of z alone."""
        if "z" not in noise:
            return super().mpadmm_step(problem, old, eta, noise)
        clean = super().mpadmm_step(problem, old, eta, {**noise, "z": np.zeros_like(noise["z"])})
        return State(clean.x, np.where(clean.z == 0.0, 0.0, clean.z + noise["z"]), clean.y)
