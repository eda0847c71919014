"""The flag that names a bug is among the first suspects, and what differs first is named."""

from __future__ import annotations

import functools

import pytest

from tests.verification.vectors.inprocess import check_implementation
from tests.zoo.vectors.wrong import WRONG, FoldedAsL1, LambdaAsThreshold, OldCopyInDual, WideHinge
from verification.served.stepwise import Stepwise
from verification.vectors.checking import CaseFinding
from verification.vectors.files import load_all
from verification.vectors.model import Case
from verification.vectors.recipe import read
from verification.vectors.suspects import Diagnosis, diagnose

LATER = {"BoundIsOne": 8}  # C = 1 for every C shows wherever C is not 1


@functools.cache
def every_case() -> tuple[Case, ...]:
    return tuple(case for file in load_all() for case in file.cases)


@functools.cache
def diagnosed(kind: type[Stepwise]) -> Diagnosis:
    return diagnose(list(check_implementation(kind(), every_case())), every_case())


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_the_bug_is_among_the_first_three_suspects(kind: type[Stepwise]) -> None:
    order = [suspect.flag for suspect in diagnosed(kind).suspects]
    assert min(order.index(flag) for flag in WRONG[kind]) < LATER.get(kind.__name__, 3)


@pytest.mark.slow
def test_most_bugs_are_the_first_suspect() -> None:
    first = [kind for kind, flags in WRONG.items() if diagnosed(kind).suspects[0].flag in flags]
    assert len(first) >= 0.7 * len(WRONG)


@pytest.mark.parametrize(
    ("kind", "value", "only"),
    [
        (LambdaAsThreshold, "z", "regularizer"),
        (FoldedAsL1, "z", "regularizer"),
        (OldCopyInDual, "y", "algorithm"),
        (WideHinge, "x", "loss"),
    ],
)
def test_it_says_what_differs_first_and_where_alone(kind: type[Stepwise], value: str, only: str) -> None:
    found = diagnosed(kind)
    assert found.first[0] == (value, found.failed)
    assert only in dict(found.only)
    assert any("fails only with" in line for line in found.lines())


def test_where_nothing_failed_nothing_is_suspected() -> None:
    passed = [CaseFinding.of(case, read(case), None) for case in every_case()]
    found = diagnose(passed, every_case())
    assert (found.suspects, found.lines()) == ((), [])


def test_a_refusal_differs_in_no_value() -> None:
    case = every_case()[0]
    found = diagnose([CaseFinding.of(case, read(case), "refused a valid case as invalid-data: x[0]")], [case])
    assert (found.first, found.failed) == ((), 1)
