r"""The triples, and a cover of them by boxes.

Every triple of points of a ball of radius 1/2 is dominated by a non-obtuse triangle inscribed in a circle of radius
1/2 (docs/reference/adversary.md, Lemma 3): with angles p at a' and r at a,

    A = sin^2 p,  R = sin^2 r,  B = sin^2(p+r),   0 <= p, r <= pi/2,  p + r >= pi/2.

Angles are counted in right angles: a box is [p1,p2] x [r1,r2] with dyadic ends, so "p + r >= 1" and "r <= p" are
decided exactly. Exchanging p and r exchanges U and D; it suffices to look at r <= p if the test is made for both
orders. The cover is a tree of halvings of the unit square: a cover holds, in order, one letter for each box of the
tree, "h" for halved and "k" for kept; boxes without any triple carry no letter. Reading it to the end proves that
nothing was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flint import arb

from accountant.errors import CertificateError
from accountant.limits import check_time
from accountant.numbers import arb_precision
from accountant.pld.certified_floats import float_above, float_below

_BITS: Final = 96
HALVED: Final = "h"
KEPT: Final = "k"
MOST_HALVINGS: Final = 24


@dataclass(frozen=True, slots=True)
class Box:
    """Angles in right angles; `depth` counts halvings."""

    p1: float
    p2: float
    r1: float
    r2: float
    depth: int

    @property
    def is_empty(self) -> bool:
        """Say that no triple with r <= p lies in the box."""
        return self.p2 + self.r2 < 1 or self.r1 > self.p2

    def halves(self) -> tuple[Box, Box]:
        """Return the two halves, across the longer side."""
        if self.p2 - self.p1 >= self.r2 - self.r1:
            middle = (self.p1 + self.p2) / 2
            return (
                Box(self.p1, middle, self.r1, self.r2, self.depth + 1),
                Box(middle, self.p2, self.r1, self.r2, self.depth + 1),
            )
        middle = (self.r1 + self.r2) / 2
        return (
            Box(self.p1, self.p2, self.r1, middle, self.depth + 1),
            Box(self.p1, self.p2, middle, self.r2, self.depth + 1),
        )


@dataclass(frozen=True, slots=True)
class Squares:
    """Bounds of the squared distances over a box, rounded outwards."""

    a_low: float
    a_high: float
    r_low: float
    r_high: float
    b_high: float


WHOLE: Final = Box(0.0, 1.0, 0.0, 1.0, 0)


def squares(box: Box) -> Squares:
    """Return the bounds of A, R and B for the triples of the box with r <= p."""
    p_low = max(box.p1, 1 - box.r2, box.r1)
    r_low = max(box.r1, 1 - box.p2)
    total = p_low + r_low
    return Squares(
        a_low=max(float_below(_sine_squared(p_low)), 0.0),
        a_high=min(float_above(_sine_squared(box.p2)), 1.0),
        r_low=max(float_below(_sine_squared(r_low)), 0.0),
        r_high=min(float_above(_sine_squared(min(box.r2, box.p2))), 1.0),
        b_high=1.0 if total <= 1 else min(float_above(_sine_squared(total)), 1.0),
    )


def _sine_squared(right_angles: float) -> arb:
    with arb_precision(_BITS):
        return (arb(right_angles) / 2).sin_pi() ** 2


def find_cover(
    hold: Callable[[list[Box]], Sequence[bool]], *, most_boxes: int, hint: frozenset[Box] = frozenset()
) -> str | None:
    """Return a cover by boxes that `hold`, or None if some box of least size, or too many, do not.

    Boxes of `hint` are halved without a test: any cover is as good, and halves fail less often.
    """
    kept: set[Box] = set()
    waiting = [WHOLE]
    while waiting:
        check_time()
        asked = [box for box in waiting if box not in hint]
        held = {box for box, holds in zip(asked, hold(asked), strict=True) if holds} if asked else set()
        kept |= held
        halved = [box for box in waiting if box not in held]
        if any(box.depth >= MOST_HALVINGS for box in halved):
            return None
        waiting = [half for box in halved for half in box.halves() if not half.is_empty]
        if len(kept) + len(waiting) > most_boxes:
            return None
    return _letters(kept)


def _letters(kept: set[Box]) -> str:
    """Return the letters of a cover that keeps these boxes."""
    letters, waiting = [], [WHOLE]
    while waiting:
        box = waiting.pop()
        if not box.is_empty:
            letters.append(KEPT if box in kept else HALVED)
            waiting += () if box in kept else reversed(box.halves())
    return "".join(letters)


def halved_boxes(cover: str) -> frozenset[Box]:
    """Return the boxes that a cover halves."""
    kept = set(kept_boxes(cover))
    halved, waiting = set(), [WHOLE]
    while waiting:
        box = waiting.pop()
        if not box.is_empty and box not in kept:
            halved.add(box)
            waiting += box.halves()
    return frozenset(halved)


def kept_boxes(cover: str) -> Iterator[Box]:
    """Yield the kept boxes of a cover; raise unless they cover every triple and no letter is left."""
    waiting, position = [WHOLE], 0
    while waiting:
        box = waiting.pop()
        if box.is_empty:
            continue
        letter = cover[position : position + 1]
        position += 1
        if letter == KEPT:
            yield box
        elif letter == HALVED and box.depth < MOST_HALVINGS:
            waiting += reversed(box.halves())
        else:
            raise CertificateError(f"the cover is incomplete: letter {position} is {letter!r}")
    if position != len(cover):
        raise CertificateError(f"the cover has {len(cover) - position} letters too many")
