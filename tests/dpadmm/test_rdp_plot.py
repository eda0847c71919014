"""`account --rdp --plot`: the Renyi curve as a picture, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from accountant.errors import AccountantError
from dpadmm.cli import group

GAUSSIAN = ["gaussian", "--noise-multiplier", "2", "--iterations", "3", "--delta", "1e-5", "--rdp", "2,4,8"]


def test_the_curve_is_drawn_and_the_table_printed(tmp_path: Path) -> None:
    file = tmp_path / "curve.svg"
    result = CliRunner().invoke(group, ["account", *GAUSSIAN, "--plot", str(file)])
    assert result.exit_code == 0
    assert "smallest epsilon" in result.output
    text = file.read_text("utf-8")
    assert text.lstrip().startswith("<?xml")
    assert "rdp" in text


def test_an_unknown_format_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "curve.nonsense"
    result = CliRunner().invoke(group, ["account", *GAUSSIAN, "--plot", str(file)])
    assert isinstance(result.exception, AccountantError)
    assert not file.exists()


def test_the_renyi_curve_needs_no_delta() -> None:
    result = CliRunner().invoke(group, ["account", *[each for each in GAUSSIAN if each not in {"--delta", "1e-5"}]])
    assert result.exit_code == 0
    assert "smallest epsilon" not in result.output
    assert result.output.splitlines()[3].split() == ["4", "1.5"]  # 3 alpha / (2 nu^2)
