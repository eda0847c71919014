"""A forger's test: every field of a certificate changed in turn, with and without a fitting digest.

A forgery is caught (a usage error, a refuted or an inconclusive certificate: never a fault), or what it still claims is
true: its ends enclose no less than the honest ones, to the width that the second route states.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction

import pytest

from accountant import (
    DPADMM,
    DPSVRG,
    AccountantError,
    Gaussian,
    Ledger,
    MpADMM,
    ObjP,
    Poisson,
    Sensitivity,
    SsADMM,
    certificate,
    epsilon,
    read_certificate,
    recheck,
)
from accountant.certificates.certificate import read_ledger
from accountant.numbers import decimal_string

BOOKS: dict[str, Ledger] = {
    "ssadmm": SsADMM(records=1000, batch=100, noise_multiplier=4, iterations=200).ledger(),
    "one step": SsADMM(records=1000, batch=100, noise_multiplier=1, iterations=1).ledger(),
    "mpadmm": MpADMM(records=1000, eta=1, rho="0.5", clip=1, sigma="0.01", iterations=10).ledger(),
    "printed": MpADMM(
        records=1000, eta=4, rho="0.5", clip=1, sigma="0.01", iterations=10, sensitivity=Sensitivity.PRINTED
    ).ledger(),
    "dpadmm": DPADMM(records=1000, eta=1, rho="0.5", clip=1, sigma="0.1", iterations=5).ledger(),
    "objp": ObjP(records=1000, epsilon="0.01", iterations=100).ledger(),
    "poisson": Poisson(sampling_rate="0.01", noise_multiplier=2, iterations=100).ledger(),
    "dpsvrg": DPSVRG(
        records=1000, batch=100, iterations=10, inner=5, anchor_sigma="0.01", sigma="0.2", clip=1
    ).ledger(),
    "gaussian": Gaussian(noise_multiplier=30, iterations=50).ledger(),
}
FACTORS = ("0", "0.001", "0.9", "0.999", "1.001", "1.1", "1000")
WHOLE = (-(10**9), -6, -1, 0, 1, 2, 10**5, 10**30)
TEXTS = ("", "nan", "inf", "-1", "1e99999", "0x10", "1_0", " 1", "profile", "\u0661")
SLACK = Fraction(1, 4000)
"""Twice what exact integers leave open, and a contour much less."""

Document = dict[str, object]


def forgeries(document: Document) -> Iterator[tuple[str, Document]]:
    """Yield (where, document with one field changed)."""
    for path in _leaves(document):
        for value in _changes(_at(document, path)):
            forged = copy.deepcopy(document)
            _set(forged, path, value)
            yield ".".join(map(str, path)), forged
    for key in document:
        forged = copy.deepcopy(document)
        del forged[key]
        yield f"without {key}", forged
    for key, value in (("methods", {}), ("refused", {"gdp": "x"}), ("refused", {"profile": "x", "no": "y"})):
        yield f"{key}={value}", {**copy.deepcopy(document), key: value}


def _leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _leaves(each, (*path, place))
    else:
        yield path


def _changes(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + change for change in (-1, 1))
        yield from WHOLE
    elif isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            yield from ("", value + "x")
            return
        for factor in FACTORS:
            yield decimal_string(number * Fraction(factor), 12, "down")
        yield from TEXTS
    yield None


def _at(document: object, path: tuple[str | int, ...]) -> object:
    for part in path:
        document = document[part]  # type: ignore[index]  # plain JSON
    return document


def _set(document: object, path: tuple[str | int, ...], value: object) -> None:
    _at(document, path[:-1])[path[-1]] = value  # type: ignore[index]  # plain JSON


def resigned(document: Document) -> Document:
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return {**rest, "digest": hashlib.sha256(text.encode("ascii")).hexdigest()}


def is_caught(document: Document) -> bool:
    try:
        recheck(read_certificate(json.dumps(document)))
    except AccountantError as error:
        return error.exit_code in {1, 2, 3}
    return False


def claims_no_more(forged: Document) -> bool:
    """Whether what a certificate that passed claims is true: its own steps, priced honestly, are within its ends."""
    read = read_certificate(json.dumps(forged))
    honest = certificate(epsilon(read_ledger(read.ledger), read.delta, digits=read.digits)).epsilon
    attained = Fraction(read.epsilon.lower) <= Fraction(honest.lower) * (1 + SLACK)
    return attained and Fraction(read.epsilon.upper) >= Fraction(honest.upper) * (1 - SLACK)


def _forge(name: str) -> tuple[int, list[str]]:
    document = json.loads(json.dumps(certificate(epsilon(BOOKS[name], "1e-6", digits=12)).to_json()))
    assert not is_caught(document)
    tried, missed = 0, []
    for where, forged in forgeries(document):
        tried += 2
        if where != "digest":
            assert forged == document or is_caught(forged)  # the digest does not fit
        again = resigned(forged)
        if again != document and not is_caught(again) and not claims_no_more(again):
            missed.append(f"{where}: {_short(forged)}")
    return tried, missed


def _short(document: Document) -> str:
    return str({key: document.get(key) for key in ("delta", "digits", "epsilon", "ledger")})[:400]


@pytest.mark.parametrize("name", ["gaussian", "objp"])
def test_no_forgery_of_a_quick_certificate_passes(name: str) -> None:
    tried, missed = _forge(name)
    assert missed == []
    assert tried >= 100
