"""`dpadmm conform` and `dpadmm adapter` from outside: exit codes, table, JSON, and what a wrong word gets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dpadmm.cli import group
from tests.verification.questions.sessions import LOOPBACK, wrong

FAKE = [sys.executable, "-S", str(Path(__file__).parents[1] / "wire" / "fake.py")]


def dpadmm(*arguments: str) -> Result:
    """Run the command line in this process: no interpreter to start, the same exit codes."""
    return CliRunner().invoke(group, list(arguments))


@pytest.mark.parametrize(("mode", "code"), [("honest", 0), ("banner", 4)])
def test_the_exit_code_reaches_the_shell(mode: str, code: int) -> None:
    program = "import sys; from dpadmm.cli import main; main()"
    command = [sys.executable, "-c", program, "adapter", "smoke", "--timeout", "5", "--", *FAKE, mode]
    assert subprocess.run(command, capture_output=True, check=False, timeout=120).returncode == code


def test_an_honest_implementation_exits_with_0() -> None:
    done = dpadmm("conform", "--only", "updates-agree", "--format", "json", "--", *LOOPBACK)
    report = json.loads(done.stdout)
    assert done.exit_code == 0
    assert report["outcome"] == "stands"
    assert report["version"] == 3
    assert {finding["outcome"] for finding in report["findings"]} == {"stands"}


def test_a_wrong_one_exits_with_1_and_says_how_to_see_it_again() -> None:
    done = dpadmm("conform", "--only", "silent", "--seed", "3", "--", *wrong("TwentyPercentLess"))
    assert done.exit_code == 1
    assert "refuted" in done.stdout
    again = next(line.split("again:")[1].strip() for line in done.stdout.splitlines() if "again:" in line)
    assert again.startswith("dpadmm conform --only silent --seed 3 -- ")


def test_a_broken_adapter_exits_with_4_and_names_the_fault() -> None:
    done = dpadmm("conform", "--timeout", "2", "--", *FAKE, "crash-at-trials")
    assert done.exit_code == 4
    assert "crashed at step trials" in done.stdout
    document = json.loads(dpadmm("conform", "--format", "json", "--", *FAKE, "ignores-seed").stdout)
    assert document["fault"]["name"] == "ignores-seed"
    assert document["outcome"] == "adapter failed"


def test_nothing_checked_exits_with_3() -> None:
    assert dpadmm("conform", "--only", "silent", "--", *wrong("ReplayOnly")).exit_code == 3
    assert dpadmm("conform", "--budget", "1s", "--only", "silent", "--", *LOOPBACK).exit_code in (0, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["conform"], "name the adapter's command"),
        (["conform", "--only", "silemt", "--", "x"], "did you mean silent?"),
        (["conform", "--budget", "soon", "--", "x"], "not a positive duration"),
        (["conform", "--false-alarm", "1.5", "--", "x"], "range"),
        (["adapter", "new", "--language", "cobol"], "cobol"),
    ],
)
def test_wrong_words_exit_with_2(arguments: list[str], message: str) -> None:
    done = dpadmm(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_skeleton_is_written_once_and_not_over_another_file(tmp_path: Path) -> None:
    arguments = ["adapter", "new", "--language", "python", "--directory", str(tmp_path)]
    assert dpadmm(*arguments).exit_code == 0
    assert "FILL IN 1" in (tmp_path / "adapter.py").read_text(encoding="utf-8")
    again = dpadmm(*arguments)
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_smoke_exits_with_0_and_4() -> None:
    assert dpadmm("adapter", "smoke", "--", *LOOPBACK).exit_code == 0
    done = dpadmm("adapter", "smoke", "--timeout", "2", "--", *FAKE, "banner")
    assert done.exit_code == 4
    assert "hint:" in done.stdout


def test_the_list_of_questions_says_what_each_catches() -> None:
    document = json.loads(dpadmm("conform", "--list", "--format", "json").stdout)
    assert all(question["catches"] and question["needs"] for question in document["questions"])
