"""The report for machines: JSON, JUnit XML, and SARIF 2.1.0 for code scanning.

JSON is versioned, reals are decimal strings. In JUnit a refutation is a failure, what was not asked is skipped, and
anything else that did not pass is an error. In SARIF there is a rule for each cause and for each stage, and a result
for each finding that needs attention: GitHub shows every result of a file as an alert, whatever its kind; so what
stands or was skipped is no result, but counted in the run's properties. Alerts are matched over runs by rule, file and
fingerprint. An alert points at the line of epsilon in the claim file, by its path relative to the repository.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

from accountant import decimal_string
from audits.games.sequential import AuditResult
from audits.gate.price import Account
from audits.gate.report import GateReport, Provenance, grouped, ids_of
from audits.report.statement import claimed, statement
from audits.report.text import headline, unused_waivers
from verification.judge import Coverage, not_asked
from verification.outcome import About, Cause, Finding, Outcome, Stage, worst
from verification.plain_text import harmless

VERSION = 1
_DIGITS = 12


def document(report: GateReport) -> dict[str, object]:
    """Return the report as plain data; docs/reference/auditing.md describes the shape."""
    gate = report.claims.gate
    return {
        "version": VERSION,
        "outcome": report.outcome.value,
        "exit_code": report.outcome.exit_code,
        "summary": headline(report),
        "seed": report.seed,
        "seconds": f"{report.seconds:.3f}",
        "false_alarm": decimal_string(gate.false_alarm, _DIGITS, "up"),
        "power_asked": repr(gate.power),
        "claim": claimed(report.claims),
        "accounts": [_account(account) for account in report.accounts],
        "findings": [_finding(finding) for finding in report.findings],
        "questions": {name: finding.outcome.value for name, finding in report.asked.items()},
        "audits": [_audit(audit) for audit in report.audits],
        "causes": [
            {"cause": group.cause, "subject": group.subject, "findings": [finding.name for finding in group.findings]}
            for group in grouped(report.findings)
        ],
        "unused_waivers": [
            {"finding": str(w.finding), "reason": w.reason, "expires": w.expires.isoformat()}
            for w in unused_waivers(report)
        ],
        "coverage": _coverage(report.coverage),
        "provenance": _provenance(report.provenance),
        "statement": [line.document() for line in statement(report)],
    }


def render_json(report: GateReport) -> str:
    """Return the document as JSON text; NaN and infinity would be an error."""
    return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _provenance(known: Provenance) -> dict[str, object]:
    described = known.implementation
    return {
        "date": known.date.isoformat(timespec="seconds"),
        "dpadmm": known.version,
        "system": known.system,
        "claim_file": None if known.claim is None else {"name": known.claim.name, "sha256": known.claim.sha256},
        "implementation": None
        if described is None
        else {name: getattr(described, name) for name in ("name", "version", "language")},
        "files": [{"name": file.name, "sha256": file.sha256 or None} for file in known.files],
    }


def _coverage(coverage: Coverage) -> dict[str, object]:
    return {
        "covered": [
            {
                "what": str(item.about),
                "subject": item.about.subject,
                "size": item.size,
                "runs": item.runs,
                "aspects": [str(aspect) for aspect in item.aspects],
            }
            for item in coverage.covered
        ],
        "not_covered": [
            {"what": str(item.about), "subject": item.about.subject, "reason": harmless(item.reason)}
            for item in coverage.skipped
        ],
        "rare_failures": coverage.rare or None,
    }


def _account(account: Account) -> dict[str, object]:
    report = account.report
    if report is None:
        return {"mechanism": account.mechanism.title, "epsilon": None, "methods": {}, "refused": {}}
    low, high = report.epsilon.printed(_DIGITS)
    return {
        "mechanism": account.mechanism.title,
        "epsilon": {"lower": low, "upper": high},
        "methods": {
            name: {
                "epsilon": result.epsilon.printed(_DIGITS)[1],
                "alpha": None if result.alpha is None else decimal_string(result.alpha, _DIGITS, "up"),
                "theorem": result.theorem,
            }
            for name, result in report.methods.items()
        },
        "refused": dict(report.refused),
    }


def _finding(finding: Finding) -> dict[str, object]:
    power, waiver = finding.power, finding.waiver
    return {
        "name": finding.name,
        "stage": str(finding.stage),
        "outcome": finding.outcome.value,
        "detail": finding.detail,
        "reproduction": finding.reproduction or None,
        "seconds": f"{finding.seconds:.3f}",
        "trials": finding.trials,
        "power": None
        if power is None
        else {
            "noise_divisor": repr(power.divisor),
            "probability_at_least": repr(power.at_least),
            "simulations": power.simulations,
        },
        "waiver": None if waiver is None else {"reason": waiver.reason, "expires": waiver.expires.isoformat()},
    }


def _audit(audit: AuditResult) -> dict[str, object]:
    return {
        "game": audit.plan.game.name,
        "claim": audit.plan.curve.describe(),
        "alpha": repr(audit.plan.alpha),
        "planned_pairs": audit.plan.pairs,
        "pairs": int(audit.first.size),
        "log_wealth": repr(float(audit.log_wealth[-1])) if audit.log_wealth.size else None,
        "largest_log_wealth": repr(float(audit.log_wealth.max())) if audit.log_wealth.size else None,
    }


_PASSES = (Outcome.STANDS, Outcome.DEVIATES)
# XML 1.0 has no way to write these, not even escaped
_FORBIDDEN = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\U00010000-\U0010ffff]")


def render_junit(report: GateReport) -> str:
    """Return one test suite, with the same test cases whether a claim stands or is refuted.

    A case for each question, one for all games, one for the coverage, one for the adapter; a question that was not
    reached is skipped. Further findings, such as those of a history, follow.
    """
    cases = _cases(report)
    deciding = [f for f in cases if f.waiver is None and f.outcome is not Outcome.SKIPPED]
    failures = sum(f.outcome is Outcome.REFUTED for f in deciding)
    errors = sum(f.outcome not in (Outcome.REFUTED, *_PASSES) for f in deciding)
    counts = {
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": str(errors),
        "time": f"{report.seconds:.3f}",
    }
    root = ET.Element("testsuites", {"name": "dpadmm gate", **counts})
    # Jenkins' schema has this count for a suite, and not for all of them together
    skipped = {"skipped": str(len(cases) - len(deciding))}
    suite = ET.SubElement(root, "testsuite", {"name": "privacy claims", **counts, **skipped})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", {"name": "seed", "value": str(report.seed)})
    for finding in cases:
        _case(suite, finding)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


_ADAPTER = About("adapter")
_TOGETHER = (About(stage=Stage.GAMES), About(stage=Stage.COVERAGE), _ADAPTER)
"""What has one test case, however many findings: all games, what no check looked at, faults of the adapter."""


def _case_of(about: About) -> About:
    """The test case to which a finding belongs."""
    if about.question == _ADAPTER.question:
        return _ADAPTER
    return next((case for case in _TOGETHER[:2] if case.stage is about.stage), about)


def _cases(report: GateReport) -> list[Finding]:
    if not report.asked:
        return list(report.findings)
    by_case: dict[str, list[Finding]] = {}
    for finding in {**report.asked, **{f.name: f for f in report.findings}}.values():
        by_case.setdefault(str(_case_of(finding.about)), []).append(finding)
    cases = [_one_case(About.read(name), by_case.pop(name, []), report) for name in ids_of(report.claims)]
    further = [about for about in _TOGETHER if str(about) not in ids_of(report.claims)]
    cases += [_one_case(about, by_case.pop(str(about), []), report) for about in further]
    summaries = {str(stage) for stage in Stage}
    return cases + [f for name, members in by_case.items() if name not in summaries for f in members]


def _one_case(about: About, members: list[Finding], report: GateReport) -> Finding:
    if not members:
        good = about in _TOGETHER[1:] and not report.partial
        outcome = Outcome.STANDS if good else Outcome.SKIPPED
        return not_asked(about, outcome, "" if good else "not reached: the gate ended before, or it does not apply")
    deciding = worst(f.outcome for f in members if f.waiver is None)
    speaker = next((f for f in members if f.outcome is deciding and f.waiver is None), members[0])
    detail = speaker.detail if speaker.about == about else f"{speaker.name}: {speaker.detail}"
    return dataclasses.replace(speaker, about=about, detail=detail, seconds=sum(f.seconds for f in members))


def _case(suite: ET.Element, finding: Finding) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {"name": _clean(finding.name), "classname": f"dpadmm.{finding.stage}", "time": f"{finding.seconds:.3f}"},
    )
    again = f"\nagain: {finding.reproduction}" if finding.reproduction else ""
    text = _clean(finding.detail + again)
    if finding.waiver is not None:
        why = f"waived until {finding.waiver.expires}: {finding.waiver.reason}"
        ET.SubElement(case, "skipped", {"message": _clean(why)})
        return
    if finding.outcome is Outcome.SKIPPED:
        ET.SubElement(case, "skipped", {"message": _line(finding.detail)})
    elif finding.outcome is Outcome.REFUTED:
        ET.SubElement(case, "failure", {"message": _line(finding.detail), "type": "refuted"}).text = text
    elif finding.outcome not in _PASSES:
        kind = {"message": _line(finding.detail), "type": finding.outcome.value}
        ET.SubElement(case, "error", kind).text = text
    else:
        ET.SubElement(case, "system-out").text = text


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)


def _line(text: str) -> str:
    return _clean(text.splitlines()[0] if text else "")


# -- SARIF: a rule for each cause and each stage -----------------------------------------------------------------------

DOCS = "DPADMM_DOCS"
"""The environment variable that holds the address of a published copy of the documentation, for links in reports."""
MEANING: dict[Cause, str] = {
    Cause.NOISE_SMALL: "The noise that leaves is smaller than claimed. Look at what the generator takes: a variance, a "
    "deviation, or a scale that was divided once too often.",
    Cause.NOISE_LARGE: "The noise is larger than claimed. That costs accuracy, not privacy: change either.",
    Cause.NOISE_LAW: "The noise has the right size and another law than claimed. Look for Laplace noise, "
    "truncation, rounding or clipping of the noise.",
    Cause.NOISE_MEAN: "The noise has a mean. Look for noise that is centred or shifted after it was drawn.",
    Cause.NOISE_DEPENDENT: "Noise values depend on each other. Look for one draw broadcast over coordinates, and "
    "for generators that share a seed.",
    Cause.NOISE_REUSED: "The same noise is used twice. Look for a fixed seed, and for workers that copy a generator.",
    Cause.NOISE_GRID: "Noise lies on a grid and the values beside it do not, so that rounding tells them apart.",
    Cause.NOISE_LOST: "Noise is drawn and does not reach what is released.",
    Cause.BATCH_SIZE: "Batches have another size than claimed.",
    Cause.BATCH_LAW: "Records are not drawn as claimed: in order, with replacement, or more often than others.",
    Cause.BATCH_REUSED: "Batches repeat, where each iteration should draw anew.",
    Cause.CONTRIBUTION: "One record moves a value further than its sensitivity. Look for a mean that is clipped in "
    "place of each record, a missing clip, or a division by the wrong count.",
    Cause.UNNOISED: "A value leaves without noise, and depends on the records.",
    Cause.DATA_DEPENDENT: "Something public depends on the records: a step size, a stopping rule, a scale.",
    Cause.UPDATE: "An update differs from the reference's. That is no leak by itself.",
    Cause.UNSOLVED: "The inner problem is not solved to the precision on which the proof rests.",
    Cause.NOT_REPEATED: "The same request has two answers, though nothing in it is random.",
    Cause.NOT_AS_SHOWN: "The adapter's own runs are not those that it shows from the inside.",
    Cause.DISTINGUISHED: "Two neighbouring data sets can be distinguished better than the claim allows. Where another "
    "cause is listed as well, this is its consequence.",
    Cause.PRICE: "The mechanism as stated costs more than is claimed, even if the implementation is correct. Claim "
    "more, or add noise.",
}

RULES: dict[Stage, str] = {
    Stage.PRICE: "The claimed epsilon is what the mechanism costs",
    Stage.SMALL: "The implementation does what its privacy proof assumes",
    Stage.CLAIMED: "The implementation does so at the claimed size, without a seed",
    Stage.GAMES: "The implementation leaks no more than the claimed curve allows",
    Stage.COVERAGE: "Everything that the claim rests on was checked",
    Stage.DECLARED: "The implementation is what its adapter declares",
}
"""What each stage checks: the rules of findings without a cause, such as one that is inconclusive."""


def slug(cause: Cause) -> str:
    """The id of its rule and the anchor of its section."""
    return str(cause).replace(" ", "-").replace(",", "")


def help_uri(anchor: str) -> dict[str, str]:
    """Where a published copy of the documentation explains it; empty where none is named."""
    base = os.environ.get(DOCS, "").rstrip("/")
    return {"helpUri": f"{base}/reference/causes.html#{anchor}"} if base.startswith(("http://", "https://")) else {}


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LONGEST_MESSAGE = 4000
_LEVEL = {
    Outcome.REFUTED: "error",
    Outcome.FAULT: "error",
    Outcome.ADAPTER_FAILED: "error",
    Outcome.INCONCLUSIVE: "warning",
    Outcome.DEVIATES: "note",
}


def render_sarif(report: GateReport) -> str:
    """Return one run with a result for each finding that neither stands nor was skipped."""
    driver = {
        "name": "dpadmm",
        "version": report.provenance.version,
        "rules": list(_rules()),
    }
    faults = (Outcome.FAULT, Outcome.ADAPTER_FAILED)
    place = place_of(report)
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": report.outcome not in faults,
                "exitCode": report.outcome.exit_code,
            }
        ],
        "results": [_result(finding, place) for finding in report.findings if finding.outcome in _LEVEL],
        "properties": {"seed": str(report.seed), **Counter(finding.outcome.value for finding in report.findings)},
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(anchor: str, title: str, text: str, advice: str) -> dict[str, object]:
    """One rule a cause, for GitHub groups alerts by rule; one a stage for findings without a cause."""
    return {
        "id": anchor,
        "name": anchor,
        "shortDescription": {"text": title[0].upper() + title[1:]},
        "fullDescription": {"text": text},
        "help": {"text": advice},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["privacy"]},
        **help_uri(anchor),
    }


def _rules() -> Iterator[dict[str, object]]:
    for cause, text in MEANING.items():
        yield _rule(slug(cause), cause, text, f"{text} Documentation: docs/reference/causes.md#{slug(cause)}")
    advice = "The message states what was observed and how to reproduce it; the HTML report shows it."
    for stage, title in RULES.items():
        yield _rule(str(stage), title, f"{title}: stage {stage} of `dpadmm gate`.", advice)


def _result(finding: Finding, place: Place) -> dict[str, object]:
    again = f"\nAgain: {finding.reproduction}" if finding.reproduction else ""
    name = finding.name or "gate"
    text = f"{name}: {finding.outcome}. {finding.detail}"
    result: dict[str, object] = {
        "ruleId": str(finding.stage or Stage.GAMES) if finding.cause is None else slug(finding.cause),
        "kind": "fail",
        "level": _LEVEL[finding.outcome],
        "message": {"text": text[: LONGEST_MESSAGE - len(again)] + again},
        "partialFingerprints": {
            "primaryLocationLineHash": f"{hashlib.sha256(f'{name} {finding.subject}'.encode()).hexdigest()}:1"
        },
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": place.uri, "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": place.line, "endLine": place.line},
                },
                "logicalLocations": [{"fullyQualifiedName": name, "kind": "member"}],
            },
        ],
    }
    if finding.waiver is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.waiver.reason}]
    return result


UNKNOWN = "privacy-claim.toml"
"""The file where a report does not know its own: what `--init` writes."""
_HEADER = re.compile(r"^\s*\[claim\]\s*(#.*)?$")
_EPSILON = re.compile(r"^\s*epsilon\s*=")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; ``uri`` is relative, without a scheme."""

    uri: str
    line: int


def place_of(report: GateReport) -> Place:
    """The place of the claim of a report."""
    source = report.provenance.source
    return Place(UNKNOWN if source is None else relative_uri(source), claim_line(report.provenance.text))


def relative_uri(path: Path) -> str:
    """The path below the repository that holds it, else below the working directory, else its name alone."""
    whole = path.absolute().resolve()
    root = next((folder for folder in whole.parents if (folder / ".git").exists()), Path.cwd().resolve())
    inside = whole.relative_to(root) if whole.is_relative_to(root) else Path(whole.name)
    return quote(inside.as_posix())


def claim_line(text: str) -> int:
    """The line of epsilon in [claim], else of [claim], else the first."""
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines, start=1) if _HEADER.match(line)), None)
    if header is None:
        return 1
    for number, line in enumerate(lines[header:], start=header + 1):
        if line.lstrip().startswith("["):
            break
        if _EPSILON.match(line):
            return number
    return header
