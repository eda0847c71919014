"""Run statements within a time budget, one after the other; what did not run is unknown, never passed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from verification.lemmas.prover import Prover
from verification.lemmas.solvers import solvers
from verification.outcome import Finding, Outcome
from verification.statements.model import Evidence, Statement, Status


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A statement and all that was found about it."""

    statement: Statement
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Stands only if every piece of evidence stands; fails if one fails."""
        outcomes = {finding.outcome for finding in self.findings}
        for outcome in (Outcome.REFUTED, Outcome.INCONCLUSIVE):
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
                return "unknown"
            case _:
                return "BROKEN" if self.statement.status is not Status.REFUTED else "NOT REFUTED"

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
    statements: Iterable[Statement], *, budget: float | None = None, question_seconds: float = 60.0
) -> Iterator[Checked]:
    """Run the evidence of each statement; after the budget is spent the rest is reported as unknown."""
    deadline = None if budget is None else time.monotonic() + budget
    known: dict[str, Finding] = {}  # evidence that several statements share runs once
    with solvers() as pair:
        prover = Prover(pair)
        for statement in statements:
            ran = []
            for evidence in statement.evidence:
                left = None if deadline is None else deadline - time.monotonic()
                prover.limit(question_seconds if left is None else max(0.1, min(question_seconds, left)))
                again = known.get(evidence.name)
                ran.append(_run(evidence, prover, left) if again is None else replace(again, seconds=0.0))
                known[evidence.name] = ran[-1]
            yield Checked(statement, tuple(ran))


def _run(evidence: Evidence, prover: Prover, left: float | None) -> Finding:
    if left is not None and left <= 0:
        return Finding(evidence.name, Outcome.INCONCLUSIVE, "not run: the budget is spent")
    started = time.monotonic()
    found = evidence.run(prover)
    return Finding(
        evidence.name,
        found.outcome,
        found.detail,
        seconds=time.monotonic() - started,
        tightness=found.tightness,
        witness=found.witness,
    )
