"""The reference's own deterministic cores, each behind one signature: problem, initial point, inputs of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from reference.arithmetic import Indices
from reference.baselines.dpadmm import dpadmm
from reference.baselines.dpsgd import dpsgd
from reference.baselines.dpsvrg import Epoch, dpsvrg
from reference.baselines.nonprivate import admm, sadmm
from reference.baselines.objp import objp
from reference.mpadmm import ModelNoise, mpadmm
from reference.problem import Problem, State
from reference.ssadmm import ssadmm
from verification.served.serve import Values
from verification.served.stepwise import Batches
from verification.served.translate import parties_of, perturbation_of, release_of
from verification.wire.parameters import Algorithm, Parameters


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Parameters, noise by name, and the batches where there are any."""

    parameters: Parameters
    noise: Values
    batches: Batches | None

    @property
    def every_batch(self) -> list[Indices]:
        """The batches of an algorithm that has them."""
        if self.batches is None:
            raise AssertionError("a validated request of this algorithm holds batches")
        return list(self.batches)


Core = Callable[[Problem, State, Inputs], Iterator[State]]


def _ssadmm(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    noise = run.noise["gradient"]
    return ssadmm(problem, initial, step_sizes=run.parameters.eta, batches=run.every_batch, noise=noise)


def _mpadmm(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    rounds = range(run.parameters.iterations)
    noise = [ModelNoise(**{name: array[k] for name, array in run.noise.items()}) for k in rounds]
    release = release_of(run.parameters)
    return mpadmm(problem, initial, step_sizes=run.parameters.eta, noise=noise, release=release)


def _dpsgd(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    noise = run.noise["gradient"]
    return dpsgd(problem, initial, step_sizes=run.parameters.eta, batches=run.every_batch, noise=noise)


def _dpadmm(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    parties = parties_of(problem, run.parameters)
    each = np.ones((len(parties), 1))
    start = State(each * initial.x, initial.z, each * initial.y) if initial.x.ndim == 1 else initial
    return dpadmm(parties, start, step_sizes=run.parameters.eta, noise=run.noise["x"])


def _dpsvrg(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    """The core's states, with the anchor and the noisy full gradient that each step used in place of z and y."""
    inner = run.parameters.inner or 1
    x = initial.x
    for epoch, anchor_noise in enumerate(run.noise["anchor"]):
        here = slice(epoch * inner, (epoch + 1) * inner)
        inputs = Epoch(anchor_noise, run.parameters.eta[here], run.every_batch[here], run.noise["gradient"][here])
        anchor, full = x, problem.gradient(x) + anchor_noise
        for state in dpsvrg(problem, State(anchor, anchor, initial.y), epochs=[inputs]):
            x = state.x
            yield State(x, anchor, full)


def _objp(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    ridge, length = perturbation_of(run.parameters, problem.records).ridge, run.parameters.bound
    solved = objp(problem, initial, perturbations=run.noise["objective"], ridge=ridge, length=length)
    return (each.state for each in solved)


def _sadmm(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    return sadmm(problem, initial, step_sizes=run.parameters.eta, batches=run.every_batch)


def _admm(problem: Problem, initial: State, run: Inputs) -> Iterator[State]:
    return admm(problem, initial, iterations=run.parameters.iterations)


CORES: dict[Algorithm, Core] = {
    Algorithm.SSADMM: _ssadmm,
    Algorithm.MPADMM: _mpadmm,
    Algorithm.DPSGD: _dpsgd,
    Algorithm.DPADMM: _dpadmm,
    Algorithm.DPSVRG: _dpsvrg,
    Algorithm.OBJP: _objp,
    Algorithm.SADMM: _sadmm,
    Algorithm.ADMM: _admm,
}
