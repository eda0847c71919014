"""Valid ADMM updates that are not the reference's: ``python -m tests.zoo.honest.other_updates NAME [MISTAKE]``.

In all of them z and y are functions of the noisy x, so that they cost no privacy. A mistake makes the same variant
wrong; with ``without-replay`` in its place the same variant offers no replay.
"""

from __future__ import annotations

import sys

import numpy as np

from reference.problem import Problem, State
from reference.vectorised import Noise
from verification.served.serve import serve
from verification.served.stepwise import Batches, Stepwise, TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.messages import Capability


class Variant(Stepwise):
    """The reference with other z and y updates, and room for one mistake."""

    mistake = ""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """A third of it, as a mistake."""
        return super().scale_noise(standard, sigma) / (3.0 if self.mistake == "noise/3" else 1.0)

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Always the first records, as a mistake."""
        drawn = super().draw_batches(random, records, size, iterations)
        return np.broadcast_to(np.arange(size), drawn.shape) if self.mistake == "first-records" else drawn

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Noise) -> State:
        """The noisy gradient at the point of linearisation; then x, z and y."""
        clean = self.gradient(problem, self.point(old), batch)
        x = self.moved_x(problem, self.noisy_gradient(clean, noise["gradient"]), old, eta)
        z, y = self.after(problem, old, x)
        if self.mistake == "plain-dual":
            y = self.after(problem, old, self.moved_x(problem, clean, old, eta))[1]
        return State(x, z, y)

    def point(self, old: State) -> Floats:
        """Where the gradient is taken."""
        return old.x

    def moved_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """The x update."""
        return self.update_x(problem, g, old, eta)

    def after(self, problem: Problem, old: State, x: Floats) -> tuple[Floats, Floats]:
        """The z and y updates, of what is released."""
        z = self.update_z(problem, x, old.y)
        return z, self.update_y(problem, old.y, x, z)


class DualStep(Variant):
    """The dual step is 0.9 rho."""

    def update_y(self, problem: Problem, y: Floats, x: Floats, z: Floats) -> Floats:
        """Shorter."""
        return y + 0.9 * problem.rho * (x - z)


class OverRelaxed(Variant):
    """Over-relaxation by 1.6."""

    def after(self, problem: Problem, old: State, x: Floats) -> tuple[Floats, Floats]:
        """Of 1.6 x - 0.6 z."""
        return super().after(problem, old, 1.6 * x - 0.6 * old.z)


class DualFirst(Variant):
    """y before z."""

    def after(self, problem: Problem, old: State, x: Floats) -> tuple[Floats, Floats]:
        """The old z, the new y."""
        y = self.update_y(problem, old.y, x, old.z)
        return self.update_z(problem, x, y), y


class ScaledDual(Variant):
    """What is released as y is the scaled dual u = y/rho."""

    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """With y = rho u."""
        return super().update_x(problem, g, State(old.x, old.z, problem.rho * old.y), eta)

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        """With y = rho u."""
        return super().update_z(problem, x, problem.rho * y)

    def update_y(self, problem: Problem, y: Floats, x: Floats, z: Floats) -> Floats:
        """u + x - z."""
        return y + x - z


class OtherProx(Variant):
    """The proximal map with the strength 1 in place of rho."""

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        """Stronger or weaker."""
        return problem.regularizer.prox(x + y / problem.rho, 2.0 * problem.rho)


class Momentum(Variant):
    """z is carried on by 0.3 of its last move."""

    def after(self, problem: Problem, old: State, x: Floats) -> tuple[Floats, Floats]:
        """Extrapolated."""
        z, y = super().after(problem, old, x)
        return z + 0.3 * (z - old.z), y


class Averaged(Variant):
    """z is half of the old one."""

    def after(self, problem: Problem, old: State, x: Floats) -> tuple[Floats, Floats]:
        """The mean of both."""
        z, y = super().after(problem, old, x)
        return (z + old.z) / 2, y


class FromZ(Variant):
    """Every iteration starts from z: the gradient is taken there, and the step begins there."""

    def point(self, old: State) -> Floats:
        """At z."""
        return old.z

    def moved_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """From z."""
        return self.update_x(problem, g, State(old.z, old.z, old.y), eta)


class ShorterSteps(Variant):
    """Every step size is 0.7 of the one asked for: the gradient and its noise alike."""

    def moved_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """Shorter."""
        return self.update_x(problem, g, old, 0.7 * eta)


VARIANTS: dict[str, type[Variant]] = {
    "dual-step": DualStep,
    "over-relaxed": OverRelaxed,
    "dual-first": DualFirst,
    "scaled-dual": ScaledDual,
    "other-prox": OtherProx,
    "momentum": Momentum,
    "averaged": Averaged,
    "from-z": FromZ,
    "shorter-steps": ShorterSteps,
}
WITHOUT_REPLAY = tuple(c for c in Capability if c is not Capability.REPLAY)
MISTAKES = ("noise/3", "first-records", "plain-dual")

if __name__ == "__main__":
    implementation = VARIANTS[sys.argv[1]]()
    implementation.mistake = sys.argv[2] if len(sys.argv) > 2 else ""
    if implementation.mistake == "without-replay":
        implementation.capabilities = WITHOUT_REPLAY
    serve(implementation)
