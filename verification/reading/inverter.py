r"""How to look inside each algorithm: what its iterates say about the gradients, batches and noise behind them.

Arrays of iterates are [count, T, p] (DP-ADMM's x and y: [count, T, N, p]); `noise` is [count, draws, p] a stream.
`INVERTERS` has one entry an algorithm; what each inverts:

- The paper's algorithms, stochastic ADMM and each party of DP-ADMM: ``g~ = -(rho + 1/eta) x+ - y + rho z + x/eta``, so
  that iterates show each noisy gradient and, where the gradient is known, the noise. z and y need not be released where
  they are functions of the released x ([CL20] Algorithm 1; Algorithm 2 with release primal): the harness computes them.
- DP-SGD: x+ = prox(x - eta g~); without a penalty g~ = (x - x+)/eta.
- DP-SVRG: x+ = prox(x - eta (change over a batch since the anchor + noise + noisy full gradient)). Where the noisy full
  gradient is released, both noises can be told apart.
- ADMM-objP and batch ADMM: x+ minimises a known objective: b = -n (mean gradient at x+ + y + rho (x+ - z) + ridge x+).
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.baselines.dpsgd import proximal_step
from reference.gradients import batch_gradients, full_gradients
from reference.problem import Problem, State
from reference.updates import update_x, update_y, update_z
from verification.reading.context import NotApplicable
from verification.served.loopback import CORES, Inputs
from verification.served.serve import Values
from verification.served.stepwise import initial_states, shown
from verification.served.translate import (
    joint_factor,
    parties_of,
    party_name,
    party_sizes,
    perturbation_of,
    proximal_slack,
    regularizer_of,
    rounding_slack,
)
from verification.wire.arrays import Floats
from verification.wire.parameters import SCHEMES, Law, Parameters, Release
from verification.wire.records import Run

Pair = tuple[Run, Run]
_MARGINS_AT_ONCE = 1 << 23


@dataclass(frozen=True, slots=True)
class UpdateInverter(abc.ABC):
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
    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """How far one noiseless iteration moves each value, at most, if record 0 is replaced."""

    # -- what most have in common --------------------------------------------------------------------------------

    def step(self, parameters: Parameters, records: int, k: int = 0) -> float:  # noqa: ARG002 - the interface
        """How far a mean gradient of length 1 moves x in iteration k."""
        return 1 / (parameters.rho + 1 / parameters.eta[k])

    def mean_gradient(self, parameters: Parameters, records: int, run: Run) -> Floats:
        """The mean gradient behind the first iteration of a noiseless run [T, p] from 0; a row a party."""
        gradient: Floats = -run.x[0] / self.step(parameters, records)
        return gradient

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:
        """Change the second run's noise (on ``other``) in iteration k so that what is noised becomes the first's."""
        run, twin = runs
        noise["gradient"][k] += (twin.x[k] - run.x[k]) / self.step(parameters, other.records, k)

    def batch_gradients(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:  # noqa: ARG002 - the interface
        """The gradients over batches, noise included, that led to each iterate; [count, T, p]."""
        raise NotApplicable(f"{self.algorithm} draws no batches")

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


class Linearised(UpdateInverter):
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

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statements SENS-X, SENS-Z, SENS-Y, JOINT, and E11 where the regularizer is not convex.

        The minimisers of strongly convex functions whose gradients are 2C/n apart are so far apart, too.
        """
        size = SCHEMES[self.algorithm].averaged(parameters, records)
        return admm_moves(parameters, 2 * parameters.bound / size * self.step(parameters, records))


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


def _inverted(parameters: Parameters, problem: Problem, run: Run, old: State) -> Floats:
    """The noisy gradient behind every x, [count, T, p]."""
    eta = np.array(parameters.eta)[:, None]
    gradients: Floats = -(problem.rho + 1 / eta) * run.x - old.y + problem.rho * old.z + old.x / eta
    return gradients


class NoisedValues(UpdateInverter):
    """Noise on what is released itself."""

    __slots__ = ()

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:  # noqa: ARG002 - the interface
        """The difference itself."""
        run, twin = runs
        for name in noise:
            noise[name][k] += run.values[name][k] - twin.values[name][k]


class ModelPerturbed(NoisedValues, Linearised):
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


class ProximalInverter(UpdateInverter):
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

    def step(self, parameters: Parameters, records: int, k: int = 0) -> float:  # noqa: ARG002 - the interface
        """A step of a descent."""
        return parameters.eta[k]

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statement DPSGD: eta 2C/m, stretched by a proximal map that is not convex."""
        eta = parameters.eta[0]
        L = max(1.0, float(regularizer_of(parameters).lipschitz(1 / eta)))
        return {"x": L * eta * 2 * parameters.bound / SCHEMES[self.algorithm].averaged(parameters, records)}

    def slack(self, parameters: Parameters, problem: Problem, values: Values, added: float) -> float:
        """Of one or two gradients and a proximal map."""
        return proximal_slack(parameters, problem, list(values.values()), added)


class SvrgInverter(ProximalInverter):
    """DP-SVRG."""

    __slots__ = ()

    def anchors(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """The anchor of each iteration: x at the beginning of its epoch; [count, T, p]."""
        x = self.shifted(parameters, problem, "x", run.x)
        inner = parameters.inner or 1
        return np.repeat(x[:, ::inner], inner, axis=1)

    def batch_gradients(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """The change over the batch, noise included."""
        return super().batch_gradients(parameters, problem, run) - _full(run)

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """On the full gradients, and on the changes."""
        x, anchors = self.shifted(parameters, problem, "x", run.x), self.anchors(parameters, problem, run)
        change = common_gradients(problem, parameters.batch, x) - common_gradients(problem, parameters.batch, anchors)
        inner = parameters.inner or 1
        first = anchors[:, ::inner]
        full = full_gradients(problem, first.reshape(-1, problem.dimension)).reshape(first.shape)
        return {
            "anchor": _full(run)[:, ::inner] - full,
            "gradient": self.batch_gradients(parameters, problem, run) - change,
        }

    def expected(
        self,
        parameters: Parameters,
        problem: Problem,
        run: Run,
        noise: Values,
        batches: Sequence[Sequence[int]] | None,
    ) -> Values:
        """From the implementation's own x, anchor and full gradient."""
        alone = with_count(run)
        x, anchors = (
            part[0]
            for part in (self.shifted(parameters, problem, "x", alone.x), self.anchors(parameters, problem, alone))
        )
        inner, fulls, xs = parameters.inner or 1, [], []
        for k, eta in enumerate(parameters.eta):
            batch = np.array(range(parameters.batch or 0) if batches is None else batches[k], dtype=np.intp)
            fulls.append(problem.gradient(anchors[k]) + noise["anchor"][k // inner])
            change = problem.gradient(x[k], batch) - problem.gradient(anchors[k], batch)
            used = run.values.get("full_gradient", np.array(fulls))[k]
            xs.append(proximal_step(problem, x[k], change + used + noise["gradient"][k], eta))
        return {"x": np.stack(xs), "full_gradient": np.stack(fulls)}

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statement DPSVRG: the first step of an epoch follows the full gradient alone, which moves by 2C/n."""
        whole = parameters.model_copy(update={"batch": records})
        return super().moves(whole, records) | {"full_gradient": 2 * parameters.bound / records}

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:
        """The full gradient first, where an epoch begins; then the step, whose full gradient is then the run's."""
        inner, (run, twin) = parameters.inner or 1, runs
        if k % inner == 0:
            moved = _full(run)[k] - _full(twin)[k]
            noise["anchor"][k // inner] += moved
            noise["gradient"][k] += (twin.x[k] - run.x[k]) / parameters.eta[k] - moved
            return
        super().couple(parameters, other, runs, noise, k)


def _full(run: Run) -> Floats:
    if "full_gradient" not in run.values:
        raise NotApplicable("the noisy full gradient is not released, so its noise cannot be told from the step's")
    return run.values["full_gradient"]


class Parties(NoisedValues):
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

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Statement DPADMM: record 0 lives in the first party and moves its x alone; z averages over all records."""
        n = party_sizes(parameters, records)[0]
        x = 2 * parameters.bound / n * self.step(parameters, records)
        L = max(1.0, float(regularizer_of(parameters).lipschitz(parameters.rho)))
        return {"x": x, "z": L * x * n / records}


SOLVED = 1e-9
"""The longest gradient that a solver may leave: what the protocol asks for."""


class SolvedInverter(Linearised):
    """ADMM-objP, and ADMM without noise."""

    __slots__ = ()

    def ridge(self, parameters: Parameters, records: int) -> float:
        """The extra ridge of objective perturbation."""
        return perturbation_of(parameters, records).ridge if SCHEMES[self.algorithm].law is Law.OBJECTIVE else 0.0

    def conditions(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """The gradient of what is minimised, without the perturbation; [count, T, p], 0 at an unperturbed minimum."""
        old = self.previous(parameters, problem, run)
        gradients = full_gradients(problem, run.x.reshape(-1, problem.dimension)).reshape(run.x.shape)
        ridge = self.ridge(parameters, problem.records)
        left: Floats = gradients + old.y + problem.rho * (run.x - old.z) + ridge * run.x
        return left

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """What makes x the minimiser."""
        if SCHEMES[self.algorithm].law is Law.NONE:
            return {}
        return {"objective": -problem.records * self.conditions(parameters, problem, run)}

    def residuals(self, parameters: Parameters, problem: Problem, run: Run, noise: Values) -> Floats:
        """The length of the gradient that the solver left, with the perturbation that was given; [count, T]."""
        b = noise.get("objective", np.zeros(run.x.shape[1:]))
        left: Floats = np.linalg.norm(self.conditions(parameters, problem, run) + b / problem.records, axis=2)
        return left

    def step(self, parameters: Parameters, records: int, k: int = 0) -> float:  # noqa: ARG002 - the interface
        """At the minimiser, from 0, the gradient is -(rho + ridge) x."""
        return 1 / (parameters.rho + self.ridge(parameters, records))

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:
        """The b for which the run's x minimises the other data set's objective."""
        alone = with_count(runs[0])
        noise["objective"][k] = self.noise(parameters, other, alone)["objective"][0, k]

    def slack(self, parameters: Parameters, problem: Problem, values: Values, added: float) -> float:
        """Two solvers' residuals, over the convexity, and through z and y."""
        convexity = problem.rho + self.ridge(parameters, problem.records)
        apart = 2 * SOLVED / convexity * (2 + problem.rho + 1 / problem.rho)
        return rounding_slack(parameters, problem, list(values.values()), added) + apart


__all__ = ["INVERTERS", "UpdateInverter"]

INVERTERS: dict[Algorithm, UpdateInverter] = {
    Algorithm.SSADMM: GradientPerturbed(Algorithm.SSADMM),
    Algorithm.MPADMM: ModelPerturbed(Algorithm.MPADMM),
    Algorithm.DPSGD: ProximalInverter(Algorithm.DPSGD),
    Algorithm.DPADMM: Parties(Algorithm.DPADMM),
    Algorithm.DPSVRG: SvrgInverter(Algorithm.DPSVRG),
    Algorithm.OBJP: SolvedInverter(Algorithm.OBJP),
    Algorithm.SADMM: GradientPerturbed(Algorithm.SADMM),
    Algorithm.ADMM: SolvedInverter(Algorithm.ADMM),
}
