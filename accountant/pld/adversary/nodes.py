r"""The forward pair's profile at the nodes and its integrals, enclosed by balls.

For y = 1 + qu the forward pair has U_F(u) = G(1+u), and for y = 1/(1+qu) it has D_F(u) = d G(ga/d), d = 1 - u(1-q)
(0 where d <= 0), G(y) = Phi(mu/2 - ln y/mu) - y Phi(-mu/2 - ln y/mu). Slopes: U_F' = -Phi(-mu/2 - ln(1+u)/mu) and
D_F' = -(1-q) Phi(r) - q Phi(r - mu), r = mu/2 - ln(ga/d)/mu.

The certificate compares integrals against w(u) du = q (1+qu)^{-3/2} du = e^{-v/2} dv, v = ln(1+qu). A profile below its
chords integrates to at most sum (left_j U_j + right_j U_{j+1}); the convex U_F, D_F lie above their tangents, which
gives lower bounds of their integrals (`pieces` tangents a cell). `gap` bounds chord minus function inside a cell:
Delta (slope right - slope left)/4.
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


@dataclass(frozen=True, slots=True)
class Reference:
    """Arrays over nodes 0..M or cells 0..M-1; `low` and `integral` are rounded down, the others up."""

    nodes: Nodes
    forward_low: Floats
    backward_low: Floats
    forward_high: Floats
    forward_integral: Floats
    backward_integral: Floats
    gap: Floats
    left: Floats
    right: Floats
    tail: float
    start: float
    """U_F(0) = D_F(0), rounded up."""


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
        u = [arb(0)] + [arb(float(x)) for x in nodes.u]
        values = [_forward(nodes, x) for x in u]
        cells = [_cell(nodes, u[j], u[j + 1], values[j], values[j + 1]) for j in range(len(u) - 1)]
        forward, backward = [arb(0)], [arb(0)]
        for cell in cells:
            forward.append(forward[-1] + cell[2])
            backward.append(backward[-1] + cell[3])
        return Reference(
            nodes=nodes,
            forward_low=np.array([float_below(v[0]) for v in values]),
            backward_low=np.array([float_below(v[2]) for v in values]),
            forward_high=np.array([float_above(v[0]) for v in values]),
            forward_integral=np.array([0.0] + [float_below(x) for x in forward[1:]]),
            backward_integral=np.array([0.0] + [float_below(x) for x in backward[1:]]),
            gap=np.array([float_above(cell[4]) for cell in cells]),
            left=np.array([float_above(cell[0]) for cell in cells]),
            right=np.array([float_above(cell[1]) for cell in cells]),
            tail=float_above(_tail(nodes, u[-1])),
            start=float_above(values[0][0]),
        )


def _phi(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _forward(nodes: Nodes, u: arb) -> tuple[arb, arb, arb, arb]:
    """Return U_F, U_F', D_F, D_F' at u."""
    q, mu = arb(nodes.q), arb(nodes.mu)
    log = (1 + u).log() / mu
    upper = _phi(mu / 2 - log) - (1 + u) * _phi(-mu / 2 - log)
    d, ga = 1 - u * (1 - q), 1 + q * u
    if not d > 0:
        return upper, -_phi(-mu / 2 - log), arb(0), arb(0)
    r = mu / 2 - (ga / d).log() / mu
    lower = d * _phi(r) - ga * _phi(r - mu)
    return upper, -_phi(-mu / 2 - log), lower, -(1 - q) * _phi(r) - q * _phi(r - mu)


def _moments(nodes: Nodes, a: arb, b: arb) -> tuple[arb, arb]:
    """Return the integrals of w and of w u over [a, b]."""
    q = arb(nodes.q)
    low, high = (1 + q * a).sqrt(), (1 + q * b).sqrt()
    return 2 / low - 2 / high, (2 / q) * (high + 1 / high - low - 1 / low)


def _cell(nodes: Nodes, a: arb, b: arb, at_a: tuple[arb, ...], at_b: tuple[arb, ...]) -> tuple[arb, arb, arb, arb, arb]:
    """Return the weights of both ends, lower integrals of U_F and D_F, and the larger gap."""
    whole, first = _moments(nodes, a, b)
    right = (first - a * whole) / (b - a)
    forward, backward = arb(0), arb(0)
    for i in range(_PIECES):
        low, high = a + (b - a) * i / _PIECES, a + (b - a) * (i + 1) / _PIECES
        middle = arb(((low + high) / 2).mid())
        mass, moment = _moments(nodes, low, high)
        value = _forward(nodes, middle)
        forward += value[0] * mass + value[1] * (moment - middle * mass)
        backward += value[2] * mass + value[3] * (moment - middle * mass)
    gap = (b - a) * (at_b[1] - at_a[1] + at_b[3] - at_a[3]) / 4
    return whole - right, right, forward, backward, gap


def _tail(nodes: Nodes, u: arb) -> arb:
    r"""Bound the integral of w U_F beyond u: int_y^inf G = E_Q (P/Q - y)_+^2 / 2, and w <= q."""
    mu, y = arb(nodes.mu), 1 + u
    log = y.log() / mu
    square = (mu * mu).exp() * _phi(3 * mu / 2 - log) - 2 * y * _phi(mu / 2 - log) + y * y * _phi(-mu / 2 - log)
    return arb(nodes.q) * square / 2
