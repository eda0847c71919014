"""The document is made of results: sections with tables and figures, nothing typed in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.checkpoint import FinishedUnit
from experiments.document import SECTION, collect, section, write_section
from experiments.errors import NothingToShow
from experiments.report import Results
from experiments.runner import run_unit
from tests.experiments.small import small_study, small_work


@pytest.fixture(scope="module")
def results() -> Results:
    work = small_work(small_study(repeats=3).model_copy(update={"losses": ("logistic",)}))
    finished: list[FinishedUnit] = [run_unit(work, unit) for unit in work.plan.units()[:2]]
    return Results.of(work.plan, finished)


def test_a_section_links_every_figure_and_shows_both_accountings(results: Results) -> None:
    text = section(results)
    links = re.findall(r"\(figures/([a-z-]+)\.svg\)", text)
    assert links == [
        "synthetic-logistic-paper",
        "synthetic-coverage-paper",
        "synthetic-logistic-certified",
        "synthetic-coverage-certified",
        "synthetic-noise",
    ]
    assert text.count("(a) / (b)") == 2
    assert "ADMM-objP's solves" in text


def test_a_partial_study_says_so_and_extrapolates_only_to_its_like(results: Results) -> None:
    note = results.coverage_note
    assert note.startswith("2 of 6 units run")
    assert "hours of one core" in note
    plan = results.plan
    quick = plan.size.model_copy(update={"rows": 150})
    other = Results.of(type(plan)(plan.study, plan.algorithms, quick, plan.setting, plan.levels, ""), results.finished)
    assert "hours of one core" not in other.coverage_note


def test_sections_and_figures_are_collected(results: Results, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "synthetic"
    (folder / "figures").mkdir(parents=True)
    (folder / "figures" / "synthetic-noise.svg").write_text("<svg/>", "utf-8")
    write_section(results, folder)
    assert collect(tmp_path / "out", tmp_path / "docs", "chosen with care") == ["synthetic"]
    text = (tmp_path / "docs" / "experiments.md").read_text("utf-8")
    assert "chosen with care" in text
    assert (folder / SECTION).read_text("utf-8") in text
    assert (tmp_path / "docs" / "figures" / "synthetic-noise.svg").read_text("utf-8") == "<svg/>"


def test_nothing_run_is_nothing_to_document(tmp_path: Path) -> None:
    with pytest.raises(NothingToShow, match="no study has been run"):
        collect(tmp_path, tmp_path / "docs", "")
