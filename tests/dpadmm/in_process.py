"""The command line, called in this process as its entry point does."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from dpadmm.cli import main


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    stdout: str
    stderr: str


class CommandLine:
    """Calls ``dpadmm`` with arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._monkeypatch.setattr(sys, "argv", ["dpadmm", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = self._capsys.readouterr()
        return Ran(ended.value.code if isinstance(ended.value.code, int) else -1, printed.out, printed.err)
