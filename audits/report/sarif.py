"""For code scanning: SARIF 2.1.0, one rule per name of finding, one result for each that does not stand."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json

from audits.gate.findings import GateReport, Stage
from verification.outcome import Finding, Outcome

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# SARIF allows a level other than "none" only for kind "fail"
_LEVEL = {
    Outcome.REFUTED: "error",
    Outcome.FAULT: "error",
    Outcome.ADAPTER_FAILED: "error",
    Outcome.INCONCLUSIVE: "none",
    Outcome.DEVIATES: "warning",
    Outcome.SKIPPED: "none",
    Outcome.STANDS: "none",
}
_KIND = {Outcome.STANDS: "pass", Outcome.INCONCLUSIVE: "open", Outcome.SKIPPED: "notApplicable"}
_RULES = {
    Stage.ACCOUNT: "the claimed epsilon is what the mechanism costs",
    Stage.CONFORM: "the implementation does what its privacy proof assumes",
    Stage.AUDIT: "the implementation leaks no more than the claimed curve allows",
    Stage.DECLARED: "the implementation is what its adapter declares",
}


def render_sarif(report: GateReport) -> str:
    """Return one run; findings that stand are results of kind "pass"."""
    driver = {
        "name": "dpadmm",
        "version": importlib.metadata.version("dpadmm"),
        "rules": [{"id": str(stage), "shortDescription": {"text": text}} for stage, text in _RULES.items()],
    }
    faults = (Outcome.FAULT, Outcome.ADAPTER_FAILED)
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": report.outcome not in faults,
                "exitCode": report.outcome.exit_code,
            }
        ],
        "results": [_result(finding) for finding in report.findings],
        "properties": {"seed": str(report.seed)},
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(finding: Finding) -> dict[str, object]:
    again = f" Again: {finding.reproduction}" if finding.reproduction else ""
    result: dict[str, object] = {
        "ruleId": str(finding.stage),
        "kind": _KIND.get(finding.outcome, "fail"),
        "level": _LEVEL[finding.outcome],
        "message": {"text": f"{finding.name}: {finding.detail}{again}"},
        "partialFingerprints": {"finding/v1": hashlib.sha256(finding.name.encode()).hexdigest()},
        "locations": [
            {"logicalLocations": [{"fullyQualifiedName": finding.name, "kind": "member"}]},
        ],
    }
    if finding.waiver is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.waiver.reason}]
    return result
