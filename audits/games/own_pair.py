"""The game that is played on the user's own neighbours.

They say something about *these* records. The hardest pair attains what is claimed, an ordinary pair less, so that the
game is played beside the standard ones and is not asked for their power.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from accountant.mechanisms.mechanism import BoundedGradients
from accountant.mechanisms.words import Algorithm, Release, Visibility
from audits.curves.privacy_curve import GaussianCurve
from audits.errors import NothingToAudit
from audits.games.attacks import LikelihoodRatio
from audits.games.game import Game, curve_of
from audits.games.plans import BOUND, RHO, TARGET_MU, Planned, sees_every_iterate
from audits.games.subject import Subject
from audits.score_models.stepwise import StepwiseScores
from verification.neighbours.neighbours import OWN, Neighbours
from verification.reading.values import noise_of
from verification.served.stepwise import Stepwise
from verification.served.translate import noise_scales, sensitivities
from verification.wire.messages import Capability
from verification.wire.parameters import Parameters
from verification.wire.records import Records, Run
from verification.wire.session import Session
from verification.wire.simple_parameters import parameters_for

_STEP, _STEPS = 0.5, 3
_RUNS = 100
_PLAYED = (Algorithm.SSADMM, Algorithm.MPADMM, Algorithm.DPSGD)


def least_bound(mechanisms: Iterable[object]) -> float:
    """The least bound on a record's gradient that is claimed: the one at which a pair is looked at."""
    bounded = (each for each in mechanisms if isinstance(each, BoundedGradients))
    return min((float(each.bound) for each in bounded if each.bound is not None), default=BOUND)


def own_pair_game(session: Session, subject: Subject, pair: Neighbours[Records], bound: float = BOUND) -> Planned:
    """Return the game: every record in every batch, three ordinary steps from 0, or one if only the last is shown."""
    if subject.algorithm not in _PLAYED:
        raise NothingToAudit(f"{OWN} is played for {', '.join(_PLAYED)}, not for {subject.algorithm}")
    if subject.algorithm not in session.description.algorithms or not session.can(Capability.TRIALS):
        raise NothingToAudit(f"the implementation offers no trials of {subject.algorithm}")
    every = sees_every_iterate(subject, session)
    eta = [_STEP] * (_STEPS if every else 1)
    unit = _parameters(session, subject, (pair, bound), eta, sigma=1.0)
    moved = float(np.linalg.norm(sensitivities(subject.algorithm, unit, pair.first.count)))
    parameters = _parameters(session, subject, (pair, bound), eta, sigma=moved / TARGET_MU)
    seen = Visibility.EVERY_ITERATE if every else Visibility.ONE_STEP
    game = Game(OWN, subject.algorithm, parameters, pair.first, pair.second, seen, alike=False)
    claim = curve_of(subject.ledger(game.records, parameters))
    claimed = claim.mu if isinstance(claim, GaussianCurve) else TARGET_MU
    shown = session.description.released[subject.algorithm]
    mu = _attained(game, shown)
    if mu == 0.0:
        raise NothingToAudit("the two records have the same gradient after bounding: nothing can tell them apart")
    return Planned(game, StepwiseScores(1.0, (1.0 / mu,)), LikelihoodRatio(), attained=mu / claimed, demanded=False)


def _parameters(
    session: Session, subject: Subject, at: tuple[Neighbours[Records], float], eta: list[float], sigma: float
) -> Parameters:
    pair, bound = at
    return parameters_for(
        session.description,
        subject.algorithm,
        pair.columns,
        eta=eta,
        batch=pair.first.count,
        sigma=sigma,
        bound=bound,
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
