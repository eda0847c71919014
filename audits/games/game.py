r"""Who sees what: the games an audit plays against an implementation, and what the claim says about each.

A game is a neighbouring pair, parameters, and what the adversary is shown. An implementation is a function of its
parameters, so it is attacked where a violation shows best (few records, few iterations, noise for about mu = 2;
sigma, C and rho far from 1, where confusions of them are invisible), and not at the deployed size. The claim about
each game is the ledger of *its* parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from accountant import Ledger, PureStep, SubsampledGaussianStep, delta_curve, float_up
from accountant.mechanisms.ledger import gdp_squared
from accountant.mechanisms.words import Visibility
from accountant.pricing import Effort
from audits.curves.privacy_curve import ApproximateCurve, GaussianCurve, PrivacyCurve
from audits.curves.table import TableCurve
from audits.errors import AuditError
from verification.reading.context import Claimed, Mode
from verification.wire.messages import Show
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """One question: whether two neighbours can be told apart better than the claimed curve allows.

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
    def show(self) -> Show:
        """What is asked of the adapter."""
        return Show.EVERY_ITERATE if self.visibility is Visibility.EVERY_ITERATE else Show.LAST

    @property
    def rate(self) -> float:
        """The probability that the differing record takes part in an iteration."""
        return 1.0 if self.parameters.batch is None else self.parameters.batch / self.records


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
