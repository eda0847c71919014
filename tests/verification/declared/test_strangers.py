"""What strangers declare: no honest one is accused, no wrong one stands, and each refutation names its epsilon."""

from __future__ import annotations

import secrets
from fractions import Fraction

import pytest

from accountant import decimal_string
from tests.verification.declared.inprocess import InProcess, findings, named_epsilon
from tests.zoo.declared.pairs import PAIRS
from tests.zoo.declared.strangers import HONEST, WRONG, Stranger
from verification.declared.price import price
from verification.outcome import Finding, Outcome
from verification.wire.session import DeclaredAlgorithm

SIZE = (24, 3)
DELTA = "1e-5"
SEED = 11
QUICK = ("descent", "rounded after its noise", "noise cut off", "discrete noise beside its grid")


def judge(stranger: Stranger, seed: int, effort: float) -> tuple[dict[str, Finding], float]:
    """The findings, for a claim of just what the declaration costs."""
    session = InProcess("stranger", stranger.declare, stranger.run)
    declaration = session.declare(DeclaredAlgorithm("stranger", {}), *SIZE)
    claimed = price(declaration, SIZE[0], Fraction(DELTA)) * Fraction(10001, 10000)
    text = decimal_string(claimed, 8, "up")
    found = findings(session, {}, epsilon=text, delta=DELTA, seed=seed, size=SIZE, effort=effort)
    return {finding.name: finding for finding in found}, float(text)


def named(cases: dict[str, Stranger]) -> list[object]:
    return [pytest.param(c, id=n, marks=() if n in QUICK else pytest.mark.slow) for n, c in cases.items()]


@pytest.mark.parametrize("stranger", named(HONEST | {name: pair[1] for name, pair in PAIRS.items()}))
def test_an_honest_one_is_not_accused(stranger: Stranger) -> None:
    found, _ = judge(stranger, secrets.randbits(64), 0.12)
    assert {finding.outcome for finding in found.values()} == {Outcome.STANDS}, found


@pytest.mark.slow
@pytest.mark.parametrize("stranger", named(WRONG | {name: pair[0] for name, pair in PAIRS.items()}))
def test_a_wrong_one_is_refuted_with_more_than_it_claims(stranger: Stranger) -> None:
    found, claimed = judge(stranger, SEED, 0.3)
    finding = found[stranger.found_by]
    assert finding.outcome is Outcome.REFUTED, found
    assert named_epsilon(finding.detail) > claimed, finding.detail
