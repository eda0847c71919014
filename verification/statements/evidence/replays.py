"""The algorithms against their formulas: the reference on rationals must *equal* a few independent lines, exactly.

Statements ALGORITHM-1, ALGORITHM-2, DPSGD, DPADMM and DPSVRG: gradients, clipping, batches, noise and every update,
over several iterations. Where rationals cannot go there are binary64 runs: the grid (bit for bit) and the engine for
many runs (to rounding).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from reference.arithmetic import Scalar, Vector, fractions
from reference.baselines.dpadmm import dpadmm
from reference.baselines.dpsgd import dpsgd
from reference.baselines.dpsvrg import Epoch, dpsvrg
from reference.dataset import Dataset
from reference.losses import HuberizedHinge, Logistic
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.randomness import Seeded
from reference.regularizers import L1
from reference.schedules import InverseSquareRoot
from reference.ssadmm import ssadmm
from reference.vectorised import mpadmm_many, ssadmm_many
from verification.statements.model import Evidence, EvidenceResult, Kind, without_solvers

PROBLEMS = 40
SMALL, LARGE = (5, 2, 3), (40, 9, 16)
"""Records, dimension and iterations."""
ROUNDING = 1e-9
"""Far above the rounding of some hundred operations on numbers of size 10, far below any noise left out."""

Rational = list[Fraction]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A random problem in rationals, with the formulas of the paper written out once more."""

    rows: list[Rational]
    norms: Rational
    clip: Fraction | None
    h: Fraction
    lam: Fraction
    rho: Fraction
    eta: Fraction
    start: tuple[Rational, Rational, Rational]
    noise: list[list[Rational]]
    batches: list[list[int]]
    binary64: bool = False

    @classmethod
    def of(cls, g: random.Random, records: int, dimension: int, iterations: int) -> Drawn:
        """Rows of rational lengths, so that clipping stays exact; every third problem is clipped nowhere."""

        def number() -> Fraction:
            return Fraction(g.randint(-30, 30), g.randint(1, 9))

        def positive() -> Fraction:
            return Fraction(g.randint(1, 20), g.randint(1, 9))

        def vector() -> Rational:
            return [number() for _ in range(dimension)]

        rows, norms = [], []
        for _ in range(records):
            *flat, t = (g.choice((-1, 1)) * g.randint(1, 4) for _ in range(dimension))
            square, scale = sum(m * m for m in flat), Fraction(1, g.randint(3, 9) * 2 * dimension)
            rows.append([scale * v for v in (*(2 * m * t for m in flat), square - t * t)])
            norms.append(scale * (square + t * t))
        noise = [[vector() for _ in range(3)] for _ in range(iterations + 1)]
        batches = [sorted(g.sample(range(records), 2 * records // 5)) for _ in range(iterations)]
        clip = None if g.randrange(3) == 0 else Fraction(g.randint(1, 9), 9)
        h, start = Fraction(g.randint(1, 9), 9), (vector(), vector(), vector())
        return cls(rows, norms, clip, h, positive() / 4, positive(), positive(), start, noise, batches)

    @property
    def steps(self) -> list[Scalar]:
        """The step sizes."""
        return [self.scalar(self.eta)] * len(self.batches)

    def array(self, values: object) -> Vector:
        """An array of the reference's."""
        return np.array(values, float) if self.binary64 else fractions().array(cast(Vector, np.array(values, object)))

    def scalar(self, value: Fraction) -> Scalar:
        """A number of the reference's."""
        return float(value) if self.binary64 else fractions().scalar(cast(float, value))

    def problem(self, records: Sequence[int] | None = None) -> Problem:
        """The reference's own."""
        chosen = range(len(self.rows)) if records is None else records
        rows, norms = ([values[i] for i in chosen] for values in (self.rows, self.norms))
        clip, scalar = None if self.clip is None else self.scalar(self.clip), self.scalar
        loss, regularizer = HuberizedHinge(scalar(self.h)), L1(scalar(self.lam))
        return Problem(self.array(rows), loss, regularizer, scalar(self.rho), clip, self.array(norms))

    def gradient(self, x: Rational, batch: Iterable[int]) -> Rational:
        """The mean of the records' gradients, each clipped by itself."""
        terms = [self._record(i, x) for i in batch]
        return [sum(column, Fraction(0)) / len(terms) for column in zip(*terms, strict=True)]

    def _record(self, i: int, x: Rational) -> Rational:
        margin = sum(a * b for a, b in zip(self.rows[i], x, strict=True))
        slope = -min(max(1 + self.h - margin, Fraction(0)), 2 * self.h) / (2 * self.h)
        length = abs(slope) * self.norms[i]
        if self.clip is not None and length > self.clip:
            slope *= self.clip / length
        return [slope * a for a in self.rows[i]]

    def x_after(self, g: Rational, x: Rational, z: Rational, y: Rational) -> Rational:
        """Equation (13)."""
        parts = zip(g, x, z, y, strict=True)
        return [(-d - c + self.rho * b + a / self.eta) / (self.rho + 1 / self.eta) for d, a, b, c in parts]

    def shrunk(self, w: Rational, t: Fraction) -> Rational:
        """The soft threshold."""
        return [max(abs(a) - t, Fraction(0)) * (1 if a > 0 else -1) for a in w]

    def z_after(self, x: Rational, y: Rational) -> Rational:
        """Equation (16) for L1."""
        return self.shrunk([a + b / self.rho for a, b in zip(x, y, strict=True)], self.lam / self.rho)

    def y_after(self, y: Rational, x: Rational, z: Rational) -> Rational:
        """Equation (14)."""
        return [c + self.rho * (a - b) for c, a, b in zip(y, x, z, strict=True)]


def _plus(a: Rational, b: Rational) -> Rational:
    return [p + q for p, q in zip(a, b, strict=True)]


def _replayed(name: str, reference: Callable[[Drawn], object], formula: Callable[[Drawn], object]) -> Evidence:
    """Small problems and a large one in rationals, exactly; the same in binary64, to rounding."""

    @without_solvers(name, Kind.ENCLOSURE)
    def evidence() -> EvidenceResult:
        generator = random.Random(2020)
        for number, size in enumerate((LARGE, *[SMALL] * PROBLEMS)):
            drawn = Drawn.of(generator, *size)
            ran, wanted = reference(drawn), formula(drawn)
            if ran != wanted:
                return EvidenceResult.check(False, f"problem {number}: the reference gives {ran}, the formula {wanted}")
            values = np.array([float(value) for value in _flat(wanted)])
            apart = np.abs(np.array(list(_flat(reference(replace(drawn, binary64=True))))) - values).max()
            if not apart <= ROUNDING * np.abs(values).max():
                return EvidenceResult.check(False, f"problem {number}: binary64 is {apart:.2g} off")
        return EvidenceResult.check(True, f"{PROBLEMS + 1} random problems", size=PROBLEMS + 1, tightness=1.0)

    return evidence


def _flat(values: object) -> Iterator[Fraction]:
    if isinstance(values, list):
        for value in values:
            yield from _flat(value)
    else:
        yield cast(Fraction, values)


def _shown(states: Iterable[State]) -> list[list[Rational]]:
    return [[list(cast("list[Fraction]", part.flat)) for part in (s.x, s.z, s.y)] for s in states]


def _start(d: Drawn) -> State:
    return State(*(d.array(part) for part in d.start))


def algorithm_1() -> Evidence:
    """Three iterations of `ssadmm`: batch, gradient, clipping, noise, x, z and y."""

    def reference(d: Drawn) -> object:
        noise = [d.array(gamma[0]) for gamma in d.noise[:-1]]
        batches = [np.array(batch) for batch in d.batches]
        return _shown(ssadmm(d.problem(), _start(d), step_sizes=d.steps, batches=batches, noise=noise))

    def formula(d: Drawn) -> object:
        (x, z, y), states = d.start, []
        for batch, gamma in zip(d.batches, d.noise, strict=False):
            x = d.x_after(_plus(d.gradient(x, batch), gamma[0]), x, z, y)
            z = d.z_after(x, y)
            y = d.y_after(y, x, z)
            states.append([x, z, y])
        return states

    return _replayed("Algorithm 1 in rationals", reference, formula)


def algorithm_2(release: Release) -> Evidence:
    """Three epochs of `mpadmm`, all perturbed, or x alone with z and y from the noisy x."""

    def reference(d: Drawn) -> object:
        noise = [ModelNoise(*(d.array(part) for part in gamma)) for gamma in d.noise[:-1]]
        return _shown(mpadmm(d.problem(), _start(d), step_sizes=d.steps, noise=noise, release=release))

    def formula(d: Drawn) -> object:
        (x, z, y), states = d.start, []
        for gamma in d.noise[:-1]:
            new = d.x_after(d.gradient(x, range(len(d.rows))), x, z, y)
            if release is Release.PRIMAL:
                new = _plus(new, gamma[0])
            z = d.z_after(new, y)
            y = d.y_after(y, new, z)
            x = new
            if release is Release.ALL:
                x, z, y = _plus(x, gamma[0]), _plus(z, gamma[1]), _plus(y, gamma[2])
            states.append([x, z, y])
        return states

    return _replayed(f"Algorithm 2 in rationals, release {release.value}", reference, formula)


def dpsgd_steps() -> Evidence:
    """Three steps of DP-SGD: the noisy batch gradient, then the soft threshold at lambda eta."""

    def reference(d: Drawn) -> object:
        noise = [d.array(gamma[0]) for gamma in d.noise[:-1]]
        batches = [np.array(batch) for batch in d.batches]
        states = dpsgd(d.problem(), _start(d), step_sizes=d.steps, batches=batches, noise=noise)
        return [state[0] for state in _shown(states)]

    def formula(d: Drawn) -> object:
        x, states = d.start[0], []
        for batch, gamma in zip(d.batches, d.noise, strict=False):
            g = _plus(d.gradient(x, batch), gamma[0])
            x = d.shrunk([a - d.eta * b for a, b in zip(x, g, strict=True)], d.lam * d.eta)
            states.append(x)
        return states

    return _replayed("DP-SGD in rationals", reference, formula)


def dpsvrg_epoch() -> Evidence:
    """An epoch of DP-SVRG: noise on the anchor's full gradient, and on every inner step."""

    def reference(d: Drawn) -> object:
        batches = [np.array(batch) for batch in d.batches]
        inner = [d.array(gamma[0]) for gamma in d.noise[:-1]]
        epoch = Epoch(d.array(d.noise[-1][1]), d.steps, batches, inner)
        return [state[0] for state in _shown(dpsvrg(d.problem(), _start(d), epochs=[epoch]))]

    def formula(d: Drawn) -> object:
        x, states = d.start[0], []
        anchor, full = x, _plus(d.gradient(x, range(len(d.rows))), d.noise[-1][1])
        for batch, gamma in zip(d.batches, d.noise, strict=False):
            change = [a - b for a, b in zip(d.gradient(x, batch), d.gradient(anchor, batch), strict=True)]
            v = _plus(_plus(change, full), gamma[0])
            x = d.shrunk([a - d.eta * b for a, b in zip(x, v, strict=True)], d.lam * d.eta)
            states.append(x)
        return states

    return _replayed("DP-SVRG in rationals", reference, formula)


def dpadmm_round() -> Evidence:
    """A round of DP-ADMM, two records in one party and the others in another: the x_i, the weighted mean, the y_i."""

    def parties(d: Drawn) -> tuple[range, range]:
        return range(2), range(2, len(d.rows))

    def reference(d: Drawn) -> object:
        x, z, y = d.start
        initial = State(d.array([x, y]), d.array(z), d.array([y, x]))
        noise = d.array([d.noise[0][0], d.noise[0][1]])
        states = dpadmm([d.problem(b) for b in parties(d)], initial, step_sizes=d.steps[:1], noise=[noise])
        return _shown(states)

    def formula(d: Drawn) -> object:
        (x, z, y), records, blocks = d.start, len(d.rows), parties(d)
        xs, ys = [x, y], [y, x]
        xs = [
            _plus(d.x_after(d.gradient(xs[i], blocks[i]), xs[i], z, ys[i]), d.noise[0][i]) for i in range(len(blocks))
        ]
        mean = [
            sum((len(blocks[i]) * (xs[i][j] + ys[i][j] / d.rho) for i in range(2)), Fraction(0)) / records
            for j in range(len(x))
        ]
        z = d.shrunk(mean, d.lam / d.rho)
        ys = [d.y_after(ys[i], xs[i], z) for i in range(2)]
        return [[[*xs[0], *xs[1]], z, [*ys[0], *ys[1]]]]

    return _replayed("DP-ADMM in rationals", reference, formula)


# -- binary64: grid, engine --------------------------------------------------------------------------------------


def _problem() -> Problem:
    rng = np.random.default_rng(3)
    data = Dataset.of(rng.normal(size=(40, 9)), np.where(rng.random(40) < 0.5, -1, 1)).normalised()
    return Problem.of(data, Logistic(), L1(0.05), rho=0.5, clip=0.75)


@without_solvers("the grid in both algorithms", Kind.ENCLOSURE)
def grid_is_applied() -> EvidenceResult:
    """What is released lies on the grid once the noise is taken off, bit for bit, in both algorithms."""
    problem, grid, rho, eta = _problem(), 2.0**-4, 0.5, 0.25
    rng, looked = np.random.default_rng(4), 0
    for _ in range(20):
        start, gamma = State(*rng.normal(size=(3, 9))), grid * rng.integers(-9, 10, size=(3, 9))
        batch = rng.choice(40, 16, replace=False)
        rounded = np.rint(problem.gradient(start.x, batch) / grid) * grid + gamma[0]
        wanted = (-rounded - start.y + rho * start.z + start.x / eta) / (rho + 1 / eta)
        ran = next(ssadmm(problem, start, step_sizes=[eta], batches=[batch], noise=[gamma[0]], grid=grid))
        released = [
            next(mpadmm(problem, start, step_sizes=[eta], noise=[ModelNoise(*gamma)], release=release, grid=grid))
            for release in Release
        ]
        parts = [released[0].x, released[0].z, released[0].y, released[1].x]
        on_grid = all(np.array_equal(part / grid, np.rint(part / grid)) for part in parts)
        if not np.array_equal(ran.x, wanted) or not on_grid:
            return EvidenceResult.check(False, f"off the grid, or another point than the formula's {wanted}")
        looked += 1 + len(parts)
    return EvidenceResult.check(True, "20 steps of Algorithm 1 and of both releases of Algorithm 2", size=looked)


@without_solvers("many runs beside single ones", Kind.ATTACK)
def many_runs_are_single_runs() -> EvidenceResult:
    """Run r of the engine for many runs is the single run with the same seed, iterate by iterate."""
    problem, start, schedule, T = _problem(), State(*np.eye(3, 9)), InverseSquareRoot(0.5), 16
    etas = [schedule.step(k) for k in range(T)]
    many = ssadmm_many(
        problem, start, schedule=schedule, batch=12, sigma=1.0, iterations=T, seed=7, runs=range(5)
    )  # fmt: skip
    worst = 0.0
    for r in range(5):
        seeded = Seeded(7, r)
        batches, noise = seeded.batches(40, 12, T), seeded.noise(9, 1.0, T)
        single = list(ssadmm(problem, start, step_sizes=etas, batches=batches, noise=noise))
        worst = max(worst, _apart(many, r, single))
    for release in Release:
        parts = 3 if release is Release.ALL else 1
        models = mpadmm_many(
            problem, start, schedule=schedule, sigma=1.0, epochs=T, release=release, seed=7, runs=range(5)
        )
        for r in range(5):
            draws = [np.split(gamma, parts) for gamma in Seeded(7, r).noise(9 * parts, 1.0, T)]
            noise_of = [ModelNoise(*gamma) for gamma in draws]
            single = list(mpadmm(problem, start, step_sizes=etas, noise=noise_of, release=release))
            worst = max(worst, _apart(models, r, single))
    return EvidenceResult.check(worst <= ROUNDING, f"at most {worst:.2g} apart", size=15 * T)


def _apart(many: State, r: int, single: Sequence[State]) -> float:
    return max(
        float(np.abs(whole[r][-len(single) :] - np.stack([getattr(state, name) for state in single])).max())
        for name, whole in (("x", many.x), ("z", many.z), ("y", many.y))
    )
