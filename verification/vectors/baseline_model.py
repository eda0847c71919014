"""The format of the baselines' vectors, version 2: version 1 with the fields that the baselines need."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from verification.vectors.model import Case, Expected, NoiseEntry, Number, Value, VectorFile

VERSION = 2
ALGORITHMS = ("dpsgd", "dpadmm", "dpsvrg", "objp", "sadmm", "admm")


class BaselineNoise(NoiseEntry):
    """Also: b of the perturbed objective (objp), and the noise of the full gradient, one row an epoch (dpsvrg)."""

    objective: list[list[Number]] | None = None
    anchor: list[list[Number]] | None = None


class BaselineExpected(Expected):
    """Empty where an algorithm has no such value. Rows of dpadmm hold the parties' values one after another.

    `gradient` is before any noise: of the batch, of every party, or (dpsvrg) how that of the batch changed since the
    anchor. `full_gradient` (dpsvrg) is the noisy one that the step used. "stated": the x step of objp and admm is
    solved to a residual of at most 1e-9, the rest is proved.
    """

    full_gradient: list[list[Value]] = Field(default=[])


class BaselineCase(Case):
    """One run of a baseline."""

    algorithm: Literal["dpsgd", "dpadmm", "dpsvrg", "objp", "sadmm", "admm"]  # type: ignore[assignment]  # version 1 has others
    noise: BaselineNoise
    expected: BaselineExpected | None = None
    parties: PositiveInt | None = Field(default=None, description="dpadmm: consecutive blocks, the larger ones first")
    inner: PositiveInt | None = Field(default=None, description="dpsvrg: steps between two full gradients")
    anchor_sigma: Number | None = Field(default=None, description="dpsvrg; a replay does not use it")
    epsilon: Number | None = Field(default=None, description="objp: decides the ridge; `sigma` is not sent")


class BaselineFile(VectorFile):
    """A file of cases."""

    version: Literal[2]  # type: ignore[assignment]  # the same file with further fields
    cases: list[BaselineCase] = Field(min_length=1)  # type: ignore[assignment]  # of version 2
