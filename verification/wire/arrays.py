"""Arrays on the wire: JSON lists, or base64 little-endian float64 with a shape."""

from __future__ import annotations

import binascii
import math
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

Floats: TypeAlias = NDArray[np.float64]


class WireModel(BaseModel):
    """What every message is: strict, immutable, with no field that is not in the schema."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True
    )


class PackedArray(WireModel):
    """Row-major little-endian binary64 values in base64; the only form that can carry NaN and infinity."""

    shape: list[NonNegativeInt] = Field(max_length=4)
    base64: str


WireArray: TypeAlias = PackedArray | list[float] | list[list[float]] | list[list[list[float]]]


class ArrayError(ValueError):
    """An array on the wire that is not one: ragged, truncated, or of another shape than was asked for."""


def pack(array: Floats) -> PackedArray:
    """Return the packed form of an array."""
    little = np.ascontiguousarray(array, dtype="<f8")
    return PackedArray(shape=list(array.shape), base64=binascii.b2a_base64(little.data, newline=False).decode("ascii"))


def as_lists(array: Floats) -> WireArray:
    """Return the JSON-list form of an array of one to three dimensions."""
    if not np.isfinite(array).all():
        raise ArrayError("JSON lists cannot carry NaN or infinity; pack the array instead")
    lists: WireArray = array.tolist()
    return lists


def unpack(wire: WireArray, name: str, shape: tuple[int, ...] | None = None) -> Floats:
    """Return the array, of exactly the shape asked for, or raise `ArrayError` with what is wrong."""
    array = _unpack_base64(wire, name) if isinstance(wire, PackedArray) else _from_lists(wire, name)
    if shape is not None and array.shape != shape:
        raise ArrayError(f"{name} must have shape {list(shape)}, got {list(array.shape)}")
    return array


def _from_lists(lists: list[float] | list[list[float]] | list[list[list[float]]], name: str) -> Floats:
    try:
        return np.array(lists, dtype=np.float64)
    except ValueError:
        raise ArrayError(f"{name} must be rectangular, got rows of different lengths") from None


def _unpack_base64(packed: PackedArray, name: str) -> Floats:
    try:
        # strict: no character outside of the alphabet, no wrong padding; and faster than base64.b64decode
        data = binascii.a2b_base64(packed.base64, strict_mode=True)
    except binascii.Error as error:
        raise ArrayError(f"{name} is not base64: {error}") from None
    expected = 8 * math.prod(packed.shape)
    if len(data) != expected:
        raise ArrayError(f"{name} of shape {packed.shape} must hold {expected} bytes, got {len(data)}")
    return np.frombuffer(data, dtype="<f8").reshape(packed.shape).astype(np.float64, copy=False)
