"""One self-contained HTML page that can be filed: no script, font or network access; light, dark, narrow and print."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from accountant import decimal_string
from audits.gate.causes import grouped
from audits.gate.findings import GateReport
from audits.report.coverage import coverage_section
from audits.report.glossary import explained, glossary
from audits.report.parameters import parameters
from audits.report.plots import plots_of, refuted_price
from audits.report.statement import statement
from audits.report.style import STYLE
from audits.report.summary import summary
from audits.report.svg import figure
from audits.report.table import escaped, table
from audits.report.text import headline
from audits.zoo import MEMBERS
from verification.outcome import Finding, Outcome
from verification.picture import Picture
from verification.plain_text import harmless

_DIGITS = 12


def render_html(report: GateReport) -> str:
    """Return the page; all text from outside is escaped."""
    title = escape(f"Privacy gate: {headline(report)}")
    word = _class(report.outcome.value)
    plots = "".join(map(figure, plots_of(report)))
    sections = (
        ("What this page is about", _identity(report)),
        ("Findings", _findings(report)),
        ("Coverage", coverage_section(report.coverage)),
        ("What a claim must state", _statement(report)),
        ("What was seen", f'<div class="plots">{plots}</div>' if plots else ""),
        ("Every parameter", table(("table", "parameter", "value"), map(escaped, parameters(report.claims)))),
        ("The claim file", f"<pre>{escape(harmless(report.provenance.text))}</pre>" if report.provenance.text else ""),
        ("Words", glossary()),
        ("What such a gate catches", _zoo()),
    )
    body = "".join(_section(name, content) for name, content in sections if content)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{STYLE}</style></head><body>
<h1>Privacy gate: <span class="{word}">{escape(headline(report))}</span></h1>
<p class="lead {word}">{explained(summary(report))}</p>
{body}</body></html>
"""


def _section(name: str, content: str) -> str:
    folded = ' class="folded"' if content.startswith("<details") else ""  # left out on paper, with its heading
    return f"<section{folded}><h2>{name}</h2>{content}</section>\n"


def _identity(report: GateReport) -> str:
    """What was checked, by whom, when, with which files."""
    known, claim = report.provenance, report.claims.claim
    described = known.implementation
    rows = [("date", f"{known.date:%Y-%m-%d %H:%M:%S} UTC"), ("checked by", f"dpadmm {known.version}, {known.system}")]
    if described is not None:
        words = f"{described.name} {described.version}, written in {described.language}"
        rows.append(("implementation", f"{words} (as it says of itself)"))
    if report.claims.implementation is not None:
        rows.append(("command", " ".join(report.claims.implementation.command)))
        rows += [("file of the command", f"{file.name}\nSHA-256 {file.sha256}") for file in known.files]
    if known.claim is not None:
        rows.append(("claim file", f"{known.source}\nSHA-256 {known.claim.sha256}"))
    delta = decimal_string(claim.delta, _DIGITS, "up")
    stated = f"epsilon = {claim.epsilon_text(_DIGITS)}, delta = {delta}, neighbours: {claim.neighbours}"
    rows += [
        ("claim", stated),
        ("probability of a false alarm", f"at most {float(report.claims.gate.false_alarm):g} over all checks together"),
        ("seed", str(report.seed)),
        ("time", f"{report.seconds:.1f} s"),
    ]
    return table(
        (), ((explained(name), f'<span class="detail">{escape(harmless(text))}</span>') for name, text in rows)
    )


def _findings(report: GateReport) -> str:
    """Under the cause of each refutation and deviation, with its picture; then what is missing; then what stands."""
    parts, shown = [], set[int]()
    for group in sorted(grouped(report.findings), key=lambda group: group.findings[0].outcome is not Outcome.REFUTED):
        about = f" ({group.subject})" if group.subject else ""
        outcome = group.findings[0].outcome.value
        parts.append(f'<h3><b class="{_class(outcome)}">{outcome}</b>: {escape(group.cause + about)}</h3>')
        parts.append(_finding_table(report, group.findings))
        shown |= {id(finding) for finding in group.findings}
    rest = [finding for finding in report.findings if id(finding) not in shown]
    rest.sort(key=lambda finding: finding.outcome is Outcome.STANDS)  # what is missing before what stands
    if rest:
        parts += ["<h3>Everything else</h3>"] * bool(shown) + [_finding_table(report, rest)]
    return "".join(parts)


def _finding_table(report: GateReport, findings: Sequence[Finding]) -> str:
    return table(("finding", "outcome", "detail"), (_row(report, finding) for finding in findings))


def _row(report: GateReport, finding: Finding) -> tuple[str, str, str]:
    word = "waived" if finding.waiver is not None else finding.outcome.value
    detail = f'<span class="detail">{escape(finding.detail)}</span>'
    if finding.waiver is not None:
        detail += f"<br>waived until {finding.waiver.expires}: {escape(finding.waiver.reason)}"
    picture = picture_of(report, finding)
    if picture is not None:
        detail += figure(picture)
    elif finding.outcome is Outcome.REFUTED:
        detail += '<div class="note">No picture: a single answer decides, and it is quoted above.</div>'
    if finding.reproduction:
        detail += f"<div>again: <code>{escape(finding.reproduction)}</code></div>"
    return escape(finding.name), f'<b class="{_class(word)}">{word}</b>', detail


def picture_of(report: GateReport, finding: Finding) -> Picture | None:
    """The picture that a check drew, or for a refuted price the bounds on epsilon."""
    return finding.picture if finding.picture is not None else refuted_price(report, finding)


def _statement(report: GateReport) -> str:
    note = (
        "The lines that NIST SP 800-226 (Guidelines for Evaluating Differential Privacy Guarantees) asks for, what the "
        "claim file says to each, and what backs it."
    )
    rows = (
        (
            explained(line.asked),
            f'<span class="missing">{line.stated}</span>' if line.missing else escape(harmless(line.stated)),
            escape(harmless(line.backing)),
        )
        for line in statement(report)
    )
    lines = table(("asked for", "stated", "backed by"), rows)
    return f'<p class="note">{note}</p><div class="statement">{lines}</div>'


def _zoo() -> str:
    rows = ((escape(m.identity), escape(m.wrong), escape(str(m.harm))) for m in MEMBERS.values())
    bugs = table(("id", "what is wrong", "harm"), rows)
    note = f"{len(MEMBERS)} wrong implementations that this project keeps, one real bug each, to test its checks with"
    return f"<details><summary>{note}</summary>{bugs}</details>"


def _class(word: str) -> str:
    return word.replace(" ", "-")
