"""One mistake, one headline: consequences stand under their cause, in whatever order they were found."""

from __future__ import annotations

import dataclasses
import itertools

from audits.gate.report import grouped
from verification.outcome import About, Cause, Finding, Outcome, headlines


def refuted(name: str, subject: str, cause: Cause) -> Finding:
    about = dataclasses.replace(About.read(name), subject=subject)
    return Finding(about, Outcome.REFUTED, "", cause=cause)


APART = refuted("distinguishable/ssadmm/small", "ssadmm", Cause.DISTINGUISHED)
NOISE = refuted("noise-scale/ssadmm/small", "ssadmm", Cause.NOISE_SMALL)
SHAPE = refuted("silent/ssadmm/claimed", "ssadmm", Cause.NOISE_LAW)
GAME = refuted("batches-of-a-quarter/ssadmm/games", "ssadmm", Cause.DISTINGUISHED)
OTHER = refuted("one-step-sensitivity/mpadmm/all/small", "mpadmm/all", Cause.CONTRIBUTION)
CLEAN = refuted("post-processing/descent/declared", "descent", Cause.UNNOISED)
FAR = refuted("sensitivity/descent/declared", "descent", Cause.CONTRIBUTION)
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


def test_what_is_declared_and_leaves_without_noise_is_said_before_what_is_computed_from_it() -> None:
    for order in itertools.permutations((FAR, CLEAN)):
        assert [group.cause for group in grouped(order)] == [Cause.UNNOISED, Cause.CONTRIBUTION]


def test_a_price_that_is_too_high_is_said_in_words() -> None:
    assert [group.cause for group in grouped((refuted("ssadmm/price", "", Cause.PRICE),))] == [Cause.PRICE]


def test_a_cause_stands_under_the_one_that_explains_it_and_no_cause_explains_itself() -> None:
    under = headlines([Cause.NOISE_SMALL, Cause.NOISE_REUSED, Cause.NOISE_LAW, Cause.CONTRIBUTION])
    assert under[Cause.NOISE_SMALL] is under[Cause.NOISE_REUSED] is Cause.NOISE_REUSED
    assert under[Cause.CONTRIBUTION] is Cause.CONTRIBUTION
    for cause in Cause:
        assert not cause.explains(cause)
        for other in Cause:
            assert not (cause.explains(other) and other.explains(cause))
            assert all(cause.explains(third) for third in Cause if cause.explains(other) and other.explains(third))


def test_every_cause_that_costs_privacy_says_where_to_look() -> None:
    harmless = {Cause.NOISE_LARGE, Cause.UPDATE, Cause.NOT_REPEATED, Cause.NOT_AS_SHOWN}
    assert all(cause.where for cause in Cause if cause not in harmless)
