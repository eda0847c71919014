"""How likelihood-ratio scores are distributed when the claimed mechanism runs with less noise: closed form, fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verification.wire.arrays import Floats

_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class StepwiseScores:
    r"""A simulator: step k shows N(b, (nu_k/strength)^2), b = 1 with probability ``rate`` under the first neighbour.

    The score is the log-likelihood ratio at the *claimed* noise nu_k, whatever the strength, as an auditor computes it.
    """

    rate: float
    multipliers: tuple[float, ...]

    def __call__(self, strength: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return ``count`` scores of each neighbour with the noise divided by ``strength``."""
        first, second = np.zeros(count), np.zeros(count)
        for start in range(0, count, _AT_ONCE):
            here = slice(start, min(start + _AT_ONCE, count))
            size = here.stop - here.start
            for nu in self.multipliers:
                taken = rng.random(size) < self.rate
                first[here] += self._step(taken + rng.normal(0.0, nu / strength, size), nu)
                second[here] += self._step(rng.normal(0.0, nu / strength, size), nu)
        return first, second

    def _step(self, seen: Floats, nu: float) -> Floats:
        exponent = (2.0 * seen - 1.0) / (2.0 * nu * nu)
        if self.rate == 1.0:
            return exponent
        mixed: Floats = np.logaddexp(np.log1p(-self.rate), np.log(self.rate) + exponent)
        return mixed
