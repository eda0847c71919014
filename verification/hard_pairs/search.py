r"""A search for the worst pair of neighbours: random starts, then gradient ascent on the observed ratio.

The unknowns are the two records, the other records, the initial x, z and y, the threshold lambda, and rho and eta.
Lengths that may be huge (the start: statement SENS-GRADIENT is attained only far out) enter as sinh of an unknown, so
that a gradient step can reach 10^6. The ratio is piecewise smooth; its gradient is taken by differences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from verification.hard_pairs.neighbours import NeighbourPair
from verification.hard_pairs.observed_sensitivity import ObservedSensitivity, Replay, StepSetting, observe
from verification.wire.arrays import Floats
from verification.wire.records import Records

REACH = 14.0
"""|unknown| of a start is at most this: sinh(14) = 6e5."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The worst case that was seen for one bound."""

    name: str
    best: ObservedSensitivity
    pair: NeighbourPair
    setting: StepSetting
    tried: int
    exceeded: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Points of a cube, read as neighbours and a setting."""

    template: NeighbourPair
    setting: StepSetting

    @property
    def size(self) -> int:
        n, p = self.template.first.count, self.template.dimension
        return (n + 1) * p + 3 * p + 3

    def read(self, point: Floats) -> tuple[NeighbourPair, StepSetting]:
        """From a point to records (normalised to the template's length by the implementation), start and parameters."""
        n, p = self.template.first.features.shape
        length = float(np.linalg.norm(self.template.first.features[0]))
        rows, rest = point[: (n + 1) * p].reshape(n + 1, p), point[(n + 1) * p :]
        norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        rows = length * rows / norms
        labels = self.template.first.labels
        second = Records(rows[1:], labels)
        first = second.replace(0, rows[0], int(labels[0]))
        x, z, y = np.sinh(np.clip(rest[: 3 * p], -REACH, REACH)).reshape(3, p)
        lam, rho, eta = np.exp(np.clip(rest[3 * p :], -3.0, 3.0))
        setting = replace(self.setting, lam=float(lam) - float(np.exp(-3.0)), rho=float(rho), eta=float(eta))
        return replace(self.template, first=first, second=second, x=x, z=z, y=y), setting


def search(
    replay: Replay,
    name: str,
    template: NeighbourPair,
    setting: StepSetting,
    *,
    starts: int = 6,
    rounds: int = 40,
    seed: int = 0,
) -> Found:
    """The largest observed share of one bound, from random starts by ascent; every evaluation is also a check."""
    space, rng = _Space(template, setting), np.random.default_rng(seed)
    tracker = _Tracker(replay, name, space)
    for _ in range(starts):
        point = rng.normal(size=space.size) * np.r_[np.ones(space.size - 3), np.full(3, 0.5)]
        minimize(tracker.negative_ratio, point, method="L-BFGS-B", options={"maxiter": rounds})
    return tracker.found()


class _Tracker:
    """Counts, and remembers the worst case and every violation."""

    def __init__(self, replay: Replay, name: str, space: _Space) -> None:
        self._replay, self._name, self._space = replay, name, space
        self._best: tuple[ObservedSensitivity, NeighbourPair, StepSetting] | None = None
        self._tried = 0
        self._exceeded: set[str] = set()

    def negative_ratio(self, point: Floats) -> float:
        """What is minimised."""
        pair, setting = self._space.read(point)
        observed = observe(self._replay, pair, setting)
        self._tried += 1
        self._exceeded |= {key for key, value in observed.items() if value.exceeded}
        value = observed[self._name]
        if self._best is None or value.ratio > self._best[0].ratio:
            self._best = (value, pair, setting)
        return -value.ratio

    def found(self) -> Found:
        """The worst case."""
        if self._best is None:
            raise AssertionError("a search makes at least one evaluation")
        return Found(self._name, *self._best, self._tried, tuple(sorted(self._exceeded)))
