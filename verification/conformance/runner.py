"""Run the checks: within a false-alarm probability over all of them, and within a time budget.

The probability is split evenly over the statistical checks that will run; the deterministic ones need none. A check
that finds no time is `unfinished`, one that lacks a capability `skipped`: neither is a pass.
"""

from __future__ import annotations

import enum
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from verification.conformance.check import (
    ALL_MODES,
    MPADMM_PRIMAL,
    Check,
    Mode,
    NotApplicable,
    Result,
    Verdict,
)
from verification.conformance.context import Context
from verification.conformance.registry import CHECKS
from verification.wire.faults import AdapterError, AdapterSkipped
from verification.wire.messages import Capability, StartResult
from verification.wire.process import Limits
from verification.wire.session import Session
from verification.wire.smoke import smoke_session


class Conclusion(enum.StrEnum):
    """What a whole run comes to."""

    CONFORMS = "conforms"
    REFUTED = "refuted"
    ADAPTER_FAILED = "adapter-failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Report:
    """Every result, and what they come to."""

    description: StartResult | None
    results: tuple[Result, ...]
    false_alarm: float
    seed: int
    seconds: float
    fault: AdapterError | None = None

    @property
    def conclusion(self) -> Conclusion:
        """Refuted before failed before inconclusive before conforms."""
        verdicts = [result.verdict for result in self.results]
        if Verdict.REFUTED in verdicts:
            return Conclusion.REFUTED
        if self.fault is not None:
            return Conclusion.ADAPTER_FAILED
        if Verdict.UNFINISHED in verdicts or Verdict.PASSED not in verdicts:
            return Conclusion.INCONCLUSIVE
        return Conclusion.CONFORMS


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and how."""

    checks: tuple[Check, ...] = CHECKS
    false_alarm: float = 1e-3
    budget: float | None = None
    seed: int = 0
    effort: float = 1.0


Progress = Callable[[Result], None]


def conform(
    command: Sequence[str], plan: Plan | None = None, limits: Limits | None = None, progress: Progress | None = None
) -> Report:
    """Smoke-test an adapter and put it through the checks; a fault ends the run and is part of the report."""
    plan = plan or Plan()
    began = time.monotonic()
    results: list[Result] = []
    description, fault = None, None
    try:
        with Session(command, limits) as session:
            description = session.description
            for _ in smoke_session(session):
                pass
            for result in run_checks(session, plan, lambda: Session(command, limits), began):
                results.append(result)
                if progress is not None:
                    progress(result)
    except AdapterError as error:
        fault = error
    return Report(description, tuple(results), plan.false_alarm, plan.seed, time.monotonic() - began, fault)


def modes_of(description: StartResult) -> tuple[Mode, ...]:
    """The ways in which an implementation says it can be run."""
    return tuple(
        mode
        for mode in ALL_MODES
        if mode.algorithm in description.algorithms
        and (mode != MPADMM_PRIMAL or Capability.PRIMAL in description.capabilities)
    )


def run_checks(session: Session, plan: Plan, another: Callable[[], Session], began: float) -> Iterator[Result]:
    """Yield a result for every check in every mode of the implementation."""
    capabilities = frozenset(session.description.capabilities)
    planned = [(check, mode) for check in plan.checks for mode in modes_of(session.description) if mode in check.modes]
    statistical = sum(check.statistical and check.missing(capabilities) is None for check, _ in planned)
    share = plan.false_alarm / max(1, statistical)
    for check, mode in planned:
        missing = check.missing(capabilities)
        if missing is not None:
            yield Result(check, mode, Verdict.SKIPPED, missing)
        elif plan.budget is not None and time.monotonic() - began > plan.budget:
            yield Result(check, mode, Verdict.UNFINISHED, f"the budget of {plan.budget:g} seconds was spent")
        else:
            context = Context(session, mode, _generator(plan.seed, check, mode), another, plan.effort)
            yield run_one(check, context, share if check.statistical else 0.0)


def _generator(seed: int, check: Check, mode: Mode) -> np.random.Generator:
    """A stream of the check's own, the same whichever other checks are run: a finding can be repeated alone."""
    return np.random.default_rng([seed, zlib.crc32(f"{check.name} {mode}".encode())])


def run_one(check: Check, context: Context, share: float) -> Result:
    """Run one check; refute if an honest implementation would show this with at most the given probability."""
    began = time.monotonic()
    blank = Result(check, context.mode, Verdict.SKIPPED, "", false_alarm=share)
    try:
        finding = check.run(context)
    except NotApplicable as reason:
        return replace(blank, detail=str(reason), seconds=time.monotonic() - began)
    except AdapterSkipped as answer:
        detail = f"declared, but answered skipped: {answer.reason}"
        return replace(blank, verdict=Verdict.UNFINISHED, detail=detail, seconds=time.monotonic() - began)
    # this way round, a probability that is not a number is no pass
    verdict = Verdict.PASSED if finding.p_value > share else Verdict.REFUTED
    return replace(
        blank,
        verdict=verdict,
        detail=finding.detail,
        p_value=finding.p_value,
        seconds=time.monotonic() - began,
    )
