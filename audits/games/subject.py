"""What is claimed to be run, as far as it decides which games are played."""

from __future__ import annotations

from dataclasses import dataclass

from accountant import Ledger, Mechanism
from accountant.mechanisms.full_gradients import MpADMM
from accountant.mechanisms.mechanism import TrainingMechanism
from accountant.mechanisms.words import Algorithm, Release, Sensitivity, Visibility
from audits.errors import AuditError
from verification.reading.context import Mode
from verification.wire.mechanism import mechanism_of
from verification.wire.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Subject:
    """An algorithm and what a claim says about it; sizes are chosen game by game."""

    algorithm: Algorithm
    release: Release | None = None
    sensitivity: Sensitivity = Sensitivity.CORRECTED
    visibility: Visibility = Visibility.EVERY_ITERATE

    def __post_init__(self) -> None:
        if (self.algorithm is Algorithm.MPADMM) != (self.release is not None):
            raise AuditError(f"release is for mpadmm, got algorithm={self.algorithm} and release={self.release}")

    @classmethod
    def of(cls, mechanism: Mechanism) -> Subject:
        """Return what of a claimed mechanism decides which games are played."""
        if not isinstance(mechanism, TrainingMechanism):
            raise AuditError(f"{mechanism.algorithm} can be priced, not audited: no implementation runs it")
        algorithm = Algorithm(mechanism.algorithm)
        if isinstance(mechanism, MpADMM):
            return cls(algorithm, mechanism.release, mechanism.sensitivity, mechanism.released)
        return cls(algorithm, visibility=mechanism.released)

    @property
    def mode(self) -> Mode:
        """The subject in the conformance checks' words."""
        return Mode(self.algorithm, self.release)

    def mechanism(self, records: int, parameters: Parameters) -> Mechanism:
        """Return what a run with these parameters is claimed to be."""
        return mechanism_of(
            self.algorithm, parameters, records, sensitivity=self.sensitivity, visibility=self.visibility
        )

    def ledger(self, records: int, parameters: Parameters) -> Ledger:
        """Return what a run with these parameters is claimed to release."""
        return self.mechanism(records, parameters).ledger()
