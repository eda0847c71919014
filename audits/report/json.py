"""The report as JSON: versioned, reals as decimal strings."""

from __future__ import annotations

import json

from accountant import decimal_string
from audits.gate.account_stage import Account
from audits.gate.causes import grouped
from audits.gate.coverage import Coverage
from audits.gate.findings import GateReport
from audits.gate.provenance import Provenance
from audits.report.statement import statement
from audits.report.text import headline
from audits.trials.sequential import AuditResult
from verification.outcome import Finding
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
        "claim": {
            "epsilon": report.claims.claim.epsilon_text(_DIGITS),
            "delta": decimal_string(report.claims.claim.delta, _DIGITS, "up"),
            "neighbours": report.claims.claim.neighbours,
        },
        "accounts": [_account(account) for account in report.accounts],
        "findings": [_finding(finding) for finding in report.findings],
        "audits": [_audit(audit) for audit in report.audits],
        "causes": [
            {"cause": group.cause, "subject": group.subject, "findings": [finding.name for finding in group.findings]}
            for group in grouped(report.findings)
        ],
        "coverage": _coverage(report.coverage),
        "provenance": _provenance(report.provenance),
        "statement": [
            {"asked": line.asked, "stated": None if line.missing else line.stated, "backing": line.backing}
            for line in statement(report)
        ],
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
        "files": [{"name": file.name, "sha256": file.sha256} for file in known.files],
    }


def _coverage(coverage: Coverage) -> dict[str, object]:
    return {
        "covered": [
            {
                "what": item.what,
                "subject": item.subject,
                "size": item.size,
                "runs": item.runs,
                "aspects": [str(aspect) for aspect in item.aspects],
            }
            for item in coverage.covered
        ],
        "not_covered": [
            {"what": item.what, "subject": item.subject, "reason": harmless(item.reason)} for item in coverage.skipped
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
