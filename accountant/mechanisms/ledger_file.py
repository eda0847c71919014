r"""Ledgers from files: runs whose batches, noise or algorithm change on the way, one entry a phase.

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
import json
import operator
import tomllib
from decimal import Decimal
from pathlib import Path

from accountant.errors import AccountantError, InvalidQuantityError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.registry import mechanism_from


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
