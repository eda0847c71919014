"""The reference implementation as an adapter: ``python -m verification.served.loopback [NAME ...]``.

Without arguments it serves the paper's two algorithms, else those that are named (`dpsgd`, `dpadmm`, ...; `baselines`
for all of those). Replay goes through the deterministic cores of `reference` themselves, trials of the paper's
algorithms through `ssadmm_many` and `mpadmm_many`. Noise that differs between epochs, which these do not offer, and the
trials of the baselines go through `stepwise`, on the same engine.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
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
from reference.schedules import Listed
from reference.ssadmm import ssadmm
from reference.vectorised import mpadmm_many, ssadmm_many
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, StepwiseBaselines, shown
from verification.served.translate import initial_of, parties_of, perturbation_of, release_of, sigmas
from verification.wire.parameters import BASELINES, PAPER, Algorithm, Parameters
from verification.wire.records import Records

# -- the cores, each behind one signature: problem, initial point, inputs of a run -----------------------------------


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


class Loopback(StepwiseBaselines):
    """The reference itself."""

    name = "dpadmm reference"

    def __init__(self, algorithms: tuple[Algorithm, ...] = PAPER) -> None:
        self._offered = algorithms

    @property
    def offered(self) -> tuple[Algorithm, ...]:
        """What it was told to serve."""
        return self._offered

    def replay(
        self,
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        """Run the deterministic core on what was sent."""
        problem = self.problem(records, parameters)
        states = CORES[algorithm](
            problem, initial_of(parameters, problem.dimension), Inputs(parameters, noise, batches)
        )
        kept = [shown(algorithm, state) for state in states]
        return {name: np.stack([values[name] for values in kept]) for name in kept[0]}

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Run the vectorised shells; without a seed, on 128 bits of the system's entropy."""
        if algorithm not in PAPER:
            return super().trials(records, algorithm, parameters, count, seed)
        problem = self.problem(records, parameters)
        every_sigma = sigmas(algorithm, parameters, problem.records)
        sigma = float(every_sigma[0])
        if (every_sigma != sigma).any() or parameters.sampling is not None:
            return super().trials(records, algorithm, parameters, count, seed)
        initial = initial_of(parameters, problem.dimension)
        schedule = Listed(tuple(parameters.eta))
        seed = secrets.randbits(128) if seed is None else seed
        if parameters.batch is not None:
            states = ssadmm_many(
                problem,
                initial,
                schedule=schedule,
                batch=parameters.batch,
                sigma=sigma,
                iterations=parameters.iterations,
                seed=seed,
                runs=range(count),
            )
        else:
            states = mpadmm_many(
                problem,
                initial,
                schedule=schedule,
                sigma=sigma,
                epochs=parameters.iterations,
                release=release_of(parameters),
                seed=seed,
                runs=range(count),
            )
        return {"x": states.x, "z": states.z, "y": states.y}


def main(arguments: Sequence[str]) -> int:
    """Serve what is named, or the paper's algorithms; 2 for a name that is none."""
    try:
        named = [BASELINES if word == "baselines" else (Algorithm(word),) for word in arguments]
    except ValueError:
        known = ", ".join([*Algorithm, "baselines"])
        print(f"unknown algorithm in {list(arguments)}; known are {known}", file=sys.stderr)
        return 2
    serve(Loopback(tuple(dict.fromkeys(a for each in named for a in each)) or PAPER))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
