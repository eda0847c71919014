"""A study resumes, gives the same numbers however it is run, and finds a bad folder before it works."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from experiments import runner, studies, training
from experiments.checkpoint import FinishedUnit, StudyCheckpoint, read_finished
from experiments.config import load_study
from experiments.errors import DataError, NothingToShow, OutputError
from experiments.plan import Unit
from experiments.report import Results
from experiments.runner import run, run_unit
from experiments.studies import Request
from tests.experiments.small import short_algorithms, small_study, small_work


def quiet(_done: int, _total: int) -> None:
    return None


def numbers(finished: list[FinishedUnit]) -> list[object]:
    """Everything but the times."""
    ordered = sorted(finished, key=lambda unit: (unit.repeat, unit.fold, unit.dataset))
    return [unit.rows for unit in ordered]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[FinishedUnit]:
    work = small_work()
    checkpoint = StudyCheckpoint(tmp_path_factory.mktemp("whole") / "c.jsonl", work.plan.fingerprint, fresh=False)
    run(work, checkpoint, workers=1, on_progress=quiet)
    return checkpoint.finished


def test_every_cell_of_every_unit_is_measured(whole: list[FinishedUnit]) -> None:
    work = small_work()
    assert len(whole) == 2 * 2
    for unit in whole:
        seen = {(row.algorithm, row.accounting, row.loss, row.lam, row.epsilon) for row in unit.rows}
        assert len(seen) == len(unit.rows)
        for algorithm in work.plan.study.algorithms:
            cells = work.plan.cells_of(algorithm)
            assert {(c.algorithm, c.accounting, c.loss, c.lam, c.epsilon) for c in cells} <= seen
        for row in unit.rows:
            assert 0 <= row.accuracy <= 1
            assert set(row.xi) == {20, 25, 30, 40}
            assert (row.residual is not None) == (row.algorithm in {"objp", "objp-once"})
    assert all(any(row.algorithm == "nonprivate" for row in unit.rows) == (unit.repeat == 0) for unit in whole)


@pytest.mark.slow
def test_an_interrupted_study_resumes_to_the_same_results(whole: list[FinishedUnit], tmp_path: Path) -> None:
    work, path = small_work(), tmp_path / "c.jsonl"

    class Interrupted(Exception):
        pass

    def interrupt(done: int, _total: int) -> None:
        if done == 1:
            raise Interrupted

    with pytest.raises(Interrupted):
        run(work, StudyCheckpoint(path, work.plan.fingerprint, fresh=False), workers=1, on_progress=interrupt)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"fingerprint": "cut off in the mid')
    seen: list[int] = []
    checkpoint = StudyCheckpoint(path, work.plan.fingerprint, fresh=False)
    run(work, checkpoint, workers=1, on_progress=lambda done, _total: seen.append(done))
    assert seen[0] == 1
    assert numbers(checkpoint.finished) == numbers(whole)
    assert numbers(list(read_finished(path))) == numbers(whole)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # pytest itself may hold threads here
def test_two_processes_give_the_same_numbers_as_one(whole: list[FinishedUnit], tmp_path: Path) -> None:
    work = small_work()
    checkpoint = StudyCheckpoint(tmp_path / "c.jsonl", work.plan.fingerprint, fresh=False)
    run(work, checkpoint, workers=2, on_progress=quiet)
    assert numbers(checkpoint.finished) == numbers(whole)


@pytest.mark.slow
def test_more_repeats_can_follow_later(whole: list[FinishedUnit], tmp_path: Path) -> None:
    fewer = small_work(small_study(repeats=1))
    path = tmp_path / "c.jsonl"
    run(fewer, StudyCheckpoint(path, fewer.plan.fingerprint, fresh=False), workers=1, on_progress=quiet)
    work = small_work()
    checkpoint = StudyCheckpoint(path, work.plan.fingerprint, fresh=False)
    assert len(checkpoint.finished) == 2
    run(work, checkpoint, workers=1, on_progress=quiet)
    assert numbers(checkpoint.finished) == numbers(whole)


@pytest.mark.slow
def test_a_deadline_leaves_the_rest_for_later(
    whole: list[FinishedUnit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, path = small_work(), tmp_path / "c.jsonl"
    checkpoint = StudyCheckpoint(path, work.plan.fingerprint, fresh=False)
    clock = itertools.count()  # a second passes whenever somebody looks
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    run(work, checkpoint, workers=1, on_progress=quiet, seconds=1.0)
    assert checkpoint.finished == []
    run(work, checkpoint, workers=1, on_progress=quiet, seconds=2.5)
    assert numbers(checkpoint.finished) == numbers(whole)[:2]


def test_results_of_another_configuration_are_not_mixed_in(whole: list[FinishedUnit], tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(whole[0].model_dump_json() + "\n", "utf-8")
    other = small_work(tag="other data")
    with pytest.raises(OutputError, match="another configuration"):
        StudyCheckpoint(path, other.plan.fingerprint, fresh=False)
    assert StudyCheckpoint(path, other.plan.fingerprint, fresh=True).finished == []


def test_a_damaged_checkpoint_is_refused(whole: list[FinishedUnit], tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text("{}\n" + whole[0].model_dump_json() + "\n", "utf-8")
    with pytest.raises(OutputError, match="line 1: not a finished unit"):
        StudyCheckpoint(path, whole[0].fingerprint, fresh=False)


def test_partial_studies_cover_data_sets_and_folds_before_they_repeat() -> None:
    units = small_work(small_study(folds=3, datasets=2)).plan.units()
    assert len(set(units)) == 3 * 2 * 2
    assert [(unit.fold, unit.dataset) for unit in units[:2]] == [(0, 0), (0, 1)]
    assert [unit.repeat for unit in units] == [0] * 6 + [1] * 6


def test_repeats_differ_and_folds_test_on_different_records(whole: list[FinishedUnit]) -> None:
    private = [
        np.array([row.objective for row in unit.rows if row.algorithm == "ssadmm"], dtype=np.float64) for unit in whole
    ]
    for i, a in enumerate(private):
        for b in private[i + 1 :]:
            assert not np.array_equal(a, b)


def test_the_test_fold_is_never_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    work = small_work()
    seen: list[int] = []
    original = training.train

    def spy(algorithm: object, signed: np.ndarray, *arguments: object, **options: object) -> object:
        seen.append(len(signed))
        return original(algorithm, signed, *arguments, **options)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(runner, "train", spy)
    run_unit(work, Unit(repeat=1, fold=0, dataset=0))
    assert set(seen) == {150}


def request(out: Path, *, source: str | None = None, study: str = "synthetic") -> Request:
    return Request(
        study=load_study(study) if study != "small" else small_study(),
        algorithms=short_algorithms(),
        source=source,
        trust=False,
        quick=True,
        out=out,
        workers=1,
        fresh=False,
    )


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_full_disk_is_found_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - 1000, 1000))
    monkeypatch.setattr(studies, "prepare", lambda *_: pytest.fail("work was begun"))
    with pytest.raises(OutputError, match="MB left"):
        studies.carry_out(request(tmp_path / "out"), studies.Progress())


def test_an_unwritable_folder_is_found_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    monkeypatch.setattr(studies, "prepare", lambda *_: pytest.fail("work was begun"))
    with pytest.raises(OutputError, match="cannot be written to"):
        studies.carry_out(request(tmp_path / "file" / "out"), studies.Progress())


def test_data_are_asked_for_where_they_are_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"adult needs --data.*libsvmtools"):
        studies.load_datasets(request(tmp_path, study="adult"))
    with pytest.raises(DataError, match=r"ipums-br needs --data.*IPUMS International"):
        studies.load_datasets(request(tmp_path, study="ipums-br"))
    with pytest.raises(DataError, match="--data does not apply"):
        studies.load_datasets(request(tmp_path, source="somewhere"))


def test_no_results_are_not_a_success() -> None:
    with pytest.raises(NothingToShow):
        Results.of(small_work().plan, [])
    assert NothingToShow.exit_code == 3
