"""Honest implementations that keep their claim in another way are not refuted, and their wrong twins are.

20 gates of each at the stated level are run by ``python -m tests.audits.gate.honest.campaign different``.
"""

from __future__ import annotations

import json

import pytest

from tests.audits.gate.honest.campaign import DIFFERENT, DIFFERENT_GATES, honest_gate, page
from tests.zoo.honest.pairs import PAIRS
from tests.zoo.honest.same_claim import WRONG
from verification.outcome import Cause, Outcome

LEVEL = "1e-3"
UNREADABLE = {"rounded", "last-model-only"}
"""What they release is too little to read batches off: nothing refutes them, and the gate says what is missing."""
CAUSES = {
    "normalised-noisy-gradient": {Cause.NOISE_SMALL, Cause.DISTINGUISHED},
    "sparse-noisy": {Cause.CONTRIBUTION},
    "dual-of-noisy": {Cause.UNNOISED},
    "further-normal": {Cause.NOISE_SMALL, Cause.NOISE_DEPENDENT},
    "mean-of-gradients": {Cause.NOISE_SMALL},
    "smaller-clip": {Cause.CONTRIBUTION},
}
"""What is wrong with some of the twins."""
FEW = ("dual-of-noisy", "normalised-noisy-gradient", "mean-of-gradients", "binary16-gradients", "sparse-noisy")
"""Those that the tests run; the campaign runs all."""


def test_every_honest_member_has_a_wrong_twin() -> None:
    assert len(PAIRS) >= 25
    assert len({pair.honest for pair in PAIRS.values()}) == len(PAIRS)
    assert all(pair.honest != pair.twin for pair in PAIRS.values())


def test_no_gate_of_the_campaign_refuted_an_honest_member() -> None:
    kept = json.loads(DIFFERENT.read_text(encoding="utf-8"))
    assert set(kept) <= set(PAIRS)
    outcomes = {name: told["outcomes"] for name, told in kept.items()}
    assert all(len(each) <= DIFFERENT_GATES for each in outcomes.values())
    assert not [name for name, each in outcomes.items() if Outcome.REFUTED.value in each]
    assert {name for name, each in outcomes.items() if Outcome.INCONCLUSIVE.value in each} <= UNREADABLE


def test_the_page_is_made_of_what_is_kept() -> None:
    assert DIFFERENT.with_suffix(".md").read_text(encoding="utf-8") == "\n".join(page()) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_an_honest_implementation_is_not_refuted(name: str) -> None:
    report = honest_gate(PAIRS[name].command, PAIRS[name].number, LEVEL)
    refuted = [f"{f.name}: {f.detail}" for f in report.findings if f.outcome is Outcome.REFUTED]
    assert not refuted, refuted
    assert report.outcome in (Outcome.STANDS, Outcome.DEVIATES)
    harmless = {f.cause for f in report.findings if f.outcome is Outcome.DEVIATES}
    assert harmless <= {Cause.UPDATE, Cause.NOISE_LARGE, Cause.BATCH_SIZE}


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_its_wrong_twin_is_refuted(name: str) -> None:
    report = honest_gate(PAIRS[name].wrong, PAIRS[name].number, LEVEL)
    assert report.outcome is Outcome.REFUTED
    causes = {f.cause for f in report.findings if f.outcome is Outcome.REFUTED}
    assert causes & CAUSES.get(name, causes)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_what_slipped_through_once_is_refuted(name: str) -> None:
    assert honest_gate(WRONG[name], 0, LEVEL).outcome is Outcome.REFUTED
