"""What a finding looks like, as data: curves and dots over two axes. Reports draw it; nothing is concluded from it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

Points = tuple[tuple[float, float], ...]


class Ink(enum.StrEnum):
    """What a series is: the report's style sheet has a colour for each."""

    SEEN = "seen"
    OTHER = "other"
    CLAIMED = "claimed"
    FLOOR = "floor"
    BAND = "band"


@dataclass(frozen=True, slots=True)
class Series:
    """One curve, or dots."""

    label: str
    points: Points
    ink: Ink
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A titled picture with a caption that says what to look for; ``x_names`` name the places 1, 2, ... of x."""

    title: str
    caption: str
    x_label: str
    y_label: str
    series: tuple[Series, ...] = ()
    x_names: tuple[str, ...] = ()


Draw = Callable[[], Picture]
