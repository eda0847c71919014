"""What the tests of the command line share."""

from __future__ import annotations

import pytest

from tests.dpadmm.in_process import CommandLine


@pytest.fixture
def dpadmm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)
