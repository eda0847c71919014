"""Symbols for parameters and vectors, such that the reference's own functions run on them.

Vectors are numpy arrays of z3 terms; parameters (rho, eta, lambda, ...) may stand left of them, as in ``rho * z``.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import z3

from reference.arithmetic import Scalar, Vector, symbols


def parameter(name: str) -> Scalar:
    """An unknown real parameter."""
    return symbols().scalar(z3.Real(name))


def constant(text: str) -> Scalar:
    """A rational constant such as "1/2", as a parameter."""
    return symbols().scalar(z3.RealVal(text))


def vector(name: str, length: int = 1) -> Vector:
    """A vector of unknown reals."""
    return vector_of(*(z3.Real(f"{name}{i}" if length > 1 else name) for i in range(length)))


def vector_of(*terms: z3.ArithRef) -> Vector:
    """The vector of these terms."""
    result = np.empty(len(terms), dtype=object)
    result[:] = terms
    return cast(Vector, result)


def matrix_of(*rows: Vector) -> Vector:
    """The matrix of these rows."""
    result = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        result[i] = row
    return cast(Vector, result)


def only(result: Vector) -> z3.ArithRef:
    """The one entry of a vector of length 1, or of a scalar in an array."""
    return np.asarray(result, dtype=object).reshape(-1).item()


def magnitude(term: z3.ArithRef) -> z3.ArithRef:
    """|term|."""
    return z3.If(term >= 0, term, -term)


def larger(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    """max(a, b)."""
    return z3.If(a >= b, a, b)


def square(term: z3.ArithRef) -> z3.ArithRef:
    """term^2, as a product: solvers treat products better than powers."""
    return term * term
