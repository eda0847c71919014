r"""The score of a last model after several steps: its projection on the direction in which the pair differs.

With small steps, every record in every batch and no penalty, the last x is very nearly Gaussian, so this is its
log-likelihood ratio. Mean and width come from runs of the reference, hence from the claim and never from the
implementation. As with every score, this affects power, not validity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audits.errors import AuditError
from audits.games.game import Game
from audits.score_models.stepwise import StepwiseScores
from verification.served.stepwise_baselines import StepwiseBaselines
from verification.wire.arrays import Floats
from verification.wire.records import Records, Run

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
    first, second = _last(game, game.first, 1), _last(game, game.second, 2)
    apart = first.mean(axis=0) - second.mean(axis=0)
    gap = float(np.linalg.norm(apart))
    direction = apart / gap
    spread = float((second @ direction).std())
    return AlongTheDifference(tuple(direction.tolist()), float((second @ direction).mean()), gap, spread / gap)


def _last(game: Game, records: Records, seed: int) -> Floats:
    x: Floats = StepwiseBaselines().trials(records, game.algorithm, game.parameters, _RUNS, seed)["x"]
    return x[:, -1]
