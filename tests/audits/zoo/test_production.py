"""Bugs that show only at the claimed size, only without a seed, only rarely or only late: each is found.

Nothing is seeded; a gate's false-alarm probability is 1e-6 and each bug is found with a probability that is not 1 by
less than 1e-9 (rare failures: none of 4,000 runs fails with probability 0.98^4000).
"""

from __future__ import annotations

import dataclasses

import pytest

from accountant.mechanisms.words import Algorithm
from audits.zoo import PRODUCTION, Member
from audits.zoo.production_gates import expected, production_gate
from verification.outcome import Outcome

QUICK = ["first-records-without-a-seed", "noise-decays"]
BY_GAMES = {"louder-beside-one-kind-of-record"}


def only_ssadmm(member: Member) -> Member:
    return dataclasses.replace(member, algorithms=(Algorithm.SSADMM,))


def test_there_are_at_least_twenty() -> None:
    assert len(PRODUCTION) >= 20


@pytest.mark.parametrize("identity", QUICK)
def test_some_are_refuted_at_the_claimed_size(identity: str) -> None:
    report = production_gate(only_ssadmm(PRODUCTION[identity]), ("deploy",))
    assert report.outcome is Outcome.REFUTED, [f.detail for f in report.findings]


@pytest.mark.slow
@pytest.mark.parametrize("identity", [i for i in PRODUCTION if i not in QUICK])
def test_each_is_found(identity: str) -> None:
    """By the stage that is there for it; those that are not refuted go through a whole gate."""
    member = only_ssadmm(PRODUCTION[identity])
    only = () if expected(member) is not Outcome.REFUTED else ("audit" if identity in BY_GAMES else "deploy",)
    report = production_gate(member, only)
    assert report.outcome is expected(member), [(f.name, f.outcome.word, f.detail) for f in report.findings]


@pytest.mark.slow
def test_what_cannot_be_seen_is_inconclusive_and_says_so() -> None:
    report = production_gate(only_ssadmm(PRODUCTION["declares-little"]))
    assert report.outcome is Outcome.INCONCLUSIVE
    (missing,) = [f for f in report.findings if f.stage == "coverage"]
    assert "noise" in missing.detail
    assert "batches" in missing.detail
    assert any("noise-variance" in item.what for item in report.coverage.skipped)


def test_a_refutation_names_the_noise_that_is_there_and_what_it_costs() -> None:
    report = production_gate(only_ssadmm(PRODUCTION["noise-decays"]), ("deploy: ssadmm, silent",))
    (finding,) = [f for f in report.findings if f.outcome is Outcome.REFUTED]
    assert "the noise it really has: 0.5" in finding.detail or "the noise it really has: 0.6" in finding.detail
    assert "epsilon at delta 1e-6 is then at most" in finding.detail
