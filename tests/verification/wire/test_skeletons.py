"""A skeleton works once its marked lines are filled in, refuses bad input, and says what is missing until then."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verification.conform import FALSE_ALARM, conform
from verification.judge import Plan
from verification.outcome import Outcome
from verification.vectors.checking import check_adapter
from verification.vectors.files import load_all
from verification.wire import Face
from verification.wire.faults import AdapterFault, Fault
from verification.wire.skeletons import BUILDS, FILE_NAMES, FILLED_IN, RUNS, Language, skeleton
from verification.wire.smoke import smoke

FILLED = Path(__file__).parent / "filled"  # one line for each mark, as a user would type them
MARKED = re.compile(r"^([ \t]*)[^\n]*(?:FILL IN|FILL_IN|fillIn|fill_in)[( \"]*[123]:[^\n]*$", re.MULTILINE)
TOOLS = {
    Language.PYTHON: sys.executable,
    Language.C: "cc",
    Language.CPP: "c++",
    Language.RUST: "rustc",
    Language.NODE: "node",
    Language.GO: "go",
    Language.JAVA: "java",
}
RECORDS = {"features": [[0.5, -1.0], [2.0, 0.25], [-1.0, 0.5]], "labels": [1, -1, 1]}
PAPER = {"loss": "logistic", "regularizer": "l1", "lambda": 0.1, "options": {}, "rho": 0.5, "eta": [1.0, 0.5]}
PAPER |= {"iterations": 2, "batch": 2, "sigma": 0.5, "clip": 1.0, "intercept": False}
DECLARED = {"iterations": 2, "scale": 0.5, "bound": 1.0}
every = pytest.mark.parametrize("language", list(Language))
faces = pytest.mark.parametrize("face", list(Face))


def fill_in(language: Language, face: Face) -> str:
    """Replace the marked lines, in order, one line each."""
    text = skeleton(language, face)
    lines = (FILLED / f"{language}-{face}.txt").read_text(encoding="utf-8").splitlines()
    assert len(MARKED.findall(text)) == FILLED_IN[face] == len(lines)
    replacements = iter(lines)
    return MARKED.sub(lambda match: match.group(1) + next(replacements), text)


def build(language: Language, text: str, directory: Path) -> list[str]:
    """The command that runs it."""
    tool = TOOLS[language]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    source = directory / FILE_NAMES[language]
    source.write_text(text, encoding="utf-8")
    if language not in BUILDS:
        return [tool, *RUNS[language].split()[1:-1], str(source)]
    strict = ["-Wall", "-Werror", "-Wno-unused-function"] if language in (Language.C, Language.CPP) else []
    subprocess.run([*BUILDS[language].split(), *strict], cwd=directory, check=True, capture_output=True)
    return [str(directory / "adapter")]


def ask(command: list[str], *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to these requests, after `start`, with one data set sent; ids are added."""
    sent = [{"request": "start", "protocol": 1}, {"request": "data", "name": "D", **RECORDS}, *requests]
    lines = [json.dumps({"id": i, **request}) for i, request in enumerate([*sent, {"request": "stop"}])]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(len(lines)))
    return answers[2:-1]


def wrong_requests(face: Face) -> list[dict[str, Any]]:
    """What must be refused."""
    features, nan = RECORDS["features"], {"shape": [1, 1], "base64": "AAAAAAAA+H8="}
    found: list[dict[str, Any]] = [
        {"request": "data", "name": "E", "features": nan, "labels": [1]},
        {"request": "data", "name": "E", "features": features, "labels": [1, 1]},
        {"request": "data", "name": "E", "features": {"shape": [3, 2], "base64": "AAAAAAAA8D8="}, "labels": [1, 1, 1]},
        {"request": "trials", "data": "never sent", "count": 1, "algorithm": "ssadmm", "parameters": PAPER},
    ]
    if face is Face.BLACK_BOX:
        return found
    good = PAPER if face is Face.PAPER else DECLARED
    algorithm = "ssadmm" if face is Face.PAPER else "my-algorithm"
    trials = {"request": "trials", "data": "D", "algorithm": algorithm, "count": 1, "show": "last"}
    changes: list[dict[str, Any]] = [{"unheard-of": 1.0}, {"iterations": 0}]
    if face is Face.PAPER:
        changes += [{"rho": 0.0}, {"sigma": -1.0}, {"clip": 0.0}, {"batch": 4}, {"eta": [1.0]}, {"loss": "huber"}]
        changes += [{"intercept": True}, {"initial": {name: [0.0] for name in "xzy"}}, {"normalise": 1.0}]
        replay = trials | {"request": "replay", "parameters": PAPER, "noise": {"gradient": [[0.0, 0.0]] * 2}}
        found += [replay | {"batches": batches} for batches in ([[0, 0], [0, 1]], [[0, 3], [0, 1]], [[0, 1]])]
        found.append(replay | {"batches": [[0, 1], [0, 1]], "noise": {"gradient": [[0.0], [0.0]]}})
    return found + [trials | {"parameters": good | change} for change in changes]


def good_requests(face: Face) -> list[dict[str, Any]]:
    """What must be answered."""
    trials: dict[str, Any] = {"request": "trials", "data": "D", "count": 2}
    if face is Face.BLACK_BOX:
        return [trials]
    if face is Face.PAPER:
        return [trials | {"algorithm": "ssadmm", "show": "last", "parameters": PAPER}]
    asked = {"algorithm": "my-algorithm", "parameters": DECLARED}
    return [trials | asked, {"request": "record", "data": "D", **asked}]


@pytest.mark.slow
@every
@faces
def test_a_filled_skeleton_answers_and_refuses_bad_input(language: Language, face: Face, tmp_path: Path) -> None:
    command = build(language, fill_in(language, face), tmp_path)
    good, wrong = good_requests(face), wrong_requests(face)
    answers = ask(command, *good, {"request": "nonsense"}, *wrong)
    assert all("result" in answer for answer in answers[: len(good)]), answers[: len(good)]
    assert "skipped" in answers[len(good)]
    for request, answer in zip(wrong, answers[len(good) + 1 :], strict=True):
        assert answer.get("error", {}).get("kind") in ("invalid-data", "invalid-parameters"), (request, answer)


@pytest.mark.slow
@every
@faces
def test_an_unfilled_skeleton_says_which_line_is_missing(language: Language, face: Face, tmp_path: Path) -> None:
    asked = good_requests(face)[-1]
    (answer,) = ask(build(language, skeleton(language, face), tmp_path), asked)
    assert re.search(r"FILL IN [123]", answer["error"]["message"]), answer


def test_the_unfilled_python_skeleton_is_refused_by_smoke(tmp_path: Path) -> None:
    with pytest.raises(AdapterFault, match=r"FILL IN [123]") as caught:
        list(smoke(build(Language.PYTHON, skeleton(Language.PYTHON), tmp_path)))
    assert caught.value.fault is Fault.REFUSED


def test_three_lines_make_a_sound_adapter(tmp_path: Path) -> None:
    steps = list(smoke(build(Language.PYTHON, fill_in(Language.PYTHON, Face.PAPER), tmp_path)))
    assert [str(step.step) for step in steps] == ["start", "data", "data", "replay", "trials", "stop"]


@pytest.mark.slow
@every
def test_three_lines_pass_every_conformance_check_and_agree_with_the_vectors(
    language: Language, tmp_path: Path
) -> None:
    command = build(language, fill_in(language, Face.PAPER), tmp_path)
    report = conform(command, Plan(FALSE_ALARM, math.inf, 0, effort=0.2))
    assert report.fault is None, report.fault
    outcomes = {finding.name: finding for finding in report.findings}
    wrong = [f for f in outcomes.values() if f.outcome not in (Outcome.STANDS, Outcome.SKIPPED)]
    assert not wrong, wrong
    assert sum(f.outcome is Outcome.STANDS for f in outcomes.values()) > 10
    vectors = check_adapter(command, [case for file in load_all(None) for case in file.cases])
    assert [f for f in vectors.findings if f.outcome is Outcome.REFUTED] == []
    assert vectors.outcome is Outcome.STANDS, vectors.fault
