"""The lower end of a declaration's price: claims that several releases, values or drawn batches refute together."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from accountant.notions import Notion, Promise
from tests.verification.declared.inprocess import InProcess, declared_implementation, findings, named_epsilon
from verification.declared.attained import betting_epsilon
from verification.declared.questions import ask_declared
from verification.outcome import Finding, Outcome
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

N, DELTA = 24, "1e-5"
SCALES = {"gaussian": 0.1, "laplace": 0.25}


def clipped(data: Records, norm: int) -> Floats:
    rows = data.features * data.labels[:, None]
    sizes = np.linalg.norm(rows, norm, axis=1, keepdims=True)
    short: Floats = rows * np.minimum(1.0, 1.0 / np.maximum(sizes, 1e-300))
    return short


def session(
    names: str, steps: int, *, kind: str = "gaussian", follows: float = 0.0, larger: float = 1.0, hidden: float = 0.0
) -> InProcess:
    """Means of clipped records, released in every step, each starting from `follows` times what was released before."""
    norm = "l1" if kind == "laplace" else "l2"

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> dict[str, object]:
        value = {"noise": kind, "scale": SCALES[kind], "sensitivity": 2.0 / records, "norm": norm}
        bound = {"kind": "clip", "radius": 1.0}
        values = [value | {"name": name} for name in names]
        return {"neighbours": "replace-one", "bound": bound, "iterations": steps, "values": values}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x = hidden * np.random.default_rng(run.seed).standard_normal(data.columns)
        draw = run.laplace if kind == "laplace" else run.gaussian
        for _ in range(steps):
            for name in names:
                before = follows * x + clipped(data, int(norm[1])).mean(axis=0)
                x = run.release(name, before, draw(data.columns, larger * SCALES[kind]))

    return InProcess("several", declare, run)


def drawn(kind: str) -> InProcess:
    """A mean of clipped records over a batch, ten times."""
    sampling = {"kind": kind, "batch": 5}

    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"name": "x", "noise": "gaussian", "scale": 0.1, "sensitivity": 0.4, "norm": "l2"}
        bound = {"kind": "clip", "radius": 1.0}
        told = {"neighbours": "replace-one", "bound": bound, "iterations": 10}
        return {**told, "sampling": sampling, "values": [value]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        rows = clipped(data, 2)
        for _ in range(10):
            draw = run.with_replacement if kind == "with-replacement" else run.batch
            run.release("x", rows[draw(data.count, 5)].mean(axis=0), run.gaussian(data.columns, 0.1))

    return InProcess("drawn", declare, run)


def account(tested: InProcess, claim: str, delta: str = DELTA, effort: float = 0.1) -> Finding:
    found = findings(tested, {}, epsilon=claim, delta=delta, seed=4, effort=effort, size=(N, 3))
    return next(finding for finding in found if finding.name == "account")


def exact(releases: int) -> float:
    """The epsilon at delta of so many releases of a whole sensitivity."""
    mu = math.sqrt(releases) * 2.0 / N / SCALES["gaussian"]
    grid = np.linspace(0.0, 60.0, 60_001)
    delta = stats.norm.cdf(mu / 2 - grid / mu) - np.exp(grid) * stats.norm.cdf(-mu / 2 - grid / mu)
    return float(grid[np.argmax(delta <= float(DELTA))])


REFUTED = {  # session, the claim, its delta, and the price
    "two values": (session("ab", 1), "1", DELTA, exact(2)),
    "sixteen releases at the price of one": (session("a", 16), "3.8", DELTA, exact(16)),
    "sixteen releases that follow each other": (session("a", 16, follows=0.5), "6", DELTA, exact(16)),
    "pure noise": (session("ab", 2, kind="laplace"), "0.4", "0", 8.0 / N / SCALES["laplace"]),
    "with replacement": (drawn("with-replacement"), "0.63", DELTA, 181.0),
    "without replacement": (drawn("without-replacement"), "0.63", DELTA, 100.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUTED)
def test_a_claim_below_what_runs_attain_is_refuted(case: str) -> None:
    tested, claim, delta, price = REFUTED[case]
    found = account(tested, claim, delta, effort=0.5 if case.startswith("with") else 0.1)
    assert found.outcome is Outcome.REFUTED, found.detail
    assert float(claim) < named_epsilon(found.detail) <= price


STANDS = {
    "two values": (session("ab", 1), exact(2), DELTA),
    "sixteen releases": (session("a", 16, follows=0.5), exact(16), DELTA),
    "pure noise": (session("ab", 2, kind="laplace"), 8.0 / N / SCALES["laplace"], "0"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", STANDS)
def test_the_price_stands_and_just_below_it_nothing_is_refuted(case: str) -> None:
    tested, price, delta = STANDS[case]
    assert account(tested, str(Fraction(price * 1.0001).limit_denominator(10**6)), delta).outcome is Outcome.STANDS
    below = account(tested, str(Fraction(price * 0.999).limit_denominator(10**6)), delta)
    assert below.outcome is Outcome.INCONCLUSIVE
    assert named_epsilon(below.detail.rpartition("\n")[2]) <= price


@pytest.mark.parametrize("tested", [session("ab", 1, larger=4.0), session("ab", 1, hidden=0.3, follows=1.0)])
def test_noise_that_is_larger_or_hidden_is_not_taken_for_a_loss(tested: InProcess) -> None:
    """With four times the noise two values have epsilon 1.2 at most; a random start hides the values as well."""
    assert account(tested, "1.2").outcome is Outcome.INCONCLUSIVE


def test_bets_refute_no_true_epsilon_more_often_than_their_level() -> None:
    """Losses of a Gaussian release of ratio 1.5: normal of mean mu^2/2 and deviation mu."""
    mu, delta, level = 1.5, 1e-2, 0.05
    grid = np.linspace(0.0, 10.0, 10_001)
    curve = stats.norm.cdf(mu / 2 - grid / mu) - np.exp(grid) * stats.norm.cdf(-mu / 2 - grid / mu)
    true, rng = float(grid[np.argmax(curve <= delta)]), np.random.default_rng(1)
    found = [betting_epsilon(rng.normal(mu * mu / 2, mu, 300), delta, level) for _ in range(200)]
    assert np.mean(np.array(found) > true) <= level
    assert np.median(found) > 0.5 * true


def declared_of(tested: InProcess) -> float:
    return float(declared_implementation(tested, {}, size=(N, 3), seed=1, claim=(1.0, Fraction(DELTA))).pricing.price())


def test_the_prices_of_these_tests_are_those_of_the_accountant() -> None:
    for case in ("two values", "sixteen releases at the price of one"):
        tested, _, _, price = REFUTED[case]
        assert declared_of(tested) == pytest.approx(price, abs=2e-3)
    for case in ("with replacement", "without replacement"):
        assert declared_of(REFUTED[case][0]) > 50.0


# -- claims in other notions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "tested", "outcome"),
    [
        (Promise(Notion.ZCDP, Fraction("0.3473")), session("a", 1), Outcome.STANDS),  # (2/24/0.1)^2/2 = 0.34722
        (Promise(Notion.ZCDP, Fraction("0.347")), session("a", 1), Outcome.REFUTED),
        (Promise(Notion.GDP, Fraction("0.83")), session("a", 1), Outcome.REFUTED),
        (Promise(Notion.RENYI, Fraction("2.79"), Fraction(4)), session("ab", 1), Outcome.STANDS),
        (Promise(Notion.RENYI, Fraction("2.7"), Fraction(4)), session("ab", 1), Outcome.INCONCLUSIVE),
        (Promise(Notion.GDP, Fraction(9)), session("a", 1, kind="laplace"), Outcome.INCONCLUSIVE),
        (Promise(Notion.ZCDP, Fraction("0.0556")), session("a", 1, kind="laplace"), Outcome.STANDS),  # (1/3)^2/2
    ],
)
def test_a_promise_of_a_declared_algorithm_is_judged_on_its_own_curve(
    said: Promise, tested: InProcess, outcome: Outcome
) -> None:
    claim = (Fraction(9), Fraction(DELTA))
    asked = declared_implementation(tested, {}, size=(N, 3), seed=1, effort=0.1, claim=claim)
    asked = dataclasses.replace(asked, promises=(said,))
    results = ask_declared(asked, false_alarm=1e-6, power=2.0, wants=lambda name: name == "notions")
    assert [result.outcome for result in results] == [outcome]
