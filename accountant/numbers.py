r"""Exact numbers in, certified enclosures out.

1. `exact` turns what a user writes (decimal string, integer, rational, Decimal, mpf) into a `Fraction`:
   the value that was meant, not the nearest binary float. Binary floats are refused; `exact_binary64`
   takes one on purpose.
2. `Bound` is a pair of mpf with lower <= value <= upper. Only `upper` may support a privacy claim.
3. `arb_precision` runs ball arithmetic at a number of bits and leaves flint's global context as it found it.
4. `decimal_string` and `float_up` / `float_down` leave the exact world with a named rounding direction.

The mpmath context is private: nothing here reads or changes `mpmath.mp`.

Exact dyadic numbers m 2^e and the two infinities: the ends of a `Bound`, without loading mpmath.

An exponent may be far beyond what a `Fraction` can hold (e^{-10^17} is a fine end), so comparisons never write one out.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeGuard

import flint
from flint import arb, fmpq

from accountant.errors import BinaryFloatError, CannotCertifyError, InvalidQuantityError

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


Direction = Literal["down", "up"]

if TYPE_CHECKING:
    from mpmath import MPContext, mpf

    CONTEXT: MPContext
    INFINITY: mpf
    Exact = int | str | Fraction | Decimal | mpf
else:
    Exact = int | str | Fraction | Decimal  # and mpf: mpmath is loaded by those who bring or ask for one

    def __getattr__(name: str) -> object:
        if name == "CONTEXT":
            return _context()
        if name == "INFINITY":
            return _context().inf
        raise AttributeError(f"module 'accountant.numbers' has no attribute {name!r}")


MAX_EXPONENT = 2_000
"""Decimal exponents beyond this are refused: exact rationals of such a size would only exhaust the memory."""
LONGEST_NUMBER = 2_000
"""Characters of a number that is written down. With the exponent it has at most 4000 digits: Python prints 4300."""
_MOST_BITS = 100_000
"""Of a numerator or denominator: both limits above fit."""

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

    Accepts integers, decimal strings ("1e-8"), ratios ("1/3"), Fraction, Decimal, mpf of any context; no bool, no
    float. This is the one parser of numbers: length and exponent are limited before anything is computed.
    """
    if isinstance(value, bool):
        raise InvalidQuantityError(f"{name} must be a number, got {name}={value!r} (bool)")
    if isinstance(value, str):
        return _exact_text(name, value)
    if isinstance(value, Decimal):
        return _exact_decimal(name, value)
    if isinstance(value, int | Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
            raise InvalidQuantityError(_too_extreme(name, "a longer one"))
        return Fraction(value)
    if is_mpf(value):
        return _exact_mpf(name, value)
    if isinstance(value, float):
        raise BinaryFloatError(
            f"{name} must be exact: write it as a decimal string, an integer or a Fraction, "
            f"got the binary float {name}={value!r}"
        )
    raise InvalidQuantityError(f"{name} must be a number, got {name}={value!r} ({type(value).__name__})")


def _too_extreme(name: str, value: str) -> str:
    return (
        f"{name} must have a decimal exponent within +-{MAX_EXPONENT} and at most {LONGEST_NUMBER} digits, "
        f"got {name}={value[:60]}"
    )


def _exact_text(name: str, text: str) -> Fraction:
    if len(text) > LONGEST_NUMBER:
        raise InvalidQuantityError(_too_extreme(name, text))
    exponent = text.replace("_", "").strip().lower().partition("e")[2].lstrip("+-").lstrip("0")
    if exponent.isdecimal() and (len(exponent) > 6 or int(exponent) > MAX_EXPONENT):
        raise InvalidQuantityError(_too_extreme(name, text))
    try:
        return Fraction(text)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise InvalidQuantityError(f"{name} must be a finite number, got {name}={text!r}") from None


def _exact_decimal(name: str, value: Decimal) -> Fraction:
    if not value.is_finite():
        raise InvalidQuantityError(f"{name} must be a finite number, got {name}={value}")
    _, digits, exponent = value.as_tuple()
    if len(digits) > LONGEST_NUMBER or abs(int(exponent)) > MAX_EXPONENT:
        raise InvalidQuantityError(_too_extreme(name, str(value)))
    return Fraction(value)


def _exact_mpf(name: str, value: mpf) -> Fraction:
    end = end_of_mpf(value)
    if end is None or end.infinite:
        raise InvalidQuantityError(f"{name} must be a finite number, got {name}={value}")
    if end.mantissa.bit_length() + abs(end.exponent) > _MOST_BITS:
        raise InvalidQuantityError(_too_extreme(name, "an mpf beyond that"))
    return end.fraction()


def is_mpf(value: object) -> TypeGuard[mpf]:
    """Say whether `value` is a real number of mpmath, of whichever context (they share no class of their own)."""
    return isinstance(getattr(value, "_mpf_", None), tuple)


@functools.cache
def _context() -> MPContext:
    """Return the private context."""
    from mpmath import MPContext  # noqa: PLC0415 - a third of the time of a plain price, which needs no mpf

    context = MPContext()
    context.prec = 256
    return context


def exact_binary64(name: str, value: float) -> Fraction:
    """Return the exact rational that a finite binary64 stands for: for those who run binary64 and know it."""
    if not math.isfinite(value):
        raise InvalidQuantityError(f"{name} must be finite, got {name}={value!r}")
    return Fraction(value)


def fraction_of(value: mpf | Dyadic) -> Fraction:
    """Return the exact rational value of a finite mpf, or of a finite end."""
    end = value if isinstance(value, Dyadic) else end_of_mpf(value)
    if end is None or end.infinite:
        raise InvalidQuantityError(f"expected a finite mpf, got {value}")
    return end.fraction()


def end_of_mpf(value: mpf) -> Dyadic | None:
    """Return an mpf exactly; None for NaN."""
    if _context().isnan(value):
        return None
    if _context().isinf(value):
        return INFINITE if value > 0 else -INFINITE
    sign, mantissa, exponent, _ = value._mpf_
    return Dyadic(-int(mantissa) if sign else int(mantissa), int(exponent))


def _mpf_of_end(end: Dyadic) -> mpf:
    context = _context()
    if end.infinite:
        return context.inf if end.infinite > 0 else -context.inf
    return context.ldexp(context.mpf(end.mantissa, prec=end.mantissa.bit_length() + 1), end.exponent)


def mpf_from_fraction(value: Fraction, direction: Direction, bits: int = 256) -> mpf:
    """Return an mpf of `bits` bits on the stated side of `value` (equal to it where it fits)."""
    return _mpf_of_end(_rounded(value, direction, bits))


def _rounded(value: Fraction, direction: Direction, bits: int = 256) -> Dyadic:
    """Return a dyadic number of `bits` bits on the stated side of `value`."""
    if not value:
        return Dyadic(0, 0)
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    numerator, denominator = value.numerator, value.denominator
    if exponent < 0:
        numerator <<= -exponent
    else:
        denominator <<= exponent
    return Dyadic(numerator // denominator if direction == "down" else -(-numerator // denominator), exponent)


def arb_from_fraction(value: Fraction) -> arb:
    """Return a ball that contains `value`, as tight as the working precision allows."""
    return arb(fmpq(value.numerator, value.denominator))


def normal_tail(x: arb) -> arb:
    """Return P[N(0,1) > x]: what the fast routes share; second routes have their own."""
    return (x / arb(2).sqrt()).erfc() / 2


def fraction_from_arb(value: arb) -> Fraction:
    """Return the exact rational value of an exact, finite ball (an end or a midpoint)."""
    if not value.is_finite():
        raise CannotCertifyError(f"the ball {value} is not finite: more working precision is needed")
    mantissa, exponent = value.man_exp()
    return dyadic_fraction(int(mantissa), int(exponent))


def _end_of_arb(value: arb) -> Dyadic:
    mantissa, exponent = value.man_exp()
    return Dyadic(int(mantissa), int(exponent))


def _checked_end(name: str, end: object) -> Dyadic:
    """Return an end exactly; refuse NaN, and what is no number of mpmath."""
    if isinstance(end, Dyadic):
        return end
    if not is_mpf(end):
        raise InvalidQuantityError(f"Bound.{name} must be an mpf, got {end!r} ({type(end).__name__})")
    found = end_of_mpf(end)
    if found is None:
        raise CannotCertifyError(f"Bound.{name} is NaN: the computation broke down and certifies nothing")
    return found


class Bound:
    """An enclosure lower <= value <= upper; `upper` may be infinite, NaN never gets in.

    For a theorem that only bounds epsilon from above, the enclosed value is *the theorem's bound*, so only
    `upper` may support a claim; a lower bound on the true epsilon comes from a realisable pair alone.

    `least` and `most` are the exact ends; `lower` and `upper` the same as mpf, made when they are asked for.
    """

    __slots__ = ("least", "most")

    least: Dyadic
    most: Dyadic

    def __init__(self, lower: mpf | Dyadic, upper: mpf | Dyadic) -> None:
        least, most = _checked_end("lower", lower), _checked_end("upper", upper)
        if most < least:
            raise CannotCertifyError(f"Bound needs lower <= upper, got lower={lower}, upper={upper}")
        object.__setattr__(self, "least", least)
        object.__setattr__(self, "most", most)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to {name!r}: a Bound never changes")

    def __reduce__(self) -> tuple[object, tuple[Dyadic, Dyadic]]:
        return Bound, (self.least, self.most)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and (self.least, self.most) == (other.least, other.most)

    def __hash__(self) -> int:
        return hash((self.least, self.most))

    def __repr__(self) -> str:
        lower, upper = self.printed(6)
        return f"<Bound [{lower}, {upper}]>"

    def __str__(self) -> str:
        """Both ends, rounded outwards."""
        return "[{}, {}]".format(*self.printed(6))

    @property
    def lower(self) -> mpf:
        """The lower end."""
        return _mpf_of_end(self.least)

    @property
    def upper(self) -> mpf:
        """The upper end."""
        return _mpf_of_end(self.most)

    @classmethod
    def from_arb(cls, ball: arb) -> Bound:
        """Enclose a ball; the radius of a ball that is not finite is refused."""
        if not ball.is_finite():
            raise CannotCertifyError(f"the ball {ball} is not finite: more working precision is needed")
        return cls(_end_of_arb(ball.lower()), _end_of_arb(ball.upper()))

    @classmethod
    def from_fractions(cls, lower: Fraction, upper: Fraction) -> Bound:
        """Enclose [lower, upper], rounded outwards where a dyadic number of 256 bits is not enough."""
        return cls(_rounded(lower, "down"), _rounded(upper, "up"))

    @property
    def width(self) -> mpf:
        """Return upper - lower, rounded up in the last place."""
        if self.most.infinite:
            return self.upper
        return mpf_from_fraction(self.most.fraction() - self.least.fraction(), "up")

    def contains(self, value: Exact) -> bool:
        """Say whether lower <= value <= upper, exactly."""
        number = exact("value", value)
        above = self.least.fraction() <= number
        return above and (bool(self.most.infinite) or number <= self.most.fraction())

    def decimal_strings(self, digits: int) -> tuple[str, str]:
        """Return both ends with `digits` significant digits, rounded outwards."""
        return decimal_string(self.least, digits, "down"), decimal_string(self.most, digits, "up")

    def printed(self, digits: int) -> tuple[str, str]:
        r"""Return both ends for people: rounded outwards to the digits that the enclosure supports, at most `digits`.

        Digits beyond the fourth of the width say nothing about the enclosed value: they are rounded away, the upper end
        up and the lower end down, which widens the enclosure by at most 1/500 of its width. A lower end that would
        become 0 that way keeps four digits of its own.
        """
        lower, upper = self.decimal_strings(digits)
        if self.most.infinite:
            return lower, upper
        low, high = self.least.fraction(), self.most.fraction()
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


def decimal_string(value: mpf | Dyadic | Fraction, digits: int, direction: Direction) -> str:
    """Return `digits` significant decimal digits on the stated side of `value` ("inf" for infinity)."""
    if digits < 1:
        raise InvalidQuantityError(f"digits must be >= 1, got digits={digits}")
    if not isinstance(value, Fraction):
        infinite = _infinite(value)
        if infinite:
            return "inf" if infinite > 0 else "-inf"
        value = fraction_of(value)
    if value == 0:
        return "0"
    exponent = _decimal_exponent(abs(value)) - digits + 1
    scaled = value / Fraction(10) ** exponent
    mantissa = math.floor(scaled) if direction == "down" else math.ceil(scaled)
    return _plain_or_scientific(mantissa, exponent)


def _infinite(value: mpf | Dyadic) -> int:
    """Return the sign of an infinity, 0 for every other number."""
    end = value if isinstance(value, Dyadic) else end_of_mpf(value)
    return 0 if end is None else end.infinite


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


def float_up(value: mpf | Dyadic | Fraction) -> float:
    """Return the smallest binary64 >= value (infinity where there is no finite one)."""
    return 0.0 - float_down(-value)


def float_down(value: mpf | Dyadic | Fraction) -> float:
    """Return the largest binary64 <= value (-infinity where there is no finite one)."""
    if not isinstance(value, Fraction):
        infinite = _infinite(value)
        if infinite:
            return infinite * math.inf
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
