r"""Proximal DP-SGD: x+ = prox(x - eta g~). Without a penalty the proximal map is the identity and g~ = (x - x+)/eta."""

from __future__ import annotations

import numpy as np

from reference.problem import Problem, State
from verification.conformance.check import NotApplicable
from verification.conformance.inside.base import Inside, Pair, averaged, common_gradients
from verification.served.serve import Values
from verification.served.slack import proximal_slack
from verification.served.translate import regularizer_of
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Run


class InsideProximal(Inside):
    """DP-SGD."""

    __slots__ = ()

    def previous(self, parameters: Parameters, problem: Problem, run: Run) -> State:
        """x alone matters."""
        x = self.shifted(parameters, problem, "x", run.x)
        return State(x, x, self.shifted(parameters, problem, "y", np.zeros_like(run.x)))

    def after_x(self, parameters: Parameters, problem: Problem, x: Floats) -> Values:  # noqa: ARG002 - the interface
        """There is nothing but x."""
        return {}

    def batch_gradients(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """(x - x+)/eta, where no penalty stands in between."""
        if parameters.lambda_ != 0.0:
            raise NotApplicable("behind a proximal map the gradient cannot be read off; needs lambda = 0")
        steps = self.shifted(parameters, problem, "x", run.x) - run.x
        gradients: Floats = steps / np.array(parameters.eta)[:, None]
        return gradients

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """What the gradient does not explain."""
        clean = common_gradients(problem, parameters.batch, self.previous(parameters, problem, run).x)
        return {"gradient": self.batch_gradients(parameters, problem, run) - clean}

    def mean_gradient(self, parameters: Parameters, run: Run) -> Floats:
        """x moved by eta times it."""
        gradient: Floats = -run.x[:1] / parameters.eta[0]
        return gradient

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statement DPSGD: eta 2C/m, stretched by a proximal map that is not convex."""
        eta = parameters.eta[0]
        L = max(1.0, float(regularizer_of(parameters).lipschitz(1 / eta)))
        return {"x": L * eta * 2 * parameters.bound / averaged(self.algorithm, parameters, records)}

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:  # noqa: ARG002 - the interface
        """Noise on the gradient moves x by eta times as much."""
        run, twin = runs
        noise["gradient"][k] += (twin.x[k] - run.x[k]) / parameters.eta[k]

    def slack(self, parameters: Parameters, problem: Problem, values: Values, added: float) -> float:
        """Of one or two gradients and a proximal map."""
        return proximal_slack(parameters, problem, list(values.values()), added)
