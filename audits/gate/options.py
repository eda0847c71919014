"""What the stages of a gate are told, and what they share."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from audits.games.subject import Subject
from audits.gate.claim_file import ClaimFile
from audits.gate.evidence import KeptEvidence
from audits.trials.executors import Target
from verification.judge import Traits
from verification.neighbours.neighbours import Neighbours
from verification.outcome import Finding, Outcome, Stage
from verification.reading.context import Mode
from verification.statistics.run_energies import RunEnergies
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterError
from verification.wire.records import Records

Say = Callable[[str], None]
GAMES_SHARE = 0.4
"""Of the false alarms; the questions have the rest."""


@dataclasses.dataclass(frozen=True, slots=True)
class GateOptions:
    """What a run of the gate is told beside the claim file.

    ``seed`` is that of the gate's own draws. The implementation gets seeds only where ``seeded`` says so, to see a
    finding again; at the claimed size it never does.
    """

    seed: int
    only: tuple[str, ...] = ()
    today: datetime.date = dataclasses.field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date())
    say: Say = lambda _: None
    pair: Neighbours[Records] | None = None
    seeded: bool = True
    evidence: KeptEvidence | None = None
    source: Path | None = None  # the claim file, for reports that name it
    reproduce: Callable[[str, int], str] = lambda finding, seed: f"dpadmm gate --seed {seed} --only {finding!r}"

    def wants(self, name: str) -> bool:
        """Whether a finding of this name was asked for: by its id, its question, what it is about, or its stage."""
        parts = name.split("/")
        return not self.only or any(o == name or o in parts for o in self.only)

    @property
    def wants_an_adapter(self) -> bool:
        """Whether anything but the price was asked for."""
        return not self.only or any(o.split("/")[-1] != Stage.PRICE for o in self.only)

    def wants_any(self, stage: str) -> bool:
        """Whether something of this stage may have been asked for."""
        stages = set(Stage)
        return not self.only or any(o.split("/")[-1] == stage or o.split("/")[-1] not in stages for o in self.only)


@dataclasses.dataclass(frozen=True, slots=True)
class GateRun:
    """What the stages behind the wire share."""

    claims: ClaimFile
    target: Target
    subjects: Sequence[Subject]
    pool: Executor
    options: GateOptions
    deadline: float
    traits: dict[Mode, Traits] = dataclasses.field(default_factory=dict)  # found out before it is judged
    vectors: dict[str, list[Floats]] = dataclasses.field(default_factory=dict)  # all noise that was read, by mode
    energies: dict[str, list[RunEnergies]] = dataclasses.field(default_factory=dict)  # of all runs read, by mode


def adapter_failed(stage: Stage, error: AdapterError, options: GateOptions) -> Finding:
    """The finding that the implementation could not be asked."""
    again = options.reproduce(str(stage), options.seed)
    return Finding(f"adapter/{stage}", Outcome.ADAPTER_FAILED, str(error), reproduction=again, stage=stage)
