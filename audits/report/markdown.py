"""For a comment on a pull request."""

from __future__ import annotations

from audits.gate.findings import GateReport
from audits.report.text import headline
from verification.outcome import Finding


def render_markdown(report: GateReport) -> str:
    """Return a heading, a table of findings, and the command that reproduces each refutation."""
    lines = [f"## Privacy gate: {headline(report)}", "", "| finding | outcome | detail |", "|---|---|---|"]
    lines += [_row(finding) for finding in report.findings]
    again = [finding for finding in report.findings if finding.reproduction]
    if again:
        lines += ["", "See it again:", "", "```sh", *(finding.reproduction for finding in again), "```"]
    alarm = float(report.claims.gate.false_alarm)
    lines += ["", f"False-alarm probability at most {alarm:g} over all checks. Seed {report.seed}."]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    word = finding.outcome.word
    if finding.waiver is not None:
        word = f"{word}, waived until {finding.waiver.expires}"
    return f"| {_cell(finding.name)} | {word} | {_cell(finding.detail)} |"


def _cell(text: str) -> str:
    """Escape what would break the table or become markup: part of the text comes from the adapter."""
    flat = " ".join(text.split())
    for character in "\\`*_|<>[]":
        flat = flat.replace(character, f"\\{character}")
    return flat
