"""What the stages of a gate are told, and what they share."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from audits.games.own_pair import OwnPair
from audits.games.subject import Subject
from audits.gate.claim_file import ClaimFile
from audits.gate.evidence import KeptEvidence
from audits.gate.findings import Stage
from audits.trials.executors import Target
from verification.deployment.rare import Census
from verification.outcome import Finding, Outcome
from verification.wire.faults import AdapterError

Say = Callable[[str], None]
CONFORMANCE_SHARE, DEPLOYMENT_SHARE, AUDIT_SHARE = 0.4, 0.2, 0.4
"""Of the false alarms: conformance, the runs at the claimed size, the games."""


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
    pair: OwnPair | None = None
    seeded: bool = True
    evidence: KeptEvidence | None = None
    source: Path | None = None  # the claim file, for reports that name it
    reproduce: Callable[[str, int], str] = lambda finding, seed: f"dpadmm gate --seed {seed} --only {finding!r}"

    def wants(self, name: str) -> bool:
        """Whether a finding of this name (or stage) was asked for."""
        return not self.only or any(name == o or name.startswith((f"{o}:", f"{o},")) for o in self.only)

    @property
    def wants_an_adapter(self) -> bool:
        """Whether anything but the price was asked for."""
        return not self.only or any(name.partition(":")[0] != Stage.ACCOUNT for name in self.only)

    def wants_any(self, name: str) -> bool:
        """Whether this, or a part of it, was asked for."""
        return self.wants(name) or any(o.startswith(f"{name},") for o in self.only)


@dataclasses.dataclass(frozen=True, slots=True)
class GateRun:
    """What the stages behind the wire share."""

    claims: ClaimFile
    target: Target
    subjects: Sequence[Subject]
    pool: Executor
    options: GateOptions
    deadline: float
    census: dict[str, list[Census]] = dataclasses.field(default_factory=dict)  # runs whose noise was read, by mode


def adapter_failed(stage: Stage, error: AdapterError, options: GateOptions) -> Finding:
    """The finding that the implementation could not be asked."""
    name = f"{stage}: adapter"
    text = str(error)
    return Finding(name, Outcome.ADAPTER_FAILED, text, reproduction=options.reproduce(str(stage), options.seed))
