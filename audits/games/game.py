"""Who sees what: the games an audit plays against an implementation, and what the claim says about each.

A game is a neighbouring pair, parameters, and what the adversary is shown. It is played where a violation shows best
(few records, few iterations, noise for about mu = 2; sigma, C and rho far from 1), and not at the deployed size. The
claim about each game is the ledger of *its* parameters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from accountant import Ledger, Mechanism, PureStep, SubsampledGaussianStep, delta_curve, float_up
from accountant.mechanisms.batches import NoisyBatches
from accountant.mechanisms.full_gradients import MpADMM
from accountant.mechanisms.ledger import gdp_squared
from accountant.mechanisms.mechanism import TrainingMechanism
from accountant.mechanisms.words import Algorithm, Release, Sampling, Sensitivity, Visibility
from accountant.pricing import Effort
from audits.curves import ApproximateCurve, GaussianCurve, PrivacyCurve, TableCurve
from audits.eprocess.scores import StepwiseScores
from audits.errors import AuditError
from reference.gradients import batch_gradients
from verification.outcome import About, Stage
from verification.reading.context import Claimed, Mode
from verification.reading.inverter import INVERTERS
from verification.reading.values import noise_of
from verification.served.stepwise import StepwiseBaselines
from verification.served.translate import noise_scales, problem_of
from verification.wire.arrays import Floats
from verification.wire.messages import Show
from verification.wire.parameters import Parameters, mechanism_of
from verification.wire.records import Records, Run


@dataclass(frozen=True, slots=True)
class Subject:
    """An algorithm and what a claim says about it; sizes are chosen game by game."""

    algorithm: Algorithm
    release: Release | None = None
    sensitivity: Sensitivity = Sensitivity.CORRECTED
    visibility: Visibility = Visibility.EVERY_ITERATE
    sampling: Sampling | None = None  # of batches by epochs

    def __post_init__(self) -> None:
        if (self.algorithm is Algorithm.MPADMM) != (self.release is not None):
            raise AuditError(f"release is for mpadmm, got algorithm={self.algorithm} and release={self.release}")

    @classmethod
    def of(cls, mechanism: Mechanism) -> Subject:
        """Return what of a claimed mechanism decides which games are played."""
        if not isinstance(mechanism, TrainingMechanism):
            raise AuditError(f"{mechanism.algorithm} can be priced, not audited: no implementation runs it")
        algorithm = Algorithm(mechanism.algorithm)
        if isinstance(mechanism, MpADMM):
            return cls(algorithm, mechanism.release, mechanism.sensitivity, mechanism.released)
        sampling = mechanism.sampling if isinstance(mechanism, NoisyBatches) and mechanism.sampling.by_epochs else None
        return cls(algorithm, visibility=mechanism.released, sampling=sampling)

    @property
    def mode(self) -> Mode:
        """The subject in the conformance checks' words."""
        return Mode(self.algorithm, self.release, self.sampling)

    def mechanism(self, records: int, parameters: Parameters) -> Mechanism:
        """Return what a run with these parameters is claimed to be."""
        return mechanism_of(
            self.algorithm, parameters, records, sensitivity=self.sensitivity, visibility=self.visibility
        )

    def ledger(self, records: int, parameters: Parameters) -> Ledger:
        """Return what a run with these parameters is claimed to release."""
        return self.mechanism(records, parameters).ledger()


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """One question: whether two neighbours can be distinguished better than the claimed curve allows.

    ``first`` and ``second`` differ in record 0; in ``second`` all records are alike where ``alike`` says so.
    """

    name: str
    algorithm: Algorithm
    parameters: Parameters
    first: Records
    second: Records
    visibility: Visibility
    alike: bool = True
    reads: bool = True  # whether the noise of its runs can be read by the reference's updates
    processed: frozenset[str] = frozenset()  # values without noise of their own, functions of what was released

    def __post_init__(self) -> None:
        a, b = self.first, self.second
        if a.features.shape != b.features.shape:
            raise AuditError(
                f"neighbours must have equally many records and features, got {a.features.shape} and {b.features.shape}"
            )
        differ = np.any(a.features != b.features, axis=1) | (a.labels != b.labels)
        if int(differ.sum()) != 1 or not bool(differ[0]):
            where = np.flatnonzero(differ).tolist()
            raise AuditError(f"neighbours must differ in record 0 and in no other, they differ in {where}")
        if self.visibility is Visibility.ONE_STEP and self.parameters.iterations != 1:
            raise AuditError(f"one step means iterations=1, got iterations={self.parameters.iterations}")

    @property
    def records(self) -> int:
        """n."""
        return self.first.count

    @property
    def claimed(self) -> Claimed:
        """What is run in the game."""
        mode = Mode(self.algorithm, self.parameters.release)
        return Claimed(mode, self.records, self.first.columns, self.parameters)

    @property
    def about(self) -> About:
        """What its finding is about."""
        return about_game(self.claimed.mode, self.name)

    @property
    def show(self) -> Show:
        """What is asked of the adapter."""
        return Show.EVERY_ITERATE if self.visibility is Visibility.EVERY_ITERATE else Show.LAST

    @property
    def rate(self) -> float:
        """The probability that the differing record takes part in an iteration."""
        return 1.0 if self.parameters.batch is None else self.parameters.batch / self.records


def about_game(mode: Mode, game: str) -> About:
    """What the finding of a game is about; the words of its name become those of an id."""
    return About(re.sub("[^A-Za-z0-9]+", "-", game), str(mode), Stage.GAMES, str(mode))


def curve_of(ledger: Ledger, points: int = 40, *, effort: Effort = "quick") -> PrivacyCurve:
    """Return the certified curve of the *claimed* steps: exact for Gaussian releases, else a table of certified points.

    Deliberately blind to ``ledger.corrected``: where the printed sensitivities are too small, the claim that is
    audited is the printed one. Effort "tight" lets the exact adversary lower the curve where it is proved: less is
    allowed, so an implementation with too little noise is rejected sooner.
    """
    mu_squared = gdp_squared(ledger.steps)
    if mu_squared is not None:
        root = math.sqrt(float_up(mu_squared))
        return GaussianCurve(float(np.nextafter(root, math.inf)))
    if ledger.is_pure:
        pure = [step.epsilon * step.count for step in ledger.steps if isinstance(step, PureStep)]
        return ApproximateCurve(float_up(sum(pure, Fraction(0))))
    claimed = delta_curve(Ledger(ledger.steps), effort=effort)
    last = 1.0
    while claimed.delta_upper([last])[0] > 1e-9 and last < 300.0:
        last *= 1.5
    epsilons = [last * (k / (points - 1)) ** 1.5 for k in range(points)]
    deltas = claimed.delta_upper(epsilons)
    return TableCurve(tuple(epsilons), tuple(deltas), _described(ledger))


def _described(ledger: Ledger) -> str:
    parts = [
        f"{step.count} Gaussian steps at nu={float(step.noise_multiplier):.4g} on batches of rate "
        f"{float(step.sampling_rate):.4g}"
        if isinstance(step, SubsampledGaussianStep)
        else str(step)
        for step in ledger.steps
    ]
    return "; ".join(parts)


# -- the score that an adversary computes of what a run shows: high speaks for the first neighbour --------------------
# It decides only how much an audit sees, never whether its conclusion is sound.


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
        old = INVERTERS[game.algorithm].previous(game.parameters, problem, run)
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
