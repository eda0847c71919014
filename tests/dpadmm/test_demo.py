"""`dpadmm demo` works from anywhere: the packaged claims are those of the examples, the adapter is the packaged one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpadmm.demo import HONEST, PAPER, WRONG, claim
from dpadmm.demo.__main__ import VarianceAsDeviation
from tests.dpadmm.in_process import CommandLine

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", [HONEST, WRONG, PAPER])
def test_the_packaged_claims_are_those_of_the_examples(name: str) -> None:
    def without_command(text: str) -> str:
        return re.sub(r"command = .*", "", text)

    assert without_command(claim(name)) == without_command((ROOT / f"examples/claims/{name}.toml").read_text("utf-8"))


def test_the_files_are_written_and_nothing_is_run(
    dpadmm: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = dpadmm("demo", "--files-only")
    assert shown.code == 0
    assert sorted(path.name for path in (tmp_path / "dpadmm-demo").iterdir()) == sorted(
        f"{name}.toml" for name in (HONEST, WRONG, PAPER)
    )


def test_the_wrong_implementation_squares_its_deviation() -> None:
    noise = VarianceAsDeviation().scale_noise(np.ones(2), np.full(2, 0.1))
    assert np.allclose(noise, 0.01)


@pytest.mark.slow
def test_the_demo_works_beside_clashing_names(tmp_path: Path) -> None:
    for name in ("reference", "verification", "audits"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the user')")
    command = [sys.executable, "-m", "dpadmm", "demo"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the reference stands, the wrong implementation is refuted" in done.stdout
    assert (tmp_path / "dpadmm-demo" / "reference.html").is_file()
