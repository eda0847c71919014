"""The report as JUnit XML: a refutation is a failure; anything else that did not pass is an error."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from audits.gate.findings import GateReport
from verification.outcome import Finding, Outcome

_PASSES = (Outcome.STANDS, Outcome.DEVIATES)
# XML 1.0 has no way to write these, not even escaped
_FORBIDDEN = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\U00010000-\U0010ffff]")


def render_junit(report: GateReport) -> str:
    """Return one test suite, one test case per finding."""
    deciding = [f for f in report.findings if f.waiver is None]
    failures = sum(f.outcome is Outcome.REFUTED for f in deciding)
    errors = sum(f.outcome not in (Outcome.REFUTED, *_PASSES) for f in deciding)
    counts = {
        "tests": str(len(report.findings)),
        "failures": str(failures),
        "errors": str(errors),
        "time": f"{report.seconds:.3f}",
    }
    root = ET.Element("testsuites", {"name": "dpadmm gate", **counts})
    # Jenkins' schema has this count for a suite, and not for all of them together
    skipped = {"skipped": str(len(report.findings) - len(deciding))}
    suite = ET.SubElement(root, "testsuite", {"name": "privacy claims", **counts, **skipped})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", {"name": "seed", "value": str(report.seed)})
    for finding in report.findings:
        _case(suite, finding)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


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
    if finding.outcome is Outcome.REFUTED:
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
