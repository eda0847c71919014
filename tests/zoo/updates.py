"""Updates that are not the paper's: what the proof speaks of is not what runs."""

from __future__ import annotations

from reference.problem import Problem, State
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import SS, Specimen, member
from verification.served.serve import Values
from verification.served.stepwise import Batches
from verification.wire.arrays import Floats

_TWO_STEPS = ZooSetting(eta=(0.5, 0.5))


@member("dual-step-forgets-rho", claims=_TWO_STEPS)
class DualStepForgetsRho(Specimen):
    """y moves by x - z, not by rho times it: the dual's sensitivity is no longer rho times the primal's.

    Source: class seen where the scaled form of ADMM (u = y/rho) is mixed with the unscaled one.
    """

    def update_y(self, problem: Problem, y: Floats, x: Floats, z: Floats) -> Floats:
        """The scaled form's step."""
        return y + (x - z)


@member("threshold-forgets-rho", claims=_TWO_STEPS)
class ThresholdForgetsRho(Specimen):
    """The soft threshold is lambda, not lambda/rho; with MCP or SCAD it stretches more than was accounted for.

    Source: class seen where the proximal operator of a library takes the threshold and is given the weight.
    """

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        """The proximal map for a penalty parameter of 1."""
        return problem.regularizer.prox(x + y / problem.rho, 1.0)


@member("step-doubled", claims=_TWO_STEPS)
class StepDoubled(Specimen):
    """The step is twice as long as the one that was accounted for.

    Source: class seen where a learning-rate schedule of the optimiser acts beside the one in the formula.
    """

    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """Twice eta."""
        return super().update_x(problem, g, old, 2 * eta)


@member("gradient-taken-twice", algorithms=SS, claims=_TWO_STEPS)
class GradientTakenTwice(Specimen):
    """Two local steps are made on each batch and one is accounted for, with the same noise in both.

    Source: class seen in federated code with several local steps a round; APPFL's trainers offer them.
    """

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Values) -> State:
        """A step, and the same again."""
        once = super().ssadmm_step(problem, old, eta, batch, noise)
        return super().ssadmm_step(problem, once, eta, batch, noise)
