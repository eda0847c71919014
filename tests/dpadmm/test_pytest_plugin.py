"""The gate in pytest: one item for each question, one failure for each cause, and code without an adapter."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRONG = ROOT / "examples" / "claims" / "variance-as-deviation.toml"
pytest_plugins = ["pytester"]

TRAINING = """
import numpy as np
import pytest


def mean(features, labels):
    return features.mean(axis=0)


def train(features, labels, parameters):
    return mean(features, labels) + np.random.default_rng().normal(0.0, SCALE, features.shape[1])


def declare(parameters, records, columns):
    value = {"name": "mean", "noise": "gaussian", "scale": 0.5, "norm": "l2", "sensitivity": 2.0 / records}
    return {"neighbours": "replace-one", "bound": {"kind": "domain", "radius": 1.0}, "values": [value]}


@pytest.mark.observed(
    declare=declare, epsilon="1", delta="1e-5", records=20, columns=2, watch={"normal": "mean"}, false_alarm="1e-6"
)
def test_train(observed):
    observed(train)
"""


def run(pytester: pytest.Pytester, *arguments: str | Path) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *map(str, arguments))


@pytest.mark.slow
def test_every_question_is_an_item_with_the_id_of_the_gate(pytester: pytest.Pytester) -> None:
    shown = run(pytester, "--collect-only", "-q", "--privacy-claim", WRONG)
    ids = [line.partition("::")[2] for line in shown.outlines if "::" in line]
    assert ids[0] == "ssadmm/price"
    assert ids[-1] == "coverage"
    assert {"silent/ssadmm/small", "silent/ssadmm/claimed", "marked/ssadmm/small", "games"} <= set(ids)
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_a_part_can_be_chosen_and_a_skipped_rest_is_no_coverage(pytester: pytest.Pytester) -> None:
    shown = run(pytester, "-rs", "--privacy-claim", WRONG, "-k", "price or coverage", "--junit-xml=out.xml")
    shown.assert_outcomes(passed=1, skipped=1, deselected=None)
    names = {case.get("name") for case in ElementTree.parse(pytester.path / "out.xml").iter("testcase")}
    assert names == {"ssadmm/price", "coverage"}


def test_a_claim_file_that_is_not_there_or_wrong_is_said(pytester: pytest.Pytester) -> None:
    assert run(pytester, "--privacy-claim", "missing.toml").ret == pytest.ExitCode.USAGE_ERROR
    (pytester.path / "bad.toml").write_text("[claim]\nepsilon = 1.5\n", "utf-8")
    run(pytester, "--privacy-claim", "bad.toml").stdout.fnmatch_lines(["*claim.epsilon*in quotes*"])


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "failed"), [pytest.param("0.5", 0, marks=pytest.mark.slow), ("0.4", 1)])
def test_code_without_an_adapter_is_observed(pytester: pytest.Pytester, scale: str, failed: int) -> None:
    pytester.makepyfile(TRAINING.replace("SCALE", scale))
    shown = run(pytester, "-k", "noise")
    shown.assert_outcomes(failed=failed, passed=1 - failed)
    if failed:
        shown.stdout.fnmatch_lines(["*noise too small*"])


@pytest.mark.slow
def test_one_mistake_is_one_failure(pytester: pytest.Pytester) -> None:
    """Must show: the bundled wrong implementation; its consequences are expected failures that name the first."""
    local = pytester.path / "claim.toml"
    command = f'command = ["env", "PYTHONPATH={ROOT}", "{sys.executable}", '
    local.write_text(re.sub(r'command = \["python", ', command, WRONG.read_text("utf-8")), "utf-8")
    shown = run(pytester, "-rx", "--privacy-claim", local, "--privacy-seed", "1")
    outcomes = shown.parseoutcomes()
    assert outcomes.pop("failed") == 1, shown.stdout.str()
    assert outcomes["xfailed"] >= 2
    assert outcomes["passed"] >= 15
    shown.stdout.fnmatch_lines(["*noise too small*", "*the same cause as*"])
