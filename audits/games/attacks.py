r"""The score an adversary computes from what a run shows: high speaks for the first neighbour.

The score decides only how much an audit sees, never whether its conclusion is sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from audits.errors import AuditError
from audits.games.game import Game
from reference.gradients import batch_gradients
from verification.reading.inverter import INSIDE
from verification.reading.values import noise_of
from verification.served.translate import noise_scales, problem_of
from verification.wire.arrays import Floats
from verification.wire.messages import Show
from verification.wire.records import Run

_RIDGE = 1e-3


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


@dataclass(frozen=True, slots=True, eq=False)
class LearnedScore:
    """A linear score of *every* released value and its square, fitted on runs that are not judged by it."""

    names: tuple[str, ...]
    centre: Floats
    spread: Floats
    weights: Floats

    def scores(self, game: Game, run: Run) -> Floats:  # noqa: ARG002 - the signature of every attack
        """Return the discriminant of each trial."""
        return self.of(run)

    def of(self, run: Run) -> Floats:
        """Return the discriminant of each trial, which needs no game."""
        standard = (_flat(run, self.names) - self.centre) / self.spread
        result: Floats = np.hstack([standard, standard**2]) @ self.weights
        return result


def learn(first: Run, second: Run) -> LearnedScore:
    """Fit a regularised linear discriminant on values and squares; the runs must not be used again."""
    names = tuple(sorted(first.values))
    if names != tuple(sorted(second.values)):
        raise AuditError(f"both neighbours must release the same values, got {names} and {sorted(second.values)}")
    a, b = _flat(first, names), _flat(second, names)
    both = np.vstack([a, b])
    centre = both.mean(axis=0)
    spread = both.std(axis=0)
    # a constant value carries nothing until it differs; a unit spread keeps it in the score, should it ever do so
    spread = np.where(spread > 0.0, spread, 1.0)
    standard = [(side - centre) / spread for side in (a, b)]
    p, q = (np.hstack([side, side**2]) for side in standard)
    scatter = 0.5 * (np.cov(p, rowvar=False) + np.cov(q, rowvar=False))
    ridge = _RIDGE * max(float(np.trace(scatter)) / scatter.shape[0], 1e-12)
    weights = np.linalg.solve(scatter + ridge * np.eye(scatter.shape[0]), p.mean(axis=0) - q.mean(axis=0))
    return LearnedScore(names, centre, spread, weights)


def _flat(run: Run, names: tuple[str, ...]) -> Floats:
    return np.hstack([run.values[name].reshape(len(run.x), -1) for name in names])


def canary_inner_products(output: Floats, canaries: Floats) -> Floats:
    """Return <output, canary> / |canary| for each canary: the scores of a one-run audit."""
    if canaries.ndim != 2 or output.shape != canaries.shape[1:]:
        raise AuditError(f"needs canaries [k, p] and an output [p], got {canaries.shape} and {output.shape}")
    lengths = np.linalg.norm(canaries, axis=1)
    if not bool(np.all(lengths > 0.0)):
        raise AuditError("a canary of length 0 cannot be recognised")
    products: Floats = canaries @ output / lengths
    return products
