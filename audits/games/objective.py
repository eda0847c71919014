r"""The score of a perturbed objective in one dimension: midpoint of the perturbations b implied by each neighbour.

In one dimension b is Laplace distributed with scale 2C/eps', and the two neighbours' values of it lie 2C apart. The
likelihood ratio is a function of their midpoint, which has no atoms where the ratio is cut off at +-eps'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audits.games.attacks import with_iterations
from audits.games.game import Game
from verification.reading.values import noise_of
from verification.served.translate import noise_scales
from verification.wire.arrays import Floats
from verification.wire.records import Run


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
