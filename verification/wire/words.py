"""The accountant's words as messages and claim files write them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from accountant.mechanisms.words import Neighbours, Sampling

NeighboursWord = Annotated[Neighbours, Field(strict=False)]
SamplingWord = Annotated[Sampling, Field(strict=False)]
