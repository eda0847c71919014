r"""Exact dyadic numbers m 2^e and the two infinities: the ends of a `Bound`, without loading mpmath.

An exponent may be far beyond what a `Fraction` can hold (e^{-10^17} is a fine end), so comparisons never write one out.
"""

from __future__ import annotations

from fractions import Fraction

from accountant.errors import CannotCertifyError

MAX_BINARY_EXPONENT = 4_000_000
"""Beyond this no ratio is written out: it would fill the memory."""


class Dyadic:
    """The number mantissa 2^exponent, mantissa odd or 0; or an infinity, whose sign is `infinite`."""

    __slots__ = ("exponent", "infinite", "mantissa")

    mantissa: int
    exponent: int
    infinite: int

    def __init__(self, mantissa: int, exponent: int, *, infinite: int = 0) -> None:
        shift = (mantissa & -mantissa).bit_length() - 1 if mantissa else 0
        object.__setattr__(self, "mantissa", mantissa >> shift)
        object.__setattr__(self, "exponent", exponent + shift if mantissa else 0)
        object.__setattr__(self, "infinite", infinite)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to {name!r}: a Dyadic never changes")

    def __reduce__(self) -> tuple[object, tuple[int, int, int]]:
        return _made, (self.mantissa, self.exponent, self.infinite)

    def __repr__(self) -> str:
        sign = "-" if self.infinite < 0 else ""
        return f"Dyadic({sign}inf)" if self.infinite else f"Dyadic({self.mantissa}, {self.exponent})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dyadic) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __lt__(self, other: Dyadic) -> bool:
        if self.infinite or other.infinite:
            return self.infinite < other.infinite
        ours, theirs = self.mantissa, other.mantissa
        if (ours > 0) != (theirs > 0) or not ours or not theirs:
            return ours < theirs
        reach = ours.bit_length() + self.exponent, theirs.bit_length() + other.exponent
        if reach[0] != reach[1]:
            return (reach[0] < reach[1]) == (ours > 0)
        low = min(self.exponent, other.exponent)  # of equal reach: the shift is at most the other's length
        return ours << (self.exponent - low) < theirs << (other.exponent - low)

    def __neg__(self) -> Dyadic:
        return Dyadic(-self.mantissa, self.exponent, infinite=-self.infinite)

    def fraction(self) -> Fraction:
        """Return the exact rational; raise where the number is infinite or too extreme to write out."""
        if self.infinite:
            raise CannotCertifyError("an infinite end has no rational value")
        return dyadic_fraction(self.mantissa, self.exponent)

    def exceeds(self, bound: Fraction) -> bool:
        """Say whether the number is above `bound`, exactly and however extreme it is."""
        sign, other = self.infinite or _sign(self.mantissa), _sign(bound.numerator)
        if self.infinite or sign != other or not sign:
            return sign > (0 if self.infinite else other)
        ours = abs(self.mantissa).bit_length() + self.exponent
        theirs = abs(bound.numerator).bit_length() - bound.denominator.bit_length()
        if abs(ours - theirs) > 1:  # |number| is in [2^(ours-1), 2^ours), |bound| in (2^(theirs-1), 2^(theirs+1))
            return (ours > theirs) == (bound > 0)
        return self.fraction() > bound

    def _parts(self) -> tuple[int, int, int]:
        return self.mantissa, self.exponent, self.infinite


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _made(mantissa: int, exponent: int, infinite: int) -> Dyadic:
    return Dyadic(mantissa, exponent, infinite=infinite)


def dyadic_fraction(mantissa: int, exponent: int) -> Fraction:
    """Return mantissa 2^exponent exactly; raise where that would fill the memory."""
    if abs(exponent) > MAX_BINARY_EXPONENT:
        raise CannotCertifyError(
            f"a number near 2^{exponent + mantissa.bit_length()} is beyond what exact rationals can sensibly hold"
        )
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


INFINITE = Dyadic(0, 0, infinite=1)
