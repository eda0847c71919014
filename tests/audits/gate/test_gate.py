"""The gate through its front door: exit codes, evidence, reports that validate, and what bad input gets."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from audits.gate.claim_file import TEMPLATE
from dpadmm.cli import main
from tests.audits.schemas import junit_errors, sarif_errors

KINDS = ("text", "json", "junit", "sarif", "markdown", "html")


def claim_file(tmp_path: Path, command: list[str], *changes: tuple[str, str]) -> Path:
    text = TEMPLATE.replace('["python", "adapter.py"]', json.dumps(command))
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = tmp_path / "claim.toml"
    path.write_text(text)
    return path


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def dpadmm(*arguments: str) -> Done:
    """Run the front door in this process: what a shell would see, without the seconds that imports take."""
    out, err = io.StringIO(), io.StringIO()
    before, code = sys.argv, 0
    sys.argv = ["dpadmm", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else -1
    finally:
        sys.argv = before
    return Done(code, out.getvalue(), err.getvalue())


def gate(path: Path, *arguments: str) -> Done:
    return dpadmm("gate", str(path), "--seed", "1", "--workers", "1", "--details", *arguments)


REFERENCE = [sys.executable, "-m", "verification.served.loopback"]
MPADMM = (
    ('algorithm = "ssadmm"  ', 'algorithm = "mpadmm"  '),
    ("batch = 221\n", 'eta = "4"\nrho = "0.5"\nrelease = "all"\n'),
    ('sampling = "without-replacement" # fresh in every iteration\n', ""),
    ("records = 48842", "records = 1000"),
    ('sigma = "0.0136" ', 'sigma = "0.05" '),
    ("iterations = 2210", "iterations = 10"),
)


def zoo(member: str) -> list[str]:
    return [sys.executable, "-m", "tests.zoo", member, "black-box"]


@pytest.mark.slow
def test_the_reference_stands_with_the_power_asked_for_and_every_report_says_so(tmp_path: Path) -> None:
    path = claim_file(tmp_path, REFERENCE)
    targets = [f"--report={kind}={tmp_path / kind}" for kind in KINDS]
    done = gate(path, *targets)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("noise too small by a factor of 1.") >= 2
    report = json.loads((tmp_path / "json").read_text())
    assert report["version"] == 1
    assert {f["outcome"] for f in report["findings"]} == {"stands"}
    assert {f["stage"] for f in report["findings"]} == {"price", "small", "claimed", "games"}
    assert all(float(f["power"]["noise_divisor"]) <= 1.2 for f in report["findings"] if f["power"])
    certified = report["accounts"][0]["epsilon"]
    assert 0.0 < float(certified["lower"]) < float(certified["upper"]) <= 1.0
    _all_valid(tmp_path)


@pytest.mark.slow
def test_too_little_noise_is_refuted_with_a_command_that_shows_it_again(tmp_path: Path) -> None:
    path = claim_file(tmp_path, zoo("variance-as-deviation"))
    done = gate(path, "--only", "games", *[f"--report={kind}={tmp_path / kind}" for kind in KINDS])
    assert done.returncode == 1, done.stdout + done.stderr
    again = re.search(r"again: dpadmm (.*)", done.stdout)
    assert again is not None
    shown = dpadmm(*shlex.split(again[1]), "--workers", "1")
    assert shown.returncode == 1
    assert re.findall(r"refuted after \d+", shown.stdout) == re.findall(r"refuted after \d+", done.stdout) != []
    suite = ET.parse(tmp_path / "junit").getroot()
    assert suite.attrib["failures"] == "1"
    assert json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"][-1]["level"] == "error"
    _all_valid(tmp_path)


def _all_valid(folder: Path) -> None:
    assert junit_errors((folder / "junit").read_text()) == []
    assert sarif_errors((folder / "sarif").read_text()) == []
    page = (folder / "html").read_text()
    _Balanced().feed(page)
    assert page.count("<svg") >= 2
    assert not re.search(r"<script|src=|https?://|@import|url\(", page), "the page must be self-contained"
    assert (folder / "markdown").read_text().startswith("## Privacy gate:")


class _Balanced(HTMLParser):
    """Fails on tags that do not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "wbr"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass


@pytest.mark.slow
def test_a_few_records_refute_before_any_game_is_played(tmp_path: Path) -> None:
    done = gate(claim_file(tmp_path, zoo("epoch-wise-shuffle")))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "refuted        marked/ssadmm/small" in done.stdout
    assert "/games" not in done.stdout


def test_a_claim_below_the_lower_end_is_refuted_before_any_run(tmp_path: Path) -> None:
    done = gate(claim_file(tmp_path, ["/no/such/adapter"], ('epsilon = "1.0"', 'epsilon = "0.8"')))
    assert done.returncode == 1
    assert "epsilon at delta 1e-8 is at least 0.84" in done.stdout
    assert "adapter" not in done.stdout


def test_the_price_alone_needs_no_adapter(tmp_path: Path) -> None:
    done = gate(claim_file(tmp_path, ["/no/such/adapter"]), "--only", "price")
    assert done.returncode == 3
    assert "adapter" not in done.stdout


@pytest.mark.slow
def test_a_claim_between_lower_and_upper_is_inconclusive_with_the_reason(tmp_path: Path) -> None:
    done = gate(claim_file(tmp_path, REFERENCE, ('epsilon = "1.0"', 'epsilon = "0.842"')), "--only", "price")
    assert done.returncode == 3
    assert "lies between 0.84" in done.stdout
    assert "holds for every pair" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["tight", pytest.param("standard", marks=pytest.mark.standard_effort)])
def test_a_claim_that_only_the_exact_adversary_proves_is_proved_by_it(tmp_path: Path, effort: str) -> None:
    """The composed profile certifies 0.9946, the exact adversary 0.8454: by default, or where nothing else decides."""
    done = gate(claim_file(tmp_path, REFERENCE, ('epsilon = "1.0"', 'epsilon = "0.85"')), "--only", "price")
    assert "stands         ssadmm/price" in done.stdout, effort
    assert "is at most 0.8454" in done.stdout, effort


@pytest.mark.slow
def test_the_printed_mpadmm_claim_is_refuted_by_accountant_and_audit_and_the_corrected_one_stands(
    tmp_path: Path,
) -> None:
    printed = ('released = "every-iterate"', 'sensitivity = "printed"\nreleased = "every-iterate"')
    # 0.306 is what the printed sensitivities give at eta = 4; 1.23 is the truth
    path = claim_file(tmp_path, REFERENCE, *MPADMM, printed, ('epsilon = "1.0"', 'epsilon = "0.306"'))
    accounted = gate(path, "--only", "price")
    assert accounted.returncode == 1
    assert "at least 1.22" in accounted.stdout
    audited = gate(path, "--only", "games")
    assert audited.returncode == 1, audited.stdout + audited.stderr
    corrected = claim_file(tmp_path, REFERENCE, *MPADMM, ('epsilon = "1.0"', 'epsilon = "1.23"'))
    stands = gate(corrected, "--only", "price", "--only", "games")
    assert stands.returncode == 3, stands.stdout + stands.stderr
    assert "\nrefuted  " not in stands.stdout


def test_without_an_implementation_nothing_but_the_price_is_shown(tmp_path: Path) -> None:
    text = TEMPLATE[: TEMPLATE.index("[implementation]")] + TEMPLATE[TEMPLATE.index("[gate]") :]
    path = tmp_path / "claim.toml"
    path.write_text(text)
    assert gate(path, "--only", "price").returncode == 3
    whole = gate(path)
    assert whole.returncode == 3
    assert "names no [implementation]" in whole.stdout
    assert gate(path, "--only", "games").returncode == 2


@pytest.mark.slow
def test_a_budget_too_small_for_any_power_is_inconclusive(tmp_path: Path) -> None:
    path = claim_file(tmp_path, REFERENCE, ('budget = "5m"', 'budget = "1s"'))
    done = gate(path, "--only", "games")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "inconclusive" in done.stdout


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/no/such/adapter"], "cannot-start"),
        ([sys.executable, "-c", "print('hello')"], "not-json"),
        ([sys.executable, "-c", "import sys; sys.exit(3)"], "crashed"),
    ],
)
def test_an_adapter_that_fails_has_an_exit_code_of_its_own(tmp_path: Path, command: list[str], words: str) -> None:
    done = gate(claim_file(tmp_path, command), "--only", "small", "--only", "games")
    assert done.returncode == 4, done.stdout + done.stderr
    assert words in done.stdout


def test_a_waived_refutation_does_not_decide_until_it_expires(tmp_path: Path) -> None:
    for expires, code in (("2999-01-01", 3), ("2001-01-01", 1)):
        waiver = f'\n[[waiver]]\nfinding = "ssadmm/price"\nreason = "known since the spring"\nexpires = {expires}\n'
        path = claim_file(tmp_path, REFERENCE, ('epsilon = "1.0"', 'epsilon = "0.8"'))
        path.write_text(path.read_text() + waiver)
        done = gate(path, "--only", "price")
        # waived, nothing else was checked: inconclusive; expired: it counts again
        assert done.returncode == code, done.stdout


def test_a_waiver_for_nothing_is_refused(tmp_path: Path) -> None:
    path = claim_file(tmp_path, REFERENCE)
    path.write_text(
        f'{path.read_text()}\n[[waiver]]\nfinding = "acount/x/small"\nreason = "a typing error"\nexpires = 2999-01-01\n'
    )
    done = gate(path, "--only", "price")
    assert done.returncode == 2
    assert "nothing is called 'acount/x/small'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--report", "pdf=x"], "KIND one of"),
        (["--report", "json=no/such/folder/x"], "does not exist"),
        (["--only", "acount"], "names no finding"),
        (["--workers", "0"], "workers"),
    ],
)
def test_usage_errors_exit_with_two(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = gate(claim_file(tmp_path, REFERENCE), *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_init_writes_a_file_once(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    first, second = gate(path, "--init"), gate(path, "--init")
    assert (first.returncode, second.returncode) == (0, 2)
    assert path.read_text() == TEMPLATE
    assert "already there" in second.stderr
