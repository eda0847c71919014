r"""Every mechanism by its name, and the one way from written parameters to a `Mechanism`.

Parameters come from claim files, ledger files and the command line. A field that belongs to another algorithm, a
spelling of an earlier version and a misspelling are each refused by name, with what would be right.

Ledgers from files: runs whose batches, noise or algorithm change on the way, one entry a phase.

TOML (`[[step]]` tables) or JSON (`{"step": [...]}`, or the bare list). Decimals are read as written, never through
binary floats. An error names the file, the entry and the field.

    [[step]]                        [[step]]
    algorithm = "ssadmm"            algorithm = "gaussian"
    records = 48842                 noise_multiplier = "10"
    batch = 221                     iterations = 3
    noise_multiplier = 4.5
    iterations = 1000
"""

from __future__ import annotations

import functools
import importlib
import json
import operator
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from accountant.errors import AccountantError, InvalidQuantityError
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism

_HOMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ssadmm": ("batches", "SsADMM"),
        "mpadmm": ("full_gradients", "MpADMM"),
        "dpsgd": ("batches", "DPSGD"),
        "dpadmm": ("full_gradients", "DPADMM"),
        "dpsvrg": ("batches", "DPSVRG"),
        "objp": ("pure", "ObjP"),
        "sadmm": ("batches", "SADMM"),
        "admm": ("batches", "ADMM"),
        "gaussian": ("pure", "Gaussian"),
        "poisson": ("pure", "Poisson"),
        "laplace": ("pure", "Laplace"),
        "pure": ("pure", "Pure"),
    }
)
"""Where each mechanism is defined: the file and the class."""
PRIVATE: tuple[str, ...] = tuple(name for name in _HOMES if name not in {"sadmm", "admm"})
"""The names of the private ones."""


class _Mechanisms(Mapping[str, type[Mechanism]]):
    """The mechanisms by name; each is loaded when it is first asked for, since most commands need one."""

    def __getitem__(self, name: str) -> type[Mechanism]:
        module, kind = _HOMES[name]
        found = getattr(importlib.import_module(f"{__package__}.{module}"), kind)
        if not (isinstance(found, type) and issubclass(found, Mechanism) and found.algorithm == name):
            raise TypeError(f"accountant.mechanisms.{module}.{kind} is not the mechanism {name!r}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


MECHANISMS: Mapping[str, type[Mechanism]] = _Mechanisms()
"""Every mechanism by its name."""


def mechanism_from(parameters: Mapping[str, object], *, everything: bool = False) -> Mechanism:
    """Return the mechanism that `algorithm` and the other parameters describe; None counts as absent.

    With `everything`, as a claim file needs it, what is `stated` must be given even though it has a default.
    """
    given = {name: value for name, value in parameters.items() if value is not None and name != "algorithm"}
    kind = mechanism_class(parameters.get("algorithm"))
    fields = fields_of(kind)
    for name in given:
        if name not in fields:
            raise InvalidQuantityError(unknown_field(name, kind))
    missing = [
        name
        for name, field in fields.items()
        if name not in given and (field.required or (everything and field.stated))
    ]
    if missing:
        raise InvalidQuantityError(f"{kind.algorithm} also needs {', '.join(missing)}")
    return kind(**given)  # type: ignore[arg-type]  # every field checks its own value


def mechanism_class(algorithm: object) -> type[Mechanism]:
    """Return the class of this name."""
    if algorithm is None:
        raise InvalidQuantityError(f"algorithm is needed, one of {', '.join(MECHANISMS)}")
    if not isinstance(algorithm, str) or algorithm not in MECHANISMS:
        raise InvalidQuantityError(f"algorithm must be one of {', '.join(MECHANISMS)}, got algorithm={algorithm!r}")
    return MECHANISMS[algorithm]


def unknown_field(name: str, kind: type[Mechanism]) -> str:
    """Return why the mechanism has no such field: another one's, or none at all."""
    owners = [other for other, each in MECHANISMS.items() if name in fields_of(each)]
    if owners:
        return f"{name} belongs to {', '.join(owners)}, not to {kind.algorithm}"
    import difflib  # noqa: PLC0415 - only for a mistake

    known = [*fields_of(kind), "algorithm"]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    meant = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"{name}: unknown key; {meant}"


def read_ledger_file(path: Path) -> Ledger:
    """Return the ledger a file describes, its entries composed adaptively in the order given."""
    entries = _entries(path)
    phases = [_phase(entry, f"{path}: step {number}") for number, entry in enumerate(entries, start=1)]
    try:
        return functools.reduce(operator.add, [phase.ledger() for phase in phases])
    except AccountantError as error:
        raise type(error)(f"{path}: {error}") from error


def _entries(path: Path) -> list[object]:
    try:
        text = path.read_text("utf-8")
        if path.suffix.lower() == ".json":
            document: object = json.loads(text, parse_float=Decimal)
        else:
            document = tomllib.loads(text, parse_float=Decimal)
    except ValueError as error:  # what is not UTF-8, not JSON and not TOML alike; all of them say where
        raise InvalidQuantityError(f"{path}: cannot be read: {error}") from None
    if isinstance(document, dict) and set(document) == {"step"}:
        document = document["step"]
    if not isinstance(document, list) or not document:
        raise InvalidQuantityError(f"{path}: a ledger is a list of one or more steps ([[step]] in TOML), got none")
    return document


def _phase(entry: object, where: str) -> Mechanism:
    if not isinstance(entry, dict):
        raise InvalidQuantityError(f"{where}: a step is a table of parameters, got {entry!r}")
    try:
        return mechanism_from(entry)
    except AccountantError as error:
        raise type(error)(f"{where}: {error}") from error
