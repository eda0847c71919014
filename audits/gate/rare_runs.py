"""Rare failures over the whole gate: every run of every stage whose noise could be read, of one mechanism together."""

from __future__ import annotations

from audits.gate.findings import Stage
from audits.gate.options import DEPLOYMENT_SHARE, GateRun
from verification.deployment.probe import SHARES
from verification.deployment.rare import Census
from verification.outcome import Finding, Outcome

NAME = "all runs"


def pooled(run: GateRun) -> tuple[list[Finding], str]:
    """A finding for each mechanism of which a run was too quiet, and the bounds on the share of such runs."""
    findings, sentences = [], []
    share = float(run.claims.gate.false_alarm) * DEPLOYMENT_SHARE / max(1, len(run.claims.mechanism)) / SHARES
    subjects = dict.fromkeys(str(subject.mode) for subject in run.subjects)
    for subject in subjects:
        census = Census.joined(run.census.get(subject, []))
        if not census.runs:
            continue
        sentences.append(f"{subject}: {census.statement(share)}")
        seen = census.sighting("of the whole gate")
        name = f"{Stage.DEPLOY}: {subject}, {NAME}"
        if not seen.p_value > share and run.options.wants(name):
            findings.append(
                Finding(
                    name,
                    Outcome.REFUTED,
                    f"{seen.name}: {seen.detail} (p = {seen.p_value:.2g})",
                    subject,
                    p_value=seen.p_value,
                    false_alarm=share,
                    reproduction=run.options.reproduce(str(Stage.DEPLOY), run.options.seed),
                    tags=(f"cause: {seen.cause}",),
                    picture=census.picture(),
                )
            )
    return findings, "; ".join(sentences)
