"""The regularised empirical risk that both algorithms minimise, and its gradient. [CL20] equation (1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from reference.arithmetic import Indices, Matrix, NumberSystem, Scalar, Vector, number_system
from reference.clipping import clipped_slopes
from reference.dataset import Dataset, row_norms
from reference.errors import InvalidParameter, NotFinite, require_positive
from reference.losses import Loss
from reference.regularizers import Regularizer


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """min over x of mean loss(x) + lambda h(x), with the penalty parameter rho of its ADMM.

    ``clip`` is None where the records themselves bound the gradient (normalised rows), else the norm C to which
    every record's gradient is clipped.
    """

    signed: Matrix  # rows label * features: multiplying by -1 or +1 is exact, and margins and gradients need no more
    loss: Loss
    regularizer: Regularizer
    rho: Scalar
    clip: Scalar | None
    norms: Vector

    @classmethod
    def of(
        cls, data: Dataset, loss: Loss, regularizer: Regularizer, *, rho: float, clip: float | None = None
    ) -> Problem:
        """Validate the parameters that do not depend on the algorithm."""
        require_positive("rho", rho)
        if clip is not None:
            require_positive("clip", clip)
        regularizer.lipschitz(rho)
        regularizer.prox(np.zeros(data.dimension), rho)  # refuses groups or a matrix of another dimension
        signed = np.ascontiguousarray(data.labels[:, None] * data.features)
        return cls(signed, loss, regularizer, rho, clip, row_norms(data.features))

    @property
    def records(self) -> int:
        """n."""
        return len(self.signed)

    @property
    def dimension(self) -> int:
        """p."""
        return int(self.signed.shape[1])

    @property
    def gradient_bound(self) -> float:
        """C: no record's gradient is longer, whatever the model."""
        longest = self.loss.steepest * float(self.norms.max())
        return longest if self.clip is None else min(longest, self.clip)

    def in_system(self, system: NumberSystem) -> Problem:
        """The same problem with its data and parameters in another number system, exactly."""
        signed = system.array(self.signed)
        return Problem(
            signed,
            self.loss,
            self.regularizer,
            system.scalar(self.rho),
            None if self.clip is None else system.scalar(self.clip),
            self.norms if self.clip is None else system.norm(signed),
        )

    def gradient(self, x: Vector, batch: Indices | None = None) -> Vector:
        """The mean gradient over a batch, or over all records. [CL20] Algorithm 1 line 5, Algorithm 2 line 4.

        Refuses a value that is not finite: NaN must never reach a release.
        """
        system = number_system(x)
        records = self.signed if batch is None else self.signed.take(batch, axis=0)
        slopes = self.loss.slope(system.matmul(records, x))
        if self.clip is not None:
            slopes = clipped_slopes(slopes, self.norms if batch is None else self.norms.take(batch), self.clip)
        g = system.matmul(slopes, records) / len(records)
        if not system.all_finite(g):
            raise NotFinite("the gradient is not finite: features or the initial point are too large for binary64")
        return g

    def objective(self, x: Vector) -> Scalar:
        """F(x): mean loss plus regularizer."""
        system = number_system(x)
        losses = self.loss.value(system.matmul(self.signed, x))
        value = np.asarray(system.sum(losses) / self.records + self.regularizer.value(x))
        return cast(Scalar, value[()])


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One iterate: the primal x, its copy z, the dual y."""

    x: Vector
    z: Vector
    y: Vector

    @classmethod
    def zero(cls, dimension: int) -> State:
        """The paper leaves the initial point open; 0 by default."""
        return cls(np.zeros(dimension), np.zeros(dimension), np.zeros(dimension))

    def in_system(self, system: NumberSystem) -> State:
        """The same point in another number system, exactly."""
        return State(system.array(self.x), system.array(self.z), system.array(self.y))

    def require_finite(self) -> State:
        """Return the state itself; refuse one that overflowed or is NaN, so that it can never be released."""
        # One sum for three checks: it is finite only if every term is.
        if not number_system(self.x).all_finite(self.x + self.z + self.y):
            raise NotFinite("an iterate is not finite: the step size, the noise or the initial point is too large")
        return self

    def require_dimension(self, dimension: int) -> None:
        """Refuse a point of another dimension than the data's, or one that is not finite."""
        for name, value in (("x", self.x), ("z", self.z), ("y", self.y)):
            if value.shape[-1:] != (dimension,):
                raise InvalidParameter(f"initial {name} must have {dimension} entries, got shape {value.shape}")
            if not number_system(value).all_finite(value):
                raise InvalidParameter(f"initial {name} must be finite, got {name}={value}")
