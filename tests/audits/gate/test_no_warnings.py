"""A gate ends without a warning: no process is left running, no file open, whatever the outcome."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLAIM = """
[claim]
epsilon = "1.0"
delta = "1e-8"
neighbours = "replace-one"

[mechanism]
algorithm = "ssadmm"
records = 400
columns = 4
batch = 40
sampling = "without-replacement"
clip = "1.0"
sigma = "1.0"
iterations = 4
released = "every-iterate"

[implementation]
command = {command}
"""
REFERENCE = ["-m", "verification.served.loopback"]
CRASHES = ["-c", "import sys; sys.stdin.readline(); sys.exit(3)"]


@pytest.mark.parametrize(
    ("adapter", "arguments", "code"),
    [
        (REFERENCE, ["--only", "silent/ssadmm/small"], 3),
        (CRASHES, [], 4),
        pytest.param(REFERENCE, ["--workers", "2"], 0, marks=pytest.mark.slow),
    ],
)
def test_a_gate_ends_without_a_warning(tmp_path: Path, adapter: list[str], arguments: list[str], code: int) -> None:
    path = tmp_path / "claim.toml"
    path.write_text(CLAIM.format(command=[sys.executable, *adapter]))
    gate = [
        sys.executable,
        "-W",
        "error",
        "-X",
        "dev",
        "-m",
        "dpadmm",
        "gate",
        str(path),
        "--seed",
        "1",
        "--workers",
        "1",
    ]
    done = subprocess.run([*gate, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""
