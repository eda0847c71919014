"""What is computed from the noisy gradient may hide its noise: that is no finding, and its wrong twins are found."""

from __future__ import annotations

import math

import pytest

from tests.verification.questions.in_process import InProcess
from tests.zoo.honest.hidden import HONEST, TWINS
from verification.judge import Plan, Result, asked_small, judge, traits_of
from verification.outcome import Outcome
from verification.questions.catalogue import find
from verification.reading.context import SSADMM
from verification.served.stepwise import Stepwise
from verification.statistics.test import Cause

LEVEL = 1e-6
CAUSES = {"clamp-half": Cause.NOISE_SMALL}
"""Of the twins that are not wrong in what a record adds."""


def small(implementation: Stepwise, *names: str) -> list[Result]:
    session = InProcess(implementation)
    known = {SSADMM: traits_of(session, SSADMM, 7)}
    plan = Plan(LEVEL, math.inf, 11)
    return judge([session], asked_small(find(names), (SSADMM,)), plan, lambda: InProcess(implementation), known=known)


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_what_hides_its_noise_is_not_refuted_and_nothing_is_left_out(name: str) -> None:
    results = small(
        HONEST[name](),
        "clips-each-record",
        "one-step-sensitivity",
        "coupled-releases",
        "silent",
        "marked",
        "dependence",
    )
    assert {result.about.question: result.outcome for result in results} == {
        result.about.question: Outcome.STANDS for result in results
    }


@pytest.mark.parametrize("name", TWINS)
def test_its_wrong_twin_is_refuted_with_its_cause(name: str) -> None:
    results = small(TWINS[name](), "coupled-releases", "dependence", "silent")
    causes = {test.cause for result in results for test in result.against}
    assert CAUSES.get(name, Cause.CONTRIBUTION) in causes
