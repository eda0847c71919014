r"""Looking inside runs: what an implementation computes without noise, and the noise and batches it drew.

The x update is invertible: ``g~ = -(rho + 1/eta) x+ - y + rho z + x/eta``. So the released iterates show each noisy
gradient, and where the gradient is known, the noise itself. z and y need not be released where they are functions
of the released x ([CL20] Algorithm 1; Algorithm 2 with release primal): the harness computes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reference.many import batch_gradients, full_gradients
from reference.mpadmm import ModelNoise, mpadmm
from reference.problem import Problem, State
from reference.ssadmm import ssadmm
from reference.updates import update_x, update_y, update_z
from verification.adapter.arrays import Floats
from verification.adapter.messages import Capability, noised_names
from verification.adapter.parameters import Parameters, Release
from verification.adapter.records import Records, Run
from verification.adapter.translate import initial_of, problem_of, release_of
from verification.conformance.check import NotApplicable
from verification.conformance.context import Context

# Noise this small hides nothing that matters, and a normal value exceeds nine deviations once in 1e18 draws.
TINY_SIGMA = 1e-13
DEVIATIONS = 9.0


def noiseless(
    context: Context,
    records: Records,
    parameters: Parameters,
    batches: Sequence[Sequence[int]] | None = None,
    *,
    may_refuse: bool = False,
) -> Run:
    """Run with (next to) no noise: by replay, or by one trial with tiny noise and all records in each batch.

    Arrays have shape [T, p]. Without replay only the full batch can be forced, so other batches are not applicable.
    """
    name = context.session.send(records, may_refuse=may_refuse)
    every_batch = batches
    if parameters.batch is not None and batches is None:
        every_batch = [list(range(parameters.batch))] * parameters.iterations
    if context.can(Capability.REPLAY):
        shape = (parameters.iterations, records.columns + int(parameters.intercept))
        noise = {key: np.zeros(shape) for key in noised_names(context.mode.algorithm, parameters)}
        return context.session.replay(
            name, context.mode.algorithm, parameters, noise, every_batch, may_refuse=may_refuse
        )
    if parameters.batch is not None and parameters.batch != records.count:
        raise NotApplicable("needs the capability replay to choose the batch")
    quiet = parameters.model_copy(update={"sigma": TINY_SIGMA, "noise_multiplier": None})
    run = context.trials_of(context.session, name, quiet, 1, None, may_refuse=may_refuse)
    return Run({key: array[0] for key, array in run.values.items()})


def expected_steps(
    records: Records,
    parameters: Parameters,
    run: Run,
    noise: dict[str, Floats] | None = None,
    batches: Sequence[Sequence[int]] | None = None,
) -> State:
    """What the reference makes of each iterate that the implementation was at; shape [T, p] each.

    Step by step from the implementation's own states, so that rounding has no time to grow. Without noise unless it
    is given; the first records are the batch unless batches are given.
    """
    problem = problem_of(records, parameters)
    shown = Run({name: array[None] for name, array in run.values.items()})
    old = previous(parameters, problem, shown)
    zero = np.zeros((parameters.iterations, problem.dimension))
    states = []
    for k, eta in enumerate(parameters.eta):
        state = State(old.x[0, k], old.z[0, k], old.y[0, k])
        gamma = {name: (zero if noise is None else noise[name])[k] for name in _noised(parameters)}
        if parameters.batch is not None:
            batch = np.array(range(parameters.batch) if batches is None else batches[k], dtype=np.intp)
            steps = ssadmm(problem, state, step_sizes=[eta], batches=[batch], noise=[gamma["gradient"]])
        else:
            release = release_of(parameters)
            steps = mpadmm(problem, state, step_sizes=[eta], noise=[ModelNoise(**gamma)], release=release)
        states.append(next(steps))
    return State(*(np.stack([getattr(state, name) for state in states]) for name in ("x", "z", "y")))


def _noised(parameters: Parameters) -> tuple[str, ...]:
    if parameters.batch is not None:
        return ("gradient",)
    return ("x", "z", "y") if parameters.release is Release.ALL else ("x",)


def previous(parameters: Parameters, problem: Problem, run: Run) -> State:
    """The states before each iteration, [count, T, p]: the initial point, then the released iterates."""
    x = run.x
    initial = initial_of(parameters, problem.dimension)
    if parameters.release is Release.ALL:
        z, y = run.values.get("z"), run.values.get("y")
        if z is None or y is None:
            if parameters.iterations > 1:
                raise NotApplicable("z and y are noised but not released")
            z = y = np.zeros_like(x)
    else:
        z, y = after_x(parameters, problem, x)
    return State(_shifted(initial.x, x), _shifted(initial.z, z), _shifted(initial.y, y))


def after_x(parameters: Parameters, problem: Problem, x: Floats) -> tuple[Floats, Floats]:
    """z and y as functions of the released x, [count, T, p]: the post-processing of both algorithms."""
    y = np.broadcast_to(initial_of(parameters, problem.dimension).y, x[:, 0].shape)
    zs, ys = [], []
    for k in range(x.shape[1]):
        z = update_z(x[:, k], y, rho=problem.rho, regularizer=problem.regularizer)
        y = update_y(y, x[:, k], z, rho=problem.rho)
        zs.append(z)
        ys.append(y)
    return np.stack(zs, axis=1), np.stack(ys, axis=1)


def _shifted(initial: Floats, path: Floats) -> Floats:
    first = np.broadcast_to(initial, (len(path), 1, path.shape[2]))
    return np.concatenate([first, path[:, :-1]], axis=1)


def noisy_gradients(parameters: Parameters, problem: Problem, run: Run) -> Floats:
    """The gradients, noise included, that led to the released x of ssADMM; [count, T, p]."""
    old = previous(parameters, problem, run)
    eta = np.array(parameters.eta)[:, None]
    gradients: Floats = -(problem.rho + 1 / eta) * run.x - old.y + problem.rho * old.z + old.x / eta
    return gradients


def noise_of(records: Records, parameters: Parameters, run: Run) -> dict[str, Floats]:
    """The noise that was added, by what it was added to; each [count, T, p].

    Needs a gradient that does not depend on the batch drawn: every record in every batch, or all gradients alike.
    """
    problem = problem_of(records, parameters)
    old = previous(parameters, problem, run)
    gradients = np.stack(
        [_common_gradient(problem, parameters, old.x[:, k]) for k in range(parameters.iterations)], axis=1
    )
    if parameters.batch is not None:
        return {"gradient": noisy_gradients(parameters, problem, run) - gradients}
    clean = np.stack(
        [
            update_x(gradients[:, k], old.x[:, k], old.z[:, k], old.y[:, k], rho=problem.rho, eta=eta)
            for k, eta in enumerate(parameters.eta)
        ],
        axis=1,
    )
    noise = {"x": run.x - clean}
    if parameters.release is Release.ALL:
        z = np.stack(
            [
                update_z(clean[:, k], old.y[:, k], rho=problem.rho, regularizer=problem.regularizer)
                for k in range(parameters.iterations)
            ],
            axis=1,
        )
        released = run.values
        if "z" in released:
            noise["z"] = released["z"] - z
        if "y" in released:
            noise["y"] = released["y"] - update_y(old.y, clean, z, rho=problem.rho)
    return noise


def _common_gradient(problem: Problem, parameters: Parameters, x: Floats) -> Floats:
    if parameters.batch is None or parameters.batch == problem.records:
        return full_gradients(problem, x)
    one = np.zeros((len(x), 1), dtype=np.intp)
    return batch_gradients(problem, x, one)  # all records alike: any one of them stands for the batch


def memberships(records: Records, parameters: Parameters, run: Run) -> Floats:
    """How often each one-hot record was counted in each batch; [count, T, n], whole numbers if all is well."""
    problem = problem_of(records, parameters)
    old = previous(parameters, problem, run)
    size = float(parameters.batch or records.count)
    return noisy_gradients(parameters, problem, run) / _single(problem, old.x) * size


def _single(problem: Problem, x: Floats) -> Floats:
    """The only non-zero entry of each one-hot record's own gradient at x; [count, T, n]."""
    flat = x.reshape(-1, x.shape[-1])
    everyone: NDArray[np.intp] = np.arange(problem.records, dtype=np.intp)
    gradients = [batch_gradients(problem, flat, np.full((len(flat), 1), i, dtype=np.intp))[:, i] for i in everyone]
    return np.stack(gradients, axis=-1).reshape(x.shape)
