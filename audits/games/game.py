"""Who sees what: the games an audit plays against an implementation, and what the claim says about each.

A game is a neighbouring pair, parameters, and what the adversary is shown. An implementation is a function of its
parameters, so it is attacked where a violation shows best (few records, few iterations, noise for about mu = 2;
sigma, C and rho far from 1, where confusions of them are invisible), and not at the deployed size. The claim about
each game is the ledger of *its* parameters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from accountant import Ledger, Mechanism, PureStep, SubsampledGaussianStep, delta_curve, float_up
from accountant.mechanisms.batches import NoisyBatches
from accountant.mechanisms.full_gradients import MpADMM
from accountant.mechanisms.ledger import gdp_squared
from accountant.mechanisms.mechanism import TrainingMechanism
from accountant.mechanisms.words import Algorithm, Release, Sampling, Sensitivity, Visibility
from accountant.pricing import Effort
from audits.curves import ApproximateCurve, GaussianCurve, PrivacyCurve, TableCurve
from audits.errors import AuditError
from verification.outcome import About, Stage
from verification.reading.context import Claimed, Mode
from verification.wire.messages import Show
from verification.wire.parameters import Parameters, mechanism_of
from verification.wire.records import Records


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
