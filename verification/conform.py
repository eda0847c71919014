"""The questions at a few records alone: whether an implementation does what its privacy proof assumes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verification.judge import Asked, Plan, Result, finding, judge, modes_of
from verification.outcome import Finding, Outcome, worst
from verification.questions.catalogue import at
from verification.questions.question import Question, Size
from verification.wire.faults import AdapterError, RefusedRequest
from verification.wire.messages import StartResult
from verification.wire.process import Limits
from verification.wire.session import Session
from verification.wire.smoke import smoke_session

FALSE_ALARM = 1e-3
_PROCESSES = 2


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """Every finding, and what they come to."""

    description: StartResult | None
    findings: tuple[Finding, ...]
    false_alarm: float
    seed: int
    seconds: float
    fault: AdapterError | None = None

    @property
    def outcome(self) -> Outcome:
        """The worst finding; a fault of the adapter only where nothing is refuted."""
        outcomes = [found.outcome for found in self.findings]
        return worst([*outcomes, Outcome.ADAPTER_FAILED] if self.fault is not None else outcomes)


def everything(description: StartResult, questions: Sequence[Question] | None = None) -> list[Asked]:
    """Every question at a few records about every mode that an implementation offers."""
    chosen = at(Size.SMALL) if questions is None else questions
    return [Asked(q, mode) for q in chosen for mode in modes_of(description) if mode in q.modes]


def conform(
    command: Sequence[str],
    plan: Plan | None = None,
    limits: Limits | None = None,
    *,
    questions: Sequence[Question] | None = None,
    progress: Callable[[Result], None] = lambda _: None,
) -> ConformanceReport:
    """Smoke-test an adapter and ask it; a fault ends the run and is part of the report."""
    plan = plan or Plan(FALSE_ALARM, float("inf"), 0)
    began = time.monotonic()
    results: list[Result] = []
    description, fault = None, None

    def keep(result: Result) -> None:
        results.append(result)
        progress(result)

    try:
        with contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(Session(command, limits, described=False)) for _ in range(_PROCESSES)]
            for session in sessions:
                session.describe()
            description = sessions[0].description
            # what refuses the small sizes of the smoke test is judged by what it does run
            with contextlib.suppress(RefusedRequest):
                for _ in smoke_session(sessions[0]):
                    pass
            asked = everything(description, questions)
            results = judge(sessions, asked, plan, lambda: Session(command, limits), keep)
    except AdapterError as error:
        fault = error
    findings = tuple(finding(result) for result in results)
    seconds = time.monotonic() - began
    return ConformanceReport(description, findings, plan.false_alarm, plan.seed, seconds, fault)
