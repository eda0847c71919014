"""One mistake, one headline: consequences stand under their cause, in whatever order they were found."""

from __future__ import annotations

import itertools

from audits.gate.causes import grouped
from verification.outcome import Finding, Outcome
from verification.statistics.test import Cause


def refuted(name: str, subject: str, cause: Cause) -> Finding:
    return Finding(name, Outcome.REFUTED, "", subject, cause=cause)


APART = refuted("distinguishable/ssadmm/small", "ssadmm", Cause.DISTINGUISHED)
NOISE = refuted("noise-scale/ssadmm/small", "ssadmm", Cause.NOISE_SMALL)
SHAPE = refuted("silent/ssadmm/claimed", "ssadmm", Cause.NOISE_LAW)
GAME = refuted("batches-of-a-quarter/ssadmm/games", "ssadmm", Cause.DISTINGUISHED)
OTHER = refuted("one-step-sensitivity/mpadmm/all/small", "mpadmm/all", Cause.CONTRIBUTION)
STEP = refuted("one-step-sensitivity/ssadmm/small", "ssadmm", Cause.CONTRIBUTION)


def test_consequences_stand_under_their_cause_in_any_order() -> None:
    for order in itertools.permutations((APART, NOISE, GAME)):
        [group] = grouped(order)
        assert group.cause == Cause.NOISE_SMALL
        assert group.findings[0] is NOISE
        assert set(group.findings) == {APART, NOISE, GAME}


def test_of_several_causes_of_one_root_the_most_specific_is_the_headline() -> None:
    for order in itertools.permutations((SHAPE, NOISE)):
        assert [group.cause for group in grouped(order)] == [Cause.NOISE_SMALL]


def test_what_has_no_other_cause_speaks_for_itself() -> None:
    assert [group.cause for group in grouped((GAME,))] == [Cause.DISTINGUISHED]
    assert [group.cause for group in grouped((NOISE, OTHER))] == [Cause.NOISE_SMALL, Cause.CONTRIBUTION]
    assert [group.cause for group in grouped((NOISE, STEP))] == [Cause.NOISE_SMALL, Cause.CONTRIBUTION]


def test_a_price_that_is_too_high_is_said_in_words() -> None:
    assert [group.cause for group in grouped((refuted("ssadmm/price", "", Cause.PRICE),))] == [Cause.PRICE]
