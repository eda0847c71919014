"""Every question, in the order in which they are asked: what is quick and decisive first."""

from __future__ import annotations

from verification.questions import (
    clipping,
    dependence,
    identical,
    many_runs,
    noise,
    sampling,
    scale,
    sensitivity,
    updates,
)
from verification.questions.question import Question, Size

QUESTIONS: tuple[Question, ...] = (
    *updates.QUESTIONS,
    noise.SEEDS,
    *clipping.QUESTIONS,
    *sensitivity.QUESTIONS,
    *noise.QUESTIONS,
    *sampling.QUESTIONS,
    # the long ones first, so that two processes end together
    *many_runs.QUESTIONS,
    *identical.QUESTIONS,
    *scale.QUESTIONS,
    *dependence.QUESTIONS,
)


def at(size: Size) -> tuple[Question, ...]:
    """Those that are asked at a size."""
    return tuple(question for question in QUESTIONS if size in question.sizes)


def find(names: tuple[str, ...]) -> tuple[Question, ...]:
    """The questions of these names at a few records, all of them if none is named; KeyError for an unknown one."""
    known = {question.name: question for question in at(Size.SMALL)}
    return tuple(known[name] for name in names) or tuple(known.values())
