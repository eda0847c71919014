"""The report as SARIF 2.1.0, for code scanning: a rule for each stage, a result for each finding that needs attention.

GitHub shows every result of a file as an alert, whatever its kind; so what stands or was skipped is no result here, but
counted in the run's properties. Alerts are matched over runs by rule, file and fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from audits.gate.findings import GateReport, Stage
from audits.report.place import Place, place_of
from verification.outcome import Finding, Outcome

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
    Stage.ACCOUNT: "The claimed epsilon is what the mechanism costs",
    Stage.CONFORM: "The implementation does what its privacy proof assumes",
    Stage.DEPLOY: "The implementation does so at the claimed size, without a seed",
    Stage.AUDIT: "The implementation leaks no more than the claimed curve allows",
    Stage.COVERAGE: "Everything that the claim rests on was looked at",
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
        "help": {"text": "The message says what was seen and how to see it again; the HTML report shows it."},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["privacy"]},
    }


def _result(finding: Finding, place: Place) -> dict[str, object]:
    again = f"\nAgain: {finding.reproduction}" if finding.reproduction else ""
    name = finding.name or "gate"
    text = f"{name}: {finding.outcome}. {finding.detail}"
    result: dict[str, object] = {
        "ruleId": finding.stage if finding.stage in set(Stage) else str(Stage.AUDIT),
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
