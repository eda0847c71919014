"""Bugs of the baselines: what DP-SGD, DP-ADMM, DP-SVRG and ADMM-objP are accounted for is not what runs."""

from __future__ import annotations

import dataclasses

import numpy as np

from reference.baselines.inner import Accuracy, minimise
from reference.gradients import full_gradients
from reference.problem import Problem, State
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import EVERY_SIGHT, Specimen, member
from verification.served.serve import Values
from verification.served.stepwise import TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters

_MULTIPLIER = ZooSetting(sigma=None, noise_multiplier=0.8, eta=(0.5, 0.5))
_TWO_STEPS = ZooSetting(eta=(0.5, 0.5))
_RIDGE = dataclasses.replace(_TWO_STEPS, normalise=True, epsilon=0.01)
_NORMALISED = dataclasses.replace(_TWO_STEPS, normalise=True)


@member("dpsgd-noise-inside-the-mean", algorithms=(Algorithm.DPSGD,), sights=EVERY_SIGHT)
class NoiseInsideTheMean(Specimen):
    """Noise of the size that the mean gradient needs is added to the sum, and divided by m together with it.

    Source: class seen in DP-SGD code that adds noise to summed gradients and averages afterwards, with a sigma that
    was calibrated for the average.
    """

    def scales(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Values:
        """What is left of it after the division."""
        right = super().scales(algorithm, parameters, records)
        return {name: scale / (parameters.batch or records) for name, scale in right.items()}


@member("dpsgd-sensitivity-c-over-m", algorithms=(Algorithm.DPSGD,), claims=_MULTIPLIER)
class SensitivityOfAddingARecord(Specimen):
    """Noise is scaled by C/m, right for adding or removing a record, under a claim for replacing one: 2C/m.

    Source: class seen where DP-SGD libraries with Poisson batches are run on batches of a fixed size.
    """

    def scales(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Values:
        """Half of it, where the implementation scales by itself."""
        return _changed_if_own(super().scales(algorithm, parameters, records), parameters, 0.5)


@member("dpadmm-parties-ignored", algorithms=(Algorithm.DPADMM,), claims=_MULTIPLIER)
class PartiesIgnored(Specimen):
    """A party's noise is scaled for an average over all records, though it averages over its own alone.

    Source: class seen in federated code where n is the size of the whole data set (statement DPADMM-ALL-RECORDS).
    """

    def scales(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Values:
        """Too little by the number of parties."""
        return _changed_if_own(
            super().scales(algorithm, parameters, records), parameters, 1 / (parameters.parties or 1)
        )


@member("dpadmm-one-seed-for-all-parties", algorithms=(Algorithm.DPADMM,))
class OneSeedForAllParties(Specimen):
    """Every party draws the same noise: the difference of two parties' models has none at all.

    Source: class seen in simulations of federated learning that seed every client alike.
    """

    def draw_noise(
        self, algorithm: Algorithm, random: TrialRandomness, parameters: Parameters, problem: Problem
    ) -> Values:
        """The first party's draws for everybody."""
        noise = super().draw_noise(algorithm, random, parameters, problem)["x"]
        return {"x": np.repeat(noise[:, :, :1], noise.shape[2], axis=2)}


@member("dpsvrg-full-gradient-without-noise", algorithms=(Algorithm.DPSVRG,))
class FullGradientWithoutNoise(Specimen):
    """The steps get noise; the full gradient that all of them contain gets none and is the same in every one.

    Source: class seen where the noise of DP-SGD is moved into an existing SVRG loop (the source of DP-SVRG adds none
    there, under an analysis that charges the steps for it).
    """

    def noisy_full_gradient(self, problem: Problem, x: Floats, noise: Floats) -> Floats:
        """As it is."""
        return full_gradients(problem, x)


@member("dpsvrg-step-priced-as-one-gradient", algorithms=(Algorithm.DPSVRG,), claims=_MULTIPLIER)
class StepPricedAsOneGradient(Specimen):
    """A step's noise is scaled by 2C/m, though two gradients of every record enter it: 4C/m.

    Source: class seen where DP-SGD's sensitivity is kept when the control variate comes in.
    """

    def scales(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Values:
        """Half of it on the steps; the full gradient is right."""
        right = super().scales(algorithm, parameters, records)
        return right | _changed_if_own({"gradient": right["gradient"]}, parameters, 0.5)


@member("objp-perturbs-once", algorithms=(Algorithm.OBJP,), claims=_NORMALISED)
class PerturbsOnce(Specimen):
    """Only the first iteration's objective is perturbed; the later ones, which read the data again, are not.

    Source: class seen where objective perturbation for one model fit is wrapped around an iterative solver.
    """

    def draw_noise(
        self, algorithm: Algorithm, random: TrialRandomness, parameters: Parameters, problem: Problem
    ) -> Values:
        """Nothing but the first."""
        noise = super().draw_noise(algorithm, random, parameters, problem)["objective"]
        return {"objective": noise * (np.arange(noise.shape[1]) == 0)[:, None]}


@member("objp-without-the-ridge", algorithms=(Algorithm.OBJP,), claims=_RIDGE)
class WithoutTheRidge(Specimen):
    """Where epsilon is too small for the Jacobian, half of it goes to b, but the ridge that this needs is not added.

    Source: class seen in ports of objective perturbation (Chaudhuri et al. 2011) that keep the noise and drop the
    second regularization term.
    """

    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        """Without it."""
        return super().solve(problem, old, tilt, 0.0, length)


@member("objp-stops-early", algorithms=(Algorithm.OBJP,), claims=_NORMALISED)
class StopsEarly(Specimen):
    """The inner solver stops at a gradient of 1e-3, and what is released is no minimiser (statement OBJP-INEXACT).

    Source: class seen wherever a library's optimiser is called with its default tolerance.
    """

    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        """Content with little."""
        convexity = problem.rho + ridge

        def gradient(x: Floats) -> Floats:
            return full_gradients(problem, x) + old.y + problem.rho * (x - old.z) + ridge * x + tilt

        smoothness = problem.loss.curvature * length**2 + convexity
        accuracy = Accuracy(residual=1e-3)
        return minimise(gradient, old.x, smoothness=smoothness, convexity=convexity, accuracy=accuracy).x


@member(
    "non-private-sold-as-private",
    algorithms=(Algorithm.DPSGD, Algorithm.DPADMM, Algorithm.DPSVRG, Algorithm.OBJP),
    claims=_NORMALISED,
)
class NonPrivateSoldAsPrivate(Specimen):
    """The private algorithm's name on the plain one: no noise is ever drawn.

    Source: class seen where a flag such as `disable_dp`, set for debugging, was never taken back.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Silence."""
        return 0.0 * super().scale_noise(standard, sigma)


def _changed_if_own(scales: Values, parameters: Parameters, factor: float) -> Values:
    """A sigma that was given is used as it is; what the implementation computes is off by the factor."""
    own = parameters.noise_multiplier is not None
    return {name: scale * factor if own else scale for name, scale in scales.items()}
