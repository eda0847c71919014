"""The accountant's words as messages and claim files write them: a spelling of an earlier version names the new one."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import BeforeValidator, Field

from accountant.mechanisms.words import Neighbours, Sampling, current_word

NeighboursWord = Annotated[Neighbours, Field(strict=False), BeforeValidator(partial(current_word, Neighbours))]
SamplingWord = Annotated[Sampling, Field(strict=False), BeforeValidator(partial(current_word, Sampling))]
