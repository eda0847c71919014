"""Run claims within a time budget, one after the other; what did not run is unknown, never passed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from verification.lemmas.prover import Prover
from verification.lemmas.solvers import solvers
from verification.statements.model import Claim, Evidence, Finding, Outcome, Status


@dataclass(frozen=True, slots=True, eq=False)
class Ran:
    """One piece of evidence, what it found, and how long it took."""

    evidence: Evidence
    finding: Finding
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A claim and all that was found about it."""

    claim: Claim
    ran: tuple[Ran, ...]

    @property
    def outcome(self) -> Outcome:
        """Stands only if every piece of evidence stands; fails if one fails."""
        outcomes = {entry.finding.outcome for entry in self.ran}
        for outcome in (Outcome.FAILS, Outcome.UNKNOWN):
            if outcome in outcomes:
                return outcome
        return Outcome.STANDS

    @property
    def status(self) -> str:
        """The claim's status where it was confirmed, else what stands in its way."""
        match self.outcome:
            case Outcome.STANDS:
                return self.claim.status.value
            case Outcome.UNKNOWN:
                return "unknown"
            case Outcome.FAILS:
                return "BROKEN" if self.claim.status is not Status.REFUTED else "NOT REFUTED"

    @property
    def seconds(self) -> float:
        """The time that all evidence took."""
        return sum(entry.seconds for entry in self.ran)

    @property
    def tightness(self) -> float | None:
        """The largest share of a bound that was reached, where evidence measured one."""
        reached = [entry.finding.tightness for entry in self.ran if entry.finding.tightness is not None]
        return max(reached, default=None)


def check(claims: Iterable[Claim], *, budget: float | None = None, question_seconds: float = 60.0) -> Iterator[Checked]:
    """Run the evidence of each claim; after the budget is spent the rest is reported as unknown."""
    deadline = None if budget is None else time.monotonic() + budget
    known: dict[str, Ran] = {}  # evidence that several claims share runs once
    with solvers() as pair:
        prover = Prover(pair)
        for claim in claims:
            ran = []
            for evidence in claim.evidence:
                left = None if deadline is None else deadline - time.monotonic()
                prover.limit(question_seconds if left is None else max(0.1, min(question_seconds, left)))
                again = known.get(evidence.name)
                ran.append(_run(evidence, prover, left) if again is None else replace(again, seconds=0.0))
                known[evidence.name] = ran[-1]
            yield Checked(claim, tuple(ran))


def _run(evidence: Evidence, prover: Prover, left: float | None) -> Ran:
    if left is not None and left <= 0:
        return Ran(evidence, Finding(Outcome.UNKNOWN, "not run: the budget is spent"), 0.0)
    started = time.monotonic()
    finding = evidence.run(prover)
    return Ran(evidence, finding, time.monotonic() - started)
