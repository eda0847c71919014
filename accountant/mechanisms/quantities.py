"""The quantities of a privacy statement, each inside its domain or refused by name."""

from __future__ import annotations

from fractions import Fraction

from accountant.errors import InvalidQuantityError, UnsupportedSchemeError
from accountant.mechanisms.words import Sampling
from accountant.numbers import Exact, exact

MOST_COUNT = 10**18
"""Of records, iterations, ...: no run has more, and sums over more would exhaust time and memory."""


def positive(name: str, value: Exact) -> Fraction:
    """Return the exact value of a finite quantity > 0."""
    number = exact(name, value)
    if number <= 0:
        raise InvalidQuantityError(f"{name} must be finite and > 0, got {name}={value}")
    return number


def order(value: Exact) -> Fraction:
    """Return a Renyi order, alpha > 1."""
    number = exact("alpha", value)
    if number <= 1:
        raise InvalidQuantityError(f"alpha must be > 1, got alpha={value}")
    return number


def failure_probability(value: Exact) -> Fraction:
    """Return delta, strictly between 0 and 1."""
    number = exact("delta", value)
    if not 0 < number < 1:
        raise InvalidQuantityError(f"delta must lie strictly between 0 and 1, got delta={value}")
    return number


def delta_or_zero(value: Exact, *, pure: bool) -> Fraction:
    """Return delta in [0, 1); 0 only where every step is pure."""
    if exact("delta", value) != 0:
        return failure_probability(value)
    if not pure:
        raise InvalidQuantityError(
            "delta must lie strictly between 0 and 1, got delta=0: only pure steps have an epsilon at delta = 0 "
            "(laplace, pure, objp), Gaussian noise has none"
        )
    return Fraction(0)


def privacy_loss(value: Exact) -> Fraction:
    """Return epsilon >= 0."""
    number = exact("epsilon", value)
    if number < 0:
        raise InvalidQuantityError(f"epsilon must be >= 0, got epsilon={value}")
    return number


def count(name: str, value: object) -> int:
    """Return a whole number >= 1 (records, iterations, ...)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidQuantityError(f"{name} must be a whole number, got {name}={value!r} ({type(value).__name__})")
    if value < 1:
        raise InvalidQuantityError(f"{name} must be >= 1, got {name}={value}")
    if value > MOST_COUNT:
        raise InvalidQuantityError(f"{name} must be at most {MOST_COUNT}, got one of {value.bit_length()} bits")
    return value


def sampling_rate(batch: int, records: int) -> Fraction:
    """Return q = m/n, 1 <= m <= n."""
    m, n = count("batch", batch), count("records", records)
    if m > n:
        raise InvalidQuantityError(f"batch must be at most records, got batch={m}, records={n}")
    return Fraction(m, n)


def require_without_replacement(sampling: Sampling) -> None:
    """Refuse every scheme other than fresh batches without replacement, and say what would be right."""
    if sampling is Sampling.WITHOUT_REPLACEMENT:
        return
    remedy = {
        Sampling.POISSON: "Poisson batches have a size that varies and another neighbouring relation: "
        "use the mechanism `poisson`",
        Sampling.FIXED_ORDER: "epochs are priced for ssadmm and dpsgd alone",
        Sampling.SHUFFLE: "epochs are priced for ssadmm and dpsgd alone",
        Sampling.WITH_REPLACEMENT: "a record may be drawn more than once, which this theorem does not cover",
        Sampling.ALL: "every record is used: account with batch = records",
    }[sampling]
    raise UnsupportedSchemeError(
        f"this theorem needs sampling='without-replacement', got sampling='{sampling.value}'; {remedy}"
    )
