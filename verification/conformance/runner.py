"""Run the checks: within a false-alarm probability over all of them, and within a time budget.

The probability is split evenly over the statistical checks that will run; the deterministic ones need none. A check
that finds no time is `inconclusive`, one that lacks a capability, or whose sizes the implementation refuses, `skipped`:
neither is a pass.
"""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from accountant.mechanisms.words import Algorithm
from verification.conformance.check import (
    ALL_MODES,
    MPADMM_PRIMAL,
    Check,
    Mode,
    NotApplicable,
)
from verification.conformance.context import Context
from verification.conformance.own_updates import EFFORT, UNREAD
from verification.conformance.registry import CHECKS
from verification.conformance.updates import has_own_updates
from verification.outcome import Finding, Outcome, worst
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterError, AdapterSkipped, RefusedRequest
from verification.wire.messages import Capability, StartResult
from verification.wire.process import Limits
from verification.wire.session import Session
from verification.wire.smoke import smoke_session
from verification.wire.tape import Tape


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """Every result, and what they come to."""

    description: StartResult | None
    findings: tuple[Finding, ...]
    false_alarm: float
    seed: int
    seconds: float
    fault: AdapterError | None = None

    @property
    def outcome(self) -> Outcome:
        """The worst finding; a fault of the adapter only where nothing is refuted."""
        outcomes = [finding.outcome for finding in self.findings]
        return worst([*outcomes, Outcome.ADAPTER_FAILED] if self.fault is not None else outcomes)


@dataclass(frozen=True, slots=True)
class ConformancePlan:
    """What to run, and how."""

    checks: tuple[Check, ...] = CHECKS
    false_alarm: float = 1e-3
    budget: float | None = None
    seed: int = 0
    effort: float = 1.0
    seeded: bool = True
    record: dict[tuple[str, str], list[Tape]] | None = None  # kept here, by check and mode, if at all
    read: dict[str, list[tuple[Floats, int]]] = field(default_factory=dict)  # the noise that was read, by mode
    fail_fast: bool = False  # no more checks after one that refutes by itself


UPDATE_CHECKS = ("updates-agree", "updates-scale", "golden-vectors")
"""What compares iterates with the reference's, and says nothing about privacy by itself."""
_RESTS_ON = ("one-step-sensitivity", "noise-variance")
"""What makes another update harmless, if it stands and nothing else is refuted."""
Progress = Callable[[Finding], None]


def conform(
    command: Sequence[str],
    plan: ConformancePlan | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> ConformanceReport:
    """Smoke-test an adapter and put it through the checks; a fault ends the run and is part of the report."""
    plan = plan or ConformancePlan()
    began = time.monotonic()
    findings: list[Finding] = []
    description, fault = None, None
    try:
        with Session(command, limits) as session:
            description = session.description
            # what refuses the small sizes of the smoke test is judged by what it does run
            with contextlib.suppress(RefusedRequest):
                for _ in smoke_session(session):
                    pass
            for finding in run_checks(session, plan, lambda: Session(command, limits), began):
                findings.append(finding)
                if progress is not None:
                    progress(finding)
                # an update that is not the reference's may still turn out to be harmless
                if plan.fail_fast and finding.outcome is Outcome.REFUTED and finding.name not in UPDATE_CHECKS:
                    break
    except AdapterError as error:
        fault = error
    findings = different_or_wrong(findings)
    return ConformanceReport(description, tuple(findings), plan.false_alarm, plan.seed, time.monotonic() - began, fault)


def different_or_wrong(findings: list[Finding]) -> list[Finding]:
    """An update that is not the reference's deviates, where what privacy rests on was looked at and stands.

    Where there was no time to look, or nothing could be read, it is inconclusive.
    Nothing else may be refuted of the same mechanism, and no record may move more than claimed in one step. Objective
    perturbation is private only if the stated problem is solved: there whatever differs is refuted.
    """
    refuted = {f.subject for f in findings if f.outcome is Outcome.REFUTED and f.name not in UPDATE_CHECKS}
    fine = (Outcome.STANDS, Outcome.DEVIATES)
    bounded, looked = ({f.subject for f in findings if f.outcome in fine and f.name == name} for name in _RESTS_ON)
    late = {f.subject for f in findings if f.outcome is Outcome.INCONCLUSIVE and f.name in _RESTS_ON}
    late |= {f.subject for f in findings if f.outcome is Outcome.SKIPPED and f.detail.startswith(UNREAD)}
    harmless = (bounded & looked) - refuted - {Algorithm.OBJP.value}
    unknown = late - harmless - refuted - {Algorithm.OBJP.value}

    def judged(finding: Finding) -> Finding:
        if finding.outcome is not Outcome.REFUTED or finding.name not in UPDATE_CHECKS:
            return finding
        if finding.subject in harmless:
            return replace(finding, outcome=Outcome.DEVIATES)
        return replace(finding, outcome=Outcome.INCONCLUSIVE) if finding.subject in unknown else finding

    return [judged(finding) for finding in findings]


def modes_of(description: StartResult) -> tuple[Mode, ...]:
    """The ways in which an implementation says it can be run."""
    return tuple(
        mode
        for mode in ALL_MODES
        if mode.algorithm in description.algorithms
        and (mode != MPADMM_PRIMAL or Capability.PRIMAL in description.capabilities)
    )


def run_checks(
    session: Session, plan: ConformancePlan, another: Callable[[], Session], began: float
) -> Iterator[Finding]:
    """Yield a finding for every check in every mode of the implementation."""
    capabilities = frozenset(session.description.capabilities)
    planned = [(check, mode) for check in plan.checks for mode in modes_of(session.description) if mode in check.modes]
    statistical = sum(check.statistical and check.missing(capabilities) is None for check, _ in planned)
    share = plan.false_alarm / max(1, statistical)
    own: dict[Mode, bool] = {}
    for check, mode in planned:
        missing = check.missing(capabilities)
        if missing is not None:
            yield Finding(check.name, Outcome.SKIPPED, missing, str(mode))
        elif plan.budget is not None and time.monotonic() - began > plan.budget:
            spent = f"the budget of {plan.budget:g} seconds was spent"
            yield Finding(check.name, Outcome.INCONCLUSIVE, spent, str(mode))
        else:
            rng = generator(plan.seed, check, mode)
            if mode not in own:
                own[mode] = _own_updates(session, plan, mode)
            begin = (
                another if plan.record is None else _recorded(session, another, plan.record, (check.name, str(mode)))
            )
            effort = plan.effort * (EFFORT if own[mode] else 1.0)
            read = plan.read.setdefault(str(mode), [])
            context = Context(session, mode, rng, begin, effort, plan.seeded, read, own=own[mode])
            yield run_one(check, context, share if check.statistical else 0.0)
            session.tape = None


def _own_updates(session: Session, plan: ConformancePlan, mode: Mode) -> bool:
    """Whether its updates are its own, so that noise is read by replays."""
    rng = np.random.default_rng([plan.seed, zlib.crc32(str(mode).encode())])
    with contextlib.suppress(NotApplicable, AdapterSkipped, RefusedRequest):
        return has_own_updates(Context(session, mode, rng, _nobody))
    return False


def _nobody() -> Session:
    raise AssertionError("no further process is started for this")


def _recorded(
    session: Session,
    another: Callable[[], Session],
    record: dict[tuple[str, str], list[Tape]],
    key: tuple[str, str],
) -> Callable[[], Session]:
    """Keep what the check asks, here and in every further process, in the order in which they are started."""
    tapes = record[key] = [Tape()]
    session.tape = tapes[0]

    def begin() -> Session:
        further = another()
        further.tape = Tape()
        tapes.append(further.tape)
        return further

    return begin


def generator(seed: int, check: Check, mode: Mode) -> np.random.Generator:
    """A stream of the check's own, the same whichever other checks are run: a finding can be repeated alone."""
    return np.random.default_rng([seed, zlib.crc32(f"{check.name} {mode}".encode())])


def run_one(check: Check, context: Context, share: float) -> Finding:
    """Run one check; refute if an honest implementation would show this with at most the given probability."""
    began = time.monotonic()
    blank = Finding(check.name, Outcome.SKIPPED, "", str(context.mode), false_alarm=share)
    try:
        seen = check.run(context)
    except NotApplicable as reason:
        return replace(blank, detail=str(reason), seconds=time.monotonic() - began)
    except AdapterSkipped as answer:
        detail = f"declared, but answered skipped: {answer.reason}"
        return replace(blank, outcome=Outcome.INCONCLUSIVE, detail=detail, seconds=time.monotonic() - began)
    except RefusedRequest as refused:
        return replace(blank, detail=refused.reason, seconds=time.monotonic() - began)
    # this way round, a probability that is not a number is no pass
    outcome = Outcome.STANDS if seen.p_value > share else Outcome.REFUTED
    p_value, detail = seen.p_value, seen.detail
    if outcome is Outcome.STANDS and not seen.deviation > share:
        different = Outcome.REFUTED if context.mode.algorithm is Algorithm.OBJP else Outcome.DEVIATES
        outcome, p_value, detail = different, seen.deviation, seen.difference
    return replace(
        blank,
        outcome=outcome,
        detail=detail,
        p_value=p_value,
        seconds=time.monotonic() - began,
        picture=None if outcome is Outcome.STANDS else seen.picture,
    )
