"""One self-contained HTML page that can be filed: no script, font or network access; light, dark, narrow and print.

Findings under their causes, coverage, what a claim must state, pictures, every parameter of the claim (defaults too), a
glossary. All text from outside is escaped. Tables are wide on a desk and stacked on a phone.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from html import escape
from importlib import resources

from pydantic import BaseModel

from accountant import decimal_string
from accountant.errors import AccountantError
from audits.gate.claim_file import ClaimFile
from audits.gate.report import GateReport, grouped
from audits.report.pictures import figure, plots_of, refuted_price
from audits.report.statement import claimed, statement
from audits.report.summary import explained, glossary, summary
from audits.report.text import headline, unused_waivers
from verification.judge import Coverage
from verification.outcome import Finding, Outcome, Picture
from verification.plain_text import harmless

_DIGITS = 12
STYLE = (resources.files(__package__) / "style.css").read_text("utf-8")


def render_html(report: GateReport) -> str:
    """Return the page; all text from outside is escaped."""
    title = escape(f"Privacy gate: {headline(report)}")
    word = _class(report.outcome.value)
    plots = "".join(map(figure, plots_of(report)))
    sections = (
        ("What this page is about", _identity(report)),
        ("Findings", _findings(report)),
        ("Waivers that waived nothing", _unused(report)),
        ("Coverage", coverage_section(report.coverage)),
        ("What a claim must state", _statement(report)),
        ("What was observed", f'<div class="plots">{plots}</div>' if plots else ""),
        ("Every parameter", table(("table", "parameter", "value"), map(escaped, parameters(report.claims)))),
        ("The claim file", f"<pre>{escape(harmless(report.provenance.text))}</pre>" if report.provenance.text else ""),
        ("Words", glossary()),
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
    known = report.provenance
    described = known.implementation
    rows = [("date", f"{known.date:%Y-%m-%d %H:%M:%S} UTC"), ("checked by", f"dpadmm {known.version}, {known.system}")]
    if described is not None:
        words = f"{described.name} {described.version}, written in {described.language}"
        rows.append(("implementation", f"{words} (as stated by its adapter)"))
    if report.claims.implementation is not None:
        rows.append(("command", " ".join(report.claims.implementation.command)))
        rows += [
            ("file of the command", f"{f.name}\nSHA-256 {f.sha256 or 'not known: unreadable'}") for f in known.files
        ]
    if known.claim is not None:
        rows.append(("claim file", f"{known.source}\nSHA-256 {known.claim.sha256}"))
    stated = "epsilon = {epsilon}, delta = {delta}, neighbours: {neighbours}".format_map(claimed(report.claims))
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
        parts += ["<h3>Other findings</h3>"] * bool(shown) + [_finding_table(report, rest)]
    return "".join(parts)


def _unused(report: GateReport) -> str:
    """They are to be deleted, or their date is past."""
    rows = [(str(waiver.finding), waiver.reason, str(waiver.expires)) for waiver in unused_waivers(report)]
    return table(("finding", "reason", "until"), map(escaped, rows)) if rows else ""


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
        detail += '<div class="note">No picture: the refutation rests on a single answer, quoted above.</div>'
    if finding.reproduction:
        detail += f"<div>again: <code>{escape(finding.reproduction)}</code></div>"
    # an id may be broken where its parts meet, and never inside a word
    return escape(finding.name).replace("/", "/<wbr>"), f'<b class="{_class(word)}">{word}</b>', detail


def picture_of(report: GateReport, finding: Finding) -> Picture | None:
    """The picture that a check drew, or for a refuted price the bounds on epsilon."""
    return finding.picture if finding.picture is not None else refuted_price(report, finding)


def _statement(report: GateReport) -> str:
    note = (
        "The items that NIST SP 800-226 (Guidelines for Evaluating Differential Privacy Guarantees) asks for, what the "
        "claim file states for each, and the checks that support it."
    )
    rows = (
        (
            explained(line.asked),
            f'<span class="missing">{line.stated}</span>' if line.missing else escape(harmless(line.stated)),
            escape(harmless(line.backing)),
        )
        for line in statement(report)
    )
    lines = table(("asked for", "stated", "supported by"), rows)
    return f'<p class="note">{note}</p><div class="statement">{lines}</div>'


def _class(word: str) -> str:
    return word.replace(" ", "-")


def coverage_section(coverage: Coverage) -> str:
    """Two tables; checks of the same mechanism, size and subject matter share a row."""
    parts = []
    if coverage.covered:
        head = ("of which mechanism", "at which size", "what about", "checks")
        parts.append(f'<h3>Checked</h3><div class="coverage">{table(head, map(escaped, _rows(coverage)))}</div>')
    if coverage.rare:
        parts.append(f"<p>Rare failures: {escape(harmless(coverage.rare))}.</p>")
    parts.append("<h3>Not checked</h3>")
    skipped = dict.fromkeys(
        (str(item.about), item.about.subject, " ".join(item.reason.split())) for item in coverage.skipped
    )
    if skipped:
        parts.append(table(("what", "of which mechanism", "why not"), map(escaped, skipped)))
    else:
        parts.append("<p>Nothing that was planned was left out.</p>")
    return "".join(parts)


def _rows(coverage: Coverage) -> Iterator[tuple[str, str, str, str]]:
    rows: dict[tuple[str, str, str], list[str]] = {}
    for item in coverage.covered:
        runs = f" ({item.runs:,} run{'s' if item.runs > 1 else ''})" if item.runs else ""
        about = ", ".join(map(str, item.aspects)) or "other"
        rows.setdefault((item.about.subject, item.size, about), []).append(f"{item.about.question}{runs}")
    for key, checks in rows.items():
        yield *key, ", ".join(checks)


_SECONDS = ("budget", "timeout")


def parameters(claims: ClaimFile) -> Iterator[tuple[str, str, str]]:
    """Rows of the tables, in the order of the claim file."""
    yield from _table("claim", claims.claim)
    for mechanism in claims.mechanism:
        title = f"mechanism {mechanism.title}"
        yield title, "algorithm", mechanism.algorithm
        for field in dataclasses.fields(mechanism):
            value = getattr(mechanism, field.name)
            if value is not None and field.name != "name":
                yield title, field.name, _shown(value)
    if claims.declared is not None:
        yield from _table("declared", claims.declared)
    if claims.implementation is not None:
        yield from _table("implementation", claims.implementation)
    if claims.declared is None:  # it says how the paper's algorithms are run
        yield from _table("deployment", claims.deployment)
    if claims.pair is not None:
        yield from _table("pair", claims.pair)
    yield from _table("gate", claims.gate)
    for waiver in claims.waiver:
        yield from _table("waiver", waiver)


def _table(name: str, table: BaseModel) -> Iterator[tuple[str, str, str]]:
    for field, info in type(table).model_fields.items():
        value = getattr(table, field)
        if value is not None and value not in ([], {}):
            yield name, info.alias or field, f"{value:g} s" if field in _SECONDS else _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return _decimal(value)
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(each)}" for key, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(_shown(each) for each in value)
    return str(value)


def _decimal(value: Fraction) -> str:
    """The number as it was written, where it has few digits; else its two decimals."""
    try:
        low, high = (decimal_string(value, _DIGITS, side) for side in ("down", "up"))
    except AccountantError:
        return str(value)
    return low if low == high else f"{low} to {high}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already; on a narrow screen a cell is named by its column."""
    names = "".join(f"<th>{explained(name)}</th>" for name in head)
    top = f"<thead><tr>{names}</tr></thead>" if head else ""
    labels = [""] + [f' data-name="{escape(name, quote=True)}"' for name in head[1:]]

    def cells(row: Sequence[str]) -> str:
        return "".join(f"<td{labels[i] if i < len(labels) and cell else ''}>{cell}</td>" for i, cell in enumerate(row))

    body = "".join(f"<tr>{cells(row)}</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def escaped(row: Sequence[str]) -> tuple[str, ...]:
    """Cells of plain text, from outside perhaps, as HTML."""
    return tuple(escape(harmless(cell)) for cell in row)
