"""Arrays of number objects: a scalar function applied to every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number")


def elementwise(function: Callable[..., Number], *operands: object) -> NDArray[np.float64]:
    """Apply a scalar function to broadcast operands; the result is an array of number objects."""
    arrays = np.broadcast_arrays(*(np.asarray(operand, dtype=object) for operand in operands))
    result = np.empty(arrays[0].shape, dtype=object)
    for index in np.ndindex(result.shape):
        result[index] = function(*(array[index] for array in arrays))
    return cast(NDArray[np.float64], result)


class ObjectSums:
    """Sums and products of arrays of number objects, in the arithmetic of the objects themselves."""

    def matmul(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """The product of a matrix with a vector, or of a vector with a matrix."""
        return a @ b

    def sum(self, a: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the last axis."""
        return np.asarray(np.sum(a, axis=-1), dtype=object)
