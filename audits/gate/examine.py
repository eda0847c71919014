"""Draw the conclusions again from the evidence that a gate kept: same data, same tests, the answers of then."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from audits.errors import EvidenceError
from audits.estimators.curve_eprocess import refuted_after
from audits.games.game import curve_of
from audits.games.learned import NAME as LEARNED
from audits.games.learned import judged
from audits.games.plans import COPIES, standard_games
from audits.games.subject import Subject
from audits.gate.claim_file import ClaimFile, read_claim_file
from audits.gate.declared_stage import declared_bench, declared_findings
from audits.gate.deployment import claimed_run
from audits.gate.evidence import Kept, read
from audits.gate.findings import Stage
from audits.gate.options import GateOptions
from audits.trials.sequential import plan_audit
from verification.conformance.check import ALL_MODES
from verification.conformance.context import Context
from verification.conformance.own_updates import EFFORT
from verification.conformance.registry import CHECKS
from verification.conformance.runner import generator as check_generator
from verification.conformance.runner import run_one
from verification.declared.bench import ReplayedBench
from verification.deployment.asking import Clock
from verification.deployment.probe import Answered, answer
from verification.deployment.probe import generator as question_generator
from verification.deployment.questions import QUESTIONS
from verification.outcome import Outcome
from verification.wire.declared_messages import DeclaredStart
from verification.wire.faults import AdapterFault
from verification.wire.messages import StartResult
from verification.wire.session import Session
from verification.wire.tape import NotOnTapeError, PlayedDeclaredSession, PlayedSession, Tape

LEARNING = 1 << 21
"""Where the streams of the learned games begin, among those of a gate's seed."""


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
    stage = kept.finding.partition(":")[0]
    draw: dict[str, Callable[[Kept, ClaimFile], tuple[Outcome, str]]] = {
        "conform": _check,
        "deploy": _question,
        "declared": _declared,
        "audit": _learned if kept.finding.endswith(LEARNED) else _game,
    }
    if stage not in draw:
        raise EvidenceError(f"{path}: nothing can be drawn again for {kept.finding!r}")
    outcome, detail = draw[stage](kept, claims)
    return Examined(path, kept, outcome, detail)


def _check(kept: Kept, _claims: ClaimFile) -> tuple[Outcome, str]:
    name = kept.finding.partition(": ")[2]
    check = next(check for check in CHECKS if check.name == name)
    mode = next(mode for mode in ALL_MODES if str(mode) == kept.subject)

    def drawn(own: bool) -> tuple[Outcome, str]:
        sessions = _sessions(kept)
        rng, effort = check_generator(kept.seed, check, mode), EFFORT if own else 1.0
        context = Context(next(sessions), mode, rng, lambda: next(sessions), effort, kept.seeded, own=own)
        found = run_one(check, context, kept.false_alarm)
        return found.outcome, found.detail

    return _by_either(drawn)


def _by_either(drawn: Callable[[bool], tuple[Outcome, str]]) -> tuple[Outcome, str]:
    """Drawn by the reference's updates; where the requests were others, by the implementation's own."""
    try:
        return drawn(False)
    except NotOnTapeError:
        return drawn(True)


def _question(kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    title, _, name = kept.finding.partition(": ")[2].rpartition(", ")
    question = next(question for question in QUESTIONS if question.name == name)
    mechanism = next(mechanism for mechanism in claims.mechanism if mechanism.title == title)
    claimed = claimed_run(mechanism, claims.deployment, _described(kept))

    def drawn(own: bool) -> tuple[Outcome, str]:
        rng = question_generator(kept.seed, question, claimed)
        context = Context(next(_sessions(kept)), claimed.mode, rng, _nobody, scene_seed=kept.seed, own=own)
        return _judged(kept, answer(question, context, claimed.fitting(), Clock(kept.seconds), 1.0))

    return _by_either(drawn)


def _judged(kept: Kept, found: Answered) -> tuple[Outcome, str]:
    against = [s for s in (found.asked.look.sightings if found.asked else ()) if not s.p_value > kept.false_alarm]
    least = min(against, key=lambda sighting: sighting.p_value, default=None)
    if least is None:
        return Outcome.STANDS, "no test of the kept answers refutes"
    return Outcome.REFUTED, f"{least.name}: {least.detail} (p = {least.p_value:.2g})"


def _declared(kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    if claims.declared is None or not isinstance(kept.description, DeclaredStart):
        raise EvidenceError(f"{kept.finding}: the claim file declares no algorithm")
    options = GateOptions(seed=kept.seed, only=kept.only)
    session = PlayedDeclaredSession(kept.description, next(iter(kept.tapes), Tape()))
    try:
        bench = declared_bench(claims, claims.declared, session, kept.seed, kind=ReplayedBench)
        for finding in declared_findings(claims, bench, options):
            if f"{Stage.DECLARED}: {finding.name}" == kept.finding:
                return finding.outcome, finding.detail
    except AdapterFault as error:
        return Outcome.INCONCLUSIVE, str(error)
    return Outcome.INCONCLUSIVE, "the kept answers do not reach this check"


def _described(kept: Kept) -> StartResult:
    if not isinstance(kept.description, StartResult):
        raise EvidenceError(f"{kept.finding}: what the implementation said of itself is of another kind")
    return kept.description


def _learned(kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    subject = _subject(kept, claims)
    rng = np.random.default_rng([kept.seed, LEARNING, kept.stream])
    found = judged(next(_sessions(kept)), subject, rng, seeded=kept.seeded, alpha=kept.false_alarm)
    return found.outcome, found.detail


def _game(kept: Kept, claims: ClaimFile) -> tuple[Outcome, str]:
    subject = _subject(kept, claims)
    name = kept.finding.partition(", ")[2]
    session = next(_sessions(kept))
    games = (p for copies in COPIES for p in standard_games(session, subject, copies))
    planned = next(p for p in games if p.game.name == name)
    if kept.scores is None:
        raise EvidenceError(f"{kept.finding}: its scores were not kept")
    curve = curve_of(subject.ledger(planned.game.records, planned.game.parameters))
    wanted = claims.gate.power if planned.demanded else None
    plan = plan_audit(
        planned.game,
        curve,
        planned.simulate,
        alpha=kept.false_alarm,
        seed=kept.seed,
        wanted=wanted,
        attack=planned.attack,
    )
    first, second = kept.scores
    after = float(refuted_after(plan.test.log_wealth(curve, first, second), kept.false_alarm))
    if not np.isfinite(after):
        return Outcome.STANDS, "the kept scores do not refute"
    return Outcome.REFUTED, f"the kept scores refute after {int(after)} trial pairs"


def _subject(kept: Kept, claims: ClaimFile) -> Subject:
    subjects = [Subject.of(mechanism) for mechanism in claims.mechanism]
    return next(subject for subject in subjects if str(subject.mode) == kept.subject)


def _sessions(kept: Kept) -> Iterator[Session]:
    return (PlayedSession(_described(kept), tape) for tape in (kept.tapes or [Tape()]))


def _nobody() -> Session:
    raise AssertionError("a question at the claimed size starts no further process")
