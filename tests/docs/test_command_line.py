"""docs/reference/command-line.md is what `--help` prints."""

from __future__ import annotations

from dpadmm.cli.reference_page import PAGE, page_text


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page_text(), "run python -m dpadmm.cli.reference_page"


def test_every_command_has_its_section() -> None:
    for name in ("train", "account ssadmm", "calibrate mpadmm", "vectors check", "adapter new", "gate", "explain"):
        assert f"# dpadmm {name}\n" in page_text()
