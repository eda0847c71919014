"""Colour by terminal, -q, -v, --fail-fast, suggestions, completion, and no raw control words in any help."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from dpadmm.cli.common import WIDTH
from dpadmm.cli.showing import PlainProgress, coloured
from tests.dpadmm.in_process import CommandLine
from tools.command_line_page import page_text

ROOT = Path(__file__).parents[2]
WRONG = [sys.executable, "-m", "tests.zoo", "variance-as-deviation"]
CLAIM = """
[claim]
epsilon = "{epsilon}"
delta = "1e-5"
neighbours = "replace-one"
[mechanism]
algorithm = "mpadmm"
records = 1000
columns = 4
eta = "1"
rho = "1"
release = "primal"
clip = "1"
sigma = "0.01"
iterations = 1
released = "every-iterate"
"""


def on_a_terminal(folder: Path, *arguments: str, **variables: str) -> str:
    """What a command prints to a terminal."""
    leader, follower = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dpadmm", *arguments],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)} | variables,
    )
    os.close(follower)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    process.wait()
    os.close(leader)
    return b"".join(chunks).decode()


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    (tmp_path / "strict.toml").write_text(CLAIM.format(epsilon="0.001"))
    (tmp_path / "open.toml").write_text(CLAIM.format(epsilon="50"))
    return tmp_path


@pytest.mark.slow
def test_outcomes_are_coloured_on_a_terminal(claims: Path) -> None:
    assert "\x1b[31m\x1b[1mrefuted\x1b[0m" in on_a_terminal(claims, "gate", "strict.toml")


@pytest.mark.slow
def test_no_color_is_honoured_on_a_terminal(claims: Path) -> None:
    assert "\x1b[" not in on_a_terminal(claims, "gate", "strict.toml", NO_COLOR="1")


def test_without_a_terminal_nothing_is_coloured(claims: Path, dpadmm: CommandLine) -> None:
    ran = dpadmm("gate", str(claims / "strict.toml"))
    assert "refuted" in ran.stdout
    assert "\x1b[" not in ran.stdout


def test_only_a_line_that_begins_with_an_outcome_is_coloured() -> None:
    assert coloured("refuted        account\n").startswith("\x1b[31m")
    assert coloured("stands: 3 passed\n").startswith("\x1b[32m")
    for line in ('  "outcome": "refuted"\n', "               refuted by\n", "standstill\n", "okay\n"):
        assert coloured(line) == line


def test_several_claim_files_each_have_a_verdict_and_the_worst_decides(claims: Path, dpadmm: CommandLine) -> None:
    names = [str(claims / "open.toml"), str(claims / "strict.toml")]
    ran = dpadmm("gate", *names, "--report", f"json={claims / 'report.json'}")
    assert ran.code == 1
    assert f"{names[0]}:\n" in ran.stdout
    assert "a claim is refuted" in ran.stdout
    assert ran.stdout.endswith(f"2 of 2 claim files checked: {names[0]} inconclusive, {names[1]} refuted\n")
    outcomes = [json.loads((claims / f"report-{number}.json").read_text())["outcome"] for number in (1, 2)]
    assert outcomes == ["inconclusive", "refuted"]
    assert dpadmm("gate", names[0], names[0]).code == 3


def test_fail_fast_checks_no_claim_file_after_a_refuted_one(claims: Path, dpadmm: CommandLine) -> None:
    ran = dpadmm("gate", "--fail-fast", str(claims / "strict.toml"), str(claims / "open.toml"))
    assert ran.code == 1
    assert f"{claims / 'open.toml'} not checked" in ran.stdout


def test_quiet_prints_what_is_wrong_and_the_conclusion(claims: Path, dpadmm: CommandLine) -> None:
    loud, quiet = dpadmm("gate", str(claims / "strict.toml")), dpadmm("gate", "-q", str(claims / "strict.toml"))
    assert quiet.code == loud.code == 1
    assert 2 <= len(quiet.stdout.splitlines()) < len(loud.stdout.splitlines())
    assert "a claim is refuted" in quiet.stdout.splitlines()[-1]
    assert all(line.startswith(("refuted", "inconclusive")) for line in quiet.stdout.splitlines()[:-1])
    document = dpadmm("gate", "-q", str(claims / "strict.toml"), "--format", "json").stdout
    assert json.loads(document)["outcome"] == "refuted"


def test_verbose_reports_progress_without_a_terminal(claims: Path, dpadmm: CommandLine) -> None:
    ran = dpadmm("gate", "-v", str(claims / "open.toml"))
    assert "price of mpadmm" in ran.stderr
    assert "\r" not in ran.stderr
    assert "dpadmm gate: " in ran.stderr.splitlines()[-1]
    assert "price of mpadmm" not in dpadmm("gate", str(claims / "open.toml")).stderr


def test_verbose_prints_everything_that_is_printed_without_it(claims: Path, dpadmm: CommandLine) -> None:
    """Without a terminal, as in CI: the conclusions as they come, the seed, the report; times aside."""
    path = str(claims / "open.toml")
    plain, more = (dpadmm("gate", *flag, path, "--seed", "1", "--only", "price") for flag in ([], ["-v"]))
    assert "/price" in plain.stderr
    assert set(plain.stderr.splitlines()) < set(more.stderr.splitlines())
    assert plain.stdout.splitlines()[:-1] == more.stdout.splitlines()[:-1]


def test_progress_becomes_a_line_now_and_then() -> None:
    behind = io.StringIO()
    stream = PlainProgress(behind)
    for step in range(100):
        stream.write(f"\r\x1b[2Kstep {step}\r")
    stream.write("done\n")
    assert behind.getvalue() == "step 0\ndone\n"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["gaet"], "dpadmm has no command 'gaet'; did you mean gate?"),
        (["adapter", "smok"], "dpadmm adapter has no command 'smok'; did you mean smoke?"),
        (["vectors", "chek"], "dpadmm vectors has no command 'chek'; did you mean check?"),
        (["account", "ssadm"], "did you mean ssadmm"),
        (["xyzzy"], "dpadmm has no command 'xyzzy'; known are train, "),
        (["gate", "--sede", "1"], "--seed"),
    ],
)
def test_misspelt_commands_and_options_are_guessed(dpadmm: CommandLine, arguments: list[str], meant: str) -> None:
    ran = dpadmm(*arguments)
    assert ran.code == 2
    assert meant in ran.stderr


def test_no_help_shows_a_control_word() -> None:
    assert "\\b" not in page_text()
    assert "\b" not in page_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("dpadmm ga", {"gate"}),
        ("dpadmm gate --report ht", {"html="}),
        ("dpadmm gate --report html=README", {"html=README.md"}),
        ("dpadmm gate --only pri", {"price"}),
        ("dpadmm gate examples/claims/paper-mpadmm.toml --only mpadmm/", {"mpadmm/price"}),
        ("dpadmm gate --only sensi", {"sensitivity"}),
        ("dpadmm explain SADMM-S", {"SADMM-SAMPLING"}),
    ],
)
def test_shells_complete_commands_and_values(typed: str, offered: set[str]) -> None:
    count = str(len(typed.split()) - 1)
    environment = os.environ | {"_DPADMM_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": count}
    call = "import sys; sys.argv = ['dpadmm']; from dpadmm.cli import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert {line.removeprefix("plain,") for line in shown.stdout.split()} == offered


def test_fail_fast_ends_conformance_at_the_first_refutation(dpadmm: CommandLine) -> None:
    only = ["--only", "noise-scale", "--only", "silent"]
    whole = dpadmm("conform", *only, "--", *WRONG)
    short = dpadmm("conform", "--fail-fast", *only, "--", *WRONG)
    assert whole.code == short.code == 1
    assert short.stdout.count("refuted ") < whole.stdout.count("refuted ")


def test_an_adapter_is_written_into_a_folder_that_is_made(tmp_path: Path, dpadmm: CommandLine) -> None:
    ran = dpadmm("adapter", "new", "--language", "python", "--directory", str(tmp_path / "new" / "folder"))
    assert ran.code == 0
    assert list((tmp_path / "new" / "folder").iterdir())


@pytest.mark.parametrize("arguments", [["explain"], ["vectors", "list"], ["conform", "--list"]])
def test_no_line_of_a_list_is_wider_than_a_terminal(dpadmm: CommandLine, arguments: list[str]) -> None:
    lines = dpadmm(*arguments).stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert any(line.startswith("    ") for line in lines)


def test_a_gate_shows_why_its_adapter_ended_within_a_hundred_columns(claims: Path, dpadmm: CommandLine) -> None:
    (claims / "dies.py").write_text("raise ValueError('a mistake of the adapter')\n")
    adapter = f'[implementation]\ncommand = ["{sys.executable}", "dies.py"]\n'
    (claims / "dies.toml").write_text(CLAIM.format(epsilon="50") + adapter)
    ran = dpadmm("gate", str(claims / "dies.toml"))
    assert ran.code == 4
    assert "ValueError: a mistake of the adapter" in ran.stdout
    part = dpadmm("gate", str(claims / "open.toml"), "--only", "price", "--seed", "4294967295")
    assert part.code == 3
    assert part.stdout.splitlines()[-1].startswith("no conclusion; ")
    assert max(map(len, [*ran.stdout.splitlines(), *part.stdout.splitlines()])) <= WIDTH


def test_the_badge_of_an_svg_file_is_a_picture(claims: Path, dpadmm: CommandLine) -> None:
    dpadmm("gate", str(claims / "open.toml"), "--only", "price", "--report", f"badge={claims / 'badge.svg'}")
    assert (claims / "badge.svg").read_text().startswith("<svg ")
