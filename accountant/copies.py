"""How many entries of a drawn batch belong to the records in which neighbours differ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accountant.errors import InvalidQuantityError


@dataclass(frozen=True, slots=True)
class Copies:
    """The law of K, how many entries of a batch differ: `draws` of `size`, of which `marked` differ, replaced or not.

    Poisson batches of rate q = marked/size are `draws` = k independent draws, one for each record that differs.
    """

    draws: int
    marked: int
    size: int
    replaced: bool = True

    def __post_init__(self) -> None:
        """Refuse a law that never has K = 0."""
        taken = self.marked + (0 if self.replaced else self.draws - 1)
        if min(self.draws, self.marked) < 1 or self.size <= taken:
            raise InvalidQuantityError(f"some batch must hold none of those who differ, got {self}")

    @property
    def most(self) -> int:
        """The largest K."""
        return self.draws if self.replaced else min(self.draws, self.marked)

    def ratio(self, k: int) -> Fraction:
        """Return P[K = k + 1]/P[K = k]."""
        if self.replaced:
            return Fraction((self.draws - k) * self.marked, (k + 1) * (self.size - self.marked))
        left = self.size - self.marked - self.draws + k + 1
        return Fraction((self.draws - k) * (self.marked - k), (k + 1) * left)
