"""`dpadmm vectors` from outside: exit codes, table, JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dpadmm.cli import group
from dpadmm.cli.common import exit_code_of
from verification.vectors.files import BASELINES, FOLDER, load

LOOPBACK = [sys.executable, "-m", "verification.served.loopback"]
FAKE = [sys.executable, "-S", str(Path(__file__).parents[1] / "wire" / "fake.py")]


def dpadmm(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["vectors", *arguments])


def wrong(name: str) -> list[str]:
    return [sys.executable, "-m", "tests.zoo.vectors.wrong", name]


def test_the_reference_behind_the_wire_agrees_with_every_case() -> None:
    done = dpadmm("check", "--format", "json", "--", *LOOPBACK)
    report = json.loads(done.stdout)
    assert done.exit_code == 0
    assert report["version"] == 2
    assert report["outcome"] == "stands"
    baselines = load(FOLDER / BASELINES).count
    assert report["counts"] == {"stands": report["cases"] - baselines, "skipped": baselines}


def test_a_wrong_one_exits_with_1_and_is_told_the_place_and_the_likely_bug() -> None:
    done = dpadmm("check", "--", *wrong("LambdaAsThreshold"))
    assert done.exit_code == 1
    assert "failed   l1-rho-at-threshold: z[" in done.stdout
    assert "Catches: threshold lambda, lambda eta or lambda rho in place of lambda/rho" in done.stdout
    assert "first    z differs first in" in done.stdout
    assert "(x agrees until then)" in done.stdout
    assert "suspect  1. threshold: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("refuted: ")


@pytest.mark.slow
def test_the_case_is_named_in_which_an_adapter_crashes() -> None:
    command = wrong("CrashesOnHugeRows")
    done = dpadmm("check", "--", *command)
    assert done.exit_code == 4
    assert "FAULT in case logistic-huge-rows-clipped" in done.stdout, done.stdout[-500:]
    fault = json.loads(dpadmm("check", "--format", "json", "--", *command).stdout)["fault"]
    assert fault["case"].startswith("logistic-huge-rows")


def test_an_adapter_without_replay_has_not_been_checked() -> None:
    done = dpadmm("check", "--", *wrong("NoReplay"))
    assert done.exit_code == 3
    assert "cases need what is not offered: replay (" in done.stdout
    assert "inconclusive: " in done.stdout


def test_an_adapter_that_fails_exits_with_4() -> None:
    done = dpadmm("check", "--timeout", "10", "--", *FAKE, "banner")
    assert done.exit_code == 4
    assert "FAULT" in done.stdout
    assert dpadmm("check", "--", "no-such-program").exit_code == 4


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"version": 1', '"version": 7', "version must be"),
        ('"rho":[', '"rho":["1",', "cases.0.rho"),
        ("]}", "", "line"),
    ],
)
def test_a_broken_file_exits_with_2_and_names_the_place(old: str, new: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text((FOLDER / "ssadmm.json").read_text("utf-8").replace(old, new, 1), "utf-8")
    done = dpadmm("check", "--file", str(path), "--", *LOOPBACK)
    assert isinstance(done.exception, Exception)
    assert exit_code_of(done.exception) == 2
    assert "mine.json" in str(done.exception)
    assert place in str(done.exception)


def test_stale_files_exit_with_1_and_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"ssadmm.json": (FOLDER / "ssadmm.json").read_text("utf-8")}
    monkeypatch.setattr("tools.golden_vectors.writing.generated", lambda: texts)
    assert dpadmm("generate", "--out", str(tmp_path)).exit_code == 0
    assert dpadmm("generate", "--check", "--out", str(tmp_path)).exit_code == 0
    path = tmp_path / "ssadmm.json"
    path.write_text(path.read_text("utf-8").replace('"ulp":', '"ulp": ', 1), "utf-8")
    done = dpadmm("generate", "--check", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert f"stale: {path}" in done.stdout


def test_cases_are_listed_by_flag_and_an_unknown_flag_is_a_usage_error() -> None:
    done = dpadmm("list", "--flag", "jump")
    assert done.exit_code == 0
    assert "erratum E11" in done.stdout
    assert "invalid-scad-below" in done.stdout
    listed = json.loads(dpadmm("list", "--format", "json").stdout)
    assert len(listed["cases"]) >= 150
    assert dpadmm("list", "--flag", "jmp").exit_code == 2


def test_the_files_are_found_where_they_are_and_copied_unchanged(tmp_path: Path) -> None:
    folder = Path(dpadmm("path").stdout.strip())
    assert dpadmm("export", str(tmp_path / "copy")).exit_code == 0
    copied = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in folder.glob("*.json")}
    assert {"ssadmm.json", "schema.json"} <= copied.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("only", "code", "cases"), [("arithmetic", 0, 296), ("invalid", 0, 60)])
def test_runs_and_refusals_can_be_checked_apart(only: str, code: int, cases: int) -> None:
    done = dpadmm("check", "--only", only, "--", *LOOPBACK)
    assert done.exit_code == code
    assert done.stdout.endswith(f"of {cases} cases\n")
