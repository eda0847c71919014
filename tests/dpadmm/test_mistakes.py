"""Typical mistakes: each message says what was given, where, and what would be right; nothing of the data is in it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from audits.gate.claim_file import TEMPLATE
from dpadmm.cli import group
from dpadmm.cli.common import EXIT_PIPE, ONCE_FOR_EACH
from tests.docs.test_command_line import commands_of
from tests.dpadmm.in_process import CommandLine

SECRET = "19571203"
"""Stands in the records; no message may repeat it."""
CSV = f"age,income,label\n30,{SECRET},yes\n40,1,no\n50,2,yes\n60,3,no\n"
TRAIN = ("train", "data.csv", "--out", "model", "--label-column", "label", "--iterations", "5", "--normalise")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A call that is wrong, files that it uses, and all that its message must say."""

    arguments: tuple[str, ...]
    says: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()


def claim(old: str, new: str) -> tuple[tuple[str, str], ...]:
    assert old in TEMPLATE
    return (("claim.toml", TEMPLATE.replace(old, new, 1)),)


def data(text: str) -> tuple[tuple[str, str], ...]:
    return (("data.csv", text),)


MISTAKES = {
    "a misspelt command": Mistake(("gaet",), ("'gaet'", "did you mean gate?")),
    "a misspelt option": Mistake(("gate", "--sede", "3"), ("--sede", "--seed")),
    "an option of another mechanism": Mistake(
        ("account", "ssadmm", "--inner", "3"), ("inner belongs to dpsvrg, not to ssadmm",)
    ),
    "several values in one option": Mistake(
        ("account", "pure", "--epsilon", "0.1,0.2", "--delta", "0"), ("'0.1,0.2'", ONCE_FOR_EACH)
    ),
    "several methods in one option": Mistake(
        ("account", "pure", "--epsilon", "1", "--delta", "0", "--method", "pure,profile"), ("--method", ONCE_FOR_EACH)
    ),
    "no claim file": Mistake(("gate",), ("privacy-claim.toml", "dpadmm gate --init")),
    "a claim file that is not there": Mistake(
        ("gate", "clam.toml"), ("no claim file clam.toml", "dpadmm gate --init clam.toml")
    ),
    "no TOML": Mistake(("gate", "claim.toml"), ("claim.toml", "line 1"), (("claim.toml", "epsilon 1\n"),)),
    "an unknown key": Mistake(
        ("gate", "claim.toml"), ("claim.toml", "claim.epsilom", "did you mean 'epsilon'?"), claim("epsilon", "epsilom")
    ),
    "a binary float": Mistake(
        ("gate", "claim.toml"), ("claim.delta", "write it in quotes", "1e-08"), claim('"1e-8"', "1e-8")
    ),
    "an algorithm that is none": Mistake(
        ("gate", "claim.toml"),
        ("mechanism.0: algorithm must be one of ssadmm, mpadmm", "'sgd'"),
        claim('algorithm = "ssadmm"', 'algorithm = "sgd"'),
    ),
    "a report of an unknown kind": Mistake(
        ("gate", "claim.toml", "--report", "pdf=out.pdf"),
        ("'pdf=out.pdf'", "KIND=FILE", "html", "sarif"),
        (("claim.toml", TEMPLATE),),
    ),
    "a report into no folder": Mistake(
        ("gate", "claim.toml", "--report", "html=no/where.html"),
        ("the folder of 'no/where.html' does not exist",),
        (("claim.toml", TEMPLATE),),
    ),
    "no adapter": Mistake(("conform",), ("after --", "dpadmm conform -- ./adapter")),
    "an unknown check": Mistake(
        ("conform", "--only", "noise-scal", "--", "x"), ("'noise-scal'", "did you mean noise-scale?")
    ),
    "a command that is no list": Mistake(
        ("gate", "claim.toml"),
        ("implementation.command: must be a valid list, got 'python x'",),
        claim('["python", "adapter.py"]', '"python x"'),
    ),
    "no epsilon": Mistake(("gate", "claim.toml"), ("claim: is missing",), (("claim.toml", "[gate]"),)),
    "reports that are none": Mistake(
        ("gate", "--compare", "old.json", "old.json"),
        ("--compare takes two files of --report json=F", "another document"),
        (("old.json", '{"outcome": "stands"}'),),
    ),
    "a statement that is none": Mistake(
        ("gate", "claim.toml", "--verify-evidence", "old.json"),
        ("not a statement of `dpadmm gate --report intoto=F`", "'predicate' is missing"),
        (("claim.toml", TEMPLATE), ("old.json", '{"outcome": "stands"}')),
    ),
    "epsilon without delta": Mistake((*TRAIN, "--epsilon", "1"), ("--epsilon needs --delta",), data(CSV)),
    "epsilon and sigma": Mistake(
        (*TRAIN, "--epsilon", "1", "--delta", "1e-6", "--sigma", "2"),
        ("--sigma 2 and --epsilon 1 both", "give either --sigma, or --epsilon with --delta"),
        data(CSV),
    ),
    "delta that is none": Mistake(
        (*TRAIN, "--epsilon", "1", "--delta", "2"),
        ("delta must lie strictly between 0 and 1, got delta=2",),
        data(CSV),
    ),
    "a label column that is not there": Mistake(
        ("train", "data.csv", "--out", "model", "--label-column", "lable", "--sigma", "1", "--normalise"),
        ("data.csv", "'lable'", "age, income, label"),
        data(CSV),
    ),
    "a word among numbers": Mistake(
        (*TRAIN, "--sigma", "1"),
        ("data.csv, line 3, column 2 (income)", "expected a number"),
        data(CSV.replace("40,1,", f"40,x{SECRET},")),
    ),
    "a line that is too short": Mistake(
        (*TRAIN, "--sigma", "1"),
        ("data.csv, line 3", "expected 3 columns, got 2"),
        data(CSV.replace("40,1,no", f"{SECRET},no")),
    ),
    "three classes": Mistake(
        (*TRAIN, "--sigma", "1"),
        ("data.csv", "labels in column 3 (label)", "two classes, got 3"),
        data(CSV.replace("60,3,no", f"60,3,{SECRET}")),
    ),
    "a place that is taken": Mistake(
        ("train", "data.csv", "--out", "data.csv", "--sigma", "1", "--normalise"),
        ("data.csv exists and is not an empty directory", "name another"),
        data(CSV),
    ),
    "noise without a bound": Mistake(
        ("train", "data.csv", "--out", "model", "--sigma", "1", "--no-normalise", "--iterations", "5"),
        ("--clip", "--normalise"),
        data(CSV),
    ),
    "no noise": Mistake(TRAIN, ("no noise is asked for", "give either --sigma, or --epsilon with --delta"), data(CSV)),
    "data that are not there": Mistake(
        ("train", "dta.csv", "--out", "model", "--sigma", "1"), ("error: dta.csv: No such file",)
    ),
    "a delimiter of two characters": Mistake(
        (*TRAIN, "--sigma", "1", "--delimiter", ";;"), ("data.csv: a delimiter is one character", "got ';;'"), data(CSV)
    ),
    "a delimiter that is another": Mistake(
        ("train", "data.csv", "--out", "model", "--sigma", "1", "--delimiter", ";"),
        ("got one column between delimiters ';'", "see --delimiter"),
        data(CSV),
    ),
    "an option of another format": Mistake(
        (*TRAIN, "--sigma", "1", "--features", "3"), ("--features is for libsvm", "data.csv is read as csv"), data(CSV)
    ),
    "epsilon beyond all floats": Mistake(
        (*TRAIN, "--epsilon", "1e999", "--delta", "1e-6"), ("epsilon is too large", "epsilon=1e999"), data(CSV)
    ),
    "more iterations than can be run": Mistake(
        (*TRAIN[:-2], "99999999999", "--sigma", "1"),
        ("iterations must be at most 10000000, got iterations=99999999999",),
        data(CSV),
    ),
    "a place that cannot be made": Mistake(
        ("train", "data.csv", "--out", "/proc/model", "--sigma", "1"),
        ("/proc/model cannot be made there", "name another place"),
        data(CSV),
    ),
    "an unknown statement": Mistake(("explain", "E99"), ("'E99'", "did you mean E9")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_says_what_where_and_what_would_be_right(
    name: str, tmp_path: Path, dpadmm: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    for file, text in mistake.files:
        Path(file).write_text(text)
    before = sorted(tmp_path.rglob("*"))
    ran = dpadmm(*mistake.arguments)
    assert ran.code == 2, ran.stderr
    message = " ".join(ran.stderr.split())
    for part in mistake.says:
        assert part in message
    assert "Traceback" not in message
    assert SECRET not in ran.stdout + ran.stderr
    assert sorted(tmp_path.rglob("*")) == before


REQUIRED = [name for name, command in commands_of(group, "dpadmm") if any(each.required for each in command.params)]


@pytest.mark.parametrize("name", REQUIRED)
def test_a_command_without_what_it_requires_says_what_is_missing(name: str, dpadmm: CommandLine) -> None:
    ran = dpadmm(*name.split()[1:])
    assert ran.code == 2
    assert "Error: Missing " in ran.stderr


def test_a_file_that_cannot_be_written_is_named_as_it_was_asked_for(dpadmm: CommandLine) -> None:
    ran = dpadmm("gate", "--init", "/proc/claim.toml")
    assert ran.code == 2
    assert "error: /proc/claim.toml: No such file" in ran.stderr


def test_a_reader_that_goes_away_is_no_refutation(tmp_path: Path) -> None:
    """`dpadmm ... | head -1`: neither a result (0 to 4) nor a complaint."""
    many = ["age,label"] + [f"{row % 7},{'yes' if row % 2 else 'no'}" for row in range(40_000)]
    (tmp_path / "data.csv").write_text("\n".join(many) + "\n")
    train = [sys.executable, "-m", "dpadmm", "train", "data.csv", "--out", "model", "--sigma", "1", "--iterations", "2"]
    subprocess.run(train, cwd=tmp_path, capture_output=True, check=True)
    predict = [sys.executable, "-m", "dpadmm", "predict", "model", "data.csv"]
    with subprocess.Popen(predict, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"class,probability\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == EXIT_PIPE


def test_a_program_that_is_not_executable_is_said_to_be_there(tmp_path: Path, dpadmm: CommandLine) -> None:
    program = tmp_path / "adapter.sh"
    program.write_text("#!/bin/sh\n")
    ran = dpadmm("adapter", "smoke", "--", str(program))
    assert ran.code == 4  # what an adapter does is not a mistake of the command's user
    assert "exists but is not executable" in " ".join(ran.stdout.split())
    assert "chmod +x" in ran.stdout
    program.chmod(0o755)
    assert "not executable" not in dpadmm("adapter", "smoke", "--timeout", "5", "--", str(program)).stdout


def test_an_adapter_is_looked_for_beside_its_claim_file(tmp_path: Path, dpadmm: CommandLine) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "adapter.sh").write_text("#!/bin/sh\nexec dpadmm adapter loopback\n")
    path = folder / "claim.toml"
    path.write_text(TEMPLATE.replace('["python", "adapter.py"]', '["./adapter.sh"]'))
    ran = dpadmm("gate", str(path), "--only", "small")
    assert ran.code == 4
    assert f"({folder / 'adapter.sh'})" in ran.stdout
    assert "exists but is not executable" in " ".join(ran.stdout.split())


def test_twenty_mistakes_are_tried() -> None:
    assert len(MISTAKES) >= 20
