"""The claim file: what is promised, what is said to be run, where the implementation is, how hard to look.

TOML in, checked objects out. Numbers that a privacy claim depends on are decimal strings (or integers): a binary float
would not be the number that was written. [deployment] is what a run needs beside what its price depends on; everything
there has a default, and a mechanism's own step size, rho and columns come first.
"""

from __future__ import annotations

import datetime
import difflib
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from accountant import AccountantError, Mechanism, decimal_string, exact, mechanism_from
from accountant.mechanisms.words import Algorithm, Neighbours, Release, Sampling
from accountant.notions import Notion, Promise
from audits.errors import ClaimFileError
from verification.outcome import About, Finding
from verification.reading.context import Claimed, Mode
from verification.statistics.test import Aspect
from verification.wire.declaration import NeighboursWord
from verification.wire.messages import PARTIES, Name, StartResult, parameters_for
from verification.wire.parameters import SCHEMES, LossName, RegularizerName
from verification.wire.process import Limits


class DeclaredTable(BaseModel):
    """Which algorithm, at which size, with which parameters; what it releases the adapter says."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    algorithm: Name
    records: Annotated[int, Field(ge=2)]
    columns: Annotated[int, Field(ge=1)]
    parameters: dict[str, JsonValue] = {}


COLUMNS = 32
"""Columns of the data where a claim file names none."""


_BINARY = "write it in quotes, so that it is exactly what you wrote, got the binary float {!r}"


def _number(value: object) -> Fraction:
    # pydantic collects ValueErrors, each with its place in the file; a TypeError would escape it
    if isinstance(value, float):
        raise ValueError(_BINARY.format(value))  # noqa: TRY004
    if isinstance(value, bool) or not isinstance(value, str | int | Fraction):
        raise ValueError(f"must be a decimal string or an integer, got {value!r}")  # noqa: TRY004
    try:
        return exact("value", value)
    except AccountantError as error:
        raise ValueError(str(error)) from None


Positive = Annotated[Fraction, BeforeValidator(_number), Field(gt=0)]
NotNegative = Annotated[Fraction, BeforeValidator(_number), Field(ge=0)]
Columns = Annotated[int, Field(ge=1)]


class DeploymentTable(BaseModel):
    """How the mechanisms are run: what the stage `deploy` asks the implementation for."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True, populate_by_name=True
    )

    columns: Columns = COLUMNS
    columns_of: dict[str, Columns] = Field(default_factory=dict)  # of single mechanisms, by title
    eta: Positive | None = None  # step size of every iteration; by default 1/sqrt(k) in the k-th
    rho: Positive = Fraction(1, 2)
    loss: Annotated[LossName, Field(strict=False)] | None = None
    regularizer: Annotated[RegularizerName, Field(strict=False)] | None = None
    lambda_: NotNegative = Field(default=Fraction(1, 10_000), alias="lambda")


def taken_from_mechanisms(data: object) -> object:
    """Move `columns` out of the mechanisms of a claim file, where it may stand beside `records`."""
    if not isinstance(data, dict) or not isinstance(data.get("mechanism"), list):
        return data
    tables, columns = [], {}
    for table in data["mechanism"]:
        if isinstance(table, dict) and "columns" in table:
            columns[str(table.get("name", table.get("algorithm")))] = table["columns"]
            table = {key: value for key, value in table.items() if key != "columns"}  # noqa: PLW2901
        tables.append(table)
    if not columns:
        return data
    deployment = data.get("deployment", {})
    own = {**deployment, "columns_of": columns} if isinstance(deployment, dict) else deployment
    return {**data, "mechanism": tables, "deployment": own}


def claimed_run(mechanism: Mechanism, table: DeploymentTable, description: StartResult) -> Claimed:
    """The run that a mechanism claims, asked for in what the implementation offers."""

    def of(name: str) -> object:
        return getattr(mechanism, name, None)

    algorithm = Algorithm(str(of("algorithm")))
    scheme = SCHEMES[algorithm]
    records, iterations = _count(of("records")), _count(of("iterations"))
    columns = table.columns_of.get(str(of("title")), table.columns)
    drawn = of("sampling")
    sampling = drawn if isinstance(drawn, Sampling) and drawn.by_epochs else None
    release = None if of("release") is None else Release(str(of("release")))
    regularizer = _regularizer(table, description)
    parameters = parameters_for(
        description,
        algorithm,
        columns,
        eta=_steps(of("eta") if of("eta") is not None else table.eta, iterations),
        batch=_maybe_count(of("batch")),
        sampling=sampling,
        sigma=_maybe_float(of("sigma")),
        noise_multiplier=_maybe_float(of("noise_multiplier")),
        bound=_maybe_float(of("clip")) or _maybe_float(of("normalise")) or 1.0,
        normalise=True if of("normalise") is not None else None,
        rho=_maybe_float(of("rho")) or float(table.rho),
        # a proximal map on x itself would hide the noise
        lambda_=0.0 if scheme.proximal_x else float(table.lambda_),
        loss=table.loss,
        regularizer=regularizer,
        release=release or Release.ALL,
        parties=_maybe_count(of("parties")) or PARTIES,
        inner=_maybe_count(of("inner")),
        anchor_sigma=_maybe_float(of("anchor_sigma")),
        epsilon=min(_steps(of("epsilon"), iterations)) if of("epsilon") is not None else 1.0,
    )
    return Claimed(Mode(algorithm, release, sampling), records, columns, parameters)


def _regularizer(table: DeploymentTable, description: StartResult) -> RegularizerName:
    if table.regularizer is not None:
        return table.regularizer
    return RegularizerName.L1 if RegularizerName.L1 in description.regularizers else description.regularizers[0]


def _steps(eta: object, iterations: int) -> list[float]:
    if eta is None:
        return [1 / math.sqrt(k + 1) for k in range(iterations)]
    if isinstance(eta, Sequence) and not isinstance(eta, str):
        return ([_float(step) for step in eta] * (iterations if len(eta) == 1 else 1))[:iterations]
    return [_float(eta)] * iterations


def _float(value: object) -> float:
    if not isinstance(value, Fraction | int | float):
        raise TypeError(f"a validated mechanism holds numbers, got {value!r}")
    return float(value)


def _maybe_float(value: object) -> float | None:
    return None if value is None else _float(value)


def _count(value: object) -> int:
    return int(_float(value))


def _maybe_count(value: object) -> int | None:
    return None if value is None else _count(value)


INFINITY = "infinity"
"""What a claim file writes for the epsilon of what is not private."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True)


def _epsilon(value: object) -> Fraction | float:
    return math.inf if value == INFINITY else _number(value)


def _duration(value: object) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh])", value) if isinstance(value, str) else None
    if match is None or float(match[1]) <= 0.0:
        raise ValueError(f'must be a duration such as "90s", "5m" or "1h", got {value!r}')
    return float(match[1]) * _UNITS[match[2]]


def _power(value: object) -> float:
    match = re.fullmatch(r"noise/([0-9]+(?:\.[0-9]+)?)", value) if isinstance(value, str) else None
    if match is None or float(match[1]) <= 1.0:
        raise ValueError(f'must be "noise/D" with D > 1, such as "noise/1.2", got {value!r}')
    return float(match[1])


def _about(value: object) -> About:
    if not isinstance(value, str):
        raise ValueError(f"must be the id of a finding, got {value!r}")  # noqa: TRY004
    return About.read(value)


Number = Annotated[Fraction, BeforeValidator(_number)]
Probability = Annotated[Fraction, BeforeValidator(_number), Field(gt=0, lt=1)]
Seconds = Annotated[float, BeforeValidator(_duration)]
Divisor = Annotated[float, BeforeValidator(_power)]
Delta = Annotated[Fraction, BeforeValidator(_number), Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Words = Annotated[str, Field(min_length=1, max_length=1000)]


DERIVED_DELTA = "1e-6"
"""Where a claim in another notion names no delta: what is run is judged by the epsilon that it implies there."""


class Claim(_Table):
    """[claim]: what is promised: an epsilon at a delta, Renyi, concentrated or Gaussian privacy, or several of these.

    Where no epsilon is named, it is the least that the others imply at delta, and ``implied``.
    """

    epsilon: Annotated[Fraction | float, BeforeValidator(_epsilon), Field(ge=0)] = Fraction(0)
    delta: Delta = Fraction(DERIVED_DELTA)
    neighbours: NeighboursWord
    renyi: list[tuple[Annotated[Number, Field(gt=1)], NotNegative]] = []  # [[alpha, epsilon], ...]
    zcdp: NotNegative | None = None
    gdp: NotNegative | None = None

    @field_validator("renyi", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        return [tuple(pair) if isinstance(pair, list) else pair for pair in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _has_an_epsilon(self) -> Self:
        named = self.model_fields_set
        if "epsilon" in named and "delta" in named:
            return self
        if "epsilon" in named or not self.promises:
            missing = "delta" if "epsilon" in named else "epsilon"
            raise ValueError(f"{missing} is needed: epsilon and delta, or one of renyi, zcdp and gdp, or both")
        if not self.delta:
            raise ValueError("delta must be greater than 0 where no epsilon is named")
        implied = min(promise.epsilon(self.delta) for promise in self.promises)
        object.__setattr__(self, "epsilon", exact("epsilon", decimal_string(implied, 12, "up")))
        return self

    @property
    def implied(self) -> bool:
        """Whether epsilon is what the other promises imply."""
        return "epsilon" not in self.model_fields_set

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The promises in other notions."""
        found = [Promise(Notion.RENYI, epsilon, alpha) for alpha, epsilon in self.renyi]
        found += [
            Promise(n, bound) for n, bound in ((Notion.ZCDP, self.zcdp), (Notion.GDP, self.gdp)) if bound is not None
        ]
        return tuple(found)

    @property
    def nothing(self) -> bool:
        """Whether no privacy is claimed at all: epsilon is infinite."""
        return not isinstance(self.epsilon, Fraction)

    def epsilon_text(self, digits: int) -> str:
        """The claimed epsilon as a decimal, rounded down, or "infinity"."""
        return decimal_string(self.epsilon, digits, "down") if isinstance(self.epsilon, Fraction) else INFINITY


def _mechanism(value: object) -> Mechanism:
    if not isinstance(value, dict):
        raise ValueError(f"must be a table of parameters, got {value!r}")  # noqa: TRY004 - as in _number
    algorithm = value.get("algorithm")
    if algorithm is not None and algorithm not in list(Algorithm):
        raise ValueError(f"algorithm must be one of {', '.join(Algorithm)}, got algorithm={algorithm!r}")
    for name, number in value.items():
        if isinstance(number, float):
            raise ValueError(f"{name}: {_BINARY.format(number)}")  # noqa: TRY004
    try:
        mechanism = mechanism_from(value, everything=True)
    except AccountantError as error:
        raise ValueError(str(error)) from None
    if value.get("sampling") == Sampling.WITH_REPLACEMENT:
        raise ValueError(
            f"sampling: {mechanism.algorithm} of the protocol draws batches without-replacement; `dpadmm account` "
            "prices with-replacement, and a [declared] algorithm may draw so"
        )
    return mechanism


class ImplementationTable(_Table):
    """[implementation]: the adapter."""

    command: Annotated[list[str], Field(min_length=1)]
    timeout: Seconds = 60.0
    memory: Annotated[int, Field(ge=64)] = Limits().memory_bytes >> 20
    files: list[Annotated[str, Field(min_length=1)]] = []  # what it runs: hashed beside the command's own files
    _folder: Path | None = PrivateAttr(default=None)

    @property
    def folder(self) -> Path | None:
        """The folder of the claim file, in which the command runs; None for a table that was in no file."""
        return self._folder

    def inside(self, folder: Path) -> Self:
        """The same, run in this folder."""
        placed = self.model_copy()
        placed._folder = folder.absolute()
        return placed


class PairTable(_Table):
    """[pair]: two files of records that differ in one, audited beside the hardest neighbours."""

    first: Annotated[str, Field(min_length=1)]
    second: Annotated[str, Field(min_length=1)]
    label_column: str | None = None


class StatementTable(_Table):
    """[statement]: what a reader of the claim must know and no check can find out; for the report, in your words."""

    unit: Words | None = None
    composition: Words | None = None
    trust: Words | None = None
    tuned: Words | None = None
    hazards: Words | None = None


class GateTable(_Table):
    """[gate]: how long and how hard to look."""

    budget: Seconds = 300.0
    false_alarm: Probability = Fraction(1, 10**6)
    power: Divisor = 1.2
    strict: bool = False
    accepts: list[Annotated[Aspect, Field(strict=False)]] = []


class Waiver(_Table):
    """[[waiver]]: a refutation that is known and tolerated, of which mechanism, until when."""

    finding: Annotated[About, BeforeValidator(_about)]
    mechanism: str | None = None  # as the finding says: ssadmm, mpadmm/all, ...; any, where none is named
    reason: Annotated[str, Field(min_length=10)]
    expires: datetime.date

    def covers(self, finding: Finding) -> bool:
        """Whether it is about this finding of this mechanism."""
        return str(self.finding) == finding.name and self.mechanism in (None, finding.subject)

    def holds(self, today: datetime.date) -> bool:
        """Whether it still waives anything."""
        return today <= self.expires


class ClaimFile(_Table):
    """A whole claim file."""

    claim: Claim
    mechanism: list[Annotated[Mechanism, BeforeValidator(_mechanism)]] = []
    declared: DeclaredTable | None = None
    implementation: ImplementationTable | None = None
    deployment: DeploymentTable = DeploymentTable()
    pair: PairTable | None = None
    statement: StatementTable = StatementTable()
    gate: GateTable = GateTable()
    waiver: list[Waiver] = []

    @model_validator(mode="before")
    @classmethod
    def _one_mechanism_is_a_list_of_one(cls, data: object) -> object:
        if isinstance(data, dict) and isinstance(data.get("mechanism"), dict):
            data = {**data, "mechanism": [data["mechanism"]]}
        return taken_from_mechanisms(data)

    @model_validator(mode="after")
    def _mechanisms_have_different_names(self) -> Self:
        if self.declared is not None:
            return self._only_declared()
        titles = [mechanism.title for mechanism in self.mechanism]
        if not titles:
            raise ValueError("at least one [mechanism] is needed, or [declared]")
        if self.claim.delta == 0 or self.claim.neighbours is not Neighbours.REPLACE_ONE:
            raise ValueError('[mechanism] needs delta > 0 and neighbours = "replace-one"; [declared] takes others')
        twice = sorted({title for title in titles if titles.count(title) > 1})
        if twice:
            raise ValueError(f"several mechanisms need different names, got {', '.join(twice)} more than once")
        return self

    @property
    def group_size(self) -> int:
        """How many records of one user the claim protects, of every mechanism."""
        return min((mechanism.group_size for mechanism in self.mechanism), default=1)

    def _only_declared(self) -> Self:
        if self.mechanism or self.pair is not None or self.implementation is None:
            raise ValueError("[declared] stands beside [claim] and [implementation], without [mechanism] and [pair]")
        return self


_TABLES: dict[str, type[BaseModel]] = {
    "deployment": DeploymentTable,
    "declared": DeclaredTable,
    "claim": Claim,
    "implementation": ImplementationTable,
    "pair": PairTable,
    "statement": StatementTable,
    "gate": GateTable,
    "waiver": Waiver,
}


def read_claim_file(path: Path) -> ClaimFile:
    """Read and check a claim file; every problem is named with its place, unknown keys with what was meant."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ClaimFileError(f"{path} is not TOML: {error}") from None
    try:
        claims = ClaimFile.model_validate(data)
    except ValidationError as error:
        problems = "\n".join(f"  {_explained(problem['loc'], problem)}" for problem in error.errors(include_url=False))
        raise ClaimFileError(f"{path} is not a valid claim file:\n{problems}") from None
    if claims.implementation is None:
        return claims
    return claims.model_copy(update={"implementation": claims.implementation.inside(path.parent)})


def _explained(place: tuple[int | str, ...], problem: Mapping[str, object]) -> str:
    where = ".".join(str(part) for part in place) or "file"
    if problem["type"] in ("missing", "too_short"):
        return f"{where}: {'is missing' if problem['type'] == 'missing' else 'must not be empty'}"
    if problem["type"] != "extra_forbidden":
        message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
        return f"{where}: {message}" + f", got {problem['input']!r:.60}" * (problem["type"] != "value_error")
    known = _known_keys(place)
    close = difflib.get_close_matches(str(place[-1]), known, n=1, cutoff=0.5)
    meant = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"{where}: unknown key; {meant}"


def _known_keys(place: tuple[int | str, ...]) -> list[str]:
    if len(place) == 1:
        return sorted(ClaimFile.model_fields)
    table = _TABLES.get(str(place[0]))
    return sorted(table.model_fields) if table is not None else []


TEMPLATE = """\
# What `dpadmm gate` checks. Numbers that the claim depends on are in quotes: they are taken exactly as written.

[claim]                          # what is promised
epsilon = "1.0"                  # or "infinity", the only claim that an algorithm without noise can make
delta = "1e-8"
neighbours = "replace-one"       # one record replaced by another; n is public
# zcdp = "0.1"                   # also, or in place of epsilon: rho; gdp = "0.5" is mu; renyi = [["2", "0.1"], ...]

[mechanism]                      # what is said to be run; several: [[mechanism]], each with a name
algorithm = "ssadmm"             # or "mpadmm", which needs eta, rho, release instead of batch and sampling; or a
                                 # baseline: dpsgd, dpadmm (eta, rho, parties), dpsvrg (inner, anchor_sigma), objp
                                 # (epsilon, of each iteration, in place of sigma), sadmm, admm (never private)
records = 48842
columns = 124                    # features of a record; the data of the claimed size are made with so many
batch = 221
sampling = "without-replacement" # fresh in every iteration
                                 # or by epochs of disjoint batches: "fixed-order", "shuffle"
clip = "1.0"                     # C: no record's gradient is longer
sigma = "0.0136"                 # standard deviation of each coordinate of the noise
iterations = 2210
# group_size = 5                 # records of one user, all of which the claim is to protect
released = "every-iterate"       # what is shown of a run; or "last-model"

[implementation]                 # the adapter: any program that speaks the protocol (docs/reference/protocol.md);
                                 # it runs in the folder of this file, and every path in this file is relative to it
command = ["python", "adapter.py"]
timeout = "60s"                  # for one request
memory = 4096                    # what its process may use, in megabytes
# files = ["my_admm.py", "src/*.c"]  # what it runs: their digests are part of reports, signed evidence and histories

# [deployment]                   # how it is run, as far as the price does not depend on it; these are the defaults
# eta = "0.1"                    # step size of every iteration; 1/sqrt(k) in the k-th where none is named
# rho = "0.5"
# loss = "logistic"              # what the implementation names first
# regularizer = "l1"
# lambda = "1e-4"

# [pair]                         # also audit neighbours of your own: CSV, NPZ or LIBSVM files that differ in one record
# first = "data.csv"
# second = "data-with-one-record-replaced.csv"
# label_column = "income"        # of a CSV file; the last by default

# [statement]                    # what no check can find out, in your words; reports show it, or "not stated"
# unit = "one customer, who has one record"         # whom the claim protects
# composition = "this one training run; nothing else was released from the data"
# trust = "the operator sees the records; everybody sees the model"
# tuned = "step size and iterations on public data" # what was chosen by looking at the private data, if anything
# hazards = "the machine is not shared, so that timing is not observed"

[gate]
budget = "5m"                    # time for everything; a check that runs out of time is inconclusive, never a pass
false_alarm = "1e-6"             # probability that a correct implementation is refuted, over all checks together:
                                 # a gate that runs nightly for ten years then has a false alarm with probability 0.4 %
power = "noise/1.2"              # the smallest violation that must have been detectable
# strict = true                  # also fail where something differs from the claim and is not less private
# accepts = ["batches"]          # aspects that need not be checked: noise, batches, clipping, "released values"

# [[waiver]]                     # a known finding, tolerated until a date
# finding = "silent/ssadmm/claimed"
# reason = "fixed in release 2.1, which goes out on Monday"
# expires = 2030-01-31
"""
