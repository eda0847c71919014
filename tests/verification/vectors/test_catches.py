"""The vectors catch wrong implementations, each by the flag that names its bug, and accuse no honest one."""

from __future__ import annotations

import pytest

from tests.verification.vectors.inprocess import check_implementation
from tests.zoo.vectors.wrong import WRONG
from verification.outcome import Outcome
from verification.served.loopback import Loopback
from verification.served.stepwise import Stepwise
from verification.vectors import model


@pytest.mark.parametrize("honest", [Loopback, Stepwise])
def test_an_honest_implementation_passes_every_case(honest: type[Stepwise], cases: list[model.Case]) -> None:
    results = list(check_implementation(honest(), cases))
    assert [result for result in results if result.outcome is not Outcome.STANDS] == []
    assert len(results) == len(cases)


@pytest.mark.parametrize(
    ("wrong", "flag"),
    [(kind, flag) for kind, flags in WRONG.items() for flag in flags],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_wrong_implementation_fails_where_its_flag_says(
    wrong: type[Stepwise], flag: str, valid: list[model.Case]
) -> None:
    flagged = [case for case in valid if flag in case.flags]
    failed = [result for result in check_implementation(wrong(), flagged) if result.outcome is Outcome.REFUTED]
    assert failed, f"no case flagged {flag} catches {wrong.__name__}"


def test_every_flag_of_a_valid_case_has_a_wrong_implementation_that_it_catches(valid: list[model.Case]) -> None:
    assert {flag for case in valid for flag in case.flags} == {flag for flags in WRONG.values() for flag in flags}
