"""The baselines' vectors: honest ones agree, wrong ones fail with their bug among the first suspects."""

from __future__ import annotations

import hashlib
import json
import sys

import pytest
from click.testing import CliRunner

from dpadmm.cli import group
from tests.verification.vectors.inprocess import check_implementation
from tests.zoo.vectors.wrong_baselines import WRONG_BASELINES
from verification.outcome import Outcome
from verification.served.loopback import Loopback
from verification.served.stepwise import StepwiseBaselines
from verification.vectors.baseline_model import ALGORITHMS
from verification.vectors.files import BASELINES, FOLDER, load
from verification.vectors.model import Case
from verification.vectors.suspects import diagnose
from verification.wire.parameters import BASELINES as NAMES

VERSION_1 = {
    "edges.json": "a2a3b04c8ddb393e6ba9e9f1175bd55d8c6091a806d7b753101e06cc4e7a4691",
    "invalid.json": "841a376e4efb58edd1bf97fa6d52d3f93dcd084708fe07d0939d8a22e320bc13",
    "mpadmm.json": "8c58e1ce674f739663da1413d8538ddb2730f218966e4ae692fba2f28503405e",
    "schema.json": "a676e5e8b18e4ee78b6fb29e104c35e87d961b5d50ab5380c5d5d2f1a4384483",
    "ssadmm.json": "d5761b28f26a4357032fe0c5f068beb8b6964b295e2a988d153573c0c6dd8ede",
}
"""SHA-256 of the files of version 1: they never change, a port may have copied them."""


@pytest.fixture(scope="module")
def baselines() -> list[Case]:
    return list(load(FOLDER / BASELINES).cases)


@pytest.mark.parametrize("name", VERSION_1)
def test_version_1_is_unchanged(name: str) -> None:
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == VERSION_1[name]


def test_every_baseline_has_cases(baselines: list[Case]) -> None:
    assert {str(case.algorithm) for case in baselines} == set(ALGORITHMS) == {str(name) for name in NAMES}


@pytest.mark.parametrize("honest", [Loopback(NAMES), StepwiseBaselines()], ids=["reference", "many runs at once"])
def test_honest_baselines_agree_with_every_case(honest: StepwiseBaselines, baselines: list[Case]) -> None:
    found = list(check_implementation(honest, baselines))
    assert [finding for finding in found if finding.outcome is not Outcome.STANDS] == []
    assert len(found) == len(baselines)


@pytest.mark.parametrize("wrong", WRONG_BASELINES, ids=lambda kind: kind.__name__)
def test_a_wrong_baseline_fails_and_its_bug_is_a_first_suspect(
    wrong: type[StepwiseBaselines], baselines: list[Case]
) -> None:
    found = diagnose(list(check_implementation(wrong(), baselines)), baselines)
    assert found.failed
    assert WRONG_BASELINES[wrong] in [suspect.flag for suspect in found.suspects[:3]]


def test_the_command_plays_what_an_adapter_offers_and_names_the_rest() -> None:
    adapter = [sys.executable, "-m", "verification.served.loopback"]
    every = CliRunner().invoke(group, ["vectors", "check", "--", *adapter, "ssadmm", "mpadmm", "baselines"])
    assert every.exit_code == 0, every.output
    assert "skipped" not in every.output
    paper = CliRunner().invoke(group, ["vectors", "check", "--file", str(FOLDER / BASELINES), "--", *adapter])
    assert paper.exit_code == 3
    assert "cases need what is not offered: dpsvrg (14), dpsgd (13), dpadmm (13)" in paper.output


def test_a_wrong_baseline_behind_the_wire_is_told_its_suspect() -> None:
    adapter = [sys.executable, "-m", "tests.zoo.vectors.wrong_baselines", "PlainMean"]
    done = CliRunner().invoke(group, ["vectors", "check", "--file", str(FOLDER / BASELINES), "--", *adapter])
    assert done.exit_code == 1
    assert "first    z differs first in" in done.output
    assert "suspect  1. party-mean: " in done.output


def test_the_schema_of_version_2_admits_the_file() -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((FOLDER / "schema-2.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(json.loads((FOLDER / BASELINES).read_text("utf-8")))
