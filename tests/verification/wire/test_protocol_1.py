"""Adapters that were written before declared algorithms and faces existed work unchanged.

The files of `protocol_1` are the filled skeletons of the first version of the protocol. They are not to be changed: if
one of them fails, the protocol has changed for those who have written adapters.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import pytest

from tests.verification.wire.test_skeletons import build
from verification.conform import FALSE_ALARM, conform
from verification.judge import Plan
from verification.outcome import Outcome
from verification.questions.catalogue import find
from verification.wire.skeletons import Language
from verification.wire.smoke import smoke

FOLDER = Path(__file__).parent / "protocol_1"
WRITTEN = {
    Language.PYTHON: ("adapter.py.txt", "150c61d7cc0d7e11"),
    Language.C: ("adapter.c", "b99eefe538e92b7c"),
    Language.NODE: ("adapter.mjs", "602f175061ef26f7"),
    Language.RUST: ("adapter.rs", "ebd34fc26c27add4"),
}
QUESTIONS = ("updates-agree", "silent", "one-step-sensitivity", "marked")


def text(language: Language) -> str:
    return (FOLDER / WRITTEN[language][0]).read_text(encoding="utf-8")


@pytest.mark.parametrize("language", WRITTEN)
def test_the_adapters_are_those_that_were_written(language: Language) -> None:
    assert hashlib.sha256(text(language).encode()).hexdigest().startswith(WRITTEN[language][1])


@pytest.mark.slow
@pytest.mark.parametrize("language", WRITTEN)
def test_an_adapter_of_protocol_1_works_unchanged(language: Language, tmp_path: Path) -> None:
    command = build(language, text(language), tmp_path)
    steps = [str(step.step) for step in smoke(command)]
    assert steps == ["start", "data", "data", "replay", "trials", "stop"]
    report = conform(command, Plan(FALSE_ALARM, math.inf, 0, effort=0.2), questions=find(QUESTIONS))
    assert report.fault is None
    assert {finding.outcome for finding in report.findings} == {Outcome.STANDS}, report.findings
