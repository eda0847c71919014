"""The algorithms without noise: they can be described, and have no price."""

from __future__ import annotations

from typing import ClassVar

from accountant.errors import NotPrivateError
from accountant.mechanisms.batches import BATCH, ETA, SAMPLING
from accountant.mechanisms.fields import (
    Count,
    Field,
    MaybeNumber,
    MaybeSchedule,
    choice,
    count,
    described,
    maybe_number,
    maybe_schedule,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import NORMALISE, BoundedGradients, TrainingMechanism
from accountant.mechanisms.quantities import sampling_rate
from accountant.mechanisms.words import Sampling

RHO = "rho, the penalty parameter."


@described
class SADMM(BoundedGradients):
    """Stochastic ADMM: never private."""

    algorithm: ClassVar[str] = "sadmm"
    private: ClassVar[bool] = False

    batch: Count = count(BATCH)
    sampling: Field[Sampling, Sampling | str] = choice(
        Sampling, SAMPLING, default=Sampling.WITHOUT_REPLACEMENT, stated=True
    )
    eta: MaybeSchedule = maybe_schedule(ETA, default=None)
    rho: MaybeNumber = maybe_number(RHO, default=None, priced=False)

    def check(self) -> None:
        """Refuse batches larger than the data."""
        super().check()
        sampling_rate(self.batch, self.records)

    def ledger(self) -> Ledger:
        """Refuse: no epsilon is large enough."""
        raise NotPrivateError(f"{self.algorithm} adds no noise: it has no price")


@described
class ADMM(TrainingMechanism):
    """ADMM on all records: never private."""

    algorithm: ClassVar[str] = "admm"
    private: ClassVar[bool] = False

    normalise: MaybeNumber = maybe_number(NORMALISE, default=None, priced=False)
    rho: MaybeNumber = maybe_number(RHO, default=None, priced=False)
    eta: MaybeSchedule = maybe_schedule(ETA, default=None)

    def ledger(self) -> Ledger:
        """Refuse: no epsilon is large enough."""
        raise NotPrivateError(f"{self.algorithm} adds no noise: it has no price")
