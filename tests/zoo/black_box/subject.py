"""What a subject is, and the arithmetic that several of them share."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Neighbours
from audits.curves import ApproximateCurve, GaussianCurve
from verification.neighbours.families import Domain
from verification.neighbours.neighbours import Neighbours as Pair
from verification.served.black_box import Batch
from verification.wire.arrays import Floats
from verification.wire.records import Records
from verification.wire.session import Values

CLAIM = (1.0, 1e-5)
Statistic = Callable[[Values], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class BoxedSubject:
    """A mechanism that claims `CLAIM`; wrong ones say where their epsilon (at least ``least``) is seen.

    ``statistic`` and ``pair`` are for the test that shows it with knowledge of the mechanism; the audit is not told.
    ``bounds``: it bounds records itself, so that any may be sent.
    """

    identity: str
    what: str
    run: Batch
    neighbours: Neighbours = Neighbours.REPLACE_ONE
    pair: str = ""
    statistic: Statistic | None = None
    least: float = 4.0
    columns: int = 3
    bounds: bool = False

    @property
    def domain(self) -> Domain:
        """The records that it is audited on."""
        return Domain(columns=self.columns, relation=self.neighbours, closed=not self.bounds)

    @property
    def options(self) -> str:
        """The options of `dpadmm audit --black-box` beside the claim."""
        told = [f"--neighbours {self.neighbours}"] * (self.neighbours is not Neighbours.REPLACE_ONE)
        told += [f"--features {self.columns}"] * (self.columns != Domain().columns)
        return " ".join([*told, *["--beyond-norm"] * self.bounds])


class LocalSource:
    """A function in this process that makes many runs at once."""

    workers = 1

    def __init__(self, run: Batch) -> None:
        self._run = run

    def runs(self, pair: Pair, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour."""
        return self._run(pair.first, count, rng), self._run(pair.second, count, rng)


class SlowSource(LocalSource):
    """The same, on a clock on which a run takes so many seconds and two workers share them."""

    workers = 2

    def __init__(self, run: Batch, seconds: float) -> None:
        super().__init__(run)
        self._seconds, self._lock, self._now = seconds, threading.Lock(), 0.0

    def clock(self) -> float:
        """The time on that clock."""
        return self._now

    def runs(self, pair: Pair, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour; those that the audit makes to measure the time are alone."""
        with self._lock:
            alone = threading.current_thread() is threading.main_thread()
            self._now += 2 * count * self._seconds / (1 if alone else self.workers)
            return super().runs(pair, count, rng)


def claimed_curve() -> ApproximateCurve:
    """Return the claim as a curve."""
    return ApproximateCurve(*CLAIM)


@functools.cache
def claimed_mu() -> float:
    """Return a mu whose Gaussian mechanism keeps the claim, the largest up to 1e-9."""
    low, high = 1e-3, 10.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if GaussianCurve(middle).epsilon_at(CLAIM[1]) <= CLAIM[0] else (low, middle)
    return low


def signed(records: Records) -> Floats:
    """Return the records times their labels."""
    return np.asarray(records.features * records.labels[:, None])


def normals(rng: np.random.Generator, count: int, size: int, std: float) -> Floats:
    """Return noise for ``count`` runs."""
    return rng.normal(0.0, std, (count, size))


def gradients(records: Records, theta: Floats) -> Floats:
    """Return each record's logistic gradient at each run's model; [count, n, p]."""
    rows = signed(records)
    margin = theta @ rows.T
    return np.asarray(-rows[None] / (1.0 + np.exp(margin))[:, :, None])


def clipped(rows: Floats, bound: float, order: int = 2) -> Floats:
    """Return each row (last axis) made no longer than the bound."""
    return np.asarray(rows / np.maximum(1.0, np.linalg.norm(rows, ord=order, axis=-1, keepdims=True) / bound))


def perturbed_minimum(records: Records, weight: float, tilt: Floats) -> Floats:
    """Return the minimiser of mean logistic loss + weight/2 |theta|^2 + <tilt, theta> for each run's tilt (Newton)."""
    rows = signed(records)
    theta = np.zeros_like(tilt)
    identity = np.eye(rows.shape[1])
    for _ in range(30):
        share = 1.0 / (1.0 + np.exp(np.clip(theta @ rows.T, -500.0, 500.0)))
        gradient = -(share @ rows) / len(rows) + weight * theta + tilt
        curved = np.einsum("cn,ni,nj->cij", share * (1.0 - share), rows, rows, optimize=True) / len(rows)
        step = np.linalg.solve(curved + weight * identity, gradient[:, :, None])[:, :, 0]
        theta -= step
        if float(np.abs(step).max()) < 1e-12:
            break
    return theta


def gamma_norm(rng: np.random.Generator, count: int, size: int, rate: float) -> Floats:
    """Return noise of density proportional to exp(-rate |b|)."""
    direction = rng.normal(size=(count, size))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.asarray(direction * rng.gamma(size, 1.0 / rate, (count, 1)))


def bins(records: Records) -> Floats:
    """Return how many records fall into each bin: which of a record's features is largest, and its label."""
    width = records.columns
    where = np.argmax(np.abs(records.features), axis=1) + width * (records.labels > 0)
    return np.bincount(where, minlength=2 * width).astype(np.float64)
