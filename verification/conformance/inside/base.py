"""What can be known about an algorithm from its iterates, in one interface.

Arrays of iterates are [count, T, p] (DP-ADMM's x and y: [count, T, N, p]); `noise` is [count, draws, p] a stream.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reference.gradients import batch_gradients, full_gradients
from reference.problem import Problem, State
from reference.updates import update_y, update_z
from verification.conformance.check import NotApplicable
from verification.served.cores import CORES, Inputs
from verification.served.serve import Values
from verification.served.slack import rounding_slack
from verification.served.stepwise_baselines import initial_states, shown
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Run
from verification.wire.schemes import SCHEMES

Pair = tuple[Run, Run]
_MARGINS_AT_ONCE = 1 << 23


@dataclass(frozen=True, slots=True)
class Inside(abc.ABC):
    """One algorithm, looked into."""

    algorithm: Algorithm

    # -- what must be defined ------------------------------------------------------------------------------------

    @abc.abstractmethod
    def previous(self, parameters: Parameters, problem: Problem, run: Run) -> State:
        """The states before each iteration: the initial point, then what was released."""

    @abc.abstractmethod
    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """The noise that was added, by stream.

        Needs gradients that do not depend on the batch drawn: every record in every batch, or all gradients alike.
        """

    @abc.abstractmethod
    def mean_gradient(self, parameters: Parameters, run: Run) -> Floats:
        """The mean gradient behind the first iteration of a noiseless run [T, p] from 0; a row a party."""

    @abc.abstractmethod
    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """How far one noiseless iteration moves each value, at most, if record 0 is replaced."""

    @abc.abstractmethod
    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:
        """Change the second run's noise (on ``other``) in iteration k so that what is noised becomes the first's."""

    # -- what most have in common --------------------------------------------------------------------------------

    def batch_gradients(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:  # noqa: ARG002 - the interface
        """The gradients over batches, noise included, that led to each iterate; [count, T, p]."""
        raise NotApplicable(f"{self.algorithm} draws no batches")

    def counts(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """How often each one-hot record was counted in each batch; [count, T, n], whole numbers if all is well."""
        old = self.previous(parameters, problem, run)
        size = float(parameters.batch or problem.records)
        weights: Floats = self.batch_gradients(parameters, problem, run) / one_hot_gradients(problem, old.x) * size
        return weights

    def after_x(self, parameters: Parameters, problem: Problem, x: Floats) -> Values:
        """z and y as functions of the released x: the post-processing of ADMM."""
        y = np.broadcast_to(initial_states(self.algorithm, parameters, problem.dimension, 1).y, x[:, 0].shape)
        zs, ys = [], []
        for k in range(x.shape[1]):
            z = update_z(x[:, k], y, rho=problem.rho, regularizer=problem.regularizer)
            y = update_y(y, x[:, k], z, rho=problem.rho)
            zs.append(z)
            ys.append(y)
        return {"z": np.stack(zs, axis=1), "y": np.stack(ys, axis=1)}

    def expected(
        self,
        parameters: Parameters,
        problem: Problem,
        run: Run,
        noise: Values,
        batches: Sequence[Sequence[int]] | None,
    ) -> Values:
        """What the reference makes of each state that a run [T, p] was at.

        Step by step from the implementation's own states, so that rounding has no time to grow.
        """
        old = self.previous(parameters, problem, with_count(run))
        steps = []
        for k, eta in enumerate(parameters.eta):
            one = parameters.model_copy(update={"eta": [eta], "iterations": 1})
            gamma = {name: array[k : k + 1] for name, array in noise.items()}
            batch = None if batches is None else np.array([batches[k]], dtype=np.intp)
            state = State(old.x[0, k], old.z[0, k], old.y[0, k])
            steps.append(shown(self.algorithm, next(CORES[self.algorithm](problem, state, Inputs(one, gamma, batch)))))
        return {name: np.stack([step[name] for step in steps]) for name in steps[0]}

    def slack(self, parameters: Parameters, problem: Problem, values: Values, added: float) -> float:
        """How far two honest evaluations of one iteration may lie apart; ``added`` bounds the noise of a run."""
        return rounding_slack(parameters, problem, list(values.values()), added)

    def shifted(self, parameters: Parameters, problem: Problem, name: str, path: Floats) -> Floats:
        """The initial value in front, the last one left out."""
        start = getattr(initial_states(self.algorithm, parameters, problem.dimension, len(path)), name)
        return np.concatenate([start[:, None], path[:, :-1]], axis=1)


def with_count(run: Run) -> Run:
    """A run [T, p] as a set of one."""
    return Run({name: array[None] for name, array in run.values.items()})


def common_gradients(problem: Problem, batch: int | None, x: Floats) -> Floats:
    """The gradient at each x, [count, T, p], whatever the batch: over all records, or over one if all are alike."""
    flat = x.reshape(-1, x.shape[-1])
    if batch is None or batch == problem.records:
        return all_gradients(problem, flat).reshape(x.shape)
    one = np.zeros((len(flat), 1), dtype=np.intp)
    return batch_gradients(problem, flat, one).reshape(x.shape)


def all_gradients(problem: Problem, x: Floats) -> Floats:
    """The gradient over all records at each x, [rows, p]; so few rows at once that their margins fit the memory."""
    rows = max(1, _MARGINS_AT_ONCE // problem.records)
    return np.concatenate([full_gradients(problem, x[k : k + rows]) for k in range(0, len(x), rows)])


def one_hot_gradients(problem: Problem, x: Floats) -> Floats:
    """The only non-zero entry of each one-hot record's own gradient at x; [count, T, n]."""
    flat = x.reshape(-1, x.shape[-1])
    each = [
        batch_gradients(problem, flat, np.full((len(flat), 1), i, dtype=np.intp))[:, i] for i in range(problem.records)
    ]
    return np.stack(each, axis=-1).reshape(x.shape)


def averaged(algorithm: Algorithm, parameters: Parameters, records: int) -> int:
    """Over how many records a gradient is averaged, at least."""
    return SCHEMES[algorithm].averaged(parameters, records)
