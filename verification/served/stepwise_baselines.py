"""The baselines taken apart, as `stepwise` does with the paper's algorithms: every part a method that can be replaced.

R runs at once: x has shape [R, p], for DP-ADMM [R, N, p]. A state's z and y hold, for DP-SVRG, the anchor and the noisy
full gradient; DP-SGD has neither.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reference.baselines.dpsgd import proximal_step
from reference.baselines.inner import Accuracy, minimise
from reference.gradients import full_gradients
from reference.problem import Problem, State
from verification.served.serve import Values
from verification.served.stepwise import Batches, Stepwise, TrialRandomness, remember
from verification.served.translate import (
    anchor_sigmas,
    initial_of,
    noise_scales,
    parties_of,
    party_name,
    perturbation_of,
)
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records
from verification.wire.schemes import PAPER, SCHEMES

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
        """`count` runs on draws of its own."""
        if algorithm in PAPER:
            return super().trials(records, algorithm, parameters, count, seed)
        problem = self.problem(records, parameters)
        random = TrialRandomness(secrets.randbits(128) if seed is None else seed, count)
        batches = None
        if parameters.batch is not None:
            batches = self.draw_batches(random, problem.records, parameters.batch, parameters.iterations)
        noise = self.draw_noise(algorithm, random, parameters, problem)
        values = self._run(algorithm, problem, parameters, noise, batches)
        # An algorithm without batches and noise has one outcome.
        return values if noise or batches is not None else {n: np.repeat(a, count, axis=0) for n, a in values.items()}

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
        """Scaled noise in the shapes of the wire, with an axis for the run in front."""
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
