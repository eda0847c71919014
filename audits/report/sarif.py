"""The report as SARIF 2.1.0, for code scanning: a rule for each stage, a result for each finding that needs attention.

GitHub shows every result of a file as an alert, whatever its kind; so what stands or was skipped is no result here, but
counted in the run's properties. Alerts are matched over runs by rule, file and fingerprint. An alert points at the
line of epsilon in the claim file, by its path relative to the repository.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from audits.gate.findings import GateReport
from verification.outcome import Finding, Outcome, Stage

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LONGEST_MESSAGE = 4000
_LEVEL = {
    Outcome.REFUTED: "error",
    Outcome.FAULT: "error",
    Outcome.ADAPTER_FAILED: "error",
    Outcome.INCONCLUSIVE: "warning",
    Outcome.DEVIATES: "note",
}
_RULES = {
    Stage.PRICE: "The claimed epsilon is what the mechanism costs",
    Stage.SMALL: "The implementation does what its privacy proof assumes",
    Stage.CLAIMED: "The implementation does so at the claimed size, without a seed",
    Stage.GAMES: "The implementation leaks no more than the claimed curve allows",
    Stage.COVERAGE: "Everything that the claim rests on was checked",
    Stage.DECLARED: "The implementation is what its adapter declares",
}


def render_sarif(report: GateReport) -> str:
    """Return one run with a result for each finding that neither stands nor was skipped."""
    driver = {
        "name": "dpadmm",
        "version": report.provenance.version,
        "rules": [_rule(stage, text) for stage, text in _RULES.items()],
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


def _rule(stage: Stage, text: str) -> dict[str, object]:
    return {
        "id": str(stage),
        "name": f"privacy-{stage}",
        "shortDescription": {"text": text},
        "fullDescription": {"text": f"{text}: stage {stage} of `dpadmm gate`."},
        "help": {"text": "The message states what was observed and how to reproduce it; the HTML report shows it."},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["privacy"]},
    }


def _result(finding: Finding, place: Place) -> dict[str, object]:
    again = f"\nAgain: {finding.reproduction}" if finding.reproduction else ""
    name = finding.name or "gate"
    text = f"{name}: {finding.outcome}. {finding.detail}"
    result: dict[str, object] = {
        "ruleId": str(finding.stage or Stage.GAMES),
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
