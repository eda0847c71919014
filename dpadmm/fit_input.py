"""What ``fit`` and ``predict`` take: records, dense or sparse; targets as they were written; nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from accountant import Exact
from reference.arithmetic import Matrix

Target = Exact | float
Sparse = scipy.sparse.csr_matrix | scipy.sparse.csr_array | scipy.sparse.csc_matrix | scipy.sparse.csc_array
Records = ArrayLike | Sparse


def exactly(value: Target) -> Exact:
    """A target as it was written: 0.1 means one tenth, not the nearest binary fraction."""
    return repr(value) if isinstance(value, float) else value


def dense(features: Matrix | Sparse) -> Matrix:
    """The rows of a matrix that may be sparse; every row of a batch is used as a whole."""
    if isinstance(features, np.ndarray):
        return features
    return np.asarray(features.toarray(), dtype=np.float64)


@contextlib.contextmanager
def without_contents(features: Records, labels: ArrayLike = ()) -> Iterator[None]:
    """Let scikit-learn validate records, whose messages would quote them: what is wrong is said by place or shape."""
    try:
        yield
    except ValueError:
        reason = _wrong_records(features) or _complex(labels)
        if reason:
            raise ValueError(reason) from None
        raise  # shapes, NaN, infinities, kinds of labels: said without contents


def _wrong_records(features: Records) -> str:
    """Why records cannot be used, in those cases in which scikit-learn or numpy would quote them; else empty."""
    if scipy.sparse.issparse(features):
        return ""
    try:
        array = np.asarray(features)
    except ValueError:  # rows of different lengths
        return ""
    if array.ndim < 2:
        return (
            f"Expected 2D array of records and features, got shape {array.shape}. Reshape your data: "
            "array.reshape(-1, 1) if it has a single feature, array.reshape(1, -1) if it is a single record"
        )
    return _complex(array) or (_text(array) if array.dtype.kind in "OSU" else "")


def _complex(given: ArrayLike) -> str:
    kind = np.asarray(given).dtype
    return f"Complex data not supported, got an array of dtype {kind}" if kind.kind == "c" else ""


def _text(array: NDArray[np.generic]) -> str:
    """Where the first cell is that is no number."""
    for (row, *rest), cell in np.ndenumerate(array):
        try:
            float(cell)
        except ValueError:
            return f"X must hold numbers, got text in record {row}, feature {rest[0]} (counted from 0)"
        except TypeError:
            return ""
    return ""


def refuse(parameters: dict[str, object]) -> None:
    """Refuse what ``fit`` was given beyond X and y, with the reason."""
    if parameters.get("sample_weight") is not None:
        raise ValueError(
            "sample_weight is not supported: a record of weight w moves a gradient w times as far, so the noise would "
            "have to grow with the largest weight; give no sample_weight"
        )
    unknown = sorted(set(parameters) - {"sample_weight"})
    if unknown:
        raise TypeError(f"fit takes X and y, got {', '.join(unknown)} as well")
