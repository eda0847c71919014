r"""Multiply out denominators: p/d <= r/e becomes p e <= r d, once d > 0 and e > 0 are proved.

Solvers treat a division by an unknown as a fresh unknown with an equation, which costs them minutes. Here rational
functions become pairs of polynomials over exact rationals. Every distinct denominator is reported, and the caller
must have it *proved positive* from the hypotheses alone. tests/verification/lemmas/test_clearing.py compares both forms
at random points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import z3

Monomial = tuple[str, ...]
Polynomial = dict[Monomial, Fraction]
ONE: Polynomial = {(): Fraction(1)}


@dataclass(frozen=True, slots=True, eq=False)
class Quotient:
    """A numerator over a product of denominators."""

    top: Polynomial
    bottom: tuple[Polynomial, ...]


class Clearing:
    """Rewrites comparisons without division and remembers what it multiplied by."""

    def __init__(self) -> None:
        self._denominators: dict[frozenset[tuple[Monomial, Fraction]], Polynomial] = {}

    def cleared(self, formula: z3.BoolRef) -> z3.BoolRef:
        """The same formula, if every denominator is positive."""
        parts = formula.children()
        if parts and all(z3.is_bool(part) for part in parts):
            return formula.decl()(*(self.cleared(part) for part in parts))
        for is_kind, build in _COMPARISONS:
            if is_kind(formula):
                left, right = (self._quotient(side) for side in parts)
                return build(self._difference(left, right), 0)
        return formula

    def positive(self) -> list[z3.BoolRef]:
        """What was assumed: each denominator is positive."""
        return [_term(polynomial) > 0 for polynomial in self._denominators.values()]

    def _difference(self, left: Quotient, right: Quotient) -> z3.ArithRef:
        missing, extra = _expanding(left, right)
        return _term(_add(_product(left.top, *missing), _scaled(_product(right.top, *extra), -1)))

    def _quotient(self, term: z3.ArithRef) -> Quotient:  # noqa: PLR0911 - one return an operator
        if z3.is_rational_value(term):
            return Quotient({(): term.as_fraction()}, ())
        parts = [self._quotient(child) for child in term.children()]
        if z3.is_add(term):
            return self._sum(parts)
        if z3.is_sub(term):
            return self._sum([parts[0], *(Quotient(_scaled(part.top, -1), part.bottom) for part in parts[1:])])
        if z3.is_app_of(term, z3.Z3_OP_UMINUS):
            return Quotient(_scaled(parts[0].top, -1), parts[0].bottom)
        if z3.is_mul(term):
            bottoms = tuple(factor for part in parts for factor in part.bottom)
            return Quotient(_product(*(part.top for part in parts)), bottoms)
        if z3.is_div(term):
            over, under = parts
            return Quotient(_product(over.top, *under.bottom), (*over.bottom, *self._kept(under.top)))
        if z3.is_const(term):
            return Quotient({(term.decl().name(),): Fraction(1)}, ())
        raise NotImplementedError(f"no polynomial for {term.decl()}")

    def _sum(self, parts: list[Quotient]) -> Quotient:
        total = parts[0]
        for part in parts[1:]:
            missing, extra = _expanding(total, part)
            top = _add(_product(total.top, *missing), _product(part.top, *extra))
            total = Quotient(top, (*total.bottom, *missing))
        return total

    def _kept(self, polynomial: Polynomial) -> tuple[Polynomial, ...]:
        key = frozenset(polynomial.items())
        return (self._denominators.setdefault(key, polynomial),)


_COMPARISONS: tuple[tuple[Callable[[z3.BoolRef], bool], Callable[[z3.ArithRef, int], z3.BoolRef]], ...] = (
    (z3.is_le, lambda a, b: a <= b),
    (z3.is_lt, lambda a, b: a < b),
    (z3.is_ge, lambda a, b: a >= b),
    (z3.is_gt, lambda a, b: a > b),
    (z3.is_eq, lambda a, b: a == b),
    (z3.is_distinct, lambda a, b: a != b),
)


def _expanding(left: Quotient, right: Quotient) -> tuple[list[Polynomial], list[Polynomial]]:
    """The factors by which left and right are expanded to their least common denominator."""
    missing, extra = list(right.bottom), []
    for factor in left.bottom:
        if factor in missing:
            missing.remove(factor)
        else:
            extra.append(factor)
    return missing, extra


def _add(a: Polynomial, b: Polynomial) -> Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def _scaled(a: Polynomial, factor: int) -> Polynomial:
    return {monomial: coefficient * factor for monomial, coefficient in a.items()}


def _product(*factors: Polynomial) -> Polynomial:
    result = ONE
    for factor in factors:
        result = _times(result, factor)
    return result


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for left, p in a.items():
        for right, q in b.items():
            monomial = tuple(sorted(left + right))
            result[monomial] = result.get(monomial, Fraction(0)) + p * q
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def _term(polynomial: Polynomial) -> z3.ArithRef:
    # Sums and products of a single term are no SMT-LIB: both are folded pairwise instead.
    total: z3.ArithRef | None = None
    for monomial, coefficient in sorted(polynomial.items()):
        term = z3.Q(coefficient.numerator, coefficient.denominator)
        for name in monomial:
            term = term * z3.Real(name)
        total = term if total is None else total + term
    return z3.RealVal(0) if total is None else total
