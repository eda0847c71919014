"""The questions at a few records alone: whether an implementation does what its privacy proof assumes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verification.judge import Asked, Coverage, Plan, Result, asked_small, finding, judge, modes_of
from verification.outcome import Aspect, Finding, Outcome, needed_aspects, worst
from verification.questions.catalogue import at
from verification.questions.question import Question, Size
from verification.wire.faults import AdapterError, RefusedRequest
from verification.wire.messages import StartResult
from verification.wire.parameters import SCHEMES, Law
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
    uncovered: tuple[tuple[str, Aspect], ...] = ()  # what a claim about a mode would rest on, and nothing looked at
    partial: bool = False  # only some questions were asked

    @property
    def outcome(self) -> Outcome:
        """The worst finding; a fault of the adapter only where nothing is refuted; never a pass with a gap."""
        outcomes = [found.outcome for found in self.findings]
        outcomes += [Outcome.ADAPTER_FAILED] * (self.fault is not None) + [Outcome.INCONCLUSIVE] * bool(self.uncovered)
        return worst(outcomes)


def everything(description: StartResult, questions: Sequence[Question] | None = None) -> list[Asked]:
    """Every question at a few records about every mode that an implementation offers."""
    chosen = at(Size.SMALL) if questions is None else questions
    return asked_small(chosen, modes_of(description))


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
    partial = questions is not None and len(questions) < len(at(Size.SMALL))
    gaps = () if partial or fault is not None or plan.fail_fast or description is None else _gaps(results, description)
    return ConformanceReport(description, findings, plan.false_alarm, plan.seed, seconds, fault, gaps, partial)


def _gaps(results: Sequence[Result], description: StartResult) -> tuple[tuple[str, Aspect], ...]:
    """What a claim would rest on and no question could look at, of every mode that is private."""
    coverage, gaps = Coverage.of(results), list[tuple[str, Aspect]]()
    for mode in modes_of(description):
        scheme = SCHEMES[mode.algorithm]
        needed = needed_aspects(private=scheme.law is not Law.NONE, sampled="batch" in scheme.takes)
        gaps += [(str(mode), aspect) for aspect in coverage.missing(str(mode), needed)]
    return tuple(gaps)
