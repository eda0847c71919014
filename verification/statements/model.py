"""What a statement is, what evidence is, how both are run within a budget, and evidence by the two solvers."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import z3

from verification.outcome import About, Finding, Outcome
from verification.smt.obligation import Obligation, script
from verification.smt.prover import ProofStatus, Prover
from verification.smt.solvers import SolverAnswer, solvers
from verification.smt.updates import coordinatewise_maps, is_coordinatewise


class Status(enum.Enum):
    """What is known about a statement."""

    PROVED = "proved"  # for all values, by two SMT solvers or by Coq
    ENCLOSED = "enclosed"  # at finitely many points, with no rounding left to doubt; parts may be proved
    ATTACKED = "attacked"  # so many times, without success; parts may be proved or enclosed
    REFUTED = "refuted"  # by a witness that the reference reproduces


class Kind(enum.Enum):
    """How a piece of evidence works."""

    SMT = "smt"  # obligations discharged by z3 and cvc5
    COQ = "coq"  # theorems checked by Coq, for every dimension, every convex regularizer, every number of steps
    ENCLOSURE = "enclosure"  # ball or rational arithmetic at finitely many points
    ATTACK = "attack"  # a search for the worst case, which must reach the bound and not exceed it
    WITNESS = "witness"  # a concrete counterexample, reproduced by the reference


COUNTED = {Kind.ENCLOSURE: "points", Kind.ATTACK: "attempts"}
"""Evidence short of a proof says at how many points it looked."""
NEEDED = {
    Status.PROVED: frozenset({Kind.SMT, Kind.COQ}),
    Status.ENCLOSED: frozenset({Kind.ENCLOSURE}),
    Status.ATTACKED: frozenset({Kind.ATTACK}),
    Status.REFUTED: frozenset({Kind.WITNESS}),
}


@dataclass(frozen=True, slots=True)
class EvidenceResult:
    """The outcome, in one line of words; ``size`` is how many points were looked at or how many attempts were made.

    ``tightness`` is the largest observed value over its bound.
    """

    outcome: Outcome
    detail: str
    size: int = 0
    tightness: float | None = None
    witness: str = ""

    @classmethod
    def check(
        cls, holds: bool, detail: str, *, size: int = 0, tightness: float | None = None, witness: str = ""
    ) -> EvidenceResult:
        """Stands or fails."""
        return cls(Outcome.STANDS if holds else Outcome.REFUTED, detail, size, tightness, witness)


Run = Callable[[Prover], EvidenceResult]
COQ_SECONDS = 600.0
"""With less of a budget left Coq, which cannot be interrupted, is not begun; it takes a part of this on two cores."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Something that can be run; ``obligations`` are what a proof by solvers discharges, for the documents."""

    name: str
    kind: Kind
    run: Run
    obligations: Callable[[], list[Obligation]] | None = None


def without_solvers(name: str, kind: Kind) -> Callable[[Callable[[], EvidenceResult]], Evidence]:
    """The function as evidence; it asks no solver."""
    return lambda look: Evidence(name, kind, lambda _: look())


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement with its place in the paper, its status, and the evidence for that status.

    For an erratum ``statement`` is what the paper says, and ``truth`` what is right instead.
    """

    id: str
    statement: str
    place: str
    status: Status
    evidence: tuple[Evidence, ...]
    truth: str = ""
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.status is Status.REFUTED and not self.truth:
            raise ValueError(f"statement {self.id} is refuted but does not say what is right instead")

    def supported(self) -> Statement:
        """The statement itself; refuses one whose status its evidence cannot support."""
        if not self.evidence:
            raise ValueError(f"statement {self.id} has no evidence: a statement that nothing checks is no statement")
        needed = NEEDED[self.status]
        if not {evidence.kind for evidence in self.evidence} & needed:
            wanted = " or ".join(sorted(kind.value for kind in needed))
            raise ValueError(f"statement {self.id} is said to be {self.status.value}, which needs a {wanted}")
        return self

    @property
    def is_erratum(self) -> bool:
        """Whether it is one of the numbered errata."""
        return self.id[0] == "E" and self.id[1:].isdigit()


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A statement and all that was found about it; ``sizes`` are the points or attempts of each piece of evidence."""

    statement: Statement
    findings: tuple[Finding, ...]
    sizes: tuple[int, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Stands only if every piece of evidence stands; fails if one fails."""
        outcomes = {finding.outcome for finding in self.findings}
        for outcome in (Outcome.FAULT, Outcome.REFUTED, Outcome.INCONCLUSIVE):
            if outcome in outcomes:
                return outcome
        return Outcome.STANDS

    @property
    def status(self) -> str:
        """The status where it was confirmed, else what stands in its way."""
        match self.outcome:
            case Outcome.STANDS:
                return self.statement.status.value
            case Outcome.INCONCLUSIVE:
                return "undecided"
            case Outcome.FAULT:
                return "FAULT"
        return "BROKEN" if self.statement.status is not Status.REFUTED else "NOT REFUTED"

    @property
    def size(self) -> str:
        """How much was looked at by the evidence that the status rests on: "48 points", "170 attempts"."""
        if self.outcome is not Outcome.STANDS or self.statement.status not in (Status.ENCLOSED, Status.ATTACKED):
            return ""
        [kind] = NEEDED[self.statement.status]
        pairs = zip(self.statement.evidence, self.sizes, strict=True)
        return f"{sum(size for evidence, size in pairs if evidence.kind is kind)} {COUNTED[kind]}"

    @property
    def seconds(self) -> float:
        """The time that all evidence took."""
        return sum(finding.seconds for finding in self.findings)

    @property
    def tightness(self) -> float | None:
        """The largest share of a bound that was reached, where evidence measured one."""
        reached = [finding.tightness for finding in self.findings if finding.tightness is not None]
        return max(reached, default=None)


def check(
    statements: Iterable[Statement],
    *,
    budget: float | None = None,
    question_seconds: float = 60.0,
    progress: Callable[[Statement, Evidence], None] | None = None,
) -> Iterator[Checked]:
    """Run the evidence of each statement; after the budget is spent the rest is reported as undecided."""
    deadline, compiled = None if budget is None else time.monotonic() + budget, False
    known: dict[str, tuple[Finding, int]] = {}  # evidence that several statements share runs once
    with solvers() as pair:
        prover = Prover(pair)
        prover.deadline = deadline
        for statement in statements:
            ran: list[tuple[Finding, int]] = []
            for evidence in statement.evidence:
                left = None if deadline is None else deadline - time.monotonic()
                prover.limit(question_seconds if left is None else max(0.1, min(question_seconds, left)))
                if progress is not None:
                    progress(statement, evidence)
                again = known.get(evidence.name)
                if again is None:
                    by_coq = evidence.kind is Kind.COQ
                    ran.append(_run(evidence, prover, left, COQ_SECONDS if by_coq and not compiled else 0.0))
                    compiled |= by_coq and ran[-1][0].outcome is not Outcome.INCONCLUSIVE
                else:
                    ran.append((replace(again[0], seconds=0.0), again[1]))
                known[evidence.name] = ran[-1]
            yield Checked(statement, tuple(finding for finding, _ in ran), tuple(size for _, size in ran))


def _run(evidence: Evidence, prover: Prover, left: float | None, needs: float) -> tuple[Finding, int]:
    if left is not None and left <= needs:
        short = f"not run: Coq takes up to {needs:g} s, the budget has {left:.0f} s left"
        return Finding(
            About(evidence.name), Outcome.INCONCLUSIVE, short if left > 0 else "not run: the budget is spent"
        ), 0
    started = time.monotonic()
    try:
        found = evidence.run(prover)
    except Exception as error:
        found = EvidenceResult(Outcome.FAULT, f"{type(error).__name__}: {error}")
    if found.outcome is Outcome.STANDS and evidence.kind in COUNTED and not found.size:
        found = EvidenceResult(Outcome.FAULT, "does not say at how many points it looked")
    finding = Finding(
        About(evidence.name),
        found.outcome,
        found.detail,
        seconds=time.monotonic() - started,
        tightness=found.tightness,
        witness=found.witness,
    )
    return finding, found.size


# -- evidence by the two solvers ----------------------------------------------------------------------------------

Obligations = Callable[[], list[Obligation]]
Model = dict[str, Fraction]
LENGTHS = (1, 2, 3, 4)


def proved(*groups: Obligations) -> Evidence:
    """Every obligation of the groups, by both solvers, each with its sharper twin refuted."""

    def obligations() -> list[Obligation]:
        return [obligation for group in groups for obligation in group()]

    def run(prover: Prover) -> EvidenceResult:
        proofs = [prover.prove(obligation) for obligation in obligations()]
        for verdict, outcome in ((ProofStatus.REFUTED, Outcome.REFUTED), (ProofStatus.UNKNOWN, Outcome.INCONCLUSIVE)):
            bad = [entry for entry in proofs if entry.verdict is verdict]
            if bad:
                return EvidenceResult(outcome, "; ".join(f"{entry.name}: {entry.detail}" for entry in bad))
        asked = sum(entry.queries for entry in proofs)
        return EvidenceResult(Outcome.STANDS, f"{len(proofs)} obligations, {asked} questions, z3 and cvc5 agree")

    return Evidence(_name(*groups), Kind.SMT, run, obligations)


def _name(*groups: Obligations) -> str:
    return ", ".join(f"{group.__module__.rpartition('.')[2]}.{group.__name__}" for group in groups)


@without_solvers("reduction to coordinates", Kind.ENCLOSURE)
def coordinatewise() -> EvidenceResult:
    """Every map that is proved for one coordinate works coordinate by coordinate."""
    maps = coordinatewise_maps()
    mixed = [
        f"{name} at length {length}"
        for name, function, arguments in maps
        for length in LENGTHS
        if not is_coordinatewise(function, arguments, length)
    ]
    detail = f"{len(maps)} maps at lengths {LENGTHS[0]} to {LENGTHS[-1]}" if not mixed else ", ".join(mixed)
    return EvidenceResult.check(not mixed, detail, size=len(maps) * len(LENGTHS))


def counterexample(prover: Prover, hypotheses: tuple[z3.BoolRef, ...], statement: z3.BoolRef) -> Model | EvidenceResult:
    """Values under which the statement fails, invented by the solver; a finding where there are none."""
    reply = prover.ask_for_model(script((*hypotheses, z3.Not(statement))))
    match reply.answer:
        case SolverAnswer.SATISFIABLE:
            return reply.model
        case SolverAnswer.UNSATISFIABLE:
            return EvidenceResult(Outcome.REFUTED, "the statement was to be refuted, but holds")
        case SolverAnswer.UNKNOWN:
            return EvidenceResult(Outcome.INCONCLUSIVE, "no counterexample was found in time")
