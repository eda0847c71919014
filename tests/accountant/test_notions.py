"""Claims of Renyi, concentrated and Gaussian privacy: priced in their own terms, and never below what is attained."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from accountant import Gaussian, Laplace, Mechanism, SsADMM, epsilon
from accountant.mechanisms.mechanism import ledger_of
from accountant.notions import Notion, Promise
from accountant.numbers import fraction_of

THREE = Gaussian(noise_multiplier=2, iterations=3)  # mu^2 = 3/4
BATCHES = SsADMM(records=100, batch=10, iterations=4, noise_multiplier=4, sampling="without-replacement", clip=1)
DRAWN = SsADMM(records=100, batch=10, iterations=4, noise_multiplier=4, sampling="with-replacement", clip=1)
PURE = Laplace(noise_multiplier=4, iterations=2)  # two of epsilon 1/4
DELTAS = [Fraction(1, 10**k) for k in (2, 5, 9)]


def promise(notion: Notion, bound: str, alpha: str | None = None) -> Promise:
    return Promise(notion, Fraction(bound), None if alpha is None else Fraction(alpha))


@pytest.mark.parametrize(
    ("mechanism", "said", "holds"),
    [
        (THREE, promise(Notion.ZCDP, "0.375"), True),
        (THREE, promise(Notion.ZCDP, "0.374"), False),
        (THREE, promise(Notion.GDP, "0.8661"), True),
        (THREE, promise(Notion.GDP, "0.866"), False),
        (THREE, promise(Notion.RENYI, "1.5", "4"), True),
        (THREE, promise(Notion.RENYI, "1.49", "4"), False),
        (BATCHES, promise(Notion.ZCDP, "0.125"), True),  # batches gain nothing
        (BATCHES, promise(Notion.ZCDP, "0.01"), None),
        (BATCHES, promise(Notion.RENYI, "0.0031", "2"), True),
        (BATCHES, promise(Notion.GDP, "0.4"), None),
        (PURE, promise(Notion.ZCDP, "0.0625"), True),
        (PURE, promise(Notion.GDP, "5"), None),
        (DRAWN, promise(Notion.ZCDP, "5"), None),
        (DRAWN, promise(Notion.RENYI, "5", "2"), None),
    ],
)
def test_a_promise_is_kept_broken_or_undecided(mechanism: Mechanism, said: Promise, holds: bool | None) -> None:
    assert said.compared(ledger_of(mechanism))[0] is holds


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mechanism", [THREE, BATCHES, PURE])
def test_what_the_price_implies_is_no_less_than_what_is_attained(mechanism: Mechanism, delta: Fraction) -> None:
    ledger = ledger_of(mechanism)
    attained = fraction_of(epsilon(mechanism, delta, digits=6).epsilon.lower)
    for said in (promise(Notion.ZCDP, "1"), promise(Notion.GDP, "1"), promise(Notion.RENYI, "1", "8")):
        if said.notion is not Notion.GDP or mechanism is not PURE:
            price = said.price(ledger)
            root = Fraction(math.isqrt((price * 10**20).__ceil__()) + 1, 10**10)
            bound = root if said.notion is Notion.GDP else price
            assert Promise(said.notion, bound, said.alpha).epsilon(delta) >= attained


@pytest.mark.parametrize("delta", DELTAS)
def test_notions_that_say_the_same_imply_about_the_same(delta: Fraction) -> None:
    concentrated, gaussian = promise(Notion.ZCDP, "0.5").epsilon(delta), promise(Notion.GDP, "1").epsilon(delta)
    assert gaussian <= concentrated <= gaussian * Fraction(3, 2)
    orders = [promise(Notion.RENYI, str(Fraction(a, 4)), str(Fraction(a, 2))) for a in range(3, 60)]
    assert min(each.epsilon(delta) for each in orders) == pytest.approx(float(concentrated), rel=1e-2)
