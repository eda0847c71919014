"""The report as Markdown, for a comment on a pull request."""

from __future__ import annotations

from audits.gate.findings import GateReport
from audits.report.text import coverage_lines, headline
from verification.outcome import Finding


def render_markdown(report: GateReport) -> str:
    """Return a heading, a table of findings, and the command that reproduces each refutation."""
    lines = [f"## Privacy gate: {headline(report)}", "", "| finding | outcome | detail |", "|---|---|---|"]
    lines += [_row(finding) for finding in report.findings]
    again = [finding for finding in report.findings if finding.reproduction]
    if again:
        lines += ["", "See it again:", "", "```sh", *(finding.reproduction for finding in again), "```"]
    lines += ["", "Coverage:", "", *(f"- {_cell(line)}" for line in coverage_lines(report))]
    alarm = float(report.claims.gate.false_alarm)
    lines += ["", f"False-alarm probability at most {alarm:g} over all checks. Seed {report.seed}."]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    word = finding.outcome.value
    if finding.waiver is not None:
        word = f"{word}, waived until {finding.waiver.expires}"
    return f"| {_cell(finding.name)} | {word} | {_cell(finding.detail)} |"


_INERT = str.maketrans(
    {"&": "&amp;", "@": "&#64;", "#": "&#35;"} | {character: f"\\{character}" for character in "\\`*_|<>[]~"}
)


def _cell(text: str) -> str:
    """Escape what would break the table or become markup, a link, a mention or an issue: adapters choose some words."""
    return " ".join(text.split()).translate(_INERT).replace("://", "&#58;//").replace("www.", "www&#46;")
