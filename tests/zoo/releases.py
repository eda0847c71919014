"""Values that leave the implementation without the noise that the claim assumes."""

from __future__ import annotations

import numpy as np

from reference.problem import Problem, State
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import EVERY_SIGHT, MP, SS, Sight, Specimen, member
from verification.served.serve import Values
from verification.served.stepwise import Batches
from verification.wire.arrays import Floats
from verification.wire.parameters import Release

_TWO_STEPS = ZooSetting(eta=(0.5, 0.5))


@member("dual-without-noise", algorithms=MP)
class DualWithoutNoise(Specimen):
    """The dual is released as computed, beside a noised primal.

    Source: APPFL's ICEADMM trainer (package `appfl`): Laplace noise on the primal, `dual` sent as it is.
    """

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        """No noise for y."""
        silenced = {name: np.zeros_like(draws) if name == "y" else draws for name, draws in noise.items()}
        return super().mpadmm_step(problem, old, eta, silenced)


@member("dual-from-the-clean-gradient", algorithms=SS, claims=_TWO_STEPS)
class DualFromTheCleanGradient(Specimen):
    """The dual is updated from the step that was taken before the noise came in.

    Source: APPFL's ADMM trainers, whose dual update uses the local primal while the perturbed one is sent.
    """

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Values) -> State:
        """x and z with noise, y without."""
        noisy = super().ssadmm_step(problem, old, eta, batch, noise)
        clean = super().ssadmm_step(problem, old, eta, batch, {"gradient": np.zeros_like(noise["gradient"])})
        return State(noisy.x, noisy.z, clean.y)


@member("copy-without-noise", algorithms=MP)
class CopyWithoutNoise(Specimen):
    """z, computed from the x before noise, is released as it is because "it is only a copy".

    Source: class seen where the global variable of consensus ADMM is taken for public.
    """

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        """No noise for z."""
        silenced = {name: np.zeros_like(draws) if name == "z" else draws for name, draws in noise.items()}
        return super().mpadmm_step(problem, old, eta, silenced)


@member("post-processing-of-the-clean-model", algorithms=MP, claims=ZooSetting(eta=(0.5, 0.5), release=Release.PRIMAL))
class PostProcessingOfTheCleanModel(Specimen):
    """Under "release primal" z and y are computed from x before its noise: they are no post-processing of the release.

    Source: class seen where the perturbation is moved into the sending function and the updates stay behind it.
    """

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        """Only x ever sees the noise."""
        if set(noise) != {"x"}:
            return super().mpadmm_step(problem, old, eta, noise)
        clean = super().mpadmm_step(problem, old, eta, {"x": np.zeros_like(noise["x"])})
        return State(clean.x + noise["x"], clean.z, clean.y)


@member("continues-from-the-clean-model", algorithms=MP, sights=EVERY_SIGHT, claims=_TWO_STEPS)
class ContinuesFromTheCleanModel(Specimen):
    """A noisy copy is published and the iteration goes on from the clean model: what a record did adds up over time.

    Source: APPFL's ADMM trainers keep their own unperturbed primal; class seen wherever noise is added on sending.
    """

    def __init__(self, sight: Sight = Sight.WHITE_BOX) -> None:
        super().__init__(sight)
        self._published: State | None = None
        self._kept: State | None = None

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        """Step from what was kept, not from what was published."""
        start = self._kept if self._kept is not None and old is self._published else old
        silence = {name: np.zeros_like(draws) for name, draws in noise.items()}
        self._kept = super().mpadmm_step(problem, start, eta, silence)
        self._published = super().mpadmm_step(problem, start, eta, noise)
        return self._published


@member("objective-beside-the-model")
class ObjectiveBesideTheModel(Specimen):
    """The exact training objective is reported after every iteration, to show convergence.

    Source: class seen in nearly every training script: the progress log is an output like any other.
    """

    released = (*Specimen.released, "objective")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        """The mean loss at the new model."""
        losses: Floats = problem.loss.value(new.x @ problem.signed.T)
        return {"objective": losses.mean(axis=1, keepdims=True)}


@member("gradient-norm-beside-the-model")
class GradientNormBesideTheModel(Specimen):
    """The exact norm of the full gradient is released as the stopping criterion.

    Source: class seen where a solver's convergence diagnostics are part of its result.
    """

    released = (*Specimen.released, "gradient_norm")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        """The norm at the model before the step."""
        return {"gradient_norm": np.linalg.norm(self.gradient(problem, old.x, None), axis=1, keepdims=True)}


@member("clipped-count-beside-the-model")
class ClippedCountBesideTheModel(Specimen):
    """The exact number of records whose gradient was clipped is released for tuning the clipping norm.

    Source: class seen with adaptive clipping (Andrew et al. 2021 add noise to this very count; code often does not).
    """

    released = (*Specimen.released, "clipped")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        """Count over all records."""
        lengths = np.abs(problem.loss.slope(old.x @ problem.signed.T)) * problem.norms
        bound = np.inf if problem.clip is None else problem.clip
        return {"clipped": (lengths > bound).sum(axis=1, keepdims=True).astype(np.float64)}


@member("step-count-beside-the-model")
class StepCountBesideTheModel(Specimen):
    """The number of line-search halvings, which the private data decide, is released beside the model.

    Source: class seen with iteration counts and timings of data-dependent inner solvers.
    """

    released = (*Specimen.released, "halvings")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        """How often the step from old to new must be halved before the exact loss falls."""
        before = problem.loss.value(old.x @ problem.signed.T).mean(axis=1)
        halvings = np.zeros((len(before), 1))
        for count in range(1, 6):
            reached = old.x + (new.x - old.x) * 0.5 ** (count - 1)
            rises = problem.loss.value(reached @ problem.signed.T).mean(axis=1) > before
            halvings[rises, 0] = count
        return {"halvings": halvings}
