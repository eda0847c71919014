r"""The paper's algorithms, and stochastic ADMM: the x update is invertible.

``g~ = -(rho + 1/eta) x+ - y + rho z + x/eta``. So the released iterates show each noisy gradient, and where the
gradient is known, the noise itself. z and y need not be released where they are functions of the released x ([CL20]
Algorithm 1; Algorithm 2 with release primal): the harness computes them.
"""

from __future__ import annotations

import numpy as np

from reference.problem import Problem, State
from reference.updates import update_x, update_y, update_z
from verification.conformance.check import NotApplicable
from verification.conformance.inside.base import Inside, Pair, averaged, common_gradients
from verification.served.serve import Values
from verification.served.translate import joint_factor, regularizer_of
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters, Release
from verification.wire.records import Run
from verification.wire.schemes import SCHEMES, Law


class Linearised(Inside):
    """What the linearised x update has in common."""

    __slots__ = ()

    def previous(self, parameters: Parameters, problem: Problem, run: Run) -> State:
        """z and y as released, or as they follow from x."""
        x, values = run.x, run.values
        if parameters.release is Release.ALL:
            if "z" in values and "y" in values:
                z, y = values["z"], values["y"]
            elif parameters.iterations > 1:
                raise NotApplicable("z and y are noised but not released")
            else:
                z = y = np.zeros_like(x)
        else:
            follows = self.after_x(parameters, problem, x)
            z, y = follows["z"], follows["y"]
        paths = {"x": x, "z": z, "y": y}
        return State(**{name: self.shifted(parameters, problem, name, path) for name, path in paths.items()})

    def mean_gradient(self, parameters: Parameters, run: Run) -> Floats:
        """x moved by eta/(1 + eta rho) times it."""
        gradient: Floats = -(parameters.rho + 1 / parameters.eta[0]) * run.x[:1]
        return gradient

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statements SENS-X, SENS-Z, SENS-Y, JOINT, and E11 where the regularizer is not convex."""
        eta = parameters.eta[0]
        size = averaged(self.algorithm, parameters, records)
        return admm_moves(parameters, 2 * parameters.bound * eta / (size * (1 + eta * parameters.rho)))


class GradientPerturbed(Linearised):
    """ssADMM, and sADMM: noise on the gradient, or none."""

    __slots__ = ()

    def batch_gradients(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """Invert the x update."""
        return _inverted(parameters, problem, run, self.previous(parameters, problem, run))

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """What the gradient does not explain."""
        if SCHEMES[self.algorithm].law is Law.NONE:
            return {}
        old = self.previous(parameters, problem, run)
        clean = common_gradients(problem, parameters.batch, old.x)
        return {"gradient": _inverted(parameters, problem, run, old) - clean}

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:  # noqa: ARG002 - the interface
        """Noise on the gradient moves x by eta/(1 + eta rho) times as much."""
        run, twin = runs
        noise["gradient"][k] += (twin.x[k] - run.x[k]) * (parameters.rho + 1 / parameters.eta[k])


def _inverted(parameters: Parameters, problem: Problem, run: Run, old: State) -> Floats:
    """The noisy gradient behind every x, [count, T, p]."""
    eta = np.array(parameters.eta)[:, None]
    gradients: Floats = -(problem.rho + 1 / eta) * run.x - old.y + problem.rho * old.z + old.x / eta
    return gradients


class ModelPerturbed(Linearised):
    """mpADMM: noise on x, or on x, z and y."""

    __slots__ = ()

    def batch_gradients(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """Over all records; the noise of x included."""
        return _inverted(parameters, problem, run, self.previous(parameters, problem, run))

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """What the updates do not explain."""
        old = self.previous(parameters, problem, run)
        gradients = common_gradients(problem, None, old.x)
        clean = clean_steps(parameters, problem, gradients, old)
        noise = {"x": run.x - clean}
        if parameters.release is not Release.ALL:
            return noise
        rows = [
            update_z(clean[:, k], old.y[:, k], rho=problem.rho, regularizer=problem.regularizer)
            for k in range(parameters.iterations)
        ]
        z = np.stack(rows, axis=1)
        values = {"z": z, "y": update_y(old.y, clean, z, rho=problem.rho)}
        return noise | {name: run.values[name] - value for name, value in values.items() if name in run.values}

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:  # noqa: ARG002 - the interface
        """The difference itself."""
        run, twin = runs
        for name in noise:
            noise[name][k] += run.values[name][k] - twin.values[name][k]


def clean_steps(parameters: Parameters, problem: Problem, gradients: Floats, old: State) -> Floats:
    """The x update of every iteration without noise, [count, T, p]."""
    steps = [
        update_x(gradients[:, k], old.x[:, k], old.z[:, k], old.y[:, k], rho=problem.rho, eta=eta)
        for k, eta in enumerate(parameters.eta)
    ]
    return np.stack(steps, axis=1)


def admm_moves(parameters: Parameters, x: float) -> dict[str, float]:
    """What z, y and all three jointly may move by if x moves by so much."""
    rho = parameters.rho
    L = max(1.0, float(regularizer_of(parameters).lipschitz(rho)))
    joint = joint_factor(parameters) * x
    return {"x": x, "z": L * x, "y": rho * max(1.0, L - 1) * x, "(x, z, y) jointly": joint}
