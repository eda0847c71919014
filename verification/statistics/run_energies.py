r"""Rare failures: runs whose noise is not what it should be, though it is in nearly all.

A run's noise over its claimed scale has a chi-square distributed sum of squares; a run of a failing share shows up as
one far below. If none of N runs does, a share s of failing runs has escaped with probability (1 - s c)^N, c the
probability that a failing run shows up. So s is bounded at any confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from verification.outcome import Picture
from verification.pictures import shares, thinned
from verification.statistics.test import Aspect, Cause, Test
from verification.wire.arrays import Floats

CONFIDENCE = 0.999
DIVISOR = 2.0
"""The bound is for runs with noise/2 or less."""
NEXT_TO_NOTHING = 100.0
"""A second bound is for runs with next to no noise, which far more runs can show."""
ONE_IN = 50
"""The power is stated for noise/2 in one run of so many."""
_FEWEST = 2  # a bound of 1 run in 1 is none


@dataclass(frozen=True, slots=True, eq=False)
class RunEnergies:
    """Sums of squares of the noise of runs over its claimed scale, of how many values; ``whole``: as claimed."""

    energies: Floats
    degrees: NDArray[np.int64]
    whole: NDArray[np.bool_]

    @classmethod
    def of(cls, noise: dict[str, Floats], *, whole: bool = False) -> RunEnergies:
        """All streams of each run [runs, draws, p]."""
        energies = np.sum([np.sum(array**2, axis=(1, 2)) for array in noise.values()], axis=0)
        return cls.counted(energies, sum(array.shape[1] * array.shape[2] for array in noise.values()), whole=whole)

    @classmethod
    def counted(cls, energies: Floats, degrees: int, *, whole: bool = False) -> RunEnergies:
        """Sums of squares of so many values each."""
        return cls(energies, np.full(len(energies), degrees, dtype=np.int64), np.full(len(energies), whole))

    @classmethod
    def joined(cls, parts: Sequence[RunEnergies]) -> RunEnergies:
        """Several as one."""
        if not parts:
            return cls(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
        return cls(
            np.concatenate([p.energies for p in parts]),
            np.concatenate([p.degrees for p in parts]),
            np.concatenate([p.whole for p in parts]),
        )

    @property
    def runs(self) -> int:
        """How many runs were looked at."""
        return self.energies.size

    @property
    def of_the_claimed_size(self) -> RunEnergies:
        """The whole runs alone."""
        return RunEnergies(self.energies[self.whole], self.degrees[self.whole], self.whole[self.whole])

    def test(self) -> Test:
        """The quietest run of all: exact, Bonferroni over the runs."""
        tails = special.chdtr(self.degrees, self.energies)
        least = int(np.argmin(tails))
        ratio = float(np.sqrt(self.energies[least] / self.degrees[least]))
        text = f"the quietest of {self.runs:,} runs has {ratio:.4g} of the claimed noise"
        return Test(
            "noise-quietest-run",
            Aspect.NOISE,
            min(1.0, float(tails[least]) * self.runs),
            text,
            Cause.NOISE_SMALL,
            draw=self.picture,
        )

    def picture(self) -> Picture:
        """The noise of every run over its claimed size, the quietest first."""
        ratios = np.sort(np.sqrt(self.energies / self.degrees))
        pick = np.union1d(thinned(ratios.size), np.arange(min(20, ratios.size)))
        return shares(
            "Noise of every run",
            "Runs from the quietest to the loudest; a run far below the others had hardly any noise.",
            (pick + 1).astype(np.float64),
            ratios[pick],
            1.0,
            axes=("run, by its noise", "noise / claimed"),
        )

    def shown(self, false_alarm: float, divisor: float = DIVISOR) -> Floats:
        """The probability that each run would have been refuted if it had had noise/divisor."""
        limits = special.chdtri(self.degrees, 1 - false_alarm / max(1, self.runs))
        return np.asarray(special.chdtr(self.degrees, limits * divisor**2), dtype=np.float64)

    def share_bound(self, false_alarm: float, divisor: float = DIVISOR, confidence: float = CONFIDENCE) -> float:
        """The largest share of runs with noise/divisor that none of these would have shown; 1 if nothing was seen."""
        if not self.runs:
            return 1.0
        shown = self.shown(false_alarm, divisor)
        low, high = 0.0, 1.0
        if float(np.sum(np.log1p(-np.minimum(shown, 1 - 1e-16)))) > np.log(1 - confidence):
            return 1.0
        for _ in range(60):
            middle = (low + high) / 2
            escaped = float(np.sum(np.log1p(-middle * np.minimum(shown, 1 - 1e-16))))
            low, high = (middle, high) if escaped > np.log(1 - confidence) else (low, middle)
        return high

    def power(self, share: float, false_alarm: float, divisor: float = DIVISOR) -> float:
        """The probability of a refutation if this share of all runs, at random, had noise/divisor: at least this."""
        return float(-np.expm1(np.sum(np.log1p(-share * np.minimum(self.shown(false_alarm, divisor), 1 - 1e-16)))))

    def statement(self, false_alarm: float) -> str:
        """The sentence of the verdict."""
        silent = _one_in(self.share_bound(false_alarm, NEXT_TO_NOTHING))
        if silent < _FEWEST:
            return f"{self.runs:,} runs looked at: too few to bound the share of runs without proper noise"
        half = _one_in(self.share_bound(false_alarm))
        first = f"at most 1 run in {half:,} has noise/{DIVISOR:g} or less, " if half >= _FEWEST else ""
        power = math.floor(1000 * self.power(1 / ONE_IN, false_alarm)) / 1000
        return (
            f"{first}at most 1 in {silent:,} noise/{NEXT_TO_NOTHING:g} or less ({CONFIDENCE:.1%} confidence, "
            f"{self.runs:,} runs looked at); {self._whole(false_alarm)}; noise/{DIVISOR:g} in 1 run of {ONE_IN} would "
            f"have been detected with probability {'above 0.999' if power >= 1 else f'at least {power:g}'}"
        )

    def _whole(self, false_alarm: float) -> str:
        """What the runs of the claimed size and length bound by themselves."""
        whole = self.of_the_claimed_size
        half = _one_in(whole.share_bound(false_alarm))
        if half < _FEWEST:
            return f"{whole.runs:,} of them of the claimed size and length, too few for a bound of their own"
        return (
            f"{whole.runs:,} of them of the claimed size and length, of which at most 1 in {half:,} has "
            f"noise/{DIVISOR:g} or less"
        )


def _one_in(share: float) -> int:
    return int(1 / share)
