"""What is claimed to run, completely: the size, and the parameters of the wire."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from verification.conformance.check import Mode
from verification.wire.parameters import Parameters
from verification.wire.schemes import SCHEMES, Law, Scheme

LARGEST_VALUES = 16_000_000
"""Features that are sent at once, at most: 128 MB in memory, 171 MB on the wire."""

FEWER_VALUES = 1_000_000
"""The same for questions in which the positions of records do not matter: so that many can be asked in little time."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """One mechanism at one size."""

    mode: Mode
    records: int
    columns: int
    parameters: Parameters

    @property
    def scheme(self) -> Scheme:
        """What the algorithm is on the wire."""
        return SCHEMES[self.mode.algorithm]

    @property
    def private(self) -> bool:
        """Whether noise is claimed at all."""
        return self.scheme.law is not Law.NONE

    @property
    def size(self) -> str:
        """The size in words, for the coverage of a verdict."""
        p = self.parameters
        batch = "" if p.batch is None else f", m = {p.batch:,}"
        return f"n = {self.records:,}{batch}, T = {p.iterations:,}, p = {self.columns:,}"

    def shortened(self, iterations: int) -> Claimed:
        """The first iterations alone; DP-SVRG keeps whole epochs."""
        inner = self.parameters.inner or 1
        kept = max(inner, iterations // inner * inner)
        if kept >= self.parameters.iterations:
            return self
        cut = {"iterations": kept, "eta": self.parameters.eta[:kept]}
        return self.with_parameters(**cut)

    def with_parameters(self, **changed: object) -> Claimed:
        """The same with some parameters changed."""
        return dataclasses.replace(self, parameters=self.parameters.model_copy(update=changed))

    def fitting(self, values: int = LARGEST_VALUES) -> Claimed:
        """The same with as many records as can be sent at once; the batch keeps its size."""
        at_most = max(values // self.columns, self.parameters.batch or 1, self.parameters.parties or 1)
        return self if self.records <= at_most else dataclasses.replace(self, records=at_most)
