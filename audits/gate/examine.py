"""Draw the conclusions again from the evidence that a gate kept: same data, same tests, the answers of then."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audits.errors import EvidenceError
from audits.games.game import Subject
from audits.games.plans import COPIES, standard_games
from audits.games.sequential import judged_scores, learned_game, plan_audit
from audits.gate.claim_file import ClaimFile, claimed_run, read_claim_file
from audits.gate.declared import declared_implementation, declared_results
from audits.gate.evidence import Kept, read
from audits.gate.options import GateOptions
from verification.judge import Asked, Plan, Traits, ask, finding, in_hand
from verification.outcome import Outcome, Stage
from verification.questions.catalogue import QUESTIONS
from verification.reading.context import ALL_MODES, Clock
from verification.wire import Face
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterFault
from verification.wire.session import Session
from verification.wire.tape import PlayedSession, Tape


@dataclass(frozen=True, slots=True)
class Examined:
    """One finding of then, and what its evidence says now."""

    path: Path
    kept: Kept
    outcome: Outcome
    detail: str

    @property
    def confirmed(self) -> bool:
        """Whether the evidence refutes, as it was said to."""
        return self.outcome is Outcome.REFUTED


def examine(folder: Path) -> list[Examined]:
    """Every file of evidence in a folder."""
    paths = sorted(folder.glob("*.json.gz"))
    if not paths:
        raise EvidenceError(f"{folder} holds no evidence (*.json.gz)")
    return [_examined(path) for path in paths]


def _examined(path: Path) -> Examined:
    kept, claim_text = read(path)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "claim.toml"
        copy.write_text(claim_text, encoding="utf-8")
        claims = read_claim_file(copy)
    draw: dict[Stage, Callable[[Kept, ClaimFile], tuple[Outcome, str]]] = {
        Stage.SMALL: _question,
        Stage.CLAIMED: _question,
        Stage.DECLARED: _declared,
        Stage.GAMES: _learned if kept.scores is None else functools.partial(_game, kept.scores),
    }
    if kept.about.stage not in draw:
        raise EvidenceError(f"{path}: nothing can be concluded again for {str(kept.about)!r}")
    outcome, detail = draw[kept.about.stage](kept, claims)
    return Examined(path, kept, outcome, detail)


def _question(kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    """Ask the same question of the answers that were kept."""
    asked, sessions = _asked(kept, claims), _sessions(kept)
    plan = Plan(kept.false_alarm, math.inf, kept.seed, kept.seeded)
    context = in_hand(next(sessions), asked, plan, kept.traits or Traits(), lambda: next(sessions), seed=kept.seed)
    # the level was that of each test, whatever their number
    result = ask(asked, context, Clock(kept.seconds), kept.false_alarm, level=kept.false_alarm)
    return result.outcome, finding(result).detail


def _asked(kept: Kept, claims: ClaimFile) -> Asked:
    question = next(q for q in QUESTIONS if q.name == kept.about.question)
    if kept.about.stage is Stage.SMALL:
        return Asked(question, next(mode for mode in ALL_MODES if str(mode) == kept.about.subject))
    mechanism = next(mechanism for mechanism in claims.mechanism if mechanism.title == kept.about.mechanism)
    claimed = claimed_run(mechanism, claims.deployment, kept.description)
    return Asked(question, claimed.mode, claimed, mechanism.title)


def _declared(kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    if claims.declared is None:
        raise EvidenceError(f"{kept.about}: the claim file declares no algorithm")
    options = GateOptions(seed=kept.seed, only=kept.only)
    session = PlayedSession(kept.description, next(iter(kept.tapes), Tape()), Face.DECLARED)
    try:
        declared = declared_implementation(claims, claims.declared, session, kept.seed)
        for result in declared_results(claims, declared, options):
            if result.about.question == kept.about.question:
                return result.outcome, finding(result).detail
    except AdapterFault as error:
        return Outcome.INCONCLUSIVE, str(error)
    return Outcome.INCONCLUSIVE, "the kept answers do not reach this check"


def _learned(kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    subject, session = _subject(kept, claims), next(_sessions(kept))
    found = finding(learned_game(session, subject, kept.seed, seeded=kept.seeded, alpha=kept.false_alarm))
    return found.outcome, found.detail


def _game(scores: tuple[Floats, Floats], kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    subject = _subject(kept, claims)
    session = next(_sessions(kept))
    games = (p for copies in COPIES for p in standard_games(session, subject, copies))
    planned = next((p for p in games if p.game.about == kept.about), None)
    if planned is None:
        raise EvidenceError(f"{kept.about}: your own pair of neighbours is not kept; play the game again with its seed")
    plan = plan_audit(planned, subject, alpha=kept.false_alarm, seed=kept.seed, power=claims.gate.power)
    result = judged_scores(plan, *scores)
    return result.outcome, finding(result).detail


def _subject(kept: Kept, claims: ClaimFile) -> Subject:
    subjects = [Subject.of(mechanism) for mechanism in claims.mechanism]
    return next(subject for subject in subjects if str(subject.mode) == kept.about.subject)


def _sessions(kept: Kept) -> Iterator[Session]:
    return (PlayedSession(kept.description, tape) for tape in (kept.tapes or [Tape()]))
