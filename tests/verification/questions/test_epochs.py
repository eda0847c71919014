"""Batches by epochs: what marked records show of honest and of wrong implementations, and whole gates of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from accountant.mechanisms.words import Algorithm, Sampling
from tests.audits.gate.test_gate import claim_file, gate, zoo
from tests.verification.questions.in_process import InProcess
from tests.verification.questions.sessions import plan
from tests.zoo.epochs import MEMBERS
from verification.judge import Asked, finding, judge
from verification.outcome import Cost, Finding, Outcome
from verification.questions.catalogue import find
from verification.reading.context import Mode
from verification.statistics.batches import by_epochs, epoch_tests

FIXED, SHUFFLE = Sampling.FIXED_ORDER, Sampling.SHUFFLE


def asked(member: str, sampling: Sampling | None) -> Finding:
    """Ask one of them at a few records, as a gate does."""
    session = InProcess(MEMBERS[member]())
    question = Asked(find(("marked",))[0], Mode(Algorithm.SSADMM, sampling=sampling))
    [result] = judge([session], [question], plan(0.2), lambda: InProcess(MEMBERS[member]()))
    return finding(result)


CASES = [
    ("honest", FIXED, Outcome.STANDS, ""),
    ("honest", SHUFFLE, Outcome.STANDS, ""),
    ("honest", None, Outcome.STANDS, ""),
    ("one-order-a-run", FIXED, Outcome.STANDS, ""),
    ("one-order-a-run", SHUFFLE, Outcome.DEVIATES, "epoch-order"),
    ("one-order-for-all", SHUFFLE, Outcome.DEVIATES, "epoch-order"),
    ("fresh-batches", FIXED, Outcome.REFUTED, "epoch-once"),
    ("fresh-batches", SHUFFLE, Outcome.REFUTED, "epoch-once"),
    ("two-steps-a-batch", FIXED, Outcome.REFUTED, "epoch-once"),
    ("two-steps-a-batch", SHUFFLE, Outcome.REFUTED, "epoch-once"),
    ("short-last-batch", FIXED, Outcome.REFUTED, "contribution"),
]


@pytest.mark.parametrize(("member", "sampling", "outcome", "test"), CASES)
def test_marked_records_tell_honest_epochs_from_wrong_ones(
    member: str, sampling: Sampling | None, outcome: Outcome, test: str
) -> None:
    found = asked(member, sampling)
    assert found.outcome is outcome, found.detail
    assert test in found.detail


def held(make: Callable[[np.random.Generator], np.ndarray], runs: int, seed: int = 0) -> np.ndarray:
    """A table [runs, T, 12] of who is in which batch of 3 of 12 records."""
    rng = np.random.default_rng(seed)
    table = np.zeros((runs, 8, 12), dtype=np.bool_)
    for r in range(runs):
        for k, batch in enumerate(make(rng)):
            table[r, k, batch] = True
    return table


def shuffled(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.permutation(12).reshape(4, 3) for _ in range(2)])


def kept(rng: np.random.Generator) -> np.ndarray:
    return np.tile(rng.permutation(12).reshape(4, 3), (2, 1))


def fresh(rng: np.random.Generator) -> np.ndarray:
    return np.stack([rng.choice(12, 3, replace=False) for _ in range(8)])


def least(table: np.ndarray, cost: Cost, *, shuffle: bool) -> float:
    tests = epoch_tests(table, np.arange(12), records=12, batch=3, shuffle=shuffle)
    return min((t.p_value for t in tests if t.cost is cost), default=1.0)


def test_the_p_value_of_a_fresh_order_is_one_and_of_a_kept_order_small() -> None:
    small = [least(held(shuffled, 60, seed), Cost.NOTHING, shuffle=True) for seed in range(60)]
    assert np.mean(np.array(small) <= 0.1) < 0.3  # each with probability 0.1 at most: 18 of 60 has 1e-5
    assert least(held(kept, 60), Cost.NOTHING, shuffle=True) < 1e-6
    assert least(held(kept, 60), Cost.NOTHING, shuffle=False) == 1.0
    assert least(held(shuffled, 60), Cost.NOTHING, shuffle=False) == 0.0
    for make in (shuffled, kept):
        assert least(held(make, 60), Cost.PRIVACY, shuffle=True) == 1.0
    assert least(held(fresh, 60), Cost.PRIVACY, shuffle=True) == 0.0


def test_records_that_are_left_out_where_none_need_be_are_a_difference() -> None:
    table = held(shuffled, 20)
    table[3, :, 5] = False
    assert least(table, Cost.NOTHING, shuffle=True) == 0.0
    assert least(table, Cost.PRIVACY, shuffle=True) == 1.0


def test_epochs_behind_a_claim_of_fresh_batches_are_recognised() -> None:
    assert by_epochs(held(shuffled, 60), records=12, batch=3)
    assert not by_epochs(held(fresh, 60), records=12, batch=3)


EPOCHS = (
    ('sampling = "without-replacement" # fresh in every iteration\n', 'sampling = "fixed-order"\n'),
    ("records = 48842", "records = 400"),
    ("columns = 124 ", "columns = 20 "),
    ("batch = 221\n", "batch = 40\n"),
    ('sigma = "0.0136" ', 'sigma = "0.5" '),
    ("iterations = 2210", "iterations = 25"),
)


def serving(member: str) -> list[str]:
    return [sys.executable, "-m", "tests.zoo.epochs", member]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("member", "code", "said"),
    [("honest", 0, "stands"), ("one-order-a-run", 0, "stands"), ("two-steps-a-batch", 1, "epoch-once")],
)
def test_an_implementation_of_epochs_is_gated_end_to_end(tmp_path: Path, member: str, code: int, said: str) -> None:
    done = gate(claim_file(tmp_path, serving(member), *EPOCHS))
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout


def test_a_claim_of_epochs_is_priced_at_their_exact_end(tmp_path: Path) -> None:
    """Three visits at nu = 10: mu^2 = 0.03, epsilon 0.8775 at 1e-8."""
    for claimed, code in (("0.878", 0), ("0.877", 1)):
        path = claim_file(tmp_path, ["/no/such/adapter"], *EPOCHS, ('epsilon = "1.0"', f'epsilon = "{claimed}"'))
        done = gate(path, "--only", "price")
        assert done.returncode in ((1,) if code else (0, 3)), done.stdout
        assert ("at least 0.877" in done.stdout) == bool(code)


def test_a_group_is_claimed_and_priced(tmp_path: Path) -> None:
    group = ("# group_size = 5 ", "group_size = 5 ")
    done = gate(claim_file(tmp_path, ["/no/such/adapter"], *EPOCHS, group), "--only", "price")
    assert done.returncode == 1
    assert "is at least 4.92" in done.stdout
    report = tmp_path / "page.html"
    gate(tmp_path / "claim.toml", "--only", "price", f"--report=html={report}")
    assert "replacing up to 5 records by others" in report.read_text()


@pytest.mark.slow
def test_fresh_batches_that_are_epochs_are_told_what_that_costs(tmp_path: Path) -> None:
    done = gate(claim_file(tmp_path, zoo("epoch-wise-shuffle")), "--only", "marked/ssadmm/small")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "batches are those of epochs: epsilon at delta 1e-8 is then" in done.stdout
