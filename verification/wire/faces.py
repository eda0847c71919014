"""The faces of an adapter, in a file of their own: the help of `dpadmm adapter` needs no message."""

from __future__ import annotations

import enum


class Face(enum.StrEnum):
    """What an adapter shows of an implementation."""

    PAPER = "paper"
    DECLARED = "declared"
    BLACK_BOX = "black-box"
