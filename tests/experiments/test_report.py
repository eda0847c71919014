"""What is shown is what was measured: tables, statements in either direction, figures, a page that stands alone."""

from __future__ import annotations

import csv
import io
import re
import statistics
from pathlib import Path

import pytest

from experiments.checkpoint import Row, StudyCheckpoint
from experiments.config import Study, load_study
from experiments.figures import draw_all
from experiments.report import Results, accuracy_table, noise_table, statements_table, write_all
from experiments.runner import run
from experiments.statements import findings
from experiments.tables import Group, summarise
from tests.experiments.small import small_study, small_work

OWN = ("ssadmm", "mpadmm", "dpsgd", "dpadmm", "objp")


def row(algorithm: str, accuracy: float, *, epsilon: str = "0.4", xi: float = 0.5, objective: float = 0.5) -> Row:
    return Row(
        algorithm=algorithm,
        accounting="paper" if algorithm == "objp" else "certified",
        loss="logistic",
        lam="0.001",
        epsilon=epsilon,
        dataset=0,
        fold=0,
        repeat=0,
        accuracy=accuracy,
        objective=objective,
        nonzeros=3,
        residual=1e-6 if algorithm == "objp" else None,
        xi=dict.fromkeys((20, 25, 30, 40), xi),
    )


def only_one_lambda(name: str) -> Study:
    return load_study(name).model_copy(update={"lambdas": ("0.001",), "losses": ("logistic",)})


def verdicts(study: Study, accuracies: dict[str, float], **xi: float) -> list[bool]:
    rows = [row(name, value, xi=xi.get(name, 0.5)) for name, value in accuracies.items()]
    return [finding.held for finding in findings(study, summarise(rows, study.accountings), "certified")]


def test_statements_about_real_data_can_hold_and_can_fail() -> None:
    study = only_one_lambda("adult")
    ahead = {"ssadmm": 0.8, "mpadmm": 0.78, "dpsgd": 0.79, "dpadmm": 0.7, "objp": 0.6}
    assert verdicts(study, ahead) == [True, False, True]
    assert verdicts(study, {**ahead, "dpsgd": 0.81}) == [False, False, True]
    assert verdicts(study, {**ahead, "dpadmm": 0.785}) == [True, False, False]


def test_statements_about_simulated_data_can_hold_and_can_fail() -> None:
    study = only_one_lambda("synthetic")
    near = {"ssadmm": 0.8, "mpadmm": 0.795, "dpsgd": 0.81, "dpadmm": 0.7, "objp": 0.6}
    assert verdicts(study, near, mpadmm=0.9, objp=0.6) == [True, True, True, True]
    assert verdicts(study, {**near, "mpadmm": 0.7}, mpadmm=0.4, objp=0.3) == [False, False, False, False]


def test_objp_appears_under_both_accountings_and_the_mean_is_the_mean() -> None:
    rows = [row("objp", 0.5), row("objp", 0.7), row("ssadmm", 0.9)]
    summary = summarise(rows, ("paper", "certified"))
    for accounting in ("paper", "certified"):
        mean = summary.accuracy[Group("objp", accounting, "logistic", "0.001", "0.4")]
        assert mean.mean == pytest.approx(0.6)
        assert mean.runs == 2
        assert mean.deviation == pytest.approx(statistics.stdev([0.5, 0.7]))
    assert Group("ssadmm", "paper", "logistic", "0.001", "0.4") not in summary.accuracy
    assert max(summary.residual.values()) == 1e-6


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    work = small_work(small_study(repeats=1).model_copy(update={"losses": ("logistic",)}))
    checkpoint = StudyCheckpoint(tmp_path_factory.mktemp("run") / "c.jsonl", work.plan.fingerprint, fresh=False)
    run(work, checkpoint, workers=1, on_progress=lambda *_: None)
    return Results.of(work.plan, checkpoint.finished)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:(matplotlib|pyparsing)")  # of its own dependencies
def test_every_figure_table_and_the_page_are_written(results: Results, tmp_path: Path) -> None:
    drawn = write_all(results, tmp_path)
    expected = {
        "synthetic-logistic-paper",
        "synthetic-logistic-certified",
        "synthetic-coverage-paper",
        "synthetic-coverage-certified",
        "synthetic-noise",
    }
    assert set(drawn) == expected
    for name in expected:
        assert (tmp_path / "figures" / f"{name}.svg").read_text("utf-8").count("<path") > 20
        assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<svg") == len(expected)
    # Self-contained: nothing is fetched. Namespaces and clip paths are names, not addresses.
    assert not re.search(r"<(script|link|img|iframe)\b", page)
    assert not re.search(r"(src|href)\s*=\s*[\"']https?:", page)
    table = list(csv.DictReader(io.StringIO((tmp_path / "results.csv").read_text("utf-8"))))
    assert len(table) == len(results.rows)
    means = list(csv.DictReader(io.StringIO((tmp_path / "summary.csv").read_text("utf-8"))))
    some = next(m for m in means if m["algorithm"] == "ssadmm" and m["accounting"] == "paper")
    keys = ("algorithm", "accounting", "loss", "lambda", "epsilon")
    values = [float(t["accuracy"]) for t in table if all(t[k] == some[k] for k in keys)]
    assert float(some["accuracy"]) == pytest.approx(statistics.fmean(values))
    one = results.plan.study.model_copy(update={"accountings": ("paper",), "coverage": ()})
    again = draw_all(one, results.summary, results.plan.levels, tmp_path / "again", results.plan.size.epsilons)
    assert len(again) == 1
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / "figures" / path.name).read_bytes()


def test_tables_have_a_line_for_every_algorithm(results: Results) -> None:
    accuracy = accuracy_table(results, "logistic", "0.01")
    assert [line[0] for line in accuracy[1:]][:3] == ["ssADMM", "mpADMM", "mpADMM, x only"]
    assert all(len(line) == len(accuracy[0]) for line in accuracy)
    noise = noise_table(results)
    assert {line[0] for line in noise[1:]} >= {"ssADMM", "mpADMM", "DP-SGD", "DP-ADMM", "DP-SVRG"}
    ratio = next(line for line in noise if line[:2] == ["ssADMM", "1.0"])
    assert float(ratio[-1]) == pytest.approx(0.5)
    assert len(statements_table(results)) == 1 + 4
