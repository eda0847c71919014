"""The general mutants that survive, and why nobody can or need notice them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explained:
    """A change in a function, and why it is not a bug."""

    module: str
    function: str
    was: str
    became: str
    why: str


EXPLAINED: tuple[Explained, ...] = ()
