"""What the steps of a composition are made of: pairs of distributions, binary parameters, lattice measures."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from accountant.pld.certified_floats import Floats


class Pair(enum.Enum):
    """Which pair of output distributions of one step a loss distribution belongs to."""

    DOMINATING = "the pair whose profile dominates every step"
    MIXTURE_FIRST = "(1-q)N(0)+qN(1) against N(0)"
    MIXTURE_SECOND = "N(0) against (1-q)N(0)+qN(1)"


@dataclass(frozen=True, slots=True)
class BinaryStep:
    """A step with its parameters rounded to binary64 on the side that suits the end: q, mu = 1/nu, how often."""

    q: float
    mu: float
    count: int
    order: Pair = Pair.DOMINATING
    """At an upper end: the mixture in this order where the pair is known (Poisson batches)."""


@dataclass(frozen=True, slots=True)
class ResponseLosses:
    """`responses` answers of randomised response at epsilon (rounded up), composed: one step."""

    epsilon: float
    responses: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class LaplaceLosses:
    """Laplace noise on everything: epsilon (rounded up) is the L1 sensitivity over the scale."""

    epsilon: float
    count: int


@dataclass(frozen=True, slots=True)
class MixedStep:
    """A step that says aloud which of its parts is taken: (probability, part), rounded up; `rest` is all others'."""

    parts: tuple[tuple[float, BinaryStep], ...]
    rest: float
    count: int


Parts = tuple[tuple[float, float], ...]
"""Weights and shifts of a mixture of unit Gaussians."""


@dataclass(frozen=True, slots=True)
class Mixtures:
    """Two mixtures of Gaussians, the second one's shifts to the other side; `rest` is what the first one lacks.

    At an upper end the weights of the first are rounded up, those of the second down, at a lower end the reverse.
    """

    first: Parts
    second: Parts
    rest: float
    count: int


ComposableStep = BinaryStep | MixedStep | Mixtures | ResponseLosses | LaplaceLosses


@dataclass(frozen=True, slots=True)
class Frame:
    """What all steps of a composition share: lattice spacing, truncation point and tilt."""

    spacing: float
    z_top: float
    theta: float


@dataclass(frozen=True, slots=True)
class Stray:
    r"""What a step that was composed before has lost: its measure differs from an exact one, in the 1-norm.

    n such steps are off by at most e^(n log_mass) (e^(n growth) - 1), tilted: with masses m and a difference of at most
    d, |(m+d)^n - m^n| <= m^n ((1 + d/m)^n - 1). `log_mass` is a bound of log m, scale included, at every level.
    """

    growth: arb
    log_mass: arb


@dataclass(frozen=True, slots=True)
class LatticeStep:
    r"""A measure on {offset + (first + i) spacing}, tilted: true mass e^{theta loss} <= (or >=) e^log_scale masses[i].

    `slack` is what a loss may exceed (or fall short of) its lattice point by; `infinite` bounds the mass at infinity;
    `stray` what the masses lack, where the step is itself a composition (`levels`).
    """

    count: int
    offset: float | Fraction
    first: int
    masses: Floats
    log_scale: arb
    slack: float | Fraction
    infinite: arb
    stray: Stray | None = None
