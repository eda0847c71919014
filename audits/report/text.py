"""The report as text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from audits.gate.causes import grouped
from audits.gate.findings import GateReport
from verification.outcome import Finding, Outcome

_INDENT = " " * 14
_MOST_SKIPPED = 12


def headline(report: GateReport) -> str:
    """Return the result in one sentence."""
    if report.partial and report.outcome is Outcome.INCONCLUSIVE:
        text = "only a part of the gate was run: no conclusion about the claim"
    else:
        text = {
            Outcome.STANDS: "every claim stands",
            Outcome.DEVIATES: "every claim stands; what is run deviates from it and is not less private",
            Outcome.REFUTED: "a claim is refuted",
            Outcome.INCONCLUSIVE: "inconclusive: nothing was refuted, but not enough could be checked",
            Outcome.ADAPTER_FAILED: "the adapter failed; nothing can be concluded about the implementation",
            Outcome.FAULT: "a fault of this program; nothing can be concluded",
        }[report.outcome]
    return text + _waived(report)


def _waived(report: GateReport) -> str:
    refuted = sum(f.waiver is not None and f.outcome is Outcome.REFUTED for f in report.findings)
    others = sum(f.waiver is not None and f.outcome is not Outcome.REFUTED for f in report.findings)
    parts = [f"{refuted} refuted and waived"] * bool(refuted) + [f"{others} deviating and waived"] * bool(others)
    return f" ({', '.join(parts)})" if parts else ""


def render_text(report: GateReport) -> str:
    """Return a table of findings, evidence and reproduction commands, the causes, the coverage, the conclusion."""
    lines: list[str] = []
    for finding in report.findings:
        lines += _finding(finding)
    lines += [*_causes(report), *coverage_lines(report)]
    lines.append(
        f"{headline(report)}; false-alarm probability at most {float(report.claims.gate.false_alarm):g} over all "
        f"checks; seed {report.seed}; {report.seconds:.1f} s"
    )
    return "\n".join(lines) + "\n"


def _finding(finding: Finding) -> list[str]:
    word = "waived" if finding.waiver is not None else finding.outcome.value
    first, *rest = finding.detail.splitlines() or [""]
    lines = [f"{word:<14} {finding.name}", f"{_INDENT} {first}", *(f"{_INDENT} {line}" for line in rest)]
    if finding.waiver is not None:
        kind = finding.outcome.value
        lines.append(f"{_INDENT} {kind}, waived until {finding.waiver.expires}: {finding.waiver.reason}")
    if finding.reproduction:
        lines.append(f"{_INDENT} again: {finding.reproduction}")
    return lines


def _causes(report: GateReport) -> Iterator[str]:
    for group in grouped(report.findings):
        about = f" ({group.subject})" if group.subject else ""
        names = ", ".join(finding.name for finding in group.findings)
        yield f"{group.findings[0].outcome.value:<14} {group.cause}{about}: {names}"


def coverage_lines(report: GateReport) -> Iterator[str]:
    """What was looked at, at which size, and what was not."""
    coverage = report.coverage
    by_size: dict[tuple[str, str], list[str]] = {}
    for item in coverage.covered:
        by_size.setdefault((item.subject, item.size), []).append(item.question)
    for (subject, size), what in by_size.items():
        yield f"{'covered':<14} {subject}, {size}: {', '.join(what)}"
    if coverage.rare:
        yield f"{'rare failures':<14} {coverage.rare}"
    skipped = list(dict.fromkeys(item.describe() for item in coverage.skipped))
    yield from (f"{'not covered':<14} {text}" for text in skipped[:_MOST_SKIPPED])
    if len(skipped) > _MOST_SKIPPED:
        names = ", ".join(dict.fromkeys(item.what for item in coverage.skipped[_MOST_SKIPPED:]))
        yield f"{'not covered':<14} and {len(skipped) - _MOST_SKIPPED} more: {names}"
