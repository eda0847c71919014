"""What a statement is, what evidence is, and what running evidence finds."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from verification.lemmas.obligation import Obligation
from verification.lemmas.prover import Prover
from verification.outcome import Outcome


class Status(enum.Enum):
    """What is known about a statement."""

    PROVED = "proved"  # by two solvers, by Coq, or by exact or enclosed computation that covers all of it
    HOLDS = "holds"  # on every attack that was tried
    REFUTED = "refuted"  # by a witness that the reference reproduces


class Kind(enum.Enum):
    """How a piece of evidence works."""

    PROOF = "proof"  # obligations discharged by z3 and cvc5
    COQ = "coq"  # theorems checked by Coq, for every dimension, every convex regularizer, every number of steps
    ENCLOSURE = "enclosure"  # ball or rational arithmetic: no rounding left to doubt
    ATTACK = "attack"  # a search for the worst case, which must reach the bound and not exceed it
    WITNESS = "witness"  # a concrete counterexample, reproduced by the reference
    QUOTATION = "quotation"  # two places of the paper that contradict each other


@dataclass(frozen=True, slots=True)
class EvidenceResult:
    """The outcome, in one line of words; ``tightness`` is the largest observed value over its bound."""

    outcome: Outcome
    detail: str
    tightness: float | None = None
    witness: str = ""

    @classmethod
    def check(cls, holds: bool, detail: str, *, tightness: float | None = None, witness: str = "") -> EvidenceResult:
        """Stands or fails."""
        return cls(Outcome.STANDS if holds else Outcome.REFUTED, detail, tightness, witness)


Run = Callable[[Prover], EvidenceResult]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Something that can be run; ``obligations`` are what a proof discharges, for the documents."""

    name: str
    kind: Kind
    run: Run
    obligations: Callable[[], list[Obligation]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement with its place in the paper, its status, and the evidence for that status.

    For an erratum ``statement`` is what the paper says, and ``truth`` what is right instead.
    """

    id: str
    statement: str
    place: str
    status: Status
    evidence: tuple[Evidence, ...]
    truth: str = ""
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"statement {self.id} has no evidence: a statement that nothing checks is no statement")
        kinds = {evidence.kind for evidence in self.evidence}
        needed = {
            Status.PROVED: {Kind.PROOF, Kind.COQ, Kind.ENCLOSURE},
            Status.HOLDS: {Kind.ATTACK, Kind.ENCLOSURE, Kind.PROOF, Kind.COQ},
            Status.REFUTED: {Kind.WITNESS, Kind.QUOTATION},
        }[self.status]
        if not kinds & needed:
            wanted = " or ".join(sorted(kind.value for kind in needed))
            raise ValueError(f"statement {self.id} is said to be {self.status.value}, which needs a {wanted}")
        if self.status is Status.REFUTED and not self.truth:
            raise ValueError(f"statement {self.id} is refuted but does not say what is right instead")

    @property
    def is_erratum(self) -> bool:
        """Whether it is one of the numbered errata."""
        return self.id[0] == "E" and self.id[1:].isdigit()
