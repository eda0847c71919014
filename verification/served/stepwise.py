"""The engine for many runs behind the wire: every part a method that a wrong implementation can replace.

`Stepwise` adds preprocessing, draws and releases to the iterations of `reference.vectorised` (a test compares it with
the reference bit for bit on draws and to rounding on states). To serve the reference with one part replaced:

    class VarianceAsDeviation(Stepwise):
        def scale_noise(self, standard, sigma):
            return sigma**2 * standard

    serve(VarianceAsDeviation())

The baselines are taken apart in the same way, R runs at once: x has shape [R, p], for DP-ADMM [R, N, p]. A state's z
and y hold, for DP-SVRG, the anchor and the noisy full gradient; DP-SGD has neither.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from accountant.mechanisms.words import Sampling
from reference.baselines.dpsgd import proximal_step
from reference.baselines.inner import Accuracy, minimise
from reference.errors import NotFinite
from reference.gradients import batch_gradients, full_gradients
from reference.problem import Problem, State
from reference.randomness import Seeded, in_order, seeded_batches, seeded_noise
from reference.vectorised import Runs
from verification.served.serve import Values
from verification.served.translate import (
    anchor_sigmas,
    initial_of,
    noise_scales,
    parties_of,
    party_name,
    perturbation_of,
    problem_of,
    sigmas,
)
from verification.wire import messages as m
from verification.wire.arrays import Floats
from verification.wire.parameters import (
    PAPER,
    SCHEMES,
    Algorithm,
    LossName,
    Parameters,
    RegularizerName,
    Release,
    noised_names,
)
from verification.wire.records import Records

Batches = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class TrialRandomness:
    """Where the draws of one `trials` request come from: runs 0..runs-1 of a seed."""

    seed: int
    runs: int


class Stepwise(Runs):
    """An honest implementation whose parts, those of the engine included, can be overridden one by one."""

    name = "dpadmm reference, stepwise"
    algorithms: ClassVar[tuple[Algorithm, ...]] = PAPER
    released: tuple[str, ...] = ("x", "z", "y")
    capabilities: tuple[m.Capability, ...] = tuple(m.Capability)

    def describe(self) -> m.StartResult:
        """Everything the protocol knows."""
        return m.StartResult(
            protocol=m.PROTOCOL,
            name=self.name,
            version="1",
            language="python",
            algorithms=list(self.offered),
            losses=list(LossName),
            regularizers=list(RegularizerName),
            capabilities=list(self.capabilities),
            released={algorithm: self.leaves(algorithm) for algorithm in self.offered},
        )

    @property
    def offered(self) -> tuple[Algorithm, ...]:
        """Which algorithms are served."""
        return self.algorithms

    def leaves(self, algorithm: Algorithm) -> list[str]:
        """Every value that leaves the implementation; an algorithm without z and y has none to release."""
        scheme = SCHEMES[algorithm]
        return [name for name in self.released if name not in m.ITERATES or name in scheme.iterates]

    # -- data ----------------------------------------------------------------------------------------------

    def load(self, records: Records) -> None:
        """Refuse records that are not finite, as soon as they come."""
        problem_of(records, _ANY_PARAMETERS)

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Preprocess: intercept, then normalise, or leave it to clipping."""
        return problem_of(records, parameters)

    # -- randomness ----------------------------------------------------------------------------------------

    def sigmas(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        """The standard deviation of each iteration; shape [T]."""
        return sigmas(algorithm, parameters, records)

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Fresh uniform batches without replacement; shape [R, T, m]."""
        return seeded_batches(random.seed, range(random.runs), records, size, iterations)

    def draw_epochs(
        self, random: TrialRandomness, records: int, size: int, iterations: int, *, shuffle: bool
    ) -> Batches:
        """The next disjoint batches of an epoch, in the order of the records or a fresh one; shape [R, T, m]."""
        if not shuffle:
            return np.broadcast_to(np.stack(list(in_order(records, size, iterations))), (random.runs, iterations, size))
        runs = (Seeded(random.seed, run).shuffled(records, size, iterations) for run in range(random.runs))
        return np.stack([np.stack(list(run)) for run in runs])

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Independent standard normal draws for each noised variable; shape [R, T, p] each."""
        draws = seeded_noise(random.seed, range(random.runs), len(names) * dimension, 1.0, iterations)
        return dict(zip(names, np.split(draws, len(names), axis=2), strict=True))

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Standard normal draws [R, T, p] to noise, with sigma of shape [T]."""
        return sigma[:, None] * standard

    # -- one iteration -------------------------------------------------------------------------------------

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The mean gradient of each run; shape [R, p]."""
        if batch is None or _distinct(batch):
            return super().gradient(problem, x, batch)
        # Only a wrong sampler gets here: a record that was drawn twice counts twice.
        single: Floats = np.mean([batch_gradients(problem, x, member[:, None]) for member in batch.T], axis=0)
        return single

    def also_released(self, problem: Problem, old: State, new: State) -> Values:  # noqa: ARG002 - for overriding
        """Further values that leave the implementation after an iteration, named in `released`; shape [R, ...]."""
        return {}

    # -- whole runs ----------------------------------------------------------------------------------------

    def replay(
        self,
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        """One run on given batches and noise."""
        one_run = {name: array[None] for name, array in noise.items()}
        given = None if batches is None else batches[None]
        values = self._run(algorithm, self.problem(records, parameters), parameters, one_run, given)
        return {name: array[0] for name, array in values.items()}

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """`count` runs on draws of its own."""
        problem = self.problem(records, parameters)
        random = TrialRandomness(secrets.randbits(128) if seed is None else seed, count)
        batches = None
        if parameters.batch is not None:
            batches = self.batches_of(parameters, random, problem.records)
        noise = self.draw_noise(algorithm, random, parameters, problem)
        return self._run(algorithm, problem, parameters, noise, batches)

    def draw_noise(
        self, algorithm: Algorithm, random: TrialRandomness, parameters: Parameters, problem: Problem
    ) -> Values:
        """Scaled noise in the shapes of the wire, with an axis for the run in front."""
        # in the order in which the reference cuts its noise stream
        names = ("x", "z", "y") if parameters.release is Release.ALL else noised_names(algorithm, parameters)
        normals = self.draw_normals(random, names, problem.dimension, parameters.iterations)
        sigma = self.sigmas(algorithm, parameters, problem.records)
        return {name: self.scale_noise(draws, sigma) for name, draws in normals.items()}

    def batches_of(self, parameters: Parameters, random: TrialRandomness, records: int) -> Batches:
        """The batches as they are asked for: fresh, or by epochs."""
        size, iterations = parameters.batch or records, parameters.iterations
        if parameters.sampling is None:
            return self.draw_batches(random, records, size, iterations)
        return self.draw_epochs(random, records, size, iterations, shuffle=parameters.sampling is Sampling.SHUFFLE)

    def _run(
        self,
        algorithm: Algorithm,  # noqa: ARG002 - for those with more than two; batches already tell
        problem: Problem,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        runs = len(next(iter(noise.values())))
        state = _repeated(initial_of(parameters, problem.dimension), runs)
        gammas = [{name: array[:, k] for name, array in noise.items()} for k in range(len(parameters.eta))]
        if batches is None:
            states = self.mpadmm(problem, state, step_sizes=parameters.eta, noise=gammas)
        else:
            each = batches.swapaxes(0, 1)
            states = self.ssadmm(problem, state, step_sizes=parameters.eta, batches=each, noise=gammas)
        history: dict[str, list[Floats]] = {}
        for k, new in enumerate(states):
            values = {"x": new.x, "z": new.z, "y": new.y, **self.also_released(problem, state, new)}
            remember(history, values, k)
            state = new
        return {name: np.stack(arrays, axis=1) for name, arrays in history.items()}


def remember(history: dict[str, list[Floats]], values: Values, k: int) -> None:
    """Append what one iteration shows; refuse what is not finite, so that it can never be released."""
    for name, array in values.items():
        if not np.isfinite(array).all():
            raise NotFinite(f"{name} is not finite after iteration {k}")
        history.setdefault(name, []).append(array)


def _distinct(batch: Batches) -> bool:
    ordered = np.sort(batch, axis=1)
    return not (ordered[:, 1:] == ordered[:, :-1]).any()


def _repeated(initial: State, runs: int) -> State:
    return State(*(np.repeat(value[None], runs, axis=0) for value in (initial.x, initial.z, initial.y)))


# Records are validated alike whatever the parameters; these are the simplest.
_ANY_PARAMETERS = Parameters(
    loss=LossName.LOGISTIC,
    regularizer=RegularizerName.NONE,
    lambda_=0.0,
    rho=1.0,
    eta=[1.0],
    iterations=1,
    sigma=0.0,
    clip=1.0,
)


# -- the baselines ---------------------------------------------------------------------------------------------------


BLOCK_RUNS = 256
"""So few that rounding in all of their gradients together stays below the residual of one."""


@dataclass(frozen=True, slots=True, eq=False)
class BaselineStep:
    """The inputs of one iteration: parameters, its number, its batch of each run, its noise."""

    parameters: Parameters
    k: int
    batch: Batches | None
    noise: Values

    @property
    def eta(self) -> float:
        """The step size."""
        return self.parameters.eta[self.k]

    @property
    def begins_epoch(self) -> bool:
        """Whether DP-SVRG takes a full gradient now."""
        return self.k % (self.parameters.inner or 1) == 0


class StepwiseBaselines(Stepwise):
    """Honest baselines beside the paper's algorithms; ``algorithms`` says which are served."""

    algorithms: ClassVar[tuple[Algorithm, ...]] = tuple(Algorithm)

    def leaves(self, algorithm: Algorithm) -> list[str]:
        """The iterates, and what else the algorithm's claim covers."""
        return [*super().leaves(algorithm), *SCHEMES[algorithm].also_released]

    # -- one iteration -------------------------------------------------------------------------------------

    def proximal_step(self, problem: Problem, x: Floats, g: Floats, eta: float) -> Floats:
        """A gradient step and its proximal map."""
        return proximal_step(problem, x, g, eta)

    def dpsgd_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        """Proximal DP-SGD."""
        g = self.noisy_gradient(self.gradient(problem, old.x, step.batch), step.noise["gradient"])
        x = self.proximal_step(problem, old.x, g, step.eta)
        return State(x, x, old.y)

    def party_update(self, party: Problem, old: State, eta: float, noise: Floats) -> Floats:
        """One party's x of DP-ADMM, noise included; ``old`` is its own view."""
        return self.update_x(party, self.gradient(party, old.x, None), old, eta) + noise

    def dpadmm_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        """Every party's update, the centre's, the duals'."""
        parties = parties_of(problem, step.parameters)
        views = [State(old.x[:, i], old.z, old.y[:, i]) for i in range(len(parties))]
        x = [
            self.party_update(party, view, step.eta, step.noise["x"][:, i])
            for i, (party, view) in enumerate(zip(parties, views, strict=True))
        ]
        z = self.consensus(problem, parties, x, [view.y for view in views])
        y = [self.update_y(problem, view.y, x_i, z) for view, x_i in zip(views, x, strict=True)]
        return State(np.stack(x, axis=1), z, np.stack(y, axis=1))

    def consensus(self, problem: Problem, parties: tuple[Problem, ...], x: list[Floats], y: list[Floats]) -> Floats:
        """The centre's proximal map of the weighted mean."""
        total: Floats = sum(
            ((x_i + y_i / problem.rho) * party.records for party, x_i, y_i in zip(parties, x, y, strict=True)),
            np.zeros_like(x[0]),
        )
        return problem.regularizer.prox(total / problem.records, problem.rho)

    def noisy_full_gradient(self, problem: Problem, x: Floats, noise: Floats) -> Floats:
        """DP-SVRG's release at the beginning of an epoch."""
        return full_gradients(problem, x) + noise

    def corrected_gradient(
        self, problem: Problem, x: Floats, anchor: Floats, batch: Batches | None, noise: Floats
    ) -> Floats:
        """DP-SVRG's release in every step: how a batch's gradient changed since the anchor."""
        return self.gradient(problem, x, batch) - self.gradient(problem, anchor, batch) + noise

    def dpsvrg_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        """An inner step, behind a full gradient where an epoch begins; the state is (x, anchor, full gradient)."""
        anchor, full = old.z, old.y
        if step.begins_epoch:
            anchor, full = old.x, self.noisy_full_gradient(problem, old.x, step.noise["anchor"])
        change = self.corrected_gradient(problem, old.x, anchor, step.batch, step.noise["gradient"])
        return State(self.proximal_step(problem, old.x, change + full, step.eta), anchor, full)

    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        """The x step solved, a block of runs at a time: the residual asked for is that of a whole block."""
        rho, convexity = problem.rho, problem.rho + ridge
        smoothness = problem.loss.curvature * length**2 + convexity
        solved = []
        for begin in range(0, len(old.x), BLOCK_RUNS):
            rows = slice(begin, begin + BLOCK_RUNS)
            constant = old.y[rows] - rho * old.z[rows] + tilt[rows]

            def gradient(x: Floats, constant: Floats = constant) -> Floats:
                return full_gradients(problem, x) + (rho + ridge) * x + constant

            accuracy = Accuracy()
            found = minimise(gradient, old.x[rows], smoothness=smoothness, convexity=convexity, accuracy=accuracy)
            solved.append(found.x)
        return np.concatenate(solved)

    def objp_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        """A perturbed objective, solved; without noise and without a ridge, an iteration of ADMM."""
        parameters = step.parameters
        b = step.noise.get("objective", np.zeros_like(old.x))
        ridge = 0.0 if parameters.epsilon is None else perturbation_of(parameters, problem.records).ridge
        x = self.solve(problem, old, b / problem.records, ridge, parameters.bound)
        z = self.update_z(problem, x, old.y)
        return State(x, z, self.update_y(problem, old.y, x, z))

    def sadmm_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        """ssADMM without noise."""
        if step.batch is None:
            raise AssertionError("validated parameters of sadmm hold a batch")
        return self.ssadmm_step(problem, old, step.eta, step.batch, {"gradient": np.zeros_like(old.x)})

    def baseline_step(self, algorithm: Algorithm, problem: Problem, old: State, step: BaselineStep) -> State:
        """One iteration of the algorithm."""
        steps = {
            Algorithm.DPSGD: self.dpsgd_step,
            Algorithm.DPADMM: self.dpadmm_step,
            Algorithm.DPSVRG: self.dpsvrg_step,
            Algorithm.OBJP: self.objp_step,
            Algorithm.SADMM: self.sadmm_step,
            Algorithm.ADMM: self.objp_step,
        }
        return steps[algorithm](problem, old, step)

    # -- whole runs ----------------------------------------------------------------------------------------

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """`count` runs on draws of its own; an algorithm without batches and noise has one outcome."""
        values = super().trials(records, algorithm, parameters, count, seed)
        return {name: np.repeat(array, count // len(array), axis=0) for name, array in values.items()}

    def scales(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Values:
        """The scale of every stream of noise, draw by draw."""
        found = noise_scales(algorithm, parameters, records)
        if algorithm is Algorithm.DPSVRG:
            return {
                "gradient": self.sigmas(algorithm, parameters, records),
                "anchor": anchor_sigmas(parameters, records),
            }
        return {"gradient": self.sigmas(algorithm, parameters, records)} if algorithm is Algorithm.DPSGD else found

    def draw_noise(
        self, algorithm: Algorithm, random: TrialRandomness, parameters: Parameters, problem: Problem
    ) -> Values:
        """The same of the baselines."""
        if algorithm in PAPER:
            return super().draw_noise(algorithm, random, parameters, problem)
        p, T = problem.dimension, parameters.iterations
        if algorithm in (Algorithm.SADMM, Algorithm.ADMM):
            return {}
        scales = self.scales(algorithm, parameters, problem.records)
        if algorithm is Algorithm.DPADMM:
            parties = parameters.parties or 1
            draws = np.split(self.draw_normals(random, ("x",), parties * p, T)["x"], parties, axis=2)
            parts = [self.scale_noise(part, scales[party_name(i)]) for i, part in enumerate(draws)]
            return {"x": np.stack(parts, axis=2)}
        if algorithm is Algorithm.DPSVRG:
            inner = parameters.inner or 1
            rows = self.draw_normals(random, ("all",), p, T // inner * (inner + 1))["all"]
            epochs = rows.reshape(random.runs, T // inner, inner + 1, p)
            steps = epochs[:, :, 1:].reshape(random.runs, T, p)
            return {
                "anchor": self.scale_noise(epochs[:, :, 0], scales["anchor"]),
                "gradient": self.scale_noise(steps, scales["gradient"]),
            }
        if algorithm is Algorithm.OBJP:
            unit = gamma_vectors(self.draw_normals(random, ("objective",), 3 * p, T)["objective"])
            return {"objective": self.scale_noise(unit, scales["objective"])}
        draws_of_all = self.draw_normals(random, tuple(scales), p, T)
        return {name: self.scale_noise(draws_of_all[name], scale) for name, scale in scales.items()}

    def _run(
        self, algorithm: Algorithm, problem: Problem, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        if algorithm in PAPER:
            return super()._run(algorithm, problem, parameters, noise, batches)
        given = [*noise.values(), *([] if batches is None else [batches])]
        state = initial_states(algorithm, parameters, problem.dimension, len(given[0]) if given else 1)
        history: dict[str, list[Floats]] = {}
        for k in range(parameters.iterations):
            gamma = {n: array[:, k // (parameters.inner or 1) if n == "anchor" else k] for n, array in noise.items()}
            step = BaselineStep(parameters, k, None if batches is None else batches[:, k], gamma)
            new = self.baseline_step(algorithm, problem, state, step)
            remember(history, {**shown(algorithm, new), **self.also_released(problem, state, new)}, k)
            state = new
        return {name: np.stack(arrays, axis=1) for name, arrays in history.items()}


def gamma_vectors(normals: Floats) -> Floats:
    """Vectors of uniform direction and norm Gamma(p, 1) from 3p standard normals each, in the last axis."""
    p = normals.shape[-1] // 3
    direction, rest = normals[..., :p], normals[..., p:]
    norms = np.sum(rest**2, axis=-1, keepdims=True) / 2
    vectors: Floats = direction / np.linalg.norm(direction, axis=-1, keepdims=True) * norms
    return vectors


def initial_states(algorithm: Algorithm, parameters: Parameters, dimension: int, runs: int) -> State:
    """The initial point of every run; every party of DP-ADMM starts at the same."""
    initial, scheme = initial_of(parameters, dimension), SCHEMES[algorithm]
    values = {name: getattr(initial, name) for name in ("x", "z", "y")}
    shapes = {name: (runs, *scheme.row_shape(name, parameters, dimension)) for name in values}
    return State(**{name: np.broadcast_to(value, shapes[name]) for name, value in values.items()})


def shown(algorithm: Algorithm, state: State) -> Values:
    """What an iteration shows, by the names of the wire."""
    if algorithm is Algorithm.DPSVRG:
        return {"x": state.x, "full_gradient": state.y}
    return {name: getattr(state, name) for name in SCHEMES[algorithm].iterates}
