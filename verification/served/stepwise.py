"""The engine for many runs behind the wire: every part a method that a wrong implementation can replace.

`Stepwise` adds preprocessing, draws and releases to the iterations of `reference.vectorised` (a test compares it with
the reference bit for bit on draws and to rounding on states). To serve the reference with one part replaced:

    class VarianceAsDeviation(Stepwise):
        def scale_noise(self, standard, sigma):
            return sigma**2 * standard

    serve(VarianceAsDeviation())
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reference.errors import NotFinite
from reference.gradients import batch_gradients
from reference.problem import Problem, State
from reference.randomness import seeded_batches, seeded_noise
from reference.vectorised import Runs
from verification.served.serve import Values
from verification.served.translate import initial_of, problem_of, sigmas
from verification.wire import messages as m
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, LossName, Parameters, RegularizerName, Release
from verification.wire.records import Records
from verification.wire.schemes import PAPER, SCHEMES, noised_names

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
            batches = self.draw_batches(random, problem.records, parameters.batch, parameters.iterations)
        names = self._stream_order(algorithm, parameters)
        normals = self.draw_normals(random, names, problem.dimension, parameters.iterations)
        sigma = self.sigmas(algorithm, parameters, problem.records)
        noise = {name: self.scale_noise(draws, sigma) for name, draws in normals.items()}
        return self._run(algorithm, problem, parameters, noise, batches)

    def _stream_order(self, algorithm: Algorithm, parameters: Parameters) -> tuple[str, ...]:
        """The order in which the reference cuts its noise stream: x, z, y."""
        if parameters.release is Release.ALL:
            return ("x", "z", "y")
        return noised_names(algorithm, parameters)

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
