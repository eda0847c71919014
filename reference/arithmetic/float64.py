"""Binary64 arrays: numpy's own functions, so the other systems cost the reference nothing."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic.system import NumberSystem

LONG_MASK = 4096  # entries; below it numpy's call overhead decides
_SMALL, _LARGE = 2.0**-400, 2.0**400


def _bits(values: NDArray[np.float64] | float) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.float64).view(np.int64)


class Float64:
    """The number system of the reference itself."""

    name = "float64"
    greater = staticmethod(np.greater)
    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    absolute = staticmethod(np.absolute)
    sqrt = staticmethod(np.sqrt)
    exp = staticmethod(np.exp)
    log1p = staticmethod(np.log1p)
    matmul = staticmethod(np.matmul)

    @staticmethod
    def where(
        mask: NDArray[np.bool_], a: NDArray[np.float64] | float, b: NDArray[np.float64] | float
    ) -> NDArray[np.float64]:
        """``a`` where the mask holds, else ``b``; by bits where the mask is long.

        numpy's own where branches at every entry, and a processor stumbles over each that it cannot foresee: in
        thousands of runs at once that took longer than the exponentials.
        """
        if mask.size < LONG_MASK:
            return np.where(mask, a, b)
        other = _bits(b)
        chosen = (_bits(a) ^ other) & -mask.astype(np.int64)  # not in place: the mask may be larger than both
        chosen ^= other
        return chosen.view(np.float64)

    @staticmethod
    def scalar(value: float) -> float:
        """A parameter as it is."""
        return value

    @staticmethod
    def array(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values themselves, as contiguous float64."""
        return np.ascontiguousarray(values, dtype=np.float64)

    @staticmethod
    def sum(a: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the last axis."""
        total: NDArray[np.float64] = np.sum(a, axis=-1)
        return total

    @staticmethod
    def norm(a: NDArray[np.float64]) -> NDArray[np.float64]:
        """The Euclidean norm over the last axis, scaled so that no square over- or underflows."""
        if a.shape[-1] == 0:
            return np.zeros(a.shape[:-1])
        largest = np.maximum(np.max(a, axis=-1, keepdims=True), -np.min(a, axis=-1, keepdims=True))
        if _squares_are_exact(largest):  # then scaling changes no bit
            return np.asarray(np.sqrt(np.sum(a * a, axis=-1)))
        # A power of two scales without rounding; frexp's mantissa is below 1, so no square exceeds 1.
        exponent = np.frexp(largest)[1]
        scaled = np.ldexp(a, -exponent)
        with np.errstate(over="ignore"):  # a norm beyond binary64 is inf, which the caller refuses
            length: NDArray[np.float64] = np.ldexp(np.sqrt(np.sum(scaled * scaled, axis=-1)), exponent[..., 0])
        return length

    @staticmethod
    def all_finite(a: NDArray[np.float64]) -> bool:
        """Whether every entry is a number."""
        return bool(np.isfinite(a).all())


def _squares_are_exact(largest: NDArray[np.float64]) -> bool:
    """Whether every row is 0, or its largest entry is far from both ends of binary64.

    A square that underflows beside such an entry's is below 2^-1074 < 2^-274 of it: it changes no sum.
    """
    return bool(np.all((largest == 0) | ((largest > _SMALL) & (largest < _LARGE))))


# numpy's own functions take more than the protocol asks for, which a type checker cannot see through.
FLOAT64 = cast(NumberSystem, Float64())
