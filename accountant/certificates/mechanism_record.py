"""A mechanism as a certificate writes it down: the entry of a ledger file that describes it exactly."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from fractions import Fraction

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.registry import mechanism_from
from accountant.numbers import exact_string

MechanismRecord = dict[str, str | int | tuple[str, ...]]


def mechanism_record(mechanism: Mechanism) -> MechanismRecord:
    """Write down every field that the price may depend on and that is not its default."""
    record: MechanismRecord = {"algorithm": mechanism.algorithm}
    for name, field in fields_of(type(mechanism)).items():
        value: object = getattr(mechanism, name)
        if field.priced and value is not None and value != field.default:
            record[name] = _plain(value)
    return record


def _plain(value: object) -> str | int | tuple[str, ...]:
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, Fraction):
        return exact_string(value)
    if isinstance(value, tuple):
        return exact_string(value[0]) if len(value) == 1 else tuple(map(exact_string, value))
    if isinstance(value, int):
        return value
    raise AssertionError(f"no priced field holds {value!r}")


def read_mechanism(record: Mapping[str, str | int | tuple[str, ...]]) -> Mechanism:
    """Read a mechanism back; what is not spelt as it is written is refused."""
    mechanism = mechanism_from(record)
    if not mechanism.private:
        raise InvalidQuantityError(f"not a certificate: {mechanism.algorithm} has no price")
    if mechanism_record(mechanism) != record:
        raise InvalidQuantityError(f"not a certificate: this mechanism is not as it is written: {str(record)[:200]}")
    return mechanism
