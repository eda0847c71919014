"""[declared]: an algorithm of the implementation's own, and the parameters that are passed through to it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from verification.wire.messages import Name


class DeclaredTable(BaseModel):
    """Which algorithm, at which size, with which parameters; what it releases the adapter says."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    algorithm: Name
    records: Annotated[int, Field(ge=2)]
    columns: Annotated[int, Field(ge=1)]
    parameters: dict[str, JsonValue] = {}
