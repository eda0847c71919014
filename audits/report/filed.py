r"""What is filed beside a release: a badge, a signed statement, the fields of a deployment, and what changed since.

The statement is an in-toto Statement (v1) with the test-result predicate (v0.1) over the digests of the claim file,
the adapter and the files that [implementation] lists; what the predicate has no field for is in the extension field
`EXTENSION`. Signing is left to cosign or ssh-keygen; `verify` examines the statement again against the files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from html import escape
from pathlib import Path

from accountant import decimal_string
from accountant.mechanisms.words import Neighbours
from audits.errors import AuditError
from audits.gate.claim_file import ClaimFile
from audits.gate.declared import about_account, declared_stage
from audits.gate.options import GateOptions, limits_of
from audits.gate.price import account
from audits.gate.report import FileDigest, GateReport, least_power, provenance_of
from audits.report.statement import claimed, statement
from verification.judge import described, finding
from verification.outcome import Finding, Outcome

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
EXTENSION = "dpadmm_privacy"
_RESULTS = {Outcome.STANDS: "PASSED", Outcome.DEVIATES: "WARNED"}
_COLOURS = {Outcome.STANDS: "brightgreen", Outcome.DEVIATES: "green", Outcome.REFUTED: "red"}
_HEX = {"brightgreen": "#4c1", "green": "#97ca00", "red": "#e05d44", "lightgrey": "#9f9f9f"}
_DIGITS = 12


# -- badge ------------------------------------------------------------------------------------------------------------


def _message(report: GateReport) -> str:
    claim, power = claimed(report.claims), least_power(report)
    parts = [f"ε = {claim['epsilon']}, δ = {claim['delta']}", report.outcome.value]
    parts += [] if power is None else [f"noise/{power.divisor:.3g}"]
    return " · ".join([*parts, f"{report.provenance.date:%Y-%m-%d}"])


def render_badge(report: GateReport) -> str:
    """The badge as a shields.io endpoint."""
    colour = _COLOURS.get(report.outcome, "lightgrey")
    badge = {"schemaVersion": 1, "label": "privacy", "message": _message(report), "color": colour}
    return json.dumps(badge, ensure_ascii=False, indent=2) + "\n"


def render_badge_svg(report: GateReport) -> str:
    """The badge as a picture that needs no service."""
    message, left = _message(report), 52
    right = 12 + round(6.4 * len(message))
    colour = _HEX[_COLOURS.get(report.outcome, "lightgrey")]
    title = escape(f"privacy: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2}" y="14">privacy</text><text x="{left + right / 2}" y="14">{escape(message)}</text>'
        "</g></svg>\n"
    )


# -- in-toto ----------------------------------------------------------------------------------------------------------


def render_intoto(report: GateReport) -> str:
    """An in-toto Statement; a report that knows no files has nothing to state it about."""
    known = report.provenance
    files = ([] if known.claim is None else [known.claim]) + list(known.files)
    if not files:
        raise AuditError("intoto: the report knows no file that it could be about")
    power = least_power(report)
    tests = {**report.asked, **{f.name: f for f in report.findings}}
    predicate = {
        "result": _RESULTS.get(report.outcome, "FAILED"),
        "configuration": [_resource(file) for file in files[:1]],
        "passedTests": [f.name for f in tests.values() if f.outcome is Outcome.STANDS],
        "warnedTests": [f.name for f in tests.values() if f.outcome is Outcome.DEVIATES or f.waiver is not None],
        "failedTests": [f.name for f in tests.values() if _failed(f)],
        EXTENSION: {
            **claimed(report.claims),
            "outcome": report.outcome.value,
            "false_alarm": decimal_string(report.claims.gate.false_alarm, _DIGITS, "up"),
            "power": None
            if power is None
            else {"noise_divided_by": repr(power.divisor), "probability_at_least": repr(power.at_least)},
            "covered": sorted({f"{i.about.subject}: {a}" for i in report.coverage.covered for a in i.aspects}),
            "not_covered": sorted(described(report.coverage.skipped)),
            "tool": {"name": "dpadmm", "version": known.version},
            "date": known.date.isoformat(timespec="seconds"),
            "partial": report.partial,
        },
    }
    subject = [_resource(file) for file in files]
    document = {"_type": STATEMENT, "subject": subject, "predicateType": PREDICATE, "predicate": predicate}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _resource(file: FileDigest) -> dict[str, object]:
    return {"name": file.name, "digest": {"sha256": file.digest}}


def _failed(found: Finding) -> bool:
    return found.outcome not in (Outcome.STANDS, Outcome.DEVIATES, Outcome.SKIPPED) and found.waiver is None


def verify(text: str, claims: ClaimFile, source: Path) -> list[str]:
    """What is wrong with a statement about this claim file: nothing, if it is about these files and what it says holds.

    The digests are computed anew, the price as well, and the result must be what the tests that it lists come to.
    """
    try:
        document = json.loads(text)
        predicate = document["predicate"]
        stated = {str(each["name"]): str(each["digest"]["sha256"]) for each in document["subject"]}
        privacy, failed = predicate[EXTENSION], predicate["failedTests"]
        kinds, result = (document["_type"], document["predicateType"]), predicate["result"]
    except (ValueError, KeyError, TypeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        raise AuditError(f"this is not a statement of `dpadmm gate --report intoto=F`: {why}") from None
    wrong = [] if kinds == (STATEMENT, PREDICATE) else [f"it is of another type: {kinds[0]}, {kinds[1]}"]
    known = provenance_of(claims, source)
    actual = {file.name: file.digest for file in ([] if known.claim is None else [known.claim]) + list(known.files)}
    for name in sorted(stated | actual):
        if name not in actual:
            wrong.append(f"{name} is stated, and the claim file no longer names it")
        elif name not in stated:
            wrong.append(f"{name} is run, and not part of the statement")
        elif stated[name] != actual[name]:
            wrong.append(f"{name} has another digest than stated")
    for key, value in claimed(claims).items():
        if privacy.get(key) != value:
            wrong.append(f"{key} is {value} in the claim file, stated is {privacy.get(key)}")
    if result != _RESULTS.get(_outcome(privacy), "FAILED") or (result == "PASSED" and failed):
        wrong.append(f"the result {predicate['result']} is not what the listed tests come to")
    if result != "FAILED":
        wrong += [f"{f.name}, computed anew: {f.detail}" for f in _priced(claims) if f.outcome is not Outcome.STANDS]
    return wrong


def _priced(claims: ClaimFile) -> list[Finding]:
    """The price of every mechanism; that of a declared algorithm by what its adapter declares now."""
    if claims.declared is None:
        return [finding(account(claims.claim, mechanism).judged) for mechanism in claims.mechanism]
    only_priced = GateOptions(0, only=(str(about_account(claims.declared.algorithm)),))
    return declared_stage(claims, claims.declared, limits_of(claims), only_priced)[0]


def _outcome(privacy: Mapping[str, object]) -> Outcome:
    try:
        return Outcome(str(privacy.get("outcome")))
    except ValueError:
        return Outcome.FAULT


# -- the fields of a deployment ---------------------------------------------------------------------------------------


def render_deployment(report: GateReport) -> str:
    """An entry of the registry of deployments (arXiv 2509.13509), and the lines of NIST SP 800-226.

    null: neither stated nor known. Numbers that the registry wants as numbers are rounded up.
    """
    claim, stated = report.claims.claim, report.claims.statement
    lines = {line.asked: line.stated for line in statement(report)}
    entry = {
        "name": None,
        "data_curator": None,
        "description": None,
        "intended_use": None,
        "data_product_type": None,
        "data_product_region": None,
        "data_product_sector": None,
        "publication_date": None,
        "dp_flavor": {
            "name": "Approximate DP" if claim.delta else "Pure DP",
            "data_domain": None,
            "unprotected_quantities": "the number of records" if claim.neighbours is Neighbours.REPLACE_ONE else None,
        },
        "privacy_loss": {
            "privacy_unit": stated.unit,
            "privacy_unit_description": lines["neighbouring relation"],
            "privacy_parameters": {"epsilon": _rounded_up(claim.epsilon), "delta": _rounded_up(claim.delta)},
            "privacy_parameters_description": lines["parameters"],
        },
        "model": {"model_name": None, "actors": stated.trust},
        "accounting": {
            "post_processing": None,
            "composition": stated.composition,
        },
        "implementation": {
            "pre_processing_eda_hyperparameter_tuning": stated.tuned,
            "mechanisms": "; ".join(filter(None, [lines["mechanism"], stated.hazards])),
            "justification": None,
        },
        "additional_information": f"dpadmm {report.provenance.version}, {report.provenance.date:%Y-%m-%d}: "
        f"{report.outcome.value}, false-alarm probability {float(report.claims.gate.false_alarm):g}",
    }
    document = {
        "status": "Draft",
        "deployment": entry,
        "nist_sp_800_226": [line.document() for line in statement(report)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _rounded_up(value: Fraction | float) -> float | None:
    """The least float that is not below it; None if it is infinite."""
    nearest = float(value)
    if math.isinf(nearest):
        return None
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


# -- what changed -----------------------------------------------------------------------------------------------------


def changes(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """What differs between two JSON reports, one line each: the conclusion, the claim, files, questions, causes."""
    for report in (old, new):
        if not {"outcome", "claim", "findings", "provenance"} <= report.keys():
            raise ValueError("one of them is another document")
    lines = [
        f"{name}: {_plain(old.get(key))} -> {_plain(new.get(key))}"
        for key, name in (("outcome", "conclusion"), ("claim", "claim"), ("false_alarm", "false alarms"))
        if old.get(key) != new.get(key)
    ]
    before, after = (_outcomes(each) for each in (old, new))
    lines += [
        f"{name}: {before.get(name, 'not asked')} -> {after.get(name, 'not asked')}"
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]
    causes = [{f"{c['cause']} ({c['subject']})" for c in _list(each.get("causes"))} for each in (old, new)]
    lines += [f"new cause: {cause}" for cause in sorted(causes[1] - causes[0])]
    lines += [f"gone: {cause}" for cause in sorted(causes[0] - causes[1])]
    return lines


def _outcomes(report: Mapping[str, object]) -> dict[str, str]:
    questions = report.get("questions")
    found = {str(k): str(v) for k, v in questions.items()} if isinstance(questions, dict) else {}
    return found | {str(f["name"]): str(f["outcome"]) for f in _list(report.get("findings"))}


def _list(value: object) -> list[dict[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _plain(value: object) -> str:
    return ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
