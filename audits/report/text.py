"""For a person at a terminal."""

from __future__ import annotations

from audits.gate.findings import GateReport
from verification.outcome import Finding, Outcome


def headline(report: GateReport) -> str:
    """Return the result in one sentence."""
    waived = sum(f.waiver is not None for f in report.findings)
    text = {
        Outcome.STANDS: "every claim stands",
        Outcome.DEVIATES: "every claim stands; what is run deviates from it and is not less private",
        Outcome.REFUTED: "a claim is refuted",
        Outcome.INCONCLUSIVE: "inconclusive: nothing refuted, and not enough shown",
        Outcome.ADAPTER_FAILED: "the adapter failed; nothing can be concluded about the implementation",
        Outcome.FAULT: "a fault of this program; nothing can be concluded",
    }[report.outcome]
    return text + (f" ({waived} waived)" if waived else "")


def render_text(report: GateReport) -> str:
    """Return a table of findings, evidence and reproduction commands, then the conclusion."""
    lines: list[str] = []
    for finding in report.findings:
        lines += _finding(finding)
    lines.append(
        f"{headline(report)}; false-alarm probability at most {float(report.claims.gate.false_alarm):g} over all "
        f"checks; seed {report.seed}; {report.seconds:.1f} s"
    )
    return "\n".join(lines) + "\n"


def _finding(finding: Finding) -> list[str]:
    word = "waived" if finding.waiver is not None else finding.outcome.word
    first, *rest = finding.detail.splitlines() or [""]
    lines = [f"{word:<14} {finding.name}", f"{'':<14} {first}", *(f"{'':<14} {line}" for line in rest)]
    if finding.waiver is not None:
        lines.append(f"{'':<14} waived until {finding.waiver.expires}: {finding.waiver.reason}")
    if finding.reproduction:
        lines.append(f"{'':<14} again: {finding.reproduction}")
    return lines
