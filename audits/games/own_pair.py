"""The user's own neighbours: two data sets that differ in one record, and the game that is played on them.

They say something about *these* records. The hardest pair attains what is claimed, an ordinary pair less, so that the
game is played beside the standard ones and is not asked for their power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm, Release, Visibility
from audits.curves.privacy_curve import GaussianCurve
from audits.errors import AuditError, NothingToAudit
from audits.games.attacks import LikelihoodRatio
from audits.games.game import Game, curve_of
from audits.games.plans import BOUND, RHO, TARGET_MU, Planned, sees_every_iterate
from audits.games.subject import Subject
from audits.score_models.stepwise import StepwiseScores
from verification.conformance.observe import noise_of
from verification.served.stepwise import Stepwise
from verification.served.translate import noise_scales, sensitivities
from verification.wire.messages import Capability
from verification.wire.parameters import Parameters
from verification.wire.records import Records, Run
from verification.wire.session import Session
from verification.wire.simple_parameters import parameters_for

NAME = "your own pair"
_STEP, _STEPS = 0.5, 3
_RUNS = 100
_PLAYED = (Algorithm.SSADMM, Algorithm.MPADMM, Algorithm.DPSGD)


@dataclass(frozen=True, slots=True, eq=False)
class OwnPair:
    """Neighbours that differ in record 0, and the bound on a record's gradient at which they are looked at."""

    first: Records
    second: Records
    bound: float = BOUND


def own_pair(first: Records, second: Records, bound: float = BOUND) -> OwnPair:
    """Return the pair with the differing record first; refuse what is no pair of neighbours, with the reason."""
    if first.features.shape != second.features.shape:
        raise AuditError(
            f"neighbours must have equally many records and features, got {first.features.shape} and "
            f"{second.features.shape}; replacing a record leaves their number as it is"
        )
    differ = np.flatnonzero(np.any(first.features != second.features, axis=1) | (first.labels != second.labels))
    if differ.size != 1:
        some = ", ".join(str(row + 1) for row in differ[:5]) + (", ..." if differ.size > 5 else "")
        where = f" (records {some})" if differ.size else ""
        raise AuditError(
            f"neighbours must differ in exactly one record, they differ in {differ.size}{where}; records are compared "
            "in the order of the files"
        )
    return OwnPair(_moved_to_front(first, int(differ[0])), _moved_to_front(second, int(differ[0])), bound)


def _moved_to_front(records: Records, row: int) -> Records:
    order = np.concatenate([[row], np.delete(np.arange(records.count), row)])
    return Records(records.features[order], records.labels[order])


def own_pair_game(session: Session, subject: Subject, pair: OwnPair) -> Planned:
    """Return the game: every record in every batch, three ordinary steps from 0, or one if only the last is shown."""
    if subject.algorithm not in _PLAYED:
        raise NothingToAudit(f"{NAME} is played for {', '.join(_PLAYED)}, not for {subject.algorithm}")
    if subject.algorithm not in session.description.algorithms or not session.can(Capability.TRIALS):
        raise NothingToAudit(f"the implementation offers no trials of {subject.algorithm}")
    every = sees_every_iterate(subject, session)
    eta = [_STEP] * (_STEPS if every else 1)
    unit = _parameters(session, subject, pair, eta, sigma=1.0)
    moved = float(np.linalg.norm(sensitivities(subject.algorithm, unit, pair.first.count)))
    parameters = _parameters(session, subject, pair, eta, sigma=moved / TARGET_MU)
    seen = Visibility.EVERY_ITERATE if every else Visibility.ONE_STEP
    game = Game(NAME, subject.algorithm, parameters, pair.first, pair.second, seen, alike=False)
    claim = curve_of(subject.ledger(game.records, parameters))
    claimed = claim.mu if isinstance(claim, GaussianCurve) else TARGET_MU
    shown = session.description.released[subject.algorithm]
    mu = _attained(game, shown)
    if mu == 0.0:
        raise NothingToAudit("the two records have the same gradient after bounding: nothing can tell them apart")
    return Planned(game, StepwiseScores(1.0, (1.0 / mu,)), LikelihoodRatio(), attained=mu / claimed, demanded=False)


def _parameters(session: Session, subject: Subject, pair: OwnPair, eta: list[float], sigma: float) -> Parameters:
    return parameters_for(
        session.description,
        subject.algorithm,
        pair.first.columns,
        eta=eta,
        batch=pair.first.count,
        sigma=sigma,
        bound=pair.bound,
        rho=RHO,
        release=subject.release or Release.ALL,
    )


def _attained(game: Game, shown: list[str]) -> float:
    """How far apart the pair is in runs of the reference, as a mu: the root of the mean of sum |D_k|^2/sigma_k^2."""
    values = Stepwise().trials(game.first, game.algorithm, game.parameters, _RUNS, 0)
    run = Run({name: array for name, array in values.items() if name in shown})
    scales = noise_scales(game.algorithm, game.parameters, game.records)
    near, far = (noise_of(game.algorithm, side, game.parameters, run) for side in (game.first, game.second))
    apart = [((near[name] - far[name]) ** 2).sum(axis=2) / scales[name] ** 2 for name in near]
    return math.sqrt(float(sum(part.sum(axis=1).mean() for part in apart)))
