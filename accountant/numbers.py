r"""Exact numbers in, certified enclosures out.

1. `exact` turns what a user writes (decimal string, integer, rational, Decimal, mpf) into a `Fraction`:
   the value that was meant, not the nearest binary float. Binary floats are refused; `exact_binary64`
   takes one on purpose.
2. `Bound` is a pair of mpf with lower <= value <= upper. Only `upper` may support a privacy claim.
3. `arb_precision` runs ball arithmetic at a number of bits and leaves flint's global context as it found it.
4. `decimal_string` and `float_up` / `float_down` leave the exact world with a named rounding direction.

The mpmath context is private: nothing here reads or changes `mpmath.mp`.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeGuard

import flint
from flint import arb, fmpq
from mpmath import MPContext, mpf

from accountant.errors import BinaryFloatError, CannotCertifyError, InvalidQuantityError

Exact = int | str | Fraction | Decimal | mpf
Direction = Literal["down", "up"]

CONTEXT = MPContext()
CONTEXT.prec = 256
INFINITY: mpf = CONTEXT.inf

MAX_EXPONENT = 20_000
"""Decimal exponents beyond this are refused: exact rationals of such a size would only exhaust the memory."""

MAX_BINARY_EXPONENT = 4_000_000
"""The same for dyadic numbers: e^{-10^17} is a fine ball, but written out as a ratio it would fill the memory."""

WIDTH_DIGITS = 4
"""The digits of an enclosure's width that its printed ends keep."""

_FLINT_LOCK = threading.RLock()


@contextlib.contextmanager
def arb_precision(bits: int) -> Iterator[None]:
    """Run the body with `bits` bits of ball precision; restore flint's context; safe under threads.

    flint's precision is one global, so threads take turns.
    """
    with _FLINT_LOCK, flint.ctx.workprec(bits):
        yield


def exact(name: str, value: object) -> Fraction:
    """Return exactly the number that `value` denotes, or raise an error that names it.

    Accepts integers, decimal strings ("1e-8"), ratios ("1/3"), Fraction, Decimal, mpf; no bool, no float.
    """
    if is_mpf(value):
        return fraction_of(value)
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction | Decimal):
        if isinstance(value, float):
            raise BinaryFloatError(
                f"{name} must be exact: write it as a decimal string, an integer or a Fraction, "
                f"got the binary float {name}={value!r}"
            )
        raise InvalidQuantityError(f"{name} must be a number, got {name}={value!r} ({type(value).__name__})")
    if isinstance(value, Decimal | str):
        _refuse_extreme_exponent(name, value)
    try:
        return Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise InvalidQuantityError(f"{name} must be a finite number, got {name}={value!r}") from None


def is_mpf(value: object) -> TypeGuard[mpf]:
    """Say whether `value` is a number of the private context."""
    return isinstance(value, CONTEXT.mpf)


def exact_binary64(name: str, value: float) -> Fraction:
    """Return the exact rational that a finite binary64 stands for: for those who run binary64 and know it."""
    if not math.isfinite(value):
        raise InvalidQuantityError(f"{name} must be finite, got {name}={value!r}")
    return Fraction(value)


def _refuse_extreme_exponent(name: str, value: Decimal | str) -> None:
    text = str(value).lower()
    exponent = text.partition("e")[2]
    if len(text) > 2 * MAX_EXPONENT or (exponent.lstrip("+-").isdigit() and abs(int(exponent)) > MAX_EXPONENT):
        raise InvalidQuantityError(
            f"{name} must have a decimal exponent within +-{MAX_EXPONENT}, got {name}={text[:60]}"
        )


def fraction_of(value: mpf) -> Fraction:
    """Return the exact rational value of a finite mpf."""
    if not CONTEXT.isfinite(value):
        raise InvalidQuantityError(f"expected a finite mpf, got {value}")
    sign, mantissa, exponent, _ = value._mpf_
    magnitude = _dyadic(int(mantissa), exponent)
    return -magnitude if sign else magnitude


def _dyadic(mantissa: int, exponent: int) -> Fraction:
    if abs(exponent) > MAX_BINARY_EXPONENT:
        raise CannotCertifyError(
            f"a number near 2^{exponent + mantissa.bit_length()} is beyond what exact rationals can sensibly hold"
        )
    return Fraction(mantissa) * Fraction(2) ** exponent


def mpf_from_fraction(value: Fraction, direction: Direction, bits: int = 256) -> mpf:
    """Return an mpf of `bits` bits on the stated side of `value` (equal to it where it fits)."""
    return _round(value, direction, bits) if value else CONTEXT.mpf(0)


def _round(value: Fraction, direction: Direction, bits: int) -> mpf:
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    scaled = value / Fraction(2) ** exponent
    mantissa = math.floor(scaled) if direction == "down" else math.ceil(scaled)
    return CONTEXT.ldexp(CONTEXT.mpf(mantissa, prec=mantissa.bit_length() + 1), exponent)


def arb_from_fraction(value: Fraction) -> arb:
    """Return a ball that contains `value`, as tight as the working precision allows."""
    return arb(fmpq(value.numerator, value.denominator))


def fraction_from_arb(value: arb) -> Fraction:
    """Return the exact rational value of an exact, finite ball (an end or a midpoint)."""
    if not value.is_finite():
        raise CannotCertifyError(f"the ball {value} is not finite: more working precision is needed")
    mantissa, exponent = value.man_exp()
    return _dyadic(int(mantissa), int(exponent))


def _mpf_from_exact_arb(value: arb) -> mpf:
    mantissa, exponent = value.man_exp()
    integer = int(mantissa)
    return CONTEXT.ldexp(CONTEXT.mpf(integer, prec=integer.bit_length() + 1), int(exponent))


@dataclass(frozen=True, slots=True)
class Bound:
    """An enclosure lower <= value <= upper; `upper` may be infinite, NaN never gets in.

    For a theorem that only bounds epsilon from above, the enclosed value is *the theorem's bound*, so only
    `upper` may support a claim; a lower bound on the true epsilon comes from a realisable pair alone.
    """

    lower: mpf
    upper: mpf

    def __post_init__(self) -> None:
        """Refuse NaN, ends in the wrong order, and numbers that are no mpf of the private context."""
        for name, end in (("lower", self.lower), ("upper", self.upper)):
            if not is_mpf(end):
                raise InvalidQuantityError(f"Bound.{name} must be an mpf, got {end!r} ({type(end).__name__})")
            if CONTEXT.isnan(end):
                raise CannotCertifyError(f"Bound.{name} is NaN: the computation broke down and certifies nothing")
        if self.lower > self.upper:
            raise CannotCertifyError(f"Bound needs lower <= upper, got lower={self.lower}, upper={self.upper}")

    @classmethod
    def from_arb(cls, ball: arb) -> Bound:
        """Enclose a ball; the radius of a ball that is not finite is refused."""
        if not ball.is_finite():
            raise CannotCertifyError(f"the ball {ball} is not finite: more working precision is needed")
        return cls(_mpf_from_exact_arb(ball.lower()), _mpf_from_exact_arb(ball.upper()))

    @classmethod
    def from_fractions(cls, lower: Fraction, upper: Fraction) -> Bound:
        """Enclose [lower, upper], rounded outwards where a dyadic number of 256 bits is not enough."""
        return cls(mpf_from_fraction(lower, "down"), mpf_from_fraction(upper, "up"))

    @property
    def width(self) -> mpf:
        """Return upper - lower, rounded up in the last place."""
        if self.upper == INFINITY:
            return INFINITY
        return mpf_from_fraction(fraction_of(self.upper) - fraction_of(self.lower), "up")

    def contains(self, value: Exact) -> bool:
        """Say whether lower <= value <= upper, exactly."""
        number = exact("value", value)
        above = fraction_of(self.lower) <= number
        return above and (self.upper == INFINITY or number <= fraction_of(self.upper))

    def decimal_strings(self, digits: int) -> tuple[str, str]:
        """Return both ends with `digits` significant digits, rounded outwards."""
        return decimal_string(self.lower, digits, "down"), decimal_string(self.upper, digits, "up")

    def printed(self, digits: int) -> tuple[str, str]:
        r"""Return both ends for people: rounded outwards to the digits that the enclosure supports, at most `digits`.

        Digits beyond the fourth of the width say nothing about the enclosed value: they are rounded away, the upper end
        up and the lower end down, which widens the enclosure by at most 1/500 of its width. A lower end that would
        become 0 that way keeps four digits of its own.
        """
        lower, upper = self.decimal_strings(digits)
        if self.upper == INFINITY:
            return lower, upper
        low, high = fraction_of(self.lower), fraction_of(self.upper)
        if low == high:
            return lower, upper
        unit = Fraction(10) ** (_decimal_exponent(high - low) - WIDTH_DIGITS + 1)
        fine = min(unit, Fraction(10) ** (_decimal_exponent(low) - WIDTH_DIGITS + 1)) if 0 < low < unit else unit
        least, most = math.floor(low / fine) * fine, math.ceil(high / unit) * unit
        # The coarser of the two roundings: both are outwards.
        return (
            decimal_string(min(least, Fraction(lower)) if low >= 0 else Fraction(lower), digits, "down"),
            decimal_string(max(most, Fraction(upper)), digits, "up"),
        )


def decimal_string(value: mpf | Fraction, digits: int, direction: Direction) -> str:
    """Return `digits` significant decimal digits on the stated side of `value` ("inf" for infinity)."""
    if digits < 1:
        raise InvalidQuantityError(f"digits must be >= 1, got digits={digits}")
    if not isinstance(value, Fraction):
        if CONTEXT.isinf(value):
            return "inf" if value > 0 else "-inf"
        value = fraction_of(value)
    if value == 0:
        return "0"
    exponent = _decimal_exponent(abs(value)) - digits + 1
    scaled = value / Fraction(10) ** exponent
    mantissa = math.floor(scaled) if direction == "down" else math.ceil(scaled)
    return _plain_or_scientific(mantissa, exponent)


def shown(value: Fraction) -> str:
    """Return a number for a message: itself where it is short, else about it."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= 64:
        return str(value)
    return f"about {decimal_string(value, 6, 'down')}"


def exact_string(value: Fraction) -> str:
    """Return an exact decimal where there is a short one, else a ratio."""
    twos_and_fives = value.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives == 1:
        text = decimal_string(value, 60, "down")
        if Fraction(text) == value:
            return text
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 10_000:
        raise InvalidQuantityError("a ratio of more than 3000 digits is not written down: give fewer digits")
    return str(value)


def _decimal_exponent(magnitude: Fraction) -> int:
    """Return the e with 10^e <= magnitude < 10^(e+1)."""
    bits = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    guess = bits * 30103 // 100000
    while Fraction(10) ** guess > magnitude:
        guess -= 1
    while Fraction(10) ** (guess + 1) <= magnitude:
        guess += 1
    return guess


def _plain_or_scientific(mantissa: int, exponent: int) -> str:
    sign, digits = ("-" if mantissa < 0 else ""), str(abs(mantissa))
    stripped = digits.rstrip("0") or "0"
    exponent += len(digits) - len(stripped)
    leading = exponent + len(stripped) - 1
    if -5 <= leading < 0:
        return f"{sign}0.{'0' * (-leading - 1)}{stripped}"
    if 0 <= leading < 21:
        whole = stripped.ljust(leading + 1, "0")
        return sign + whole[: leading + 1] + ("." + whole[leading + 1 :] if len(whole) > leading + 1 else "")
    tail = "." + stripped[1:] if len(stripped) > 1 else ""
    return f"{sign}{stripped[0]}{tail}e{leading}"


def float_up(value: mpf | Fraction) -> float:
    """Return the smallest binary64 >= value (infinity where there is no finite one)."""
    return 0.0 - float_down(-value)


def float_down(value: mpf | Fraction) -> float:
    """Return the largest binary64 <= value (-infinity where there is no finite one)."""
    if not isinstance(value, Fraction):
        if CONTEXT.isinf(value):
            return math.inf if value > 0 else -math.inf
        value = fraction_of(value)
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    return (
        nearest if math.isinf(nearest) is False and Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    )


TRIES = 8


def precisions(digits: int) -> Iterator[int]:
    """Yield bits to work with, each twice the last; a guess, judged by `has_digits`."""
    first = int(3.33 * digits) + 68
    yield from (first << doubled for doubled in range(TRIES))


def has_digits(ball: arb, digits: int) -> bool:
    """Say whether a ball has so many certified decimal digits, log2(10) < 3.33, and two bits more."""
    return bool(ball.is_zero()) or (ball.is_finite() and ball.rel_accuracy_bits() >= 3.33 * digits + 2)
