"""A gate ends without a warning: no process is left running, no file open, whatever the outcome.

On stderr there is a line for each conclusion, and nothing else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from verification.outcome import About, Outcome

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


def is_conclusion(line: str) -> bool:
    """Whether it is an outcome and an id, as a gate tells of each conclusion."""
    outcome, name = line[:14].rstrip(), line[15:]
    try:
        return line == f"{Outcome(outcome).value:<14} {About.read(name)}"
    except ValueError:
        return False


@pytest.mark.slow
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
    told = done.stderr.splitlines()
    assert told, "a gate is never silent"
    assert [line for line in told if not is_conclusion(line)] == []
