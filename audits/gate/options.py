"""The options of a gate, and what its stages share."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from audits.games.executors import Target
from audits.games.game import Subject
from audits.gate.claim_file import ClaimFile, GateTable
from audits.gate.evidence import Kept, KeptEvidence
from audits.gate.history import Night
from verification.judge import Traits, not_asked
from verification.neighbours.neighbours import Neighbours
from verification.outcome import About, Finding, Outcome, Stage
from verification.reading.context import Mode
from verification.statistics.run_energies import RunEnergies
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterError
from verification.wire.messages import StartResult
from verification.wire.process import Limits
from verification.wire.tape import Tape

Say = Callable[[str], None]
GAMES_SHARE = 0.4
"""Of the false alarms; the questions have the rest."""


def silent(_line: str) -> None:
    """No progress is shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class GateOptions:
    """The options of a gate beside the claim file.

    ``seed`` is that of the gate's own draws. The implementation gets seeds only where ``seeded`` says so, to see a
    finding again; at the claimed size it never does.
    """

    seed: int
    only: tuple[str, ...] = ()
    today: datetime.date = dataclasses.field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date())
    say: Say = silent
    pair: Neighbours | None = None
    seeded: bool = True
    evidence: KeptEvidence | None = None
    source: Path | None = None  # the claim file, for reports that name it
    found: Callable[[Finding], None] = lambda _: None  # told of every conclusion as it comes
    asked: dict[str, Finding] = dataclasses.field(default_factory=dict)  # every conclusion so far, by its id
    history: Path | None = None  # the file to which this gate adds its evidence
    night: Night = dataclasses.field(default_factory=Night)
    described: list[StartResult] = dataclasses.field(default_factory=list)  # what the implementation said of itself
    reproduce: Callable[[str, int], str] = lambda finding, seed: f"dpadmm gate --seed {seed} --only {finding!r}"

    def wants(self, about: About) -> bool:
        """Whether a finding was asked for: by its id, its question, what it is about, or its stage."""
        return not self.only or any(about.called(word) for word in self.only)

    def may_want(self, stage: Stage) -> bool:
        """Whether something of this stage may have been asked for: a word that names no stage may mean any."""
        return not self.only or any(stage_named(word) in (None, stage) for word in self.only)

    def tell(self, found: Finding) -> None:
        """Keep a conclusion, and pass it on."""
        self.asked[found.name] = found
        self.found(found)

    def conclude(self, found: Finding) -> Finding:
        """A finding with the command that looks for a refutation again; it is told of."""
        found = self.reproducible(found)
        self.tell(found)
        return found

    def keep(
        self,
        found: Finding,
        *,
        tapes: Sequence[Tape] = (),
        seconds: float = 0.0,
        scores: tuple[Floats, Floats] | None = None,
        traits: Traits | None = None,
    ) -> None:
        """Keep what a refutation rests on; what stands needs no evidence."""
        if self.evidence is not None and found.outcome is Outcome.REFUTED:
            said = found.about, found.outcome, found.detail, found.p_value, found.false_alarm
            asked = self.described[0], self.seed, self.seeded
            self.evidence.kept.append(Kept(*said, *asked, tapes, seconds, scores, self.only, traits))

    @property
    def wants_an_adapter(self) -> bool:
        """Whether anything but the price was asked for."""
        return not self.only or any(stage_named(word) is not Stage.PRICE for word in self.only)

    def reproducible(self, found: Finding) -> Finding:
        """A refutation with the command that looks for it again."""
        if found.outcome is not Outcome.REFUTED:
            return found
        return dataclasses.replace(found, reproduction=self.reproduce(found.name, self.seed))


def stage_named(word: str) -> Stage | None:
    """The stage of an id that a user wrote; None for a question or a mechanism."""
    try:
        return About.read(word).stage
    except ValueError:
        return None


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

    def enough_time(self, needed: float, given: float) -> str:
        """Which budget suffices on this machine for a part that needs more seconds than it was given.

        Every part is given a share of the budget, so the budget grows in proportion; rounded up to half a minute.
        """
        budget, usual = self.claims.gate.budget, GateTable().budget
        if not math.isfinite(needed):
            return f'nothing could be asked in {budget:g} seconds: start from the default, budget = "{usual:g}s"'
        enough = math.ceil(budget * max(needed / max(given, 1e-3), 1.0) / 30) * 30
        return f'at the pace so far, budget = "{enough}s" would suffice on this machine'


def limits_of(claims: ClaimFile) -> Limits:
    """The limits of the claim file, from `start` on."""
    if claims.implementation is None:
        return Limits()
    named = claims.implementation
    return Limits.of(named.timeout, named.memory, named.folder)


def adapter_failed(stage: Stage, error: AdapterError, options: GateOptions) -> Finding:
    """The finding that the implementation could not be asked."""
    found = not_asked(About("adapter", stage=stage), Outcome.ADAPTER_FAILED, str(error))
    return dataclasses.replace(found, reproduction=options.reproduce(str(stage), options.seed))
