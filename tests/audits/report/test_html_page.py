"""The page as evidence: what it is about, what is stated and what is not, pictures of any data, terms explained."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from audits.games.executors import executor
from audits.games.sequential import LEARNED
from audits.gate.claim_file import TEMPLATE, read_claim_file
from audits.gate.report import GateReport, about_all_runs, provenance_of
from audits.gate.run import GateOptions, run_gate
from audits.report.html import coverage_section, parameters, picture_of, render_html
from audits.report.machine import document
from audits.report.pictures import figure
from audits.report.statement import ADD, BEYOND, NOT_CHECKED, NOT_STATED, statement
from audits.report.summary import PARTS, TERMS, explained, glossary, summary
from tests.audits.gate.test_gate import claim_file, zoo
from verification import pictures
from verification.judge import Coverage, Covered, Uncovered
from verification.outcome import About, Finding, Ink, Outcome, Picture, Power, Series, Stage, worst
from verification.questions.catalogue import at
from verification.questions.question import Size
from verification.reading.context import SSADMM
from verification.statistics.test import Aspect, Cause
from verification.wire.messages import DeclaredStart

STATED = """
[statement]
unit = "one <customer>"
trust = "the operator sees everything"
"""


def made(tmp_path: Path, *findings: Finding, more: str = "", coverage: Coverage | None = None) -> GateReport:
    path = tmp_path / "privacy-claim.toml"
    (tmp_path / "adapter.py").write_text("print('hello')\n")
    path.write_text(TEMPLATE + more)
    claims = read_claim_file(path)
    outcome = worst(f.outcome for f in findings if f.waiver is None)
    known = provenance_of(claims, path)
    return GateReport(claims, findings, (), (), 7, 1.0, outcome, Coverage() if coverage is None else coverage, known)


def test_the_page_names_the_files_with_their_digests(tmp_path: Path) -> None:
    report = made(tmp_path, Finding(About.read("ssadmm/price"), Outcome.STANDS, "fine"))
    page = render_html(report)
    for name in ("privacy-claim.toml", "adapter.py"):
        assert name in page
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() in page
    assert f"{report.provenance.date:%Y-%m-%d}" in page
    assert "The claim file" in page
    known = document(report)["provenance"]
    assert isinstance(known, dict)
    assert known["claim_file"]["sha256"] == hashlib.sha256((tmp_path / "privacy-claim.toml").read_bytes()).hexdigest()


def test_every_parameter_is_on_the_page(tmp_path: Path) -> None:
    report = made(tmp_path)
    rows = {(table, name): value for table, name, value in parameters(report.claims)}
    assert rows["claim", "epsilon"] == "1"
    assert rows["mechanism ssadmm", "sigma"] == "0.0136"
    assert rows["mechanism ssadmm", "batch"] == "221"
    assert rows["deployment", "lambda"] == "0.0001"
    assert rows["gate", "false_alarm"] == "1e-6"
    page = render_html(report)
    assert all(f">{value}</td>" in page for value in rows.values())


def test_what_nobody_stated_is_marked_and_what_no_check_looked_at_too(tmp_path: Path) -> None:
    lines = {line.asked: line for line in statement(made(tmp_path))}
    assert (lines["unit of privacy"].stated, lines["unit of privacy"].backing) == (NOT_STATED, ADD)
    assert lines["parameters"].backing == NOT_CHECKED
    assert lines["mechanism"].backing == NOT_CHECKED
    assert "not checked" in lines["hazards of the implementation"].backing
    assert render_html(made(tmp_path)).count('class="missing"') == 5


def test_what_is_stated_and_checked_is_shown_with_what_backs_it(tmp_path: Path) -> None:
    coverage = Coverage(
        (
            Covered(About("noise-scale", "ssadmm", Stage.SMALL, "ssadmm"), "small sizes", 0, (Aspect.NOISE,)),
            Covered(About("silent", "ssadmm", Stage.SMALL, "ssadmm"), "small sizes", 0, (Aspect.NOISE,)),
        ),
        (Uncovered(About("x", "ssadmm", Stage.GAMES, "ssadmm"), "no time"),),
    )
    findings = (
        Finding(About.read("ssadmm/price"), Outcome.STANDS, "fine"),
        Finding(
            About.read("silent/ssadmm/small"),
            Outcome.REFUTED,
            "coarse",
            cause=Cause.NOISE_GRID,
        ),
    )
    report = made(tmp_path, *findings, more=STATED, coverage=coverage)
    lines = {line.asked: line for line in statement(report)}
    assert lines["unit of privacy"].stated == "one <customer>"
    assert lines["unit of privacy"].backing == BEYOND
    assert lines["parameters"].backing == "ssadmm/price (stands)"
    assert lines["mechanism"].backing == "silent/ssadmm/small (refuted)"
    hazards = lines["hazards of the implementation"].backing
    assert "coarse grid of floating-point numbers: silent/ssadmm/small (refuted)" in hazards
    assert "a fixed seed: silent/ssadmm/small;" in hazards, "refuted for another cause"
    page = render_html(report)
    assert "one &lt;customer&gt;" in page
    assert "no time" in page


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome.REFUTED, "not kept"),
        (Outcome.STANDS, "not a proof"),
        (Outcome.DEVIATES, "differs from what is stated"),
        (Outcome.INCONCLUSIVE, "not enough could be checked"),
        (Outcome.ADAPTER_FAILED, "nothing can be concluded"),
        (Outcome.FAULT, "nothing can be concluded"),
    ],
)
def test_the_first_paragraph_says_what_to_think(tmp_path: Path, outcome: Outcome, words: str) -> None:
    text = summary(made(tmp_path, Finding(About.read("x/ssadmm/small"), outcome, "")))
    assert words in text
    assert "a factor of at most 2.72 (epsilon = 1)" in text
    if outcome is not Outcome.REFUTED:
        part = dataclasses.replace(made(tmp_path), outcome=Outcome.INCONCLUSIVE, partial=True)
        assert "Only a part" in summary(part)


def test_the_first_paragraph_says_what_the_measured_noise_costs(tmp_path: Path) -> None:
    cost = "measured noise: 0.1 of the claimed; epsilon at delta 1e-8 is then at most 99"
    refuted = Finding(About.read("silent/ssadmm/claimed"), Outcome.REFUTED, "too small", measured=cost)
    assert f" M{cost[1:]}." in summary(made(tmp_path, refuted))
    assert "Measured noise" not in summary(made(tmp_path, dataclasses.replace(refuted, measured="")))


def test_a_large_epsilon_is_not_said_to_hide_everything(tmp_path: Path) -> None:
    report = made(tmp_path, Finding(About.read("x/ssadmm/small"), Outcome.STANDS, ""))
    assert "a limit on what can be learned" in summary(report)
    assert "hardly anything" not in summary(report)


def test_what_is_missing_stands_before_what_passed(tmp_path: Path) -> None:
    page = render_html(
        made(
            tmp_path,
            Finding(About.read("ssadmm/price"), Outcome.STANDS, "fine"),
            Finding(About.read("claimed"), Outcome.INCONCLUSIVE, "no time"),
        )
    )
    assert page.index("claimed</td>") < page.index("ssadmm/<wbr>price</td>")


def test_checks_of_one_size_share_a_row_and_keep_their_runs() -> None:
    page = coverage_section(
        Coverage(
            (
                Covered(About("silent", "ssadmm", Stage.SMALL, "ssadmm"), "small sizes", 0, (Aspect.NOISE,)),
                Covered(About("noise-scale", "ssadmm", Stage.SMALL, "ssadmm"), "small sizes", 0, (Aspect.NOISE,)),
                Covered(About("seeds-differ", "ssadmm", Stage.SMALL, "ssadmm"), "small sizes", 0, ()),
                Covered(About("silent", "ssadmm", Stage.CLAIMED, "ssadmm"), "n = 9", 1234, (Aspect.NOISE,)),
            )
        )
    )
    assert "silent, noise-scale</td>" in page
    assert "silent (1,234 runs)</td>" in page
    assert page.count("<tr>") == 1 + 3
    assert "Nothing that was planned was left out" in page


def test_every_stage_and_question_at_the_claimed_size_is_explained() -> None:
    assert {question.name for question in at(Size.CLAIMED)} | {about_all_runs(SSADMM).question, LEARNED} <= PARTS.keys()
    assert {str(stage) for stage in Stage if stage is not Stage.COVERAGE} <= PARTS.keys()
    assert all(f"<dt>{name}</dt>" in glossary() for name in PARTS)


def test_terms_are_explained_once_and_markup_stays_text() -> None:
    text = explained("<b>epsilon</b>, epsilon & delta; false alarms, noise-variance")
    assert text.count("<abbr") == 2
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert all(f'id="term-{term.replace(" ", "-")}"' in glossary() for term in TERMS)


def test_pictures_of_values_that_are_not_finite_or_huge_are_drawn_without_them() -> None:
    points = ((0.0, 1.0), (1.0, math.nan), (2.0, math.inf), (3.0, 1e308), (4.0, 2.0))
    drawn = figure(Picture("t<", "c", "x", "y", (Series("s", points, Ink.SEEN, dots=True),)))
    assert drawn.count("<circle") == 2
    assert "3 points are not finite" in drawn
    assert "t&lt;" in drawn
    nothing = figure(Picture("t", "c", "x", "y", (Series("s", ((math.nan, 0.0),), Ink.SEEN),)))
    assert "Nothing to draw" in nothing


def test_a_picture_has_room_for_one_point_and_for_tiny_and_huge_ones() -> None:
    for value in (0.0, 5.0, -3e140, 1e-300):
        assert "<circle" in figure(
            pictures.shares("t", "c", np.array([1.0]), np.array([value]), value, axes=("a", "b"))
        )


def test_quantiles_of_proper_noise_lie_on_the_diagonal_and_of_half_the_noise_at_half() -> None:
    noise = np.random.default_rng(5).standard_normal((200, 50))
    for scale in (1.0, 0.5):
        seen = next(s for s in pictures.quantiles("n", [scale * noise]).series if s.dots)
        inner = [(x, y) for x, y in seen.points if abs(x) < 2.0]
        assert len(inner) > 50
        assert all(abs(y - scale * x) < 0.15 for x, y in inner)


DECLARED = """[claim]
epsilon = "0.40001"
delta = "0"
neighbours = "replace-one"

[declared]
algorithm = "own-mean"
records = 50
columns = 2

[implementation]
command = ["python", "adapter.py"]
"""


def test_the_page_of_a_declared_algorithm_states_what_it_can(tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    path.write_text(DECLARED)
    claims = read_claim_file(path)
    coverage = Coverage(
        (
            Covered(
                About("post-processing", "own-mean", Stage.DECLARED, "own-mean"), "50 records", 0, (Aspect.RELEASED,)
            ),
        )
    )
    findings = (Finding(About.read("account/own-mean/declared"), Outcome.STANDS, "fine"),)
    described = DeclaredStart(
        protocol=1, name="mine", version="3", language="python", capabilities=[], declared=["own-mean"]
    )
    known = dataclasses.replace(provenance_of(claims, path), implementation=described)
    report = GateReport(claims, findings, (), (), 7, 1.0, Outcome.STANDS, coverage, known)
    lines = {line.asked: line for line in statement(report)}
    assert lines["what the adversary sees"].stated == "own-mean: every release that its adapter declares"
    assert lines["what the adversary sees"].backing == "1 check: post-processing/own-mean/declared"
    assert not lines["composition within a run"].missing
    assert "never got noise: post-processing/own-mean/declared" in lines["hazards of the implementation"].backing
    assert not any(table == "deployment" for table, _, _ in parameters(claims))
    assert "The program mine 3 promises" in summary(report)
    assert "without exception (delta = 0)" in summary(report)
    page = render_html(report)
    assert "What was observed" not in page
    assert "mine 3, written in python" in page


# what one answer decides, or a list of cases: nothing to draw
WITHOUT = ("refuses-",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("member", "title"),
    [
        ("laplace-of-equal-deviation", "Noise quantiles"),
        ("epoch-wise-shuffle", "Batch positions"),
        ("with-replacement", "The sensitivity witness"),
        ("clip-ignored", "The sensitivity witness"),
        ("noise-drawn-once", "Noise that was used again"),
    ],
)
def test_each_refutation_has_its_own_picture(tmp_path: Path, member: str, title: str) -> None:
    path = claim_file(
        tmp_path, zoo(member), ('timeout = "60s"', 'timeout = "600s"'), ('budget = "5m"', 'budget = "1h"')
    )
    with executor(1) as pool:
        report = run_gate(read_claim_file(path), pool, GateOptions(1, ("small",), source=path))
    assert report.outcome is Outcome.REFUTED
    wrong = [f for f in report.findings if f.outcome is Outcome.REFUTED]
    drawn = {f.name: picture_of(report, f) for f in wrong if not any(word in f.name for word in WITHOUT)}
    assert all(picture is not None for picture in drawn.values()), drawn.keys()
    assert any(picture.title.startswith(title) for picture in drawn.values() if picture is not None), drawn
    assert render_html(report).count("<figure>") >= len(drawn)


def test_a_summary_over_several_games_is_their_minimum(tmp_path: Path) -> None:
    """0.9688 in one game: "at least 0.97" would be wrong of it, and 0.98 of every game too."""
    powers = (Power(1.2, 0.9688, 100), Power(1.2, 0.9951, 100), Power(1.1, 0.9999, 100))
    found = [
        Finding(About(f"game-{i}", "ssadmm", Stage.GAMES), Outcome.STANDS, "", power=power)
        for i, power in enumerate(powers)
    ]
    shown = summary(made(tmp_path, *found))
    assert "by a factor of 1.2 would have been detected with a probability of at least 0.96 in each" in shown
    assert powers[0].describe().endswith("at least 0.96")
    assert powers[1].describe().endswith("at least 0.99")
