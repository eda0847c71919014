"""The report as text, in full and for one screen, and as Markdown, for a comment on a pull request."""

from __future__ import annotations

import dataclasses
import re
import shlex
import textwrap
from collections.abc import Iterator

from audits.gate.claim_file import Waiver
from audits.gate.history import ABOUT as HISTORY
from audits.gate.report import CauseGroup, GateReport, grouped, least_power
from verification.judge import described
from verification.outcome import Finding, Outcome, Stage

_INDENT = " " * 14
_MOST_SKIPPED = 12


def headline(report: GateReport) -> str:
    """Return the result in one sentence."""
    if report.partial and report.outcome is Outcome.INCONCLUSIVE:
        text = "no conclusion: only a part of the gate was run"
    else:
        text = {
            Outcome.STANDS: "every claim stands",
            Outcome.DEVIATES: "every claim stands; what is run deviates from it and is not less private",
            Outcome.REFUTED: "a claim is refuted",
            Outcome.INCONCLUSIVE: "inconclusive: nothing was refuted, but not enough could be checked",
            Outcome.ADAPTER_FAILED: "the adapter failed; nothing can be concluded about the implementation",
            Outcome.FAULT: "a fault of dpadmm; nothing can be concluded",
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
    said: dict[str, str] = {}  # why something was not judged, and of which finding it was said first
    for finding in report.findings:
        undecided = finding.outcome in (Outcome.SKIPPED, Outcome.INCONCLUSIVE)
        first = said.setdefault(finding.detail, finding.name) if undecided else finding.name
        lines += _finding(finding if first == finding.name else dataclasses.replace(finding, detail=f"as {first}"))
    lines += [*_causes(report), *coverage_lines(report)]
    lines += [f"{UNUSED:<14} {_unused(waiver)}" for waiver in unused_waivers(report)]
    last = _last_line(report, headline(report))
    return "\n".join([*lines, *([last] if len(last) <= WIDTH else [headline(report), _short_line(report)])]) + "\n"


WIDTH = 100
_MOST_LINES = 4
_LAST_WORDS = 8  # lines of a failed adapter's own words, its traceback among them
_SCREEN = 30


def render_summary(report: GateReport) -> str:
    """What fits a screen: the headline, one entry a cause, what is missing, the price, power, coverage, how sure."""
    groups = sorted(grouped(report.findings), key=lambda group: group.findings[0].outcome is not Outcome.REFUTED)
    entries = [_cause_entry(group) for group in groups]
    skipped = [Outcome.SKIPPED] if report.outcome is Outcome.INCONCLUSIVE else []
    open_ones = [Outcome.INCONCLUSIVE, Outcome.ADAPTER_FAILED, Outcome.FAULT, *skipped]
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for finding in report.findings:
        pending = finding.outcome in open_ones
        if pending or finding.waiver is not None or finding.name == str(HISTORY):
            word = "waived" if finding.waiver is not None else finding.outcome.value
            first, *rest = finding.detail.splitlines() or [""]
            kept = rest[-_LAST_WORDS:] * (finding.outcome in (Outcome.ADAPTER_FAILED, Outcome.FAULT))
            together.setdefault((word, first, tuple(kept)), []).append(finding.name)
    for (word, detail, last), (first, *others) in together.items():
        also = f", and {len(others)} more" if others else ""
        why = (each for line in last for each in _wrapped("", line))
        entries.append([*_wrapped(word, f"{first}{also}: {detail}"), *why])
    priced = (f for f in report.findings if f.stage is Stage.PRICE and f.outcome is Outcome.STANDS)
    entries += [_wrapped(f.outcome.value, f"{f.name}: {f.detail}") for f in priced]
    lines: list[str] = []
    power = least_power(report)
    if power is not None:
        games = sum(f.power is not None for f in report.findings)
        lines += _wrapped("power", f"{power.describe()}, in each of {games} games")
    lines += _wrapped("coverage", _covered(report))
    for waiver in unused_waivers(report):
        lines += _wrapped(UNUSED, _unused(waiver))
    head = _wrapped(report.outcome.value, headline(report))
    shown = _fitting(entries, _SCREEN - len(head) - len(lines) - 1)
    return "\n".join([*head, *shown, *lines, _short_line(report)]) + "\n"


def _fitting(entries: list[list[str]], room: int) -> list[str]:
    """As many entries as there is room for, one at least, and how many were left out."""
    shown: list[str] = []
    for number, entry in enumerate(entries):
        last = number == len(entries) - 1
        if shown and len(shown) + len(entry) + (not last) > room:
            return [*shown, f"{_INDENT} and {len(entries) - number} more (--details lists them)"]
        shown += entry
    return shown


def _cause_entry(group: CauseGroup) -> list[str]:
    """The cause, what the finding that says most about it saw, its price, its witness, the command."""
    first = max(group.findings, key=lambda f: (bool(f.measured), bool(f.witness), -(f.p_value or 0.0)))
    about = f" ({group.subject})" if group.subject else ""
    others = len(group.findings) - 1
    also = f", and {others} more" if others else ""
    lines = _wrapped(first.outcome.value, f"{group.cause}{about}: {first.name}{also}")
    detail = first.detail.splitlines()[0] if first.detail else ""
    for text in (detail, *(each for each in (first.measured, first.witness) if each and each not in detail)):
        lines += _wrapped("", text)
    if group.where:
        lines += _wrapped("", f"look at {group.where}")
    if first.reproduction:
        lines += _command(first.reproduction)
    return lines


def _command(text: str) -> list[str]:
    """A command that can be copied as it stands: broken between its words, where a shell reads on."""
    lines = [f"{_INDENT} again:"]
    for word in map(shlex.quote, shlex.split(text)):
        if len(lines[-1]) + len(word) > WIDTH - 3:
            lines[-1] += " \\"
            lines.append(f"{_INDENT}  ")
        lines[-1] += f" {word}"
    return lines


def _covered(report: GateReport) -> str:
    seen: dict[str, dict[str, None]] = {}
    for item in report.coverage.covered:
        seen.setdefault(item.about.subject, {}).update(dict.fromkeys(map(str, item.aspects)))
    parts = [f"{subject}: {', '.join(aspects)}" for subject, aspects in seen.items() if aspects]
    skipped = len({str(item.about) for item in report.coverage.skipped})
    asked = len(report.asked)
    rest = f"{asked} question{'s' * (asked != 1)} answered" + f", {skipped} not asked" * bool(skipped)
    return "; ".join([*parts, f"{rest} (--details lists them)"])


def _wrapped(word: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, WIDTH - len(_INDENT) - 1, break_long_words=True, break_on_hyphens=False) or [""]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: WIDTH - 20]} ..."]
    return [f"{word:<14} {lines[0]}", *(f"{_INDENT} {line}" for line in lines[1:])]


def _last_line(report: GateReport, conclusion: str) -> str:
    return (
        f"{conclusion}; false-alarm probability at most {float(report.claims.gate.false_alarm):g} over all "
        f"checks; seed {report.seed}; {report.seconds:.1f} s"
    )


def _short_line(report: GateReport) -> str:
    return _last_line(report, re.split("[;:(]", headline(report))[0].strip())


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
        if group.where:
            yield f"{_INDENT} look at {group.where}"


UNUSED = "unused waiver"


def _unused(waiver: Waiver) -> str:
    return f"{waiver.finding}: {waiver.reason} (until {waiver.expires})"


def unused_waivers(report: GateReport) -> Iterator[Waiver]:
    """Waivers that waived nothing in a whole gate: to be deleted, or past their date."""
    if report.partial:
        return
    used = {(f.name, f.waiver.reason) for f in report.findings if f.waiver is not None}
    for waiver in report.claims.waiver:
        if (str(waiver.finding), waiver.reason) not in used:
            yield waiver


def coverage_lines(report: GateReport) -> Iterator[str]:
    """What was looked at, at which size, and what was not."""
    coverage = report.coverage
    by_size: dict[tuple[str, str], list[str]] = {}
    for item in coverage.covered:
        by_size.setdefault((item.about.subject, item.size), []).append(item.about.question)
    for (subject, size), what in by_size.items():
        yield f"{'covered':<14} {subject}, {size}: {', '.join(what)}"
    if coverage.rare:
        yield f"{'rare failures':<14} {coverage.rare}"
    yield from (f"{'not covered':<14} {text}" for text in described(coverage.skipped[:_MOST_SKIPPED]))
    if rest := dict.fromkeys(str(item.about) for item in coverage.skipped[_MOST_SKIPPED:]):
        yield f"{'not covered':<14} and {len(rest)} more: {', '.join(rest)}"


def render_markdown(report: GateReport) -> str:
    """Return a heading, a table of findings, and the command that reproduces each refutation."""
    lines = [f"## Privacy gate: {headline(report)}", "", "| finding | outcome | detail |", "|---|---|---|"]
    lines += [_markdown_row(finding) for finding in report.findings]
    again = [finding for finding in report.findings if finding.reproduction]
    if again:
        lines += ["", "See it again:", "", "```sh", *(finding.reproduction for finding in again), "```"]
    lines += ["", "Coverage:", "", *(f"- {_cell(line)}" for line in coverage_lines(report))]
    unused = [f"- {_cell(_unused(waiver))}" for waiver in unused_waivers(report)]
    lines += ["", "Unused waivers:", "", *unused] if unused else []
    alarm = float(report.claims.gate.false_alarm)
    lines += ["", f"False-alarm probability at most {alarm:g} over all checks. Seed {report.seed}."]
    return "\n".join(lines) + "\n"


def _markdown_row(finding: Finding) -> str:
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
