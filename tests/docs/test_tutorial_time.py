"""From nothing to a first true verdict on a declared mechanism: how long the guide takes a reader.

Reading: the words of the page, at 200 a minute. Commands: their processor time, which on a machine with nothing else to
do is no less than the time that a reader waits; files are written as they stand.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, Kind, blocks
from tests.docs.session import Session

WORDS_A_MINUTE = 200
MOST_MINUTES = 10
VERDICTS = 4  # after this section the reader has seen a claim stand and a mistake refuted


@pytest.mark.slow
def test_the_guide_leads_to_a_true_verdict_within_ten_minutes(tmp_path: Path) -> None:
    text = (DOCS / "guides" / "declare-an-algorithm.md").read_text("utf-8")
    reading = len(re.findall(r"\w+", text)) / WORDS_A_MINUTE
    start = text.index(f"## {VERDICTS + 1}.")
    steps = [block for block in blocks(text) if block.start < start]
    assert any(block.kind is Kind.CONSOLE for block in steps)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = list(Session(tmp_path).play(steps, slow=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    machine = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60
    assert [step for step in shown if not step.agrees] == []
    assert any("every claim stands" in step.printed for step in shown)
    assert any("refuted" in step.printed for step in shown)
    print(f"reading {reading:.1f} min at {WORDS_A_MINUTE} words a minute, commands {machine:.1f} min")
    assert reading + machine <= MOST_MINUTES
