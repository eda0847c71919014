r"""z3 terms: the shipped functions become formulas, and lemmas are proved about them.

``exp`` and ``sqrt`` have no theory in the solver. Each becomes a fresh variable together with facts that hold for
the real function, collected in :data:`FACTS`; a lemma adds those facts to its hypotheses. Fewer facts can only make
a lemma harder to prove, never easier.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import cast

import numpy as np
import z3
from numpy.typing import NDArray

from reference.arithmetic.elementwise import ObjectSums, elementwise
from reference.arithmetic.system import Vector
from reference.errors import NotExpressible

FACTS: ContextVar[list[z3.BoolRef] | None] = ContextVar("FACTS", default=None)


def _record(*facts: z3.BoolRef) -> None:
    collected = FACTS.get()
    if collected is None:
        raise NotExpressible("exp and sqrt on symbols need a list of facts to write to: set in_symbols.FACTS")
    collected.extend(facts)


def _term(value: object) -> z3.ArithRef:
    """A term as it is, a Python number as the rational it is."""
    if isinstance(value, (int, float)):
        numerator, denominator = float(value).as_integer_ratio()
        return z3.RealVal(f"{numerator}/{denominator}")
    return value


def _exp(argument: z3.ArithRef) -> z3.ArithRef:
    value = z3.FreshReal("exp")
    _record(
        value > 0,
        z3.Implies(argument <= 0, value <= 1),
        z3.Implies(argument == 0, value == 1),
        z3.Implies(argument >= 0, value >= 1 + argument),
    )
    return value


def _sqrt(argument: z3.ArithRef) -> z3.ArithRef:
    value = z3.FreshReal("sqrt")
    _record(value >= 0, value * value == argument)
    return value


class Parameter(z3.ArithRef):  # type: ignore[misc]  # z3 ships no types
    """A scalar term that may stand left of an array: z3's own would refuse one instead of leaving it to numpy."""

    @classmethod
    def of(cls, term: z3.ArithRef) -> Parameter:
        """The same term; what is computed from it stays a parameter."""
        return cls(term.as_ast(), term.ctx)


def _leaving_arrays_to_numpy(name: str) -> Callable[[Parameter, object], Parameter]:
    inherited = getattr(z3.ArithRef, name)

    def operation(parameter: Parameter, other: object) -> Parameter:
        if isinstance(other, np.ndarray):
            return cast(Parameter, NotImplemented)
        return Parameter.of(inherited(parameter, other))

    return operation


for _name in ("add", "sub", "mul", "truediv"):
    for _side in ("", "r"):
        setattr(Parameter, f"__{_side}{_name}__", _leaving_arrays_to_numpy(f"__{_side}{_name}__"))


class Symbols(ObjectSums):
    """The number system of z3 terms over the reals."""

    name = "symbols"

    def scalar(self, value: float) -> float:
        """A parameter: a term as it is, a Python float as the rational it is."""
        return cast(float, Parameter.of(_term(value)))

    def array(self, values: Vector) -> Vector:
        """float64 values as the rationals they are."""
        return elementwise(_term, values)

    def greater(self, a: Vector, b: Vector | float) -> NDArray[np.bool_]:
        """The formula ``a > b``."""
        return np.asarray(elementwise(lambda s, t: s > t, a, b), dtype=object)

    def where(self, mask: NDArray[np.bool_], a: Vector | float, b: Vector | float) -> Vector:
        """If-then-else."""
        return elementwise(lambda c, s, t: z3.If(c, _term(s), _term(t)), mask, a, b)

    def maximum(self, a: Vector, b: Vector | float) -> Vector:
        """The larger of two terms."""
        return elementwise(lambda s, t: z3.If(s > t, s, _term(t)), a, b)

    def minimum(self, a: Vector, b: Vector | float) -> Vector:
        """The smaller of two terms."""
        return elementwise(lambda s, t: z3.If(s < t, s, _term(t)), a, b)

    def absolute(self, a: Vector) -> Vector:
        """The absolute value."""
        return elementwise(lambda s: z3.If(s >= 0, s, -s), a)

    def sqrt(self, a: Vector) -> Vector:
        """A fresh variable whose square is the argument."""
        return elementwise(_sqrt, a)

    def exp(self, a: Vector) -> Vector:
        """A fresh variable with facts that hold for the exponential."""
        return elementwise(_exp, a)

    def log1p(self, a: Vector) -> Vector:  # noqa: ARG002 - refused whatever the argument
        """No solver theory: refused."""
        raise NotExpressible("log1p has no facts that a lemma here needs")

    def norm(self, a: Vector) -> Vector:
        """The Euclidean norm over the last axis."""
        return self.sqrt(self.sum(a * a))

    def all_finite(self, a: Vector) -> bool:  # noqa: ARG002 - a term over the reals always is
        """Reals are finite."""
        return True


SYMBOLS = Symbols()
