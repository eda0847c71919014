r"""The second stage: conformance, with its half of the false alarms and at most half of the time.

A statistical check of share s that refutes by a hair, s^2 < p <= s, is asked once more, with fresh draws, and refutes
only if it does so again; below s^2 there is no second chance, so that a fault that shows only at first is not
forgiven. An honest implementation is refuted with probability at most 2 s^2 where both are run, and at most s where
there was no time for the second.
"""

from __future__ import annotations

import dataclasses
import time

from audits.gate.findings import Finding, Stage
from audits.gate.options import CONFORMANCE_SHARE, GateOptions, GateRun, adapter_failed
from audits.trials.verdict import Outcome
from verification.conformance.check import Check, Mode, Result, Verdict
from verification.conformance.registry import CHECKS
from verification.conformance.runner import Conclusion, Plan, Report, conform

_TIME_SHARE = 0.5
# the fresh draws of a second look are those of a seed that no gate is given
_SECOND_LOOK = 1 << 64
_FORGIVEN = "not confirmed"


def conform_stage(run: GateRun) -> list[Finding]:
    """Return a finding for each check that refutes, or one for all of them together."""
    options = run.options
    modes = tuple(subject.mode for subject in run.subjects)
    checks = tuple(limited for check in CHECKS if (limited := _limited(check, modes)) is not None)
    checks = tuple(check for check in checks if options.wants(f"{Stage.CONFORM}: {check.name}"))
    if not checks:
        return []
    options.say(f"conform: {len(checks)} checks")
    share = float(run.claims.gate.false_alarm) * CONFORMANCE_SHARE
    time_left = max(run.deadline - time.monotonic(), 0.0)
    plan = Plan(checks, share, time_left * _TIME_SHARE, options.seed)
    target = run.target
    report = conform(target.command, plan, target.limits, lambda result: options.say(f"conform: {result.check.name}"))
    results = tuple(_looked_at_again(result, run) if _by_a_hair(result) else result for result in report.results)
    return _conformance_findings(dataclasses.replace(report, results=results), options)


def _by_a_hair(result: Result) -> bool:
    if result.verdict is not Verdict.REFUTED or result.p_value is None:
        return False
    return result.check.statistical and result.p_value > result.false_alarm**2


def _looked_at_again(result: Result, run: GateRun) -> Result:
    """The result, passed if fresh draws do not refute at the same share; it stays refuted if they could not be had."""
    name = result.check.name
    run.options.say(f"conform: {name}, once more")
    alone = dataclasses.replace(result.check, modes=(result.mode,))
    time_left = run.deadline - time.monotonic()
    plan = Plan((alone,), result.false_alarm, time_left, run.options.seed + _SECOND_LOOK)
    again = conform(run.target.command, plan, run.target.limits)
    passed = [r for r in again.results if r.verdict is Verdict.PASSED]
    if again.fault is not None or len(passed) != 1:
        return result
    detail = f"{name} ({result.mode}) showed p = {result.p_value:.2g}, and {passed[0].p_value:.2g} in fresh runs"
    return dataclasses.replace(result, verdict=Verdict.PASSED, detail=detail, evidence={_FORGIVEN: detail})


def _limited(check: Check, modes: tuple[Mode, ...]) -> Check | None:
    kept = tuple(mode for mode in check.modes if mode in modes)
    return dataclasses.replace(check, modes=kept) if kept else None


def _conformance_findings(report: Report, options: GateOptions) -> list[Finding]:
    findings = [_refuted_check(result, options) for result in report.results if result.verdict is Verdict.REFUTED]
    if report.fault is not None:
        findings.append(adapter_failed(Stage.CONFORM, report.fault, options))
        return findings
    counts = {v: sum(r.verdict is v for r in report.results) for v in Verdict}
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "nothing was checked"
    text += "".join(f"; {result.evidence[_FORGIVEN]}" for result in report.results if _FORGIVEN in result.evidence)
    outcome = {
        Conclusion.CONFORMS: Outcome.STANDS,
        Conclusion.INCONCLUSIVE: Outcome.INCONCLUSIVE,
        Conclusion.REFUTED: Outcome.STANDS,  # the refuted checks are findings of their own
        Conclusion.ADAPTER_FAILED: Outcome.ADAPTER_FAILED,
    }[report.conclusion]
    if not findings:
        name = str(Stage.CONFORM)
        findings.append(Finding(name, Stage.CONFORM, outcome, text, seconds=report.seconds))
    return findings


def _refuted_check(result: Result, options: GateOptions) -> Finding:
    name = f"{Stage.CONFORM}: {result.check.name}"
    return Finding(
        name,
        Stage.CONFORM,
        Outcome.REFUTED,
        f"{result.detail} ({result.mode}); catches: {result.check.catches}",
        reproduction=options.reproduce(name, options.seed),
        seconds=result.seconds,
        mode=str(result.mode),
    )
