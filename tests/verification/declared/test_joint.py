"""Releases that a record moves together: it enters some of them, or their noise is correlated; judged as a whole."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, declared_implementation, findings
from tests.verification.declared.test_declaration import VALUE, declared
from verification.declared.price import price
from verification.outcome import Outcome
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters, contradictions
from verification.wire.records import Records

N, STEPS, SCALE, DELTA = 24, 4, 0.5, "1e-5"
SUMS = np.tril(np.ones((STEPS, STEPS)))
"""Of the steps up to each: the noise of honest prefix sums is the sum of the noise of the steps."""
NODES = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
"""Which steps each node of the tree adds up; a record is in three of the seven."""
WAYS = {"prefix sums": (SUMS, SUMS), "tree": (NODES, np.eye(7))}


def steps_of(data: Records, record_in: int = 1) -> Floats:
    """The clipped sums of the steps over n, [STEPS, p]; each record enters as many steps."""
    rows = data.features * data.labels[:, None]
    rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    place = np.arange(data.count) * STEPS // data.count
    return np.array(
        [rows[np.isin((place - k) % STEPS, range(record_in))].sum(axis=0) / data.count for k in range(STEPS)]
    )


def session(
    way: str, *, mixing: Floats | None = None, joint: float = 1.0, record_in: int = 1, follows: float = 0.0
) -> InProcess:
    """Sums of steps with noise, declared with the joint sensitivity times `joint`; `mixing` is the true noise's."""
    sums, root = WAYS[way]
    true = root if mixing is None else mixing
    covariance = SCALE**2 * root @ root.T
    # a record of step k moves the releases by 2/n in the k-th column of `sums`
    together = max(float(np.linalg.norm(np.linalg.solve(SCALE * root, column))) for column in 2.0 / N * sums.T)

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> dict[str, object]:
        scale = np.sqrt(np.diag(covariance)).tolist()
        value = {"name": "x", "noise": "gaussian", "norm": "l2", "scale": scale, "sensitivity": 2.0 / records}
        value |= {"count": len(sums), "joint": joint * together * N / records}
        if way == "prefix sums":
            value["covariance"] = covariance.tolist()
        bound = {"kind": "clip", "radius": 1.0}
        return {"neighbours": "replace-one", "bound": bound, "values": [value]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        noise, before = true @ run.gaussian((true.shape[1], data.columns), SCALE), sums @ steps_of(data, record_in)
        x = np.zeros(data.columns)
        for k in range(len(sums)):
            x = run.release("x", before[k] + follows * x, noise[k])

    return InProcess("joint", declare, run)


def judged(tested: InProcess, factor: float = 1.0001, effort: float = 0.1) -> dict[str, Outcome]:
    """Outcomes at the price of the declaration, times a factor."""
    price = declared_implementation(tested, {}, size=(N, 3), seed=1, claim=(1.0, Fraction(DELTA))).pricing.price()
    found = findings(tested, {}, epsilon=str(price * Fraction(factor)), delta=DELTA, seed=4, effort=effort, size=(N, 3))
    return {finding.name: finding.outcome for finding in found}


def test_louder_noise_of_another_covariance_stands() -> None:
    """A step's noise twice as large is declared noise and more, so that no combination of releases has less."""
    louder = session("prefix sums", mixing=SUMS @ np.diag([2.0, 1.0, 1.0, 1.0]))
    assert judged(louder, effort=0.4)["noise"] is Outcome.DEVIATES


@pytest.mark.parametrize("way", WAYS)
def test_honest_sums_stand_at_the_price_of_what_a_record_moves_in_all(way: str) -> None:
    assert set(judged(session(way)).values()) == {Outcome.STANDS}
    assert judged(session(way), 0.3)["account"] is Outcome.REFUTED


def test_later_releases_may_follow_earlier_ones() -> None:
    assert set(judged(session("tree", follows=0.5)).values()) == {Outcome.STANDS}


WRONG = {
    "a record in two steps in place of one": (session("tree", record_in=2), "sensitivity"),
    "a joint sensitivity that is too small": (session("prefix sums", joint=0.8), "sensitivity"),
    "noise that is added up, declared as nodes": (session("tree", mixing=np.tril(np.ones((7, 7))) / 2), "noise"),
    "the same noise in all prefix sums": (session("prefix sums", mixing=np.tile(SUMS[3], (4, 1)) / 2), "noise"),
    "sums without correlation": (session("prefix sums", mixing=np.diag(np.sqrt([1.0, 2, 3, 4]))), "noise"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_count_or_covariance_is_refuted(case: str) -> None:
    tested, by = WRONG[case]
    assert judged(tested, effort=0.4)[by] is Outcome.REFUTED


def test_a_joint_sensitivity_is_priced_as_one_release() -> None:
    for kind, norm, delta in (("gaussian", "l2", Fraction(DELTA)), ("laplace", "l1", Fraction(0))):
        value = VALUE | {"noise": kind, "norm": norm, "scale": 1.0, "sensitivity": 0.5}
        prices = [
            declared_price(value | {"joint": 1.0}, 16, delta),  # a record in 4 (2 if pure) of 16 releases
            declared_price(value, 4 if kind == "gaussian" else 2, delta),
        ]
        assert prices[0] == pytest.approx(prices[1], rel=1e-5)


def declared_price(value: dict[str, object], iterations: int, delta: Fraction) -> float:

    return float(price(declared(value, iterations=iterations), 100, delta))


IDENTITY = np.eye(2).tolist()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"joint": 1.0, "covariance": [[1.0]]}, "2 rows"),
        ({"joint": 1.0, "covariance": [[1.0, 0.5], [0.4, 1.0]]}, "symmetric"),
        ({"joint": 1.0, "covariance": [[1.0, 1.0], [1.0, 1.0]]}, "positive definite"),
        ({"joint": 1.0, "covariance": [[4.0, 0.0], [0.0, 4.0]]}, "root of the diagonal"),
        ({"joint": 1.0, "covariance": IDENTITY}, ""),
        ({"joint": math.sqrt(2)}, ""),
    ],
)
def test_a_covariance_that_no_noise_has_is_a_contradiction(value: dict[str, object], said: str) -> None:
    told = declared(VALUE | {"scale": 1.0} | value, iterations=2)
    found = contradictions(told, neighbours="replace-one", pure=False, records=10)
    assert said in "; ".join(found)
    assert bool(found) is bool(said)


def test_a_joint_sensitivity_of_drawn_batches_is_refused() -> None:
    sampling = {"kind": "without-replacement", "batch": 5}
    told = declared(VALUE | {"joint": 1.0}, sampling=sampling)
    assert contradictions(told, neighbours="replace-one", pure=False, records=10)
