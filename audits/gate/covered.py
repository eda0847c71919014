"""Was everything that a claim rests on looked at by some means? If not, the claim is inconclusive."""

from __future__ import annotations

from collections.abc import Sequence

from accountant.mechanisms.words import Algorithm, Release
from audits.gate.coverage import Coverage, needed_aspects
from audits.gate.options import GateRun
from verification.outcome import Finding, Outcome, Stage
from verification.wire.schemes import SCHEMES, Law


def coverage_findings(run: GateRun, coverage: Coverage) -> list[Finding]:
    """One for each mechanism of which a part was not looked at and is not accepted by name."""
    findings = []
    for mechanism in run.claims.mechanism:
        algorithm = Algorithm(str(mechanism.algorithm))
        scheme = SCHEMES[algorithm]
        release = getattr(mechanism, "release", None)
        subject = str(algorithm) if release is None else f"{algorithm}/{Release(str(release))}"
        batch = getattr(mechanism, "batch", None)
        needed = needed_aspects(
            private=scheme.law is not Law.NONE,
            sampled=batch is not None and batch < getattr(mechanism, "records", batch),
            clips=scheme.law is not Law.NONE,
        )
        missing = [aspect for aspect in coverage.missing(subject, needed) if aspect not in run.claims.gate.accepts]
        if missing:
            why = "; ".join(item.describe() for item in coverage.skipped if item.subject in ("", subject))
            parts = ", ".join(missing)
            text = f"the claim rests on {parts}, and nothing could look at {_them(missing)}: {why or 'no check ran'}"
            name = f"aspects/{mechanism.title}/{Stage.COVERAGE}"
            findings.append(Finding(name, Outcome.INCONCLUSIVE, text, subject, stage=Stage.COVERAGE))
    return findings


def _them(missing: Sequence[str]) -> str:
    return "it" if len(missing) == 1 else "them"
