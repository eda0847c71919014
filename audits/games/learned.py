r"""A game that presumes nothing about the implementation: the audit of a black box, of an algorithm of the paper.

The pairs are those at which unknown code tends to leak, the scores are learned, and the bets are made on fresh runs
(`audits/black_box`). What is known here is the claim: the whole curve of the mechanism at a few records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm, Release
from audits.black_box.audit import BlackBoxPlan, audit
from audits.errors import NothingToAudit
from audits.games.game import Subject, about_game, curve_of
from audits.games.plans import BOUND, COPIES, RHO, sees_every_iterate
from verification.judge import Result
from verification.neighbours.families import Domain, library
from verification.neighbours.neighbours import Neighbours
from verification.outcome import Outcome
from verification.served.translate import sensitivities
from verification.wire.messages import Capability, Show, parameters_for
from verification.wire.parameters import NON_PRIVATE, SCHEMES, Law, Parameters
from verification.wire.session import HiddenPair, Session, Values

NAME = "learned-scores"
EXPLORED, CONFIRMED = 400, 1000
"""Runs of each neighbour: of every pair to learn from, and of the chosen pairs to bet on."""
_MU = 0.5
_DIMENSION = 3
_OTHERS = 3


@dataclass(frozen=True, slots=True)
class SessionRuns:
    """Runs of an algorithm of the protocol, from one session."""

    session: Session
    algorithm: Algorithm
    parameters: Parameters
    show: Show
    seeded: bool
    workers: int = 1

    def runs(self, pair: Neighbours, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour; nothing tells the implementation which is which."""
        hidden = HiddenPair(self.session, pair.first, pair.second, rng)
        both = hidden.trials(self.algorithm, self.parameters, count, show=self.show, seeded=self.seeded)
        return dict(both[0].values), dict(both[1].values)


def learned_game(session: Session, subject: Subject, seed: int, *, seeded: bool, alpha: float) -> Result:
    """Play at this false-alarm probability, on more records where few are refused; skipped where nothing is offered."""
    about = about_game(subject.mode, NAME)
    if subject.algorithm not in session.description.algorithms or not session.can(Capability.TRIALS):
        reason = f"the implementation offers no trials of {subject.algorithm}"
        return Result(about, Outcome.SKIPPED, reason=reason)
    if subject.algorithm in NON_PRIVATE or (subject.release is Release.PRIMAL and not session.can(Capability.PRIMAL)):
        return Result(about, Outcome.SKIPPED, reason=f"{subject.mode} is not offered, or claims nothing")
    refused = ""
    for copies in COPIES:
        records = 1 + _OTHERS * copies
        parameters = _parameters(session, subject, records)
        show = Show.EVERY_ITERATE if sees_every_iterate(subject, session) else Show.LAST
        source = SessionRuns(session, subject.algorithm, parameters, show, seeded)
        plan = BlackBoxPlan(
            curve_of(subject.ledger(records, parameters)),
            0.0,
            0.0,
            false_alarm=alpha,
            bound=False,
            explore=EXPLORED,
            confirm=CONFIRMED,
            seconds=math.inf,
            trees=0,
            seed=seed,
        )
        try:
            return audit(source, library(Domain(records, _DIMENSION, 8.0 * BOUND)), plan, about=about).judged
        except NothingToAudit as reason:
            refused = str(reason)
    return Result(about, Outcome.INCONCLUSIVE, reason=refused)


def _parameters(session: Session, subject: Subject, count: int) -> Parameters:
    steps = 2 if sees_every_iterate(subject, session) else 1

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

    unit = with_sigma(1.0)
    if SCHEMES[subject.algorithm].law is not Law.GAUSSIAN:
        return unit
    moved = float(np.linalg.norm(sensitivities(subject.algorithm, unit, count)))
    if subject.algorithm is Algorithm.DPSVRG:
        moved *= math.sqrt(2.0)
    return with_sigma(moved / _MU)
