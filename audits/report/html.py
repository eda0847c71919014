"""One self-contained HTML page: no script, font or network access; light, dark and print styles."""

from __future__ import annotations

from html import escape

from audits.gate.findings import GateReport
from audits.report.plots import plots_of
from audits.report.text import coverage_lines, headline
from audits.zoo import MEMBERS
from verification.outcome import Finding

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#5b6570;--line:#d9dee3;--seen:#0b62c4;--claimed:#b3261e;
--floor:#2e7d32;--good:#1b7f3b;--bad:#b3261e;--odd:#8a5a00}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#14181c;--soft:#9aa5b1;--line:#333b43;--seen:#6cb2ff;
--claimed:#ff8a80;--floor:#7fd08a;--good:#6fd08c;--bad:#ff8a80;--odd:#e9b949}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}h3{font-size:1rem;margin:0 0 .4rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;
border-bottom:1px solid var(--line)}td{overflow-wrap:anywhere}code{font-size:.85em;overflow-wrap:anywhere}
.stands{color:var(--good)}.refuted,.fault,.adapter-failed{color:var(--bad)}.inconclusive,.waived{color:var(--odd)}
b[class]{white-space:nowrap}.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1.6rem}
figure{margin:0}figcaption,.note{color:var(--soft);font-size:.86rem}svg{width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}svg .tick{fill:var(--soft)}
.axis{stroke:var(--soft);fill:none}.grid{stroke:var(--line);fill:none}
polyline{fill:none;stroke-width:1.8}.seen{stroke:var(--seen)}.claimed{stroke:var(--claimed);stroke-dasharray:6 3}
.floor{stroke:var(--floor)}.band{stroke:var(--seen);stroke-dasharray:2 3}.dots{fill:var(--seen);stroke:none}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:.2rem 0;font-size:.86rem}
.legend i{display:inline-block;width:1.6rem;height:0;border-top:2px solid;margin:0 .4rem .25rem 0}
.legend .seen{border-color:var(--seen)}.legend .claimed{border-color:var(--claimed);border-top-style:dashed}
.legend .floor{border-color:var(--floor)}.legend .band{border-color:var(--seen);border-top-style:dotted}
@media print{body{max-width:none;margin:0}}
"""


def render_html(report: GateReport) -> str:
    """Return the page; all text from outside is escaped."""
    title = f"Privacy gate: {headline(report)}"
    claim = report.claims.claim
    rows = "".join(_row(finding) for finding in report.findings)
    covered = "".join(f"<li>{escape(line)}</li>" for line in coverage_lines(report))
    plots = "".join(plot.render() for plot in plots_of(report))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>Privacy gate: <span class="{_class(report.outcome.word)}">{escape(headline(report))}</span></h1>
<p>Claimed: epsilon = {float(claim.epsilon):g} at delta = {float(claim.delta):g}, {escape(claim.neighbours)} neighbours.
The probability that a correct implementation is refuted is at most {float(report.claims.gate.false_alarm):g} over all
checks together. Seed {report.seed}. {report.seconds:.1f} s.</p>
<h2>Findings</h2>
<table><thead><tr><th>finding</th><th>outcome</th><th>detail</th></tr></thead><tbody>{rows}</tbody></table>
<h2>Coverage</h2><ul>{covered}</ul>
<h2>What was seen</h2><div class="plots">{plots}</div>
<h2>What such a gate catches</h2>
<p class="note">Wrong implementations that this project keeps, one real bug each, to test its own checks with.</p>
<table><thead><tr><th>id</th><th>what is wrong</th><th>harm</th></tr></thead><tbody>{_zoo()}</tbody></table>
</body></html>
"""


def _row(finding: Finding) -> str:
    word = "waived" if finding.waiver is not None else finding.outcome.word
    detail = escape(finding.detail)
    if finding.waiver is not None:
        detail += f"<br>waived until {finding.waiver.expires}: {escape(finding.waiver.reason)}"
    if finding.reproduction:
        detail += f"<br>again: <code>{escape(finding.reproduction)}</code>"
    return f'<tr><td>{escape(finding.name)}</td><td><b class="{_class(word)}">{word}</b></td><td>{detail}</td></tr>'


def _class(word: str) -> str:
    return word.replace(" ", "-")


def _zoo() -> str:
    return "".join(
        f"<tr><td>{escape(m.identity)}</td><td>{escape(m.wrong)}</td><td>{escape(str(m.harm))}</td></tr>"
        for m in MEMBERS.values()
    )
