r"""The fields of a mechanism: each with its kind, its help text and its domain, and checked when it is set.

Whoever offers a mechanism's parameters (the command line, claim files, ledger files) derives them from here, so that a
parameter has one name, one meaning and one check. `described` makes a class of such fields an immutable dataclass:
numbers go in as they are written and are read as exact `Fraction`s.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Generic, Self, TypeVar, dataclass_transform, overload

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.quantities import count as whole_number
from accountant.mechanisms.quantities import positive
from accountant.numbers import Exact

Out_co = TypeVar("Out_co", covariant=True)
In_contra = TypeVar("In_contra", contravariant=True)
Member = TypeVar("Member", bound=enum.StrEnum)
Class = TypeVar("Class")


class FieldKind(enum.Enum):
    """What a field holds."""

    COUNT = "a whole number >= 1"
    NUMBER = "an exact number > 0"
    SCHEDULE = "one exact number > 0, or one an iteration"
    CHOICE = "one of several words"
    TEXT = "text"


class _Required(enum.Enum):
    TOKEN = 0


REQUIRED: Final = _Required.TOKEN


class Field(Generic[Out_co, In_contra]):
    """One parameter of a mechanism.

    `priced`: whether the price may depend on it (then it is an option of `dpadmm account`). `stated`: whether a claim
    file must say it even though it has a default. `choices` are the words of a CHOICE.
    """

    def __init__(
        self,
        kind: FieldKind,
        convert: Callable[[str, In_contra], Out_co],
        explain: str,
        *,
        default: object = REQUIRED,
        priced: bool = True,
        stated: bool = False,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.kind, self.explain, self.choices = kind, explain, choices
        self.default, self.priced, self.stated = default, priced, stated
        self._convert = convert
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def required(self) -> bool:
        """Whether there is no mechanism without it."""
        return self.default is REQUIRED

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Out_co: ...
    def __get__(self, instance: object | None, owner: type) -> object:
        if instance is not None:
            return instance.__dict__[self.name]
        if self.required:  # this is how a dataclass learns that a field has no default
            raise AttributeError(self.name)
        return self.default

    def __set__(self, instance: object, value: In_contra) -> None:
        if self.name in instance.__dict__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {self.name!r}: use dataclasses.replace")
        absent = value is None and self.default is None
        instance.__dict__[self.name] = None if absent else self._convert(self.name, value)


Count = Field[int, int]
Number = Field[Fraction, Exact]
MaybeNumber = Field[Fraction | None, Exact | None]
Schedule = Field[tuple[Fraction, ...], Exact | Sequence[Exact]]
MaybeSchedule = Field[tuple[Fraction, ...] | None, Exact | Sequence[Exact] | None]
MaybeText = Field[str | None, str | None]


def count(explain: str, *, stated: bool = False) -> Count:
    """Return a whole number >= 1."""
    return Field(FieldKind.COUNT, whole_number, explain, stated=stated)


def count_or(explain: str, *, default: int, stated: bool = False) -> Count:
    """Return a whole number >= 1 with a default."""
    return Field(FieldKind.COUNT, whole_number, explain, default=default, stated=stated)


def number(explain: str) -> Number:
    """Return an exact number > 0."""
    return Field(FieldKind.NUMBER, positive, explain)


def maybe_number(explain: str, *, default: None = None, priced: bool = True) -> MaybeNumber:
    """Return an exact number > 0 that may be absent."""
    return Field(FieldKind.NUMBER, _maybe_positive, explain, default=default, priced=priced)


def schedule(explain: str) -> Schedule:
    """Return one exact number > 0, or one an iteration."""
    return Field(FieldKind.SCHEDULE, _values, explain)


def maybe_schedule(explain: str, *, default: None = None, priced: bool = False) -> MaybeSchedule:
    """Return a schedule that may be absent."""
    return Field(FieldKind.SCHEDULE, _maybe_values, explain, default=default, priced=priced)


def choice(
    kind: type[Member], explain: str, *, default: Member, stated: bool = False, priced: bool = True
) -> Field[Member, Member | str]:
    """Return one member of an enumeration, given itself or by its word."""
    words = tuple(member.value for member in kind)
    return Field(
        FieldKind.CHOICE, _member_of(kind, words), explain, default=default, priced=priced, stated=stated, choices=words
    )


def maybe_choice(
    kind: type[Member], explain: str, *, default: None = None
) -> Field[Member | None, Member | str | None]:
    """Return a choice that may be left open."""
    words = tuple(member.value for member in kind)
    convert = _member_of(kind, words)

    def maybe(name: str, value: Member | str | None) -> Member | None:
        return None if value is None else convert(name, value)

    return Field(FieldKind.CHOICE, maybe, explain, default=default, choices=words)


def text(explain: str, *, default: None = None) -> MaybeText:
    """Return text that no price depends on."""
    return Field(FieldKind.TEXT, _text, explain, default=default, priced=False)


@dataclass_transform(
    kw_only_default=True,
    field_specifiers=(
        count,
        count_or,
        number,
        maybe_number,
        schedule,
        maybe_schedule,
        choice,
        maybe_choice,
        text,
    ),
)
def described(cls: type[Class]) -> type[Class]:
    """Make a class of fields an immutable dataclass; all parameters are given by name."""
    return dataclass(kw_only=True, unsafe_hash=True)(cls)


def fields_of(cls: type) -> Mapping[str, Field[object, object]]:
    """Return the fields of a described class by name, in order."""
    found = {}
    for entry in dataclasses.fields(cls):
        owner = next(base for base in cls.__mro__ if entry.name in vars(base))
        found[entry.name] = vars(owner)[entry.name]
    return found


def _maybe_positive(name: str, value: Exact | None) -> Fraction | None:
    return None if value is None else positive(name, value)


def _values(name: str, value: Exact | Sequence[Exact]) -> tuple[Fraction, ...]:
    given = [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
    for each in given:
        if isinstance(each, str) and "," in each:
            raise InvalidQuantityError(
                f"{name} takes one number, or a list of one an iteration (as options: give the option once for each "
                f"value), got {name}={each[:60]!r}"
            )
    values = tuple(positive(name, each) for each in given)
    if not values:
        raise InvalidQuantityError(f"{name} must be one number or one an iteration, got none")
    return values


def _maybe_values(name: str, value: Exact | Sequence[Exact] | None) -> tuple[Fraction, ...] | None:
    return None if value is None else _values(name, value)


def _text(name: str, value: str | None) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise InvalidQuantityError(f"{name} must be text, got {name}={value!r}")
    return value


def _member_of(kind: type[Member], words: tuple[str, ...]) -> Callable[[str, Member | str], Member]:
    def convert(name: str, value: Member | str) -> Member:
        if not isinstance(value, str) or value not in words:
            raise InvalidQuantityError(f"{name} must be one of {', '.join(words)}, got {name}={value!r}")
        return kind(value)

    return convert
