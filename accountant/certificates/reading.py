"""Reading a certificate, as strictly as it is written.

pydantic is imported here and not where certificates are written: a price needs none of it.
"""

from __future__ import annotations

import functools
import json
from typing import Final

from pydantic import TypeAdapter, ValidationError

from accountant.certificates.certificate import Certificate, read_mechanism, read_step, step_record
from accountant.errors import InvalidQuantityError
from accountant.mechanisms.quantities import MOST_COUNT
from accountant.numbers import decimal_string, exact, exact_string
from accountant.pricing import THEOREMS

MOST_DIGITS: Final = 500
MOST_STEPS: Final = 10_000
LONGEST_TEXT: Final = 50_000_000


@functools.cache
def _schema() -> TypeAdapter[Certificate]:
    return TypeAdapter(Certificate)


def read_certificate(text: str | bytes) -> Certificate:
    """Parse a certificate as strictly as it is written; an unreadable one is a usage error that says where."""
    if len(text) > LONGEST_TEXT:
        raise InvalidQuantityError(f"not a certificate: longer than {LONGEST_TEXT} characters")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidQuantityError(f"not a certificate: not UTF-8: {error}") from None
    try:
        document = _schema().validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise InvalidQuantityError(f"not a certificate: {where}: {first['msg']}") from None
    json.loads(text, object_pairs_hook=_require_each_once)
    _require_as_written(document)
    return document


def _require_each_once(pairs: list[tuple[str, object]]) -> None:
    """Refuse a key that stands twice: another reader may take the other value."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidQuantityError(f"not a certificate: the key {twice[:60]!r} stands twice")


def _require_as_written(document: Certificate) -> None:
    """Refuse what `certificate` never writes: other digits, other spellings, other names, numbers beyond reason."""
    if not 1 <= document.digits <= MOST_DIGITS:
        raise InvalidQuantityError(f"not a certificate: digits must be in 1..{MOST_DIGITS}, got {document.digits}")
    if not document.methods:
        raise InvalidQuantityError("not a certificate: methods: none is named, so nothing is certified")
    _require_spelling("delta", document.delta, exact_string(exact("delta", document.delta)))
    for name, record in document.methods.items():
        if name not in THEOREMS:
            raise InvalidQuantityError(f"not a certificate: methods: there is no method {name!r}")
        if record.alpha is not None:
            _require_spelling(f"{name}.alpha", record.alpha, exact_string(exact("alpha", record.alpha)))
        _require_end(f"{name}.lower", record.lower, document.digits)
        _require_end(f"{name}.upper", record.upper, document.digits)
    _require_end("epsilon.lower", document.epsilon.lower, document.digits)
    _require_end("epsilon.upper", document.epsilon.upper, document.digits)
    book = document.ledger
    if max(map(len, (book.steps, book.realisable, book.corrected, document.mechanisms))) > MOST_STEPS:
        raise InvalidQuantityError(f"not a certificate: more than {MOST_STEPS} steps")
    for mechanism in document.mechanisms:
        read_mechanism(mechanism)
    for step in (*book.steps, *book.realisable, *book.corrected):
        if step.count > MOST_COUNT or step_record(read_step(step)) != step:
            raise InvalidQuantityError(f"not a certificate: this step is not as it is written: {step}")


def _require_end(name: str, text: str, digits: int) -> None:
    _require_spelling(name, text, decimal_string(exact(name, text), digits, "down"))


def _require_spelling(name: str, text: str, expected: str) -> None:
    if text != expected:
        raise InvalidQuantityError(f"not a certificate: {name}: expected {expected[:60]!r}, got {text[:60]!r}")
