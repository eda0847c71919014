r"""The forward pair's profile at the nodes and its integrals, enclosed by balls.

For y = 1 + qu the forward pair has U_F(u) = G(1+u), and for y = 1/(1+qu) it has D_F(u) = d G(ga/d), d = 1 - u(1-q)
(0 where d <= 0), G(y) = Phi(mu/2 - ln y/mu) - y Phi(-mu/2 - ln y/mu). Slopes: U_F' = -Phi(-mu/2 - ln(1+u)/mu) and
D_F' = -(1-q) Phi(r) - q Phi(r - mu), r = mu/2 - ln(ga/d)/mu.

The certificate compares integrals against two weights, with a rise l >= 0 (`docs/reference/adversary.md`, Theorem 2):

    ahead (y > 1):   q (1+qu)^{-3/2-l} du = e^{-(1/2+l) v} dv,
    behind (y < 1):  q (1+qu)^{-3/2+l} du = e^{-(1/2-l) v} dv,     v = ln(1+qu).

A profile below its chords integrates to at most sum (left_j U_j + right_j U_{j+1}); the convex U_F, D_F lie above their
tangents, which gives lower bounds of their integrals (`_PIECES` tangents a cell). `gap` bounds chord minus function
inside a cell: Delta (slope right - slope left)/4.

Nodes reach to z = 7 (u = e^{mu z} - 1) where triples are bounded one by one, and to z = 24 where all are bounded by
U_F. Beyond the last node a profile is at most (1-y)_+ + `rest`, rest = q U_F(u_M), about 1e-126 q: `leader` counts as
much of each step as infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb

from accountant.numbers import arb_precision
from accountant.pld.adversary.triples import Nodes
from accountant.pld.certified_exp import Floats
from accountant.pld.rounding import float_above, float_below

_BITS: Final = 160
_PIECES: Final = 4
_LAST_Z: Final = 7.0
_FAR_Z: Final = 24.0
_FAR_STEP: Final = 0.4


@dataclass(frozen=True, slots=True)
class _Point:
    """U_F, D_F and their slopes at u."""

    u: arb
    forward: arb
    forward_slope: arb
    backward: arb
    backward_slope: arb


@dataclass(frozen=True, slots=True)
class _Tangent:
    """Tangents of U_F and D_F: value at u = 0 and slope."""

    forward: arb
    forward_slope: arb
    backward: arb
    backward_slope: arb


@dataclass(frozen=True, slots=True)
class _Cut:
    """u, y = 1+qu and log y."""

    u: arb
    y: arb
    log_y: arb


@dataclass(frozen=True, slots=True)
class Reference:
    """The forward pair at all nodes 0..M (`low` rounded down, the others up), and what its integrals are made of."""

    nodes: Nodes
    forward_low: Floats
    backward_low: Floats
    forward_high: Floats
    gap: Floats
    cuts: list[_Cut]
    """The ends of the pieces of all cells, `_PIECES` to a cell."""
    tangents: list[_Tangent]
    """One to a piece."""


@dataclass(frozen=True, slots=True)
class Side:
    """One weight: its share of both ends of a cell, rounded up, and the integrals up to each node, rounded down."""

    left: Floats
    right: Floats
    forward: Floats
    backward: Floats


@dataclass(frozen=True, slots=True)
class Integrals:
    """Both weights for a rise."""

    ahead: Side
    behind: Side


def grid(q: float, mu: float, *, fineness: float = 1.0) -> Nodes:
    """Return nodes: u = e^{mu z} - 1 for z from 0 to 7, finer near 0, and the quadrature points."""
    z = [0.004 / fineness]
    while z[-1] < _LAST_Z:
        z.append(z[-1] + min(0.004 + 0.12 * z[-1], 0.045 if z[-1] < 4 else 0.15) / fineness)
    u = np.expm1(mu * np.array(z))
    quadrature = [-1e-4]
    while quadrature[-1] > -8.5:
        distance = -quadrature[-1]
        quadrature.append(-(distance + min(0.001 + 0.15 * distance, 0.02 if distance < 4 else 0.1) / fineness))
    with arb_precision(_BITS):
        log_al = [float_below((arb(float(x)) * (1 - arb(q))).log()) for x in u]
    return Nodes(q, mu, u, np.array(log_al), np.array(quadrature[::-1]))


def reference(nodes: Nodes) -> Reference:
    """Return the enclosures for the nodes."""
    with arb_precision(_BITS):
        u = [arb(0)] + [arb(float(x)) for x in np.concatenate([nodes.u, far_nodes(nodes.mu)])]
        ends = [_forward(nodes, x) for x in u]
        return Reference(
            nodes=nodes,
            forward_low=np.array([float_below(end.forward) for end in ends]),
            backward_low=np.array([float_below(end.backward) for end in ends]),
            forward_high=np.array([float_above(end.forward) for end in ends]),
            gap=np.array([float_above(_gap(ends[j], ends[j + 1])) for j in range(len(u) - 1)]),
            cuts=[_cut(nodes, x) for j in range(len(u) - 1) for x in _parts(u[j], u[j + 1])] + [_cut(nodes, u[-1])],
            tangents=[_tangent(nodes, x) for j in range(len(u) - 1) for x in _middles(u[j], u[j + 1])],
        )


def integrals(ref: Reference, rise: float) -> Integrals:
    """Return the weights of a rise and the forward pair's integrals against them."""
    with arb_precision(_BITS):
        tilt, half = arb(rise), arb(0.5)
        powers = [(-(half + tilt) * cut.log_y).exp() for cut in ref.cuts]
        inverse = [1 / (cut.y * power) for cut, power in zip(ref.cuts, powers, strict=True)]
        return Integrals(_side(ref, tilt, powers), _side(ref, -tilt, inverse))


def rest(q: float, mu: float) -> arb:
    """Return q U_F at the last node: what any triple has beyond it."""
    with arb_precision(_BITS):
        u = arb(float(far_nodes(mu)[-1]))
        return arb((arb(q) * _forward(Nodes(q, mu, np.empty(0), np.empty(0), np.empty(0)), u).forward).upper())


def far_nodes(mu: float) -> Floats:
    """Return the nodes beyond those of `grid`."""
    points = np.arange(_LAST_Z + 0.3, _FAR_Z + _FAR_STEP, _FAR_STEP)
    return np.expm1(mu * points)


def _phi(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _cut(nodes: Nodes, u: arb) -> _Cut:
    y = 1 + arb(nodes.q) * u
    return _Cut(u, y, y.log())


def _tangent(nodes: Nodes, u: arb) -> _Tangent:
    at = _forward(nodes, u)
    return _Tangent(
        at.forward - at.forward_slope * u, at.forward_slope, at.backward - at.backward_slope * u, at.backward_slope
    )


def _parts(a: arb, b: arb) -> list[arb]:
    """Return the left ends of the pieces of a cell."""
    return [a + (b - a) * i / _PIECES for i in range(_PIECES)]


def _middles(a: arb, b: arb) -> list[arb]:
    """Return numbers near the middles of the pieces of a cell: tangents hold wherever they touch."""
    return [arb((a + (b - a) * (2 * i + 1) / (2 * _PIECES)).mid()) for i in range(_PIECES)]


def _forward(nodes: Nodes, u: arb) -> _Point:
    q, mu = arb(nodes.q), arb(nodes.mu)
    log = (1 + u).log() / mu
    behind = _phi(-mu / 2 - log)
    upper = _phi(mu / 2 - log) - (1 + u) * behind
    d, ga = 1 - u * (1 - q), 1 + q * u
    if not d > 0:
        return _Point(u, upper, -behind, arb(0), arb(0))
    r = mu / 2 - (ga / d).log() / mu
    near, far = _phi(r), _phi(r - mu)
    return _Point(u, upper, -behind, d * near - ga * far, -(1 - q) * near - q * far)


def _gap(a: _Point, b: _Point) -> arb:
    rise = b.forward_slope - a.forward_slope + b.backward_slope - a.backward_slope
    return (b.u - a.u) * rise / 4


def _side(ref: Reference, tilt: arb, powers: list[arb]) -> Side:
    """Return the weight q (1+qu)^{-3/2-tilt}; `powers` are (1+qu)^{-1/2-tilt}, and tilt must not be -1/2 or 1/2."""
    more, less, q = arb(0.5) + tilt, arb(0.5) - tilt, arb(ref.nodes.q)
    mass = [-power / more for power in powers]
    moment = [
        (cut.y * power / less - one) / q for cut, power, one in zip(ref.cuts, powers, mass, strict=True)
    ]  # antiderivatives of the weight and of u times the weight
    left, right, forward, backward = [], [], [arb(0)], [arb(0)]
    for start in range(0, len(ref.tangents), _PIECES):
        stop = start + _PIECES
        a, b = ref.cuts[start].u, ref.cuts[stop].u
        whole = mass[stop] - mass[start]
        right.append((moment[stop] - moment[start] - a * whole) / (b - a))
        left.append(whole - right[-1])
        ahead, behind = forward[-1], backward[-1]
        for i in range(start, stop):
            at, one, first = ref.tangents[i], mass[i + 1] - mass[i], moment[i + 1] - moment[i]
            ahead += at.forward * one + at.forward_slope * first
            behind += at.backward * one + at.backward_slope * first
        forward.append(ahead)
        backward.append(behind)
    return Side(
        left=np.array([float_above(x) for x in left]),
        right=np.array([float_above(x) for x in right]),
        forward=np.array([0.0] + [float_below(x) for x in forward[1:]]),
        backward=np.array([0.0] + [float_below(x) for x in backward[1:]]),
    )
