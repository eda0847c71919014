r"""Games that presume nothing about the implementation: several kinds of other records, and a score that is learned.

For each kind of neighbours half of the runs teach a score (of every released value and its square, so that a value that
only gets louder counts as well) and choose an event S of it and an epsilon; on the other half the claim
P(S) <= e^eps P'(S) + delta(eps) is tested. Counts on both sides are independent binomials, so the probability of as
many and as few is at most the largest product of two binomial tails over all P'(S): a proved level, whatever was
learned.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from accountant.mechanisms.words import Algorithm, Release
from audits.curves.privacy_curve import PrivacyCurve
from audits.errors import NothingToAudit
from audits.games.attacks import learn
from audits.games.game import curve_of
from audits.games.plans import BOUND, COPIES, RHO, sees_every_iterate
from audits.games.subject import Subject
from verification.outcome import Finding, Outcome, Stage
from verification.picture import Draw
from verification.pictures import scores
from verification.reading.context import Mode
from verification.served.translate import sensitivities
from verification.statistics.test import Cause
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.hidden_pair import HiddenPair
from verification.wire.messages import Capability, Show
from verification.wire.parameters import Parameters
from verification.wire.records import Records, Run
from verification.wire.schemes import NON_PRIVATE, SCHEMES, Law
from verification.wire.session import Session
from verification.wire.simple_parameters import parameters_for

Counts = NDArray[np.int64]
NAME = "learned-scores"
SCORES = "One score for each run. The further the curves lie apart, the better an adversary can tell the two data sets."
RUNS = 800
_MU = 0.5
_DIMENSION = 3
_THRESHOLDS = np.linspace(0.02, 0.98, 25)
_EPSILONS = np.linspace(0.0, 4.0, 9)
_AWAY = np.linspace(-1.0, 14.0, 31)
_GRID = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 600)])


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """How well one kind of neighbours was told apart: a tail probability under the claim."""

    kind: str
    p_value: float
    detail: str
    draw: Draw


def neighbours(length: float, copies: int = 1) -> Iterator[tuple[str, Records, Records]]:
    """Pairs that differ in record 0; the others aligned with one of the two, opposed, orthogonal, mixed, or short."""
    e1, e2, e3 = length * np.eye(_DIMENSION)
    others = {
        "aligned": [-e1, -e1, -e1],
        "opposed": [e1, e1, e1],
        "orthogonal": [e2, e2, e2],
        "mixed": [e1, -e1, e2],
        "of ordinary length": [0.1 * e1, 0.1 * e2, -0.1 * e3],
    }
    for kind, rest in others.items():
        yield kind, _records([e1, *rest * copies]), _records([-e1, *rest * copies])
    rest = [e2, -e1, e3] * copies
    yield "beside an empty record", _records([e1, *rest]), _records([np.zeros(_DIMENSION), *rest])
    yield "of another label", _records([e1, *rest], odd_label=-1), _records([0.1 * e1, *rest])


def _records(rows: list[Floats], odd_label: int = 1) -> Records:
    return Records(np.array(rows), np.array([odd_label, *[1] * (len(rows) - 1)], dtype=np.int64))


def game_id(mode: Mode, game: str) -> str:
    """What the finding of a game is called."""
    return f"{re.sub('[^A-Za-z0-9]+', '-', game)}/{mode}/{Stage.GAMES}"


def judged(session: Session, subject: Subject, rng: np.random.Generator, *, seeded: bool, alpha: float) -> Finding:
    """Play, and judge at this false-alarm probability; a finding under the name of the game."""
    name = game_id(subject.mode, NAME)
    try:
        told = play(session, subject, rng, seeded=seeded)
    except NothingToAudit as reason:
        return Finding(name, Outcome.SKIPPED, str(reason), str(subject.mode), stage=Stage.GAMES)
    except RefusedRequest as refused:
        return Finding(name, Outcome.INCONCLUSIVE, refused.reason, str(subject.mode), stage=Stage.GAMES)
    least = min(told, key=lambda each: each.p_value)
    p_value = min(1.0, least.p_value * len(told))
    outcome = Outcome.STANDS if p_value > alpha else Outcome.REFUTED
    text = f"{least.detail}; least likely of {len(told)} kinds of neighbours, p = {p_value:.2g}"
    runs = 2 * RUNS * len(told)
    return Finding(
        name,
        outcome,
        text,
        str(subject.mode),
        p_value=p_value,
        false_alarm=alpha,
        trials=runs,
        stage=Stage.GAMES,
        cause=Cause.DISTINGUISHED if outcome is Outcome.REFUTED else None,
        picture=least.draw() if outcome is Outcome.REFUTED else None,
    )


def play(session: Session, subject: Subject, rng: np.random.Generator, *, seeded: bool) -> list[Told]:
    """Play every kind; raises if the implementation offers no runs of the algorithm."""
    if subject.algorithm not in session.description.algorithms or not session.can(Capability.TRIALS):
        raise NothingToAudit(f"the implementation offers no trials of {subject.algorithm}")
    if subject.algorithm in NON_PRIVATE or (subject.release is Release.PRIMAL and not session.can(Capability.PRIMAL)):
        raise NothingToAudit(f"{subject.mode} is not offered, or claims nothing")
    for copies in COPIES[:-1]:
        with contextlib.suppress(RefusedRequest):
            return _played(session, subject, rng, copies, seeded=seeded)
    return _played(session, subject, rng, COPIES[-1], seeded=seeded)


def _played(session: Session, subject: Subject, rng: np.random.Generator, copies: int, *, seeded: bool) -> list[Told]:
    """Play every kind among so many copies of the other records."""
    count = 1 + 3 * copies
    parameters = _parameters(session, subject, count)
    curve = curve_of(subject.ledger(count, parameters))
    show = Show.EVERY_ITERATE if sees_every_iterate(subject, session) else Show.LAST
    told = []
    for kind, first, second in neighbours(8.0 * BOUND, copies):
        pair = HiddenPair(session, first, second, rng)
        runs = pair.trials(subject.algorithm, parameters, RUNS, show=show, seeded=seeded)
        told.append(_told_apart(kind, runs, curve))
    return told


def _parameters(session: Session, subject: Subject, count: int) -> Parameters:
    steps = 2 if sees_every_iterate(subject, session) else 1
    scheme = SCHEMES[subject.algorithm]

    def with_sigma(sigma: float) -> Parameters:
        return parameters_for(
            session.description,
            subject.algorithm,
            _DIMENSION,
            eta=[0.5] * steps,
            batch=count,
            sigma=sigma,
            bound=BOUND,
            rho=RHO,
            release=subject.release or Release.ALL,
            epsilon=_MU,
        )

    if scheme.law is not Law.GAUSSIAN:
        return with_sigma(1.0)
    unit = with_sigma(1.0)
    moved = float(np.linalg.norm(sensitivities(subject.algorithm, unit, count)))
    if subject.algorithm is Algorithm.DPSVRG:
        moved *= math.sqrt(2.0)
    return with_sigma(moved / _MU)


def _told_apart(kind: str, runs: tuple[Run, Run], curve: PrivacyCurve) -> Told:
    half = RUNS // 2
    train = [Run({name: array[:half] for name, array in run.values.items()}) for run in runs]
    test = [Run({name: array[half:] for name, array in run.values.items()}) for run in runs]
    score = learn(train[0], train[1])
    a, b = (score.of(run) for run in train)
    best = (math.inf, 0.0, 0.0, 1.0)
    for sign in (1.0, -1.0):
        near, far = (sign * a, sign * b) if sign > 0 else (sign * b, sign * a)
        thresholds = np.quantile(np.concatenate([near, far]), _THRESHOLDS)
        hits, misses = (np.sum(side > thresholds[:, None], axis=1) for side in (near, far))
        for epsilon in _EPSILONS:
            values = promise(hits, misses, half, float(epsilon), curve)
            i = int(np.argmin(values))
            if values[i] < best[0]:
                best = (float(values[i]), float(thresholds[i]), float(epsilon), sign)
    _, threshold, epsilon, sign = best
    a, b = (sign * score.of(run) for run in test)
    near, far = (a, b) if sign > 0 else (b, a)
    came, came_there = int(np.sum(near > threshold)), int(np.sum(far > threshold))
    p_value = tail(came, came_there, half, epsilon, curve)
    detail = f"others {kind}: an event of everything released came {came} and {came_there} times in {half} runs"
    detail += f", at eps = {epsilon:g} of the claim"
    return Told(kind, p_value, detail, lambda: scores(f"others {kind}", a, b, SCORES))


def promise(hits: Counts, misses: Counts, runs: int, epsilon: float, curve: PrivacyCurve) -> Floats:
    """About what :func:`tail` is, for many events at once: only to choose one of them, on runs that do not test it."""
    delta = float(curve.delta(np.array([epsilon]))[0])
    share = (misses[:, None] + 0.5) / (runs + 1)
    there = np.clip(share + np.sqrt(share * (1 - share) / runs) * _AWAY, 0.0, 1.0)
    allowed = np.minimum(1.0, math.exp(epsilon) * there + delta)
    above = special.bdtrc(hits[:, None] - 1, runs, allowed)
    below = special.bdtr(misses[:, None], runs, there)
    return np.asarray(np.max(np.where(hits[:, None] > 0, above, 1.0) * below, axis=1), dtype=np.float64)


def tail(hits: int, misses: int, runs: int, epsilon: float, curve: PrivacyCurve) -> float:
    """P(at least so many hits and at most so many misses) at most, over all P'(S) that the claim allows with P(S)."""
    delta = float(curve.delta(np.array([epsilon]))[0])
    allowed = np.minimum(1.0, math.exp(epsilon) * _GRID + delta)
    # in each interval the one tail grows and the other falls: the ends bound the product from above
    above = special.betainc(hits, runs - hits + 1, allowed[1:]) if hits else np.ones(allowed.size - 1)
    below = special.betaincc(misses + 1, runs - misses, _GRID[:-1]) if misses < runs else np.ones(_GRID.size - 1)
    return min(1.0, float(np.max(above * below)))
