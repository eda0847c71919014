"""The noise itself, as an implementation drew it: for the plot of its quantiles, not for any conclusion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audits.games.attacks import with_iterations
from audits.games.game import Game
from audits.trials.executors import Chunk, Target, run_pair
from verification.reading.values import standard_noise
from verification.wire.arrays import Floats

_STREAM = 1 << 20
_PAIRS = 250


@dataclass(frozen=True, slots=True, eq=False)
class ObservedNoise:
    """Noise draws divided by the claimed sigma, sorted: standard normal if all is well."""

    game: str
    standardised: Floats


def observe(target: Target, game: Game, seed: int) -> ObservedNoise:
    """Run a few extra trials on the second neighbour, whose records are all alike, and recover their noise."""
    _, second = run_pair(target, game, Chunk(seed, _STREAM, 0, _PAIRS))
    shown = with_iterations(game, second)
    noise = standard_noise(game.claimed, game.second, shown)
    parts = [standard.ravel() for standard in noise.values()]
    return ObservedNoise(game.name, np.sort(np.concatenate(parts)))
