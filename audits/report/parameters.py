"""Every parameter of a claim, those that nobody wrote down among them: table, name, value."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Sequence
from fractions import Fraction

from pydantic import BaseModel

from accountant import decimal_string
from accountant.errors import AccountantError
from audits.gate.claim_file import ClaimFile

_DIGITS = 12
_SECONDS = ("budget", "timeout")


def parameters(claims: ClaimFile) -> Iterator[tuple[str, str, str]]:
    """Rows of the tables, in the order of the claim file."""
    yield from _table("claim", claims.claim)
    for mechanism in claims.mechanism:
        title = f"mechanism {mechanism.title}"
        yield title, "algorithm", mechanism.algorithm
        for field in dataclasses.fields(mechanism):
            value = getattr(mechanism, field.name)
            if value is not None and field.name != "name":
                yield title, field.name, _shown(value)
    if claims.declared is not None:
        yield from _table("declared", claims.declared)
    if claims.implementation is not None:
        yield from _table("implementation", claims.implementation)
    if claims.declared is None:  # it says how the paper's algorithms are run
        yield from _table("deployment", claims.deployment)
    if claims.pair is not None:
        yield from _table("pair", claims.pair)
    yield from _table("gate", claims.gate)
    for waiver in claims.waiver:
        yield from _table("waiver", waiver)


def _table(name: str, table: BaseModel) -> Iterator[tuple[str, str, str]]:
    for field, info in type(table).model_fields.items():
        value = getattr(table, field)
        if value is not None and value not in ([], {}):
            yield name, info.alias or field, f"{value:g} s" if field in _SECONDS else _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return _decimal(value)
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(each)}" for key, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(_shown(each) for each in value)
    return str(value)


def _decimal(value: Fraction) -> str:
    """The number as it was written, where it has few digits; else its two decimals."""
    try:
        low, high = (decimal_string(value, _DIGITS, side) for side in ("down", "up"))
    except AccountantError:
        return str(value)
    return low if low == high else f"{low} to {high}"
