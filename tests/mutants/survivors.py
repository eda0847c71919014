"""The general mutants that survive, and why nobody can or need notice them."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST = "the loop raises at its first entry: how many more it is given makes no difference"
_STAND_IN = "stands in where the quotient is not used, only so that nothing is divided by 0"
_SYMMETRIC = "what is added is a ball around 0: its sign is nothing"
_FINITE = "the sum is only asked whether it is finite, which it is or is not whatever the signs"
_DIGITS = "more or fewer guard bits: what they do not certify is tried again with twice as many"
_BOUNDARY = "decides a tie that rational inputs do not reach, or where both sides give the same"
_SEARCH = "where the search looks next; what it finds is judged by the objective"
_EARLY = "a shortcut that is taken a little earlier or later; both ways are certified"


@dataclass(frozen=True, slots=True)
class Explained:
    """A change in a function, and why it is not a bug."""

    module: str
    function: str
    was: str
    became: str
    why: str


EXPLAINED: tuple[Explained, ...] = (
    Explained("reference.problem", "require_finite", "self.x + self.z", "self.x - self.z", _FINITE),
    Explained("reference.problem", "require_finite", "self.x + self.z + self.y", "self.x + self.z - self.y", _FINITE),
    Explained("reference.dataset", "of", "1", "2", _FIRST),
    Explained("reference.dataset", "row_norms", "1", "2", _FIRST),
    Explained("reference.dataset", "scaled", "1", "2", _FIRST),
    Explained("reference.dataset", "normalised", "1.0", "2.0", _STAND_IN),
    Explained("reference.dataset", "scaled", "1.0", "2.0", _STAND_IN),
    Explained("reference.regularizers.separable", "prox", "1.0", "2.0", _STAND_IN),
    Explained("reference.clipping", "clipped_slopes", "1.0", "2.0", _STAND_IN),
)
