"""One mistake, one headline: consequences stand under their cause, in whatever order they were found."""

from __future__ import annotations

import itertools

from audits.gate.causes import LEAK, PRICE, grouped
from verification.outcome import Finding, Outcome

APART = Finding(
    "conform: distinguishable", Outcome.REFUTED, "", "ssadmm", tags=("cause: a record counts for too much",)
)
NOISE = Finding("conform: noise-scale", Outcome.REFUTED, "", "ssadmm", tags=("cause: noise too small",))
GAME = Finding("audit: ssadmm, batches", Outcome.REFUTED, "", "ssadmm")
OTHER = Finding("conform: distinguishable", Outcome.REFUTED, "", "mpadmm", tags=APART.tags)
STEP = Finding("conform: one-step-sensitivity", Outcome.REFUTED, "", "ssadmm", tags=APART.tags)


def test_consequences_stand_under_their_cause_in_any_order() -> None:
    for order in itertools.permutations((APART, NOISE, GAME)):
        [group] = grouped(order)
        assert group.cause == "noise too small"
        assert group.findings[0] is NOISE
        assert set(group.findings) == {APART, NOISE, GAME}


def test_what_has_no_other_cause_speaks_for_itself() -> None:
    assert [group.cause for group in grouped((APART,))] == ["a record counts for too much"]
    assert [group.cause for group in grouped((GAME,))] == [LEAK]
    assert [group.cause for group in grouped((NOISE, OTHER))] == ["noise too small", "a record counts for too much"]
    assert [group.cause for group in grouped((NOISE, STEP))] == ["noise too small", "a record counts for too much"]


def test_a_price_that_is_too_high_is_said_in_words() -> None:
    assert [group.cause for group in grouped((Finding("account: ssadmm", Outcome.REFUTED, ""),))] == [PRICE]
