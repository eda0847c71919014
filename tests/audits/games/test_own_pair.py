"""The user's own neighbours: checked to be neighbours, played, refuted where they show too much."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from accountant.mechanisms.words import Visibility
from audits.games.game import Subject
from audits.games.plans import standard_games
from dpadmm.cli._own_pair import load_pair
from tests.audits.gate.test_gate import MPADMM, REFERENCE, claim_file, dpadmm, gate, zoo
from verification.wire.parameters import Algorithm, Release
from verification.wire.records import Records
from verification.wire.session import Session

ONLY = ("--only", "your-own-pair/ssadmm/games")
SMALL = ('power = "noise/1.2" ', 'power = "noise/1.5" ')


def records(rows: int = 6) -> Records:
    rng = np.random.default_rng(3)
    return Records(rng.normal(size=(rows, 3)), np.where(np.arange(rows) % 2, -1, 1).astype(np.int64))


def written(path: Path, data: Records) -> Path:
    lines = [
        ",".join([*map(repr, row), str(label)])
        for row, label in zip(data.features.tolist(), data.labels.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def with_pair(folder: Path, command: list[str], first: Records, second: Records) -> Path:
    path = claim_file(folder, command, SMALL)
    written(folder / "a.csv", first)
    written(folder / "b.csv", second)
    path.write_text(path.read_text() + '\n[pair]\nfirst = "a.csv"\nsecond = "b.csv"\n')
    return path


def opposed(data: Records) -> tuple[Records, Records]:
    """Record 4 of large gradient one way and the other: all but what is claimed."""
    far = np.array([40.0, 0.0, 0.0])
    return data.replace(4, far, 1), data.replace(4, -far, 1)


@pytest.mark.slow
def test_the_honest_stand_on_their_own_pair_and_too_little_noise_is_refuted(tmp_path: Path) -> None:
    first, second = opposed(records())
    stands = gate(with_pair(tmp_path, REFERENCE, first, second), *ONLY)
    assert stands.returncode == 3, stands.stdout + stands.stderr
    assert "stands         your-own-pair/ssadmm/games" in stands.stdout
    kept = str(tmp_path / "evidence")
    refuted = gate(with_pair(tmp_path, zoo("variance-as-deviation"), first, second), *ONLY, "--evidence", kept)
    assert refuted.returncode == 1, refuted.stdout + refuted.stderr
    again = dpadmm("gate", "--examine", kept)  # the pair is the user's, and is not in the evidence
    assert again.returncode == 2, again.stdout + again.stderr
    assert "your own pair of neighbours is not kept" in again.stderr


def test_records_that_nothing_can_tell_apart_are_inconclusive(tmp_path: Path) -> None:
    # without features a record has no gradient, whatever its label
    data, empty = records(), np.zeros(3)
    done = gate(with_pair(tmp_path, REFERENCE, data.replace(0, empty, 1), data.replace(0, empty, -1)), *ONLY)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "same gradient after bounding" in done.stdout


def test_files_that_cannot_be_a_pair_are_usage_errors(tmp_path: Path) -> None:
    data = records()
    path = with_pair(tmp_path, ["/no/such/adapter"], data, data)
    assert (done := gate(path)).returncode == 2
    assert "must be replace-one neighbours: 0 records" in done.stderr
    (tmp_path / "b.csv").unlink()
    assert (done := gate(path)).returncode == 2
    assert "there is no such file" in done.stderr
    path.write_text(path.read_text().replace("second =", "secnd ="))
    assert (done := gate(path)).returncode == 2
    assert "did you mean 'second'?" in done.stderr


@pytest.mark.slow
def test_the_audit_command_takes_a_pair(tmp_path: Path) -> None:
    first, second = opposed(records())
    files = [str(written(tmp_path / name, data)) for name, data in (("a.csv", first), ("b.csv", second))]
    command = ("--seed", "1", "--workers", "1", "--pair", *files, "--", *zoo("variance-as-deviation"))
    done = dpadmm("audit", *command)
    assert done.returncode == 1, done.stderr
    assert "refuted        your own pair" in done.stdout
    again = dpadmm("audit", "--pair", files[0], files[0], "--", *REFERENCE)
    assert again.returncode == 2
    assert "0 records stand only in the first" in again.stderr


def test_a_libsvm_file_whose_neighbour_has_one_more_feature_is_padded_with_zeros(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("+1 1:0.5\n-1 1:1 2:2\n")
    (tmp_path / "b").write_text("+1 1:0.5\n-1 1:1 3:2\n")
    pair = load_pair(tmp_path / "a", tmp_path / "b")
    np.testing.assert_array_equal(pair.first.features, [[1.0, 2.0, 0.0], [0.5, 0.0, 0.0]])
    np.testing.assert_array_equal(pair.second.features[0], [1.0, 0.0, 2.0])


@pytest.mark.parametrize("algorithm", [Algorithm.SSADMM, Algorithm.MPADMM])
def test_what_is_released_chooses_the_game(algorithm: Algorithm) -> None:
    release = Release.ALL if algorithm is Algorithm.MPADMM else None
    with Session([sys.executable, "-m", "verification.served.loopback"]) as session:
        every = standard_games(session, Subject(algorithm, release))
        last = standard_games(session, Subject(algorithm, release, visibility=Visibility.LAST_MODEL))
    assert {planned.game.visibility for planned in every} == {Visibility.EVERY_ITERATE}
    assert [planned.game.visibility for planned in last] == [
        Visibility.LAST_MODEL,
        Visibility.ONE_STEP,
        Visibility.ONE_STEP,
    ]


@pytest.mark.slow
def test_a_last_model_with_z_and_y_beside_it_stands_with_the_power_asked_for(tmp_path: Path) -> None:
    """Of three games two see all that is paid for; the end of many steps, which is x alone, need not."""
    last = ('released = "every-iterate"', 'released = "last-model"')
    done = gate(claim_file(tmp_path, REFERENCE, *MPADMM, last, SMALL), "--only", "games")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "\nrefuted  " not in done.stdout
    assert "last-of-many-steps/mpadmm/all/games" in done.stdout
    assert re.search(r"attains 0\.[67][0-9]* of the claim", done.stdout)
