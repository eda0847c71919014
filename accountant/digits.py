"""How many bits to work with for so many digits: tried, judged by what came out, doubled."""

from __future__ import annotations

from collections.abc import Iterator

from flint import arb

TRIES = 8


def precisions(digits: int) -> Iterator[int]:
    """Yield bits to work with, each twice the last; a guess, judged by `has_digits`."""
    first = int(3.33 * digits) + 68
    yield from (first << doubled for doubled in range(TRIES))


def has_digits(ball: arb, digits: int) -> bool:
    """Say whether a ball has so many certified decimal digits, log2(10) < 3.33, and two bits more."""
    return bool(ball.is_zero()) or (ball.is_finite() and ball.rel_accuracy_bits() >= 3.33 * digits + 2)
