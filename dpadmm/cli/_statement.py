"""`dpadmm gate --init` on a terminal: ask for what no check can find out, and write the answers into the claim file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

QUESTIONS: Mapping[str, str] = {
    "unit": "Whom does the claim protect (one person, one device), and how many records has each?",
    "composition": "What else was or will be released from the same data?",
    "trust": "Who sees the records, and who sees what is released?",
    "tuned": "What was chosen by looking at the private data (step size, iterations, features)?",
    "hazards": "Which hazards of the implementation are known (timing, shared machines, random numbers)?",
}
"""One question for each key of [statement]."""


def asked(ask: Callable[[str], str]) -> dict[str, str]:
    """Ask every question; an empty answer leaves the line out."""
    answers = {key: ask(question).strip() for key, question in QUESTIONS.items()}
    return {key: answer for key, answer in answers.items() if answer}


def with_statement(template: str, answers: Mapping[str, str]) -> str:
    """The template with these answers in place of its examples; unchanged if there are none."""
    if not answers:
        return template
    text = template.replace("# [statement]  ", "[statement]    ", 1)
    for key, answer in answers.items():
        line = f"{key} = {json.dumps(answer, ensure_ascii=False)}"
        text = re.sub(rf"^# {key} = .*$", lambda _: line, text, count=1, flags=re.MULTILINE)  # noqa: B023 - used at once
    return text
