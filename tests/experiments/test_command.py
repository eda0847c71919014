"""`python -m experiments` at the command line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpadmm.cli import run_command
from experiments.__main__ import command
from experiments.config import load_algorithms
from experiments.tune import as_toml, candidates


def experiments(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["adult"], "needs --data"),
        (["adult", "--data", "nowhere"], "is not in nowhere"),
        (["synthetic", "--config", "none.toml"], "no such study file"),
        (["synthetic", "--workers", "0"], "workers"),
        (["adlut"], "adlut"),
    ],
)
def test_bad_input_is_exit_code_two(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments", *arguments])
    with pytest.raises(SystemExit) as ended:
        run_command(command, "python -m experiments")
    shown = capsys.readouterr().err
    assert ended.value.code == 2, shown
    assert complaint in shown
    assert "Traceback" not in shown


def test_tuned_parameters_are_printed_in_the_layout_that_is_read(tmp_path: Path) -> None:
    packaged = load_algorithms()
    path = tmp_path / "mine.toml"
    path.write_text(as_toml(packaged), "utf-8")
    assert load_algorithms(str(path)) == packaged


def test_candidates_leave_alone_what_the_paper_states() -> None:
    now = load_algorithms()
    for candidate in candidates("ssadmm", now, quick=False):
        assert getattr(candidate, "rho", None) == "0.25"
    for candidate in candidates("mpadmm", now, quick=False):
        assert getattr(candidate, "rho", None) == "0.5"
    chosen = (now.ssadmm, now.dpsgd, now.mpadmm, now.mpadmm_primal, now.dpadmm, now.objp, now.objp_once, now.dpsvrg)
    names = ("ssadmm", "dpsgd", "mpadmm", "mpadmm-primal", "dpadmm", "objp", "objp-once", "dpsvrg")
    for name, parameters in zip(names, chosen, strict=True):
        assert parameters in list(candidates(name, now, quick=False)), name  # type: ignore[arg-type]  # a tuple of literals


@pytest.mark.slow
def test_the_quick_synthetic_study_takes_less_than_two_minutes_and_draws_everything(tmp_path: Path) -> None:
    start = time.monotonic()
    shown = experiments("synthetic", "--quick", "--workers", "2", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert time.monotonic() - start < 120
    figures = {path.stem for path in (tmp_path / "out" / "experiments" / "synthetic" / "figures").glob("*.svg")}
    assert {"synthetic-logistic-paper", "synthetic-logistic-certified", "synthetic-coverage-paper"} <= figures
    assert "held" in shown.stdout
    assert "left" in shown.stderr
