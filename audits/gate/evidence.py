"""The evidence of a refutation, kept in a folder: a run without a seed cannot be repeated, its answers can be examined.

One compressed JSON file a finding: the claim file, what the implementation said of itself, the seed of the questions,
every answer (or the scores of a game), and what was concluded. `dpadmm gate --examine DIR` draws the conclusion again.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from audits.errors import EvidenceError
from verification.judge import Traits
from verification.outcome import About, Outcome, Stage
from verification.wire.arrays import Floats
from verification.wire.messages import DeclaredStart, StartResult, described
from verification.wire.tape import Exchange, Tape

VERSION = 3
_TRAITS: TypeAdapter[Traits | None] = TypeAdapter(Traits | None)


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """One refuted finding and what it rests on."""

    about: About
    outcome: Outcome
    detail: str
    p_value: float | None
    false_alarm: float
    description: StartResult
    seed: int
    seeded: bool
    tapes: Sequence[Tape] = ()
    seconds: float = 0.0  # what the question was given
    scores: tuple[Floats, Floats] | None = None
    only: tuple[str, ...] = ()  # what alone was looked for
    traits: Traits | None = None  # of the implementation, by which a question was asked


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
            text = json.dumps(_document(kept, claim_text), separators=(",", ":"))
            path.write_bytes(gzip.compress(text.encode(), mtime=0))
            paths.append(path)
        return paths


def _document(kept: Kept, claim_text: str) -> dict[str, object]:
    return {
        "version": VERSION,
        "claim_file": claim_text,
        "about": dataclasses.asdict(kept.about),
        "outcome": kept.outcome.value,
        "detail": kept.detail,
        "p_value": kept.p_value,
        "false_alarm": kept.false_alarm,
        "seed": kept.seed,
        "seeded": kept.seeded,
        "description": kept.description.model_dump(mode="json"),
        "seconds": kept.seconds,
        "only": list(kept.only),
        "traits": _TRAITS.dump_python(kept.traits, mode="json"),
        "scores": None if kept.scores is None else [_packed(side) for side in kept.scores],
        "tapes": [
            [
                {"request": e.request, "answer": e.answer.decode("utf-8", "replace"), "seconds": e.seconds}
                for e in tape.exchanges
            ]
            for tape in kept.tapes
        ],
    }


def read(path: Path) -> tuple[Kept, str]:
    """Read one file: what was kept, and the text of the claim file."""
    try:
        document = json.loads(gzip.decompress(path.read_bytes()))
        if document["version"] != VERSION:
            raise EvidenceError(f"{path} has version {document['version']}, known is {VERSION}")
        scores = document["scores"]
        said = document["about"]
        about = About(said["question"], said["mechanism"], Stage(said["stage"]), said["subject"])
        kept = Kept(
            about,
            Outcome(document["outcome"]),
            document["detail"],
            document["p_value"],
            document["false_alarm"],
            _described(about, json.dumps(document["description"])),
            document["seed"],
            document["seeded"],
            tuple(_tape(exchanges) for exchanges in document["tapes"]),
            document["seconds"],
            None if scores is None else (_unpacked(scores[0]), _unpacked(scores[1])),
            tuple(document.get("only", ())),
            _TRAITS.validate_python(document.get("traits")),
        )
        return kept, str(document["claim_file"])
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise EvidenceError(f"{path} is not evidence: {error}") from None


def _described(about: About, text: str) -> StartResult:
    kind = DeclaredStart if about.stage is Stage.DECLARED else StartResult
    return described(kind.model_validate_json(text))


def _tape(exchanges: Sequence[dict[str, object]]) -> Tape:
    return Tape([Exchange(str(e["request"]), str(e["answer"]).encode(), float(str(e["seconds"]))) for e in exchanges])


def _packed(values: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _unpacked(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
