"""What goes over the wire, inside Python: records, and the outputs of runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verification.wire.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """n records as they are sent: features of shape [n, p] (not necessarily finite) and n labels.

    Labels are the integers -1 and +1, or for a declared algorithm numbers of the declared range.
    """

    features: Floats
    labels: NDArray[np.int64] | Floats

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.labels.shape != self.features.shape[:1]:
            raise ValueError(
                f"features must be [n, p] and labels [n], got {self.features.shape} and {self.labels.shape}"
            )

    @property
    def count(self) -> int:
        """n."""
        return len(self.labels)

    @property
    def columns(self) -> int:
        """The number of features, without an intercept."""
        return int(self.features.shape[1])

    def replace(self, row: int, features: Floats, label: float) -> Records:
        """The neighbour in which one record is another."""
        s, v = self.features.copy(), self.labels.copy()
        s[row], v[row] = features, label
        return Records(s, v)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Everything that left the implementation, by name; x is always there.

    From `replay` the leading axis is the iteration; from `trials` it is the trial, then (unless only the last model
    was shown) the iteration.
    """

    values: dict[str, Floats]

    @property
    def x(self) -> Floats:
        """The primal iterates."""
        return self.values["x"]

    @property
    def z(self) -> Floats:
        """The primal copies."""
        return self.values["z"]

    @property
    def y(self) -> Floats:
        """The dual iterates."""
        return self.values["y"]
