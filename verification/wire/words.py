"""The accountant's words as messages and claim files write them: a spelling of an earlier version names the new one."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator, Field

from accountant.mechanisms.words import Neighbours, Sampling, former_word


def _current(kind: type[enum.StrEnum]) -> Callable[[object], object]:
    def check(word: object) -> object:
        former = former_word(kind, word)
        if former:
            raise ValueError(former)
        return word

    return check


NeighboursWord = Annotated[Neighbours, Field(strict=False), BeforeValidator(_current(Neighbours))]
SamplingWord = Annotated[Sampling, Field(strict=False), BeforeValidator(_current(Sampling))]
