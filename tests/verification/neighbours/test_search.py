"""The search climbs to the worst neighbours and shrinks to the smallest, within its limits and without a trace."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from accountant.mechanisms.words import Neighbours as Relation
from verification.neighbours.families import Domain, Families, Others
from verification.neighbours.neighbours import Attack
from verification.neighbours.search import Proposals, SearchLimits, attacks, explore, simplified, smallest
from verification.wire.arrays import Floats
from verification.wire.records import Records

Points = Attack


def limits(evaluations: int, seed: int = 1, seconds: float = 60.0) -> SearchLimits:
    return SearchLimits(time.monotonic() + seconds, evaluations, seed)


def clipped_mean(data: Records, most: float = 1.0) -> Floats:
    signed = data.features * data.labels[:, None]
    lengths = np.linalg.norm(signed, axis=1, keepdims=True)
    mean: Floats = (signed * np.minimum(1.0, most / np.maximum(lengths, 1e-9))).sum(axis=0) / max(1, data.count)
    return mean


def moved(attack: Points, most: float = 1.0) -> float:
    """The movement of a mean of clipped records over 2/n, which is what is declared."""
    pair = attack.neighbours
    far = float(np.linalg.norm(clipped_mean(pair.first, most) - clipped_mean(pair.second, most)))
    return far * pair.count / 2.0


def test_what_keeps_its_bound_has_no_witness_and_attains_it() -> None:
    domain = Domain(4, 2, closed=False)
    assert smallest([Proposals(attacks(domain), moved)], limits(200), above=1 + 1e-9).attack is None
    assert explore(attacks(domain), moved, limits(200)).ratio > 0.99


def test_what_does_not_has_the_smallest_witness() -> None:
    found = smallest(
        [Proposals(attacks(Domain(2, 1, closed=False)), lambda a: moved(a, 1.5))], limits(400), above=1 + 1e-9
    )
    assert found.attack is not None
    text = found.attack.text()
    assert "two records, one column" in text
    assert "others (0) +1" in text
    numbers = [
        abs(float(data.features[0, 0])) for data in (found.attack.neighbours.first, found.attack.neighbours.second)
    ]
    assert max(numbers) <= 2.0, text
    assert found.ratio > 1


def test_a_found_pair_is_simplified_and_stays_a_witness() -> None:
    domain = Domain(6, 4, closed=False)
    rng = np.random.default_rng(2)
    pair = list(Families(domain, rng).neighbours(Others.RANDOM, 3, rng.standard_normal(4) / 2))[-1]
    attack = Attack(pair, {"x": rng.standard_normal((2, 4))})
    found = smallest([Proposals(simplified(attack, domain), lambda a: moved(a, 1e9))], limits(400), above=1 + 1e-9)
    assert found.attack is not None
    assert found.ratio > 1
    simple = found.attack.neighbours
    assert simple.position == 3
    assert not simple.others.features.any()
    assert not found.attack.history["x"].any()
    assert np.count_nonzero(simple.first.features[3]) < 4


def test_the_first_size_with_a_witness_is_taken_and_the_limit_is_shared() -> None:
    def only_three(attack: Points) -> float:
        return 2.0 if attack.neighbours.count == 3 and attack.neighbours.first.features.any() else 0.5

    proposals = [Proposals(attacks(Domain(n, 1)), only_three) for n in (2, 3, 4)]
    found = smallest(proposals, limits(90), above=1.0)
    assert found.attack is not None
    assert found.attack.neighbours.count == 3
    assert found.evaluations <= 90


def test_a_size_at_which_much_more_moves_than_declared_is_not_taken() -> None:
    """What is declared for 20 records is exceeded ten times by 2: that says nothing about the 20."""
    proposals = [Proposals(attacks(Domain(n, 1)), lambda a: 20.0 * moved(a) / a.neighbours.count, 6.0) for n in (2, 5)]
    found = smallest(proposals, limits(200), above=1.0)
    assert found.attack is not None
    assert found.attack.neighbours.count == 5


@pytest.mark.parametrize("evaluations", [1, 7, 40])
@pytest.mark.parametrize("shrinks", [False, True])
def test_never_more_is_measured_than_allowed_and_nothing_twice(evaluations: int, *, shrinks: bool) -> None:
    keys: list[bytes] = []

    def measure(attack: Points) -> float:
        keys.append(attack.key())
        return moved(attack, 1e9)

    strategy = attacks(Domain(3, 2, closed=False))
    if shrinks:
        found = smallest([Proposals(strategy, measure)], limits(evaluations), above=1.0)
    else:
        found = explore(strategy, measure, limits(evaluations))
    assert len(keys) == len(set(keys)) == found.evaluations <= evaluations


def test_a_search_ends_at_its_deadline() -> None:
    def slow(attack: Points) -> float:
        time.sleep(0.02)
        return moved(attack)

    began = time.monotonic()
    found = explore(attacks(Domain(3, 2)), slow, limits(100_000, seconds=0.3))
    assert 1 <= found.evaluations <= 16
    assert time.monotonic() - began < 3.0  # 0.3 s, and what one measurement and a busy machine may add


def test_the_same_seed_gives_the_same_attacks_and_another_seed_others() -> None:
    def seen(seed: int) -> list[bytes]:
        keys: list[bytes] = []

        def measure(attack: Points) -> float:
            keys.append(attack.key())
            return moved(attack)

        explore(attacks(Domain(3, 2), {"x": (2, 2)}), measure, limits(60, seed))
        return keys

    assert seen(1) == seen(1)
    assert seen(1) != seen(2)


def test_what_does_not_repeat_is_no_witness() -> None:
    assert smallest([Proposals(attacks(Domain(3, 2)), lambda _: None)], limits(50), above=0.0).attack is None
    assert explore(attacks(Domain(3, 2)), lambda _: None, limits(50)).attack is None


def test_removed_records_and_boxes_are_searched_within_their_domain() -> None:
    domain = Domain(4, 2, relation=Relation.ADD_OR_REMOVE, box=(1.0, 3.0), labels=(0.0, 1.0))

    def inside(attack: Points) -> float:
        pair = attack.neighbours
        assert (pair.first.count, pair.second.count) == (4, 3)
        assert 1.0 <= pair.first.features.min() <= pair.first.features.max() <= 3.0
        assert set(pair.first.labels.tolist()) <= {0.0, 1.0}
        return float(pair.first.features[0].sum())

    found = explore(attacks(domain), inside, limits(120))
    assert found.ratio == 6.0
    assert found.attack is not None
    least = smallest([Proposals(simplified(found.attack, domain), inside)], limits(60), above=1.0).attack
    assert least is not None
    assert least.neighbours.first.features[0].tolist() == [1.0, 1.0]


def test_a_search_leaves_no_files_and_says_nothing(tmp_path: Path) -> None:
    code = (
        "import time\n"
        "from verification.neighbours.families import Domain\n"
        "from verification.neighbours.search import Proposals, SearchLimits, attacks, explore, smallest\n"
        "limits = SearchLimits(time.monotonic() + 60, 60, 1)\n"
        "measure = lambda a: float(abs(a.neighbours.first.features).max())\n"
        "assert smallest([Proposals(attacks(Domain(3, 2)), measure)], limits, above=0.5).attack is not None\n"
        "assert explore(attacks(Domain(3, 2)), measure, limits).attack is not None\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
