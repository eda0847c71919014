"""Domains that break naive formulas: what the tests of the reference draw from."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from reference.arithmetic import Vector

LARGEST = float(np.finfo(np.float64).max)
LEAST = float(np.nextafter(0.0, 1.0))  # the least subnormal

# Any finite number, with the ends of the range given weight of their own.
finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, LEAST, -LEAST, 2.0**-1022, LARGEST, -LARGEST, 1.0, -1.0]),
)
moderate = st.floats(-1e6, 1e6, allow_subnormal=True)
positive = st.floats(1e-3, 1e3)


def vectors(length: int, elements: st.SearchStrategy[float] = moderate) -> st.SearchStrategy[Vector]:
    """Vectors of a given length."""
    return st.lists(elements, min_size=length, max_size=length).map(np.array)


def rows(elements: st.SearchStrategy[float]) -> st.SearchStrategy[Vector]:
    """Small matrices whose rows are drawn apart, so that zero, collinear, denormal and huge rows meet."""
    return st.integers(1, 4).flatmap(
        lambda p: st.lists(
            st.one_of(vectors(p, elements), st.just(np.zeros(p)), st.just(np.ones(p)), st.just(np.full(p, LEAST))),
            min_size=1,
            max_size=5,
        ).map(np.array)
    )
