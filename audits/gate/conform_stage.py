r"""The second stage: conformance, with 40 % of the false-alarm probability and at most half of the time.

A statistical check has a share s of the false-alarm probability. If s^2 < p <= s, it is rerun with fresh randomness and
refutes only if both runs reject; at p <= s^2 it refutes without a second run, so that a fault which shows in one run
only still counts. A correct implementation is refuted with probability at most 2 s^2 where both runs were made, and at
most s where there was no time for the second.
"""

from __future__ import annotations

import dataclasses
import time

from audits.gate.coverage import ASPECT_OF_FAMILY, NOT_ENOUGH, Coverage, Covered, Uncovered
from audits.gate.evidence import of_finding
from audits.gate.findings import Stage
from audits.gate.options import CONFORMANCE_SHARE, GateOptions, GateRun, adapter_failed
from verification.conformance.check import ALL_MODES, Check, Family, Mode
from verification.conformance.registry import CHECKS
from verification.conformance.runner import ConformancePlan, ConformanceReport, conform, different_or_wrong
from verification.deployment.rare import Census
from verification.outcome import Finding, Outcome, counted
from verification.wire.tape import Tape

_TIME_SHARE = 0.5
# the fresh draws of a second look are those of a seed that no gate is given
_SECOND_LOOK = 1 << 64
_FORGIVEN = "not confirmed"
CAUSES = {
    Family.UPDATES: "another update",
    Family.SENSITIVITY: "a record counts for too much",
    Family.CLIPPING: "a record counts for too much",
    Family.BATCHES: "batches are not as claimed",
    Family.NOISE: "noise is not as claimed",
    Family.DETERMINISM: "draws are used again",
    Family.SCALE: "noise is not as claimed",
}
"""The headline under which a family's findings stand."""


def conform_stage(run: GateRun) -> tuple[list[Finding], Coverage]:
    """Return a finding for each check that refutes or deviates, or one for all together; and what was covered."""
    options = run.options
    modes = tuple(subject.mode for subject in run.subjects)
    checks = tuple(limited for check in CHECKS if (limited := _limited(check, modes)) is not None)
    checks = tuple(check for check in checks if options.wants(f"{Stage.CONFORM}: {check.name}"))
    if not checks:
        return [], Coverage()
    options.say(f"conform: {len(checks)} checks")
    share = float(run.claims.gate.false_alarm) * CONFORMANCE_SHARE
    time_left = max(run.deadline - time.monotonic(), 0.0)
    tapes: dict[tuple[str, str], list[Tape]] | None = None if options.evidence is None else {}
    plan = ConformancePlan(checks, share, time_left * _TIME_SHARE, options.seed, seeded=options.seeded, record=tapes)
    target = run.target
    report = conform(target.command, plan, target.limits, lambda finding: options.say(f"conform: {finding.name}"))
    for mode, parts in plan.read.items():
        run.census.setdefault(mode, []).extend(Census.counted(energies, degrees) for energies, degrees in parts)
    by_name = {check.name: check for check in checks}
    findings = [
        _looked_at_again(finding, by_name[finding.name], run) if _by_a_hair(finding, by_name[finding.name]) else finding
        for finding in report.findings
    ]
    # what no longer stands against the mechanism no longer makes another update less private
    report = dataclasses.replace(report, findings=tuple(different_or_wrong(findings)))
    _keep(report, tapes, options)
    return _conformance_findings(report, by_name, options), _coverage(report, by_name)


def _keep(report: ConformanceReport, tapes: dict[tuple[str, str], list[Tape]] | None, options: GateOptions) -> None:
    """Keep what the refuted checks were answered."""
    if tapes is None or options.evidence is None or report.description is None:
        return
    for finding in report.findings:
        named = dataclasses.replace(finding, name=f"{Stage.CONFORM}: {finding.name}")
        kept = of_finding(
            named,
            report.description,
            seed=options.seed,
            seeded=options.seeded,
            tapes=tapes.get((finding.name, finding.subject), ()),
        )
        options.evidence.keep(named, kept)


def _by_a_hair(finding: Finding, check: Check) -> bool:
    if finding.outcome is not Outcome.REFUTED or finding.p_value is None:
        return False
    return check.statistical and finding.p_value > finding.false_alarm**2


def _looked_at_again(finding: Finding, check: Check, run: GateRun) -> Finding:
    """The finding, or what fresh draws show if they do not refute at the same share; refuted if there are none."""
    run.options.say(f"conform: {check.name}, once more")
    mode = next(mode for mode in ALL_MODES if str(mode) == finding.subject)
    time_left = run.deadline - time.monotonic()
    plan = ConformancePlan(
        (dataclasses.replace(check, modes=(mode,)),),
        finding.false_alarm,
        time_left,
        run.options.seed + _SECOND_LOOK,
        seeded=run.options.seeded,
    )
    again = conform(run.target.command, plan, run.target.limits)
    passed = [other for other in again.findings if other.outcome in (Outcome.STANDS, Outcome.DEVIATES)]
    if again.fault is not None or len(passed) != 1:
        return finding
    detail = f"{check.name} ({mode}) showed p = {finding.p_value:.2g}, and {passed[0].p_value:.2g} in fresh runs"
    return dataclasses.replace(finding, outcome=passed[0].outcome, detail=detail, tags=(_FORGIVEN,))


def _limited(check: Check, modes: tuple[Mode, ...]) -> Check | None:
    kept = tuple(mode for mode in check.modes if mode in modes)
    return dataclasses.replace(check, modes=kept) if kept else None


def _conformance_findings(report: ConformanceReport, checks: dict[str, Check], options: GateOptions) -> list[Finding]:
    findings = [
        _refuted_check(finding, checks[finding.name], options)
        for finding in report.findings
        if finding.outcome in (Outcome.REFUTED, Outcome.DEVIATES)
    ]
    if report.fault is not None:
        findings.append(adapter_failed(Stage.CONFORM, report.fault, options))
        return findings
    if not any(finding.outcome is Outcome.REFUTED for finding in findings):
        forgiven = [finding.detail for finding in report.findings if _FORGIVEN in finding.tags]
        text = "; ".join([counted(report.findings) or "nothing was checked", *forgiven])
        findings.append(Finding(str(Stage.CONFORM), report.outcome, text, seconds=report.seconds))
    return findings


def _coverage(report: ConformanceReport, checks: dict[str, Check]) -> Coverage:
    covered, skipped = [], []
    for finding in report.findings:
        check = checks[finding.name]
        if finding.outcome in (Outcome.SKIPPED, Outcome.INCONCLUSIVE):
            skipped.append(Uncovered(f"conform: {finding.name}", finding.subject, finding.detail))
        else:
            aspects = () if check.name in NOT_ENOUGH else ASPECT_OF_FAMILY[check.family]
            covered.append(Covered(f"conform: {finding.name}", finding.subject, "small sizes", 0, aspects))
    return Coverage(tuple(covered), tuple(skipped))


def _refuted_check(finding: Finding, check: Check, options: GateOptions) -> Finding:
    name = f"{Stage.CONFORM}: {check.name}"
    return dataclasses.replace(
        finding,
        name=name,
        detail=f"{finding.detail} ({finding.subject}); detects: {check.catches}",
        reproduction=options.reproduce(name, options.seed),
        tags=(*finding.tags, f"cause: {CAUSES[check.family]}"),
    )
