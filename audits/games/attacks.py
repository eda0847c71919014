"""The score an adversary computes from what a run shows: high speaks for the first neighbour.

The score decides only how much an audit sees, never whether its conclusion is sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from audits.eprocess.scores import StepwiseScores
from audits.errors import AuditError
from audits.games.game import Game
from reference.gradients import batch_gradients
from verification.reading.inverter import INSIDE
from verification.reading.values import noise_of
from verification.served.stepwise import StepwiseBaselines
from verification.served.translate import noise_scales, problem_of
from verification.wire.arrays import Floats
from verification.wire.messages import Show
from verification.wire.records import Records, Run


class Attack(Protocol):
    """How runs are scored."""

    def scores(self, game: Game, run: Run) -> Floats:
        """Return one score a trial."""
        ...


def with_iterations(game: Game, run: Run) -> Run:
    """Return the run with an axis for the iteration, which the last model alone does not have."""
    if game.show is Show.EVERY_ITERATE:
        return run
    if game.parameters.iterations != 1:
        raise AuditError("only the last of several iterates was shown: its likelihood is not known in closed form")
    return Run({name: array[:, None] for name, array in run.values.items()})


@dataclass(frozen=True, slots=True)
class LikelihoodRatio:
    r"""The optimal score where the mechanism is known: log dP/dQ of everything shown, under the claimed noise.

    ssADMM: the sum over k of log((1-q) + q exp((2<r_k, D_k> - |D_k|^2)/(2 sigma^2))), r_k the noisy gradient
    recovered by inverting the x update, less the common gradient v(x_k), and D_k what the differing record adds.
    DP-SGD: the same. mpADMM, DP-ADMM, DP-SVRG: the Gaussian log-likelihood ratio of every noised value given the state
    before it.
    """

    def scores(self, game: Game, run: Run) -> Floats:
        """Return the log-likelihood ratio of each trial."""
        shown = with_iterations(game, run)
        noise = noise_scales(game.algorithm, game.parameters, game.records)
        if game.parameters.batch is None or game.parameters.batch == game.records:
            return _gaussian(game, shown, noise)
        if not game.alike:
            raise AuditError("with batches, the likelihood needs a second neighbour whose records are all alike")
        return _subsampled(game, shown, noise)


def _gaussian(game: Game, run: Run, sigma: dict[str, Floats]) -> Floats:
    near = noise_of(game.algorithm, game.first, game.parameters, run)
    far = noise_of(game.algorithm, game.second, game.parameters, run)
    total = np.zeros(len(run.x))
    for name, value in near.items():
        # (far - near)(far + near) instead of far^2 - near^2: both are large where x0 is
        gain = ((far[name] - value) * (far[name] + value)).sum(axis=2)
        total += (gain / (2.0 * sigma[name] ** 2)).sum(axis=1)
    return total


def _subsampled(game: Game, run: Run, sigma: dict[str, Floats]) -> Floats:
    residual = noise_of(game.algorithm, game.second, game.parameters, run)["gradient"]
    shift = record_shift(game, run)
    exponent = (2.0 * (residual * shift).sum(axis=2) - (shift**2).sum(axis=2)) / (2.0 * sigma["gradient"] ** 2)
    q = game.rate
    total: Floats = np.logaddexp(np.log1p(-q), np.log(q) + exponent).sum(axis=1)
    return total


def record_shift(game: Game, run: Run) -> Floats:
    """Return what the differing record adds to the mean gradient of a batch that holds it; [count, T, p]."""
    m = float(game.parameters.batch or game.records)
    gradients = []
    for records in (game.first, game.second):
        problem = problem_of(records, game.parameters)
        old = INSIDE[game.algorithm].previous(game.parameters, problem, run)
        one = np.zeros((len(run.x), 1), dtype=np.intp)
        gradients.append(
            np.stack([batch_gradients(problem, old.x[:, k], one) for k in range(game.parameters.iterations)], axis=1)
        )
    return np.asarray((gradients[0] - gradients[1]) / m, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Midpoint:
    """The midpoint of the two b, along their difference, in units of the noise; summed over the iterations."""

    def scores(self, game: Game, run: Run) -> Floats:
        """Return one score per trial; a high score indicates the first neighbour."""
        shown = with_iterations(game, run)
        first, second = (
            noise_of(game.algorithm, records, game.parameters, shown)["objective"]
            for records in (game.first, game.second)
        )
        apart = second - first
        length = np.linalg.norm(apart, axis=2, keepdims=True)
        # equal values say nothing either way
        direction = np.divide(apart, length, out=np.zeros_like(apart), where=length > 0.0)
        scale = noise_scales(game.algorithm, game.parameters, game.records)["objective"]
        middle: Floats = (((first + second) / 2 * direction).sum(axis=2) / scale).sum(axis=1)
        return middle


@dataclass(frozen=True, slots=True)
class LaplaceMidpoints:
    """Simulates midpoints: Laplace around +-apart/2, of scale 1 if the claim is true, 1/strength with less noise."""

    apart: float

    def __call__(self, strength: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return ``count`` scores of each neighbour with the noise divided by ``strength``."""
        first = rng.laplace(self.apart / 2, 1.0 / strength, count)
        second = rng.laplace(-self.apart / 2, 1.0 / strength, count)
        return first, second


_RUNS = 4000


@dataclass(frozen=True, slots=True)
class AlongTheDifference:
    """The last x along ``direction``: 0 on average for the second neighbour, 1 for the first, ``nu`` its deviation."""

    direction: tuple[float, ...]
    origin: float
    gap: float
    nu: float

    def scores(self, game: Game, run: Run) -> Floats:
        """Return the log-likelihood ratio of each trial."""
        if run.x.ndim != 2:
            raise AuditError(f"{game.name} is scored by its last model alone, got x of shape {run.x.shape}")
        along: Floats = (run.x @ np.array(self.direction) - self.origin) / self.gap
        ratio: Floats = (2.0 * along - 1.0) / (2.0 * self.nu**2)
        return ratio

    def simulator(self) -> StepwiseScores:
        """Simulates these scores for the claimed noise, or for less noise."""
        return StepwiseScores(1.0, (self.nu,))


def along_the_difference(game: Game) -> AlongTheDifference:
    """Return the score of a game, from runs of the reference on both neighbours."""
    first, second = _last_models(game, game.first, 1), _last_models(game, game.second, 2)
    apart = first.mean(axis=0) - second.mean(axis=0)
    gap = float(np.linalg.norm(apart))
    direction = apart / gap
    spread = float((second @ direction).std())
    return AlongTheDifference(tuple(direction.tolist()), float((second @ direction).mean()), gap, spread / gap)


def _last_models(game: Game, records: Records, seed: int) -> Floats:
    x: Floats = StepwiseBaselines().trials(records, game.algorithm, game.parameters, _RUNS, seed)["x"]
    return x[:, -1]
