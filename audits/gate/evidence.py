"""The evidence of a refutation, kept in a folder: a run without a seed cannot be repeated, its answers can be examined.

One compressed JSON file a finding: the claim file, what the implementation said of itself, the seed of the questions,
every answer (or the scores of a game), and what was concluded. `dpadmm gate --examine DIR` draws the conclusion again.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationInfo

from audits.errors import EvidenceError
from verification.judge import Traits
from verification.outcome import About, Outcome, Stage
from verification.wire.arrays import Floats
from verification.wire.messages import DeclaredStart, StartResult, described
from verification.wire.tape import Exchange, Tape

VERSION = 4


def _described(value: object, info: ValidationInfo) -> StartResult:
    kind = DeclaredStart if info.data["about"].stage is Stage.DECLARED else StartResult
    return described(kind.model_validate_json(json.dumps(value)))


def _said(description: StartResult) -> dict[str, object]:
    return description.model_dump(mode="json")


def _exchanges(tape: Tape) -> list[dict[str, object]]:
    return [
        {"request": e.request, "answer": e.answer.decode("utf-8", "replace"), "seconds": e.seconds}
        for e in tape.exchanges
    ]


def _tape(exchanges: Sequence[dict[str, object]]) -> Tape:
    return Tape([Exchange(str(e["request"]), str(e["answer"]).encode(), float(str(e["seconds"]))) for e in exchanges])


def _packed(values: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _unpacked(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)


Scores = Annotated[Floats, PlainValidator(_unpacked), PlainSerializer(_packed)]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """One refuted finding and what it rests on."""

    about: About
    outcome: Outcome
    detail: str
    p_value: float | None
    false_alarm: float
    description: Annotated[StartResult, PlainValidator(_described), PlainSerializer(_said)]
    seed: int
    seeded: bool
    tapes: Sequence[Annotated[Tape, PlainValidator(_tape), PlainSerializer(_exchanges)]] = ()
    seconds: float = 0.0  # what the question was given
    scores: tuple[Scores, Scores] | None = None
    only: tuple[str, ...] = ()  # what alone was looked for
    traits: Traits | None = None  # of the implementation, by which a question was asked


_KEPT = TypeAdapter(Kept)


@dataclass(slots=True)
class KeptEvidence:
    """What is kept while a gate runs; written when it is over."""

    kept: list[Kept] = field(default_factory=list)

    def write(self, folder: Path, claim_text: str) -> list[Path]:
        """Write one file a finding and return them."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for number, kept in enumerate(self.kept, start=1):
            slug = re.sub(r"[^A-Za-z0-9]+", "-", str(kept.about)).strip("-").lower()
            path = folder / f"{number:02d}-{slug}.json.gz"
            document = {"version": VERSION, "claim_file": claim_text, **_KEPT.dump_python(kept, mode="json")}
            text = json.dumps(document, separators=(",", ":"))
            path.write_bytes(gzip.compress(text.encode(), mtime=0))
            paths.append(path)
        return paths


def read(path: Path) -> tuple[Kept, str]:
    """Read one file: what was kept, and the text of the claim file."""
    try:
        document = json.loads(gzip.decompress(path.read_bytes()))
        if document["version"] != VERSION:
            raise EvidenceError(f"{path} has version {document['version']}, known is {VERSION}")
        return _KEPT.validate_python(document), str(document["claim_file"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise EvidenceError(f"{path} is not evidence: {error}") from None
