"""Exceptions of the reference."""

from __future__ import annotations

import numbers
from typing import TypeGuard


class RefusedByReference(ValueError):
    """Base of every refusal by the reference; bad input, hence exit code 2 at the command line."""

    exit_code = 2


class InvalidParameter(RefusedByReference):
    """A parameter outside its domain; the message has its name, its value and what would be right."""


class InvalidData(RefusedByReference):
    """Records that cannot be used; the message names the row."""


class NotExpressible(RefusedByReference):
    """A function that the chosen number system cannot express (a logarithm on symbols, an SVD on balls)."""


class NotFinite(RefusedByReference):
    """An iterate overflowed or became NaN: reported at once, never released."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether a parameter is a Python or numpy number: balls, many digits and symbols are not compared."""
    return isinstance(value, numbers.Real)


def require_positive(name: str, value: float) -> None:
    """Refuse anything but a finite number above zero."""
    if not 0 < value < float("inf"):
        raise InvalidParameter(f"{name} must be finite and > 0, got {name}={value}")


def require_not_negative(name: str, value: float) -> None:
    """Refuse anything but a finite number of at least zero."""
    if not 0 <= value < float("inf"):
        raise InvalidParameter(f"{name} must be finite and >= 0, got {name}={value}")


def require_index(name: str, value: int) -> None:
    """Refuse anything but an integer of at least zero."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidParameter(f"{name} must be an integer >= 0, got {name}={value!r}")


def require_count(name: str, value: int, *, at_most: int | None = None) -> None:
    """Refuse anything but an integer from 1 to ``at_most``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(f"{name} must be an integer >= 1, got {name}={value!r}")
    if at_most is not None and value > at_most:
        raise InvalidParameter(f"{name} must be at most {at_most}, got {name}={value}")
