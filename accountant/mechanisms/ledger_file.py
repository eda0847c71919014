r"""Ledgers from files: runs whose batches, noise or mechanism change on the way, one entry a phase.

TOML (`[[step]]` tables) or JSON (`{"step": [...]}`, or the bare list). Decimals are read as written, never through
binary floats. An error names the file, the entry and the field.

    [[step]]                        [[step]]
    mechanism = "ssadmm"            mechanism = "gaussian"
    records = 48842                 noise_multiplier = "10"
    batch = 221                     count = 3
    noise_multiplier = 4.5
    count = 1000
"""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from accountant.errors import AccountantError, InvalidQuantityError
from accountant.mechanisms.algorithms import Release, mpadmm, ssadmm
from accountant.mechanisms.baselines import admm_objp, gaussian_releases, poisson_sgd
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import Noise, Sampling

Number = int | str | Decimal


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=False)

    count: int


class _Batches(_Entry):
    """Noisy gradients on fresh batches: Algorithm 1, and proximal DP-SGD."""

    mechanism: Literal["ssadmm", "dp-sgd"]
    records: int
    batch: int
    noise_multiplier: Number | None = None
    sigma: Number | None = None
    clip: Number | None = None
    sampling: Literal["without-replacement", "poisson", "shuffle", "all"] = "without-replacement"
    noise: Literal["gaussian", "discrete"] = "gaussian"

    def ledger(self) -> Ledger:
        return ssadmm(
            records=self.records,
            batch=self.batch,
            iterations=self.count,
            noise_multiplier=self.noise_multiplier,
            sigma=self.sigma,
            clip=self.clip,
            sampling=Sampling(self.sampling),
            noise=Noise(self.noise),
        )


class _Everything(_Entry):
    """Algorithm 2 with one step size and a convex regularizer."""

    mechanism: Literal["mpadmm"]
    records: int
    eta: Number
    rho: Number
    clip: Number
    sigma: Number
    release: Literal["all", "primal"] = "all"
    noise: Literal["gaussian", "discrete"] = "gaussian"

    def ledger(self) -> Ledger:
        return mpadmm(
            records=self.records,
            eta=self.eta,
            rho=self.rho,
            clip=self.clip,
            sigma=self.sigma,
            epochs=self.count,
            release=Release(self.release),
            noise=Noise(self.noise),
        )


class _Gaussian(_Entry):
    """Plain Gaussian releases; the noise is in units of the replace-one sensitivity."""

    mechanism: Literal["gaussian"]
    noise_multiplier: Number
    noise: Literal["gaussian", "discrete"] = "gaussian"

    def ledger(self) -> Ledger:
        return gaussian_releases(noise_multiplier=self.noise_multiplier, releases=self.count, noise=Noise(self.noise))


class _Poisson(_Entry):
    """Poisson batches: add-or-remove-one neighbours, so no entry of another kind may stand beside it."""

    mechanism: Literal["poisson"]
    sampling_rate: Number
    noise_multiplier: Number

    def ledger(self) -> Ledger:
        return poisson_sgd(
            sampling_rate=self.sampling_rate, noise_multiplier=self.noise_multiplier, iterations=self.count
        )


class _Pure(_Entry):
    """Pure DP each time (ADMM-objP)."""

    mechanism: Literal["admm-objp"]
    epsilon: Number

    def ledger(self) -> Ledger:
        return admm_objp(epsilon=self.epsilon, iterations=self.count)


_ENTRY: TypeAdapter[_Batches | _Everything | _Gaussian | _Poisson | _Pure] = TypeAdapter(
    Annotated[_Batches | _Everything | _Gaussian | _Poisson | _Pure, Field(discriminator="mechanism")]
)


def read_ledger_file(path: Path) -> Ledger:
    """Return the ledger a file describes, its entries composed adaptively in the order given."""
    entries = _entries(path)
    phases = [_phase(entry, f"{path}: step {number}") for number, entry in enumerate(entries, start=1)]
    try:
        ledger = functools.reduce(operator.add, [ledger for _, ledger in phases])
    except AccountantError as error:
        raise type(error)(f"{path}: {error}") from error
    if len({mechanism for mechanism, _ in phases}) > 1:
        note = "no pair of neighbours is known that attains different mechanisms at once: the lower end is 0"
        return dataclasses.replace(ledger, realisable=(), notes=(*ledger.notes, note))
    return ledger


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


def _phase(entry: object, where: str) -> tuple[str, Ledger]:
    try:
        checked = _ENTRY.validate_python(entry)
        return checked.mechanism, checked.ledger()
    except ValidationError as error:
        first = error.errors()[0]
        # The first part of the place repeats the mechanism, and a union of numbers names its members: neither helps.
        field = ".".join(str(part) for part in first["loc"][1:2])
        raise InvalidQuantityError(f"{where}: {field + ': ' if field else ''}{first['msg']}") from None
    except AccountantError as error:
        raise type(error)(f"{where}: {error}") from error
