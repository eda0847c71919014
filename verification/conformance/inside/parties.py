r"""DP-ADMM: the x update of each party is invertible; z and the y_i follow from the released x_i."""

from __future__ import annotations

import numpy as np

from reference.problem import Problem, State
from reference.updates import update_y
from verification.conformance.inside.admm import clean_steps
from verification.conformance.inside.base import Inside, Pair, all_gradients
from verification.served.serve import Values
from verification.served.stepwise_baselines import initial_states
from verification.served.translate import parties_of, party_name, party_sizes, regularizer_of
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Run


class Parties(Inside):
    """DP-ADMM."""

    __slots__ = ()

    def after_x(self, parameters: Parameters, problem: Problem, x: Floats) -> Values:
        """The centre's z and the parties' y, of x of shape [count, T, N, p]."""
        weights = np.array(party_sizes(parameters, problem.records))[:, None] / problem.records
        y = initial_states(self.algorithm, parameters, problem.dimension, len(x)).y
        zs, ys = [], []
        for k in range(x.shape[1]):
            mean = np.sum((x[:, k] + y / problem.rho) * weights, axis=1)
            z = problem.regularizer.prox(mean, problem.rho)
            y = update_y(y, x[:, k], z[:, None], rho=problem.rho)
            zs.append(z)
            ys.append(y)
        return {"z": np.stack(zs, axis=1), "y": np.stack(ys, axis=1)}

    def previous(self, parameters: Parameters, problem: Problem, run: Run) -> State:
        """z and y as they follow from x."""
        paths = {"x": run.x, **self.after_x(parameters, problem, run.x)}
        return State(**{name: self.shifted(parameters, problem, name, path) for name, path in paths.items()})

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """What each party's update does not explain."""
        old = self.previous(parameters, problem, run)
        found = {}
        for i, party in enumerate(parties_of(problem, parameters)):
            view = State(old.x[:, :, i], old.z, old.y[:, :, i])
            g = all_gradients(party, view.x.reshape(-1, problem.dimension)).reshape(view.x.shape)
            found[party_name(i)] = run.x[:, :, i] - clean_steps(parameters, problem, g, view)
        return found

    def mean_gradient(self, parameters: Parameters, run: Run) -> Floats:
        """Each party's."""
        gradient: Floats = -(parameters.rho + 1 / parameters.eta[0]) * run.x[0]
        return gradient

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statement DPADMM: record 0 lives in the first party and moves its x alone; z averages over all records."""
        eta, n = parameters.eta[0], party_sizes(parameters, records)[0]
        x = 2 * parameters.bound * eta / (n * (1 + eta * parameters.rho))
        L = max(1.0, float(regularizer_of(parameters).lipschitz(parameters.rho)))
        return {"x": x, "z": L * x * n / records}

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:  # noqa: ARG002 - the interface
        """The difference itself."""
        run, twin = runs
        noise["x"][k] += run.x[k] - twin.x[k]
