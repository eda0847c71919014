"""The stated power is there: violations of a known size behind the wire are refuted at least as often as stated.

The counts are those of ``python -m tests.audits.gate.honest.power``; a few looks of each are taken anew.
"""

from __future__ import annotations

import json

import pytest
from scipy import stats

from tests.audits.gate.honest.campaign import GATES as HONEST_GATES
from tests.audits.gate.honest.campaign import KEPT as HONEST
from tests.audits.gate.honest.campaign import LEVEL, SUBJECTS
from tests.audits.gate.honest.power import GATES, KEPT, VIOLATIONS, Measured
from verification.outcome import Outcome

UNLIKELY = 1e-9


def assert_as_often_as_stated(measured: Measured) -> None:
    """Fewer refutations than this come by chance with probability below 1e-9 if the stated power is there."""
    assert stats.binom.cdf(measured.refuted, measured.looks, measured.stated) > UNLIKELY, measured


@pytest.mark.parametrize("name", VIOLATIONS)
def test_the_campaign_found_the_power_that_is_stated(name: str) -> None:
    measured = Measured(**json.loads(KEPT.read_text("utf-8"))[name])
    assert measured.looks == GATES
    assert measured.stated > 0.8
    assert_as_often_as_stated(measured)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in VIOLATIONS if name != "noise/1.2"])
def test_a_few_fresh_looks_agree(name: str) -> None:
    assert_as_often_as_stated(VIOLATIONS[name](2))


def test_a_power_that_is_not_there_would_be_noticed() -> None:
    with pytest.raises(AssertionError):
        assert_as_often_as_stated(Measured(GATES, GATES // 3, 0.95))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_campaign_refuted_the_honest_at_most_as_often_as_stated(subject: str) -> None:
    kept = json.loads(HONEST.read_text("utf-8"))[subject]
    outcomes = kept["outcomes"]
    assert (len(outcomes), kept["level"]) == (HONEST_GATES, LEVEL)
    assert set(outcomes) <= {Outcome.STANDS.value, Outcome.DEVIATES.value, Outcome.REFUTED.value}
    refuted = outcomes.count(Outcome.REFUTED.value)
    assert stats.binom.sf(refuted - 1, HONEST_GATES, float(LEVEL)) > 1e-6
