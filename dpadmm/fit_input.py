"""What ``fit`` and ``predict`` take: records, dense or sparse; targets as they were written; nothing else."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

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
