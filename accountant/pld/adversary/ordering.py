r"""The certificate: no triple is worse than the leader, on windows and on stairs.

Write r(v) = e^{-v/2} times the profile above or below y = e^v; in u, with weight w(u) du (`nodes`), a triple has U on
the side y > 1 and D on the side y < 1; the leader has U_L = (1+eta) U_F and D_L = (1+eta)((1-s) D_F + s U_F).
U_t <= U_F <= U_L for every triple, so the two orders of functions needed by `recursion` come down to

    (windows)  int_0^X (U_t + D_t) w du <= int_0^X (U_L + D_L) w du                           for all X > 0,
    (stairs)   int_0^inf U_t w+ du + int_0^X D_t w- du <= int_0^inf U_L w+ du + int_0^X D_L w- du   for all X >= 0,

w = q (1+qu)^{-3/2}, w+ and w- the weights ahead and behind of a rise (`nodes`); (stairs) in both orders (U_t, D_t) and
(D_t, U_t), (windows) is the same in both. For a box of triples U_t and D_t are bounded at the nodes, hence by chords
between them. With b_j the value of the integrand's bound at node j (chords minus leader: concave inside a cell, at
most `gap` above its own chord) and E_j the bound of the difference of the integrals up to node j, inside cell j the
difference is at most E_j + (left_j + right_j) max(0, gap_j + max(b_j, b_{j+1})), or at most E_{j+1} if b_j, b_{j+1} >=
0. The b_j are known from above only, to 5 `_SUMS` of the values; what they may be below 0 by is added in the second
case. Beyond the last node U_t <= U_L, and D_t, at most `rest` there, is left out: K_t is bounded but for that constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from accountant.errors import CannotCertifyError, CertificateError
from accountant.limits import check_time
from accountant.numbers import arb_precision
from accountant.pld.adversary.cover import Box, find_cover, kept_boxes, squares
from accountant.pld.adversary.leader import Leader
from accountant.pld.adversary.nodes import Integrals, Reference, Side, grid, integrals, reference, shape, upper_profile
from accountant.pld.certified_floats import SCALAR_BITS, Floats, float_above

MOST_RISE: Final = 1e6
_SUMS: Final = 1e-12
"""Relative margin for sums of at most 2000 float64 products: (n + 4) u < 3e-13."""


@dataclass(frozen=True, slots=True)
class Stairs:
    """What blocks may use: a leader that bounds every triple on stairs of the rise, and the cover that shows it."""

    leader: Leader
    rise: float
    cover: str


@dataclass(frozen=True, slots=True)
class Ordering:
    """A certificate: the leader of single steps and its cover, the stairs for blocks, the fineness of the nodes."""

    single: Leader
    windows: str
    stairs: tuple[Stairs, ...]
    fineness: float


class Judge:
    """Decides, for given q and mu, whether all triples of a box are below a leader."""

    def __init__(self, q: float, mu: float, fineness: float) -> None:
        if not (0 < q < 1 and 0 < mu < 20 and 0.25 <= fineness <= 16):
            raise CannotCertifyError(f"no adversary is certified for q={q}, mu={mu}, fineness={fineness}")
        self.reference: Reference = reference(grid(q, mu, fineness=fineness))
        self._profiles: dict[Box, tuple[Floats, Floats]] = {}
        self._integrals: dict[float, Integrals] = {}

    def integrals(self, rise: float) -> Integrals:
        """Return the weights of a rise and the forward pair's integrals against them."""
        if not (0 <= rise <= MOST_RISE and abs(rise - 0.5) > 1e-3):
            raise CertificateError(f"no stairs have a rise of {rise}")
        if rise not in self._integrals:
            check_time()
            self._integrals[rise] = integrals(self.reference, rise)
        return self._integrals[rise]

    def profiles(self, box: Box) -> tuple[Floats, Floats]:
        """Return upper bounds of U and D over the box, at nodes 0..M."""
        if box not in self._profiles:
            check_time()
            s = squares(box)
            self._profiles[box] = (
                self._upper(s.a_high, s.b_high, s.r_low),
                self._upper(s.r_high, s.b_high, s.a_low),
            )
        return self._profiles[box]

    def _upper(self, first: float, second: float, opposite_low: float) -> Floats:
        """Bound U over triples with A <= first, B <= second, R >= opposite_low; S12 <= min(A, B) as none is obtuse."""
        ref = self.reference
        product = min(float(np.nextafter((first + second - opposite_low) / 2 * (1 + 1e-15), 2.0)), first, second)
        s = shape(ref.nodes.mu, first, second, max(product, 0.0))
        with arb_precision(SCALAR_BITS):
            start = float_above((arb(s.b) / arb(8).sqrt()).erf())
        values = ref.forward_high.copy()
        near = slice(1, ref.nodes.u.size + 1)
        values[0] = min(start, float(values[0]))
        values[near] = np.minimum(upper_profile(ref.nodes, s), values[near])
        return values

    def _for(self, leader: Leader) -> Reference:
        nodes = self.reference.nodes
        if (leader.q, leader.mu) != (nodes.q, nodes.mu) or not leader.is_profile():
            raise CertificateError(f"{leader} is no leader for q={nodes.q}, mu={nodes.mu}")
        return self.reference

    def windows_hold(self, boxes: Sequence[Box], leader: Leader) -> NDArray[np.bool_]:
        """Say of each box whether (windows) is proved for every triple in it."""
        ref, weights = self._for(leader), self.integrals(0.0)
        up, down = self._stacked(boxes)
        scale = (1 + leader.lift) * (1 - _SUMS)
        low, integral = _leader_below(ref, weights.behind, leader)
        low, integral = low + scale * ref.forward_low, integral + scale * weights.behind.forward
        factor = (1 + leader.share) * (1 + leader.lift)
        return self._never_above(weights, up + down, (low, integral), start=np.zeros(len(boxes)), factor=factor)

    def stairs_hold(self, boxes: Sequence[Box], leader: Leader, rise: float) -> NDArray[np.bool_]:
        """Say of each box whether (stairs) is proved for every triple in it, in both orders."""
        ref, weights = self._for(leader), self.integrals(rise)
        up, down = self._stacked(boxes)
        leading = _leader_below(ref, weights.behind, leader)
        total = (1 + leader.lift) * float(weights.ahead.forward[-1]) * (1 - _SUMS)
        one, other = (
            self._never_above(
                weights,
                second,
                leading,
                start=np.minimum(_whole(weights.ahead, first) - total, 0.0),
                factor=1 + leader.lift,
            )
            for first, second in ((up, down), (down, up))
        )
        return one & other

    def _stacked(self, boxes: Sequence[Box]) -> tuple[Floats, Floats]:
        both = np.array([self.profiles(box) for box in boxes])
        return both[:, 0], both[:, 1]

    def _never_above(
        self, weights: Integrals, values: Floats, leading: tuple[Floats, Floats], *, start: Floats, factor: float
    ) -> NDArray[np.bool_]:
        """Say of each row whether start + int_0^X (chords of values - leader) w- du <= 0 for all X; NaN says no."""
        side, (low, integral) = weights.behind, leading
        excess = start[:, None] + _chord_integrals(side, values) * (1 + _SUMS) - integral * (1 - _SUMS)
        bracket = values * (1 + _SUMS) - low * (1 - _SUMS)
        before, after = bracket[:, :-1], bracket[:, 1:]
        bump = np.maximum(self.reference.gap * factor + np.maximum(before, after), 0.0)
        weight = (side.left + side.right) * (1 + _SUMS)
        falling = 8 * _SUMS * np.maximum(values[:, :-1], values[:, 1:])
        inside = np.where(
            (before >= 0) & (after >= 0), excess[:, 1:] + weight * falling, excess[:, :-1] + weight * bump
        )
        held: NDArray[np.bool_] = np.all(inside <= 0, axis=1) & np.all(excess <= 0, axis=1)
        return held


def _whole(side: Side, values: Floats) -> Floats:
    """Return the whole integrals of the chords, rounded up (the caller knows that they are at most that of U_F)."""
    return _chord_integrals(side, values)[:, -1] * (1 + _SUMS)


def _chord_integrals(side: Side, values: Floats) -> Floats:
    """Return the integrals of the chords up to each node, a row for each box; weights and values are >= 0."""
    result: Floats = np.zeros(values.shape)
    np.cumsum(side.left * values[:, :-1] + side.right * values[:, 1:], axis=1, out=result[:, 1:])
    return result


def _leader_below(ref: Reference, side: Side, leader: Leader) -> tuple[Floats, Floats]:
    """Return D_L at the nodes and its integrals up to them, rounded down."""
    keep, scale = 1 - leader.share, (1 + leader.lift) * (1 - _SUMS)
    low = scale * (keep * ref.backward_low + leader.share * ref.forward_low)
    integral = scale * (keep * side.backward + leader.share * side.forward)
    return low, integral


def check(ordering: Ordering) -> None:
    """Verify a certificate; raise `CertificateError` unless every box of every complete cover holds."""
    single = ordering.single
    for leader in (single, *(entry.leader for entry in ordering.stairs)):
        if (leader.q, leader.mu) != (single.q, single.mu):
            raise CertificateError("the leaders of a certificate must be for the same step")
        if not leader.is_profile():
            raise CertificateError(f"share {leader.share} and lift {leader.lift} make no profile")
    judge = Judge(single.q, single.mu, ordering.fineness)
    check_windows(judge, single, ordering.windows)
    for entry in ordering.stairs:
        check_stairs(judge, entry)


def check_windows(judge: Judge, leader: Leader, cover: str) -> None:
    """Raise `CertificateError` unless the cover is complete and the leader bounds every window on each box."""
    boxes = list(kept_boxes(cover))
    for box, held in zip(boxes, judge.windows_hold(boxes, leader), strict=True):
        if not held:
            raise CertificateError(f"a window is not dominated on {box}")


def check_stairs(judge: Judge, stairs: Stairs) -> None:
    """Raise `CertificateError` unless the cover is complete and the leader bounds every stair on each box."""
    boxes = list(kept_boxes(stairs.cover))
    for box, held in zip(boxes, judge.stairs_hold(boxes, stairs.leader, stairs.rise), strict=True):
        if not held:
            raise CertificateError(f"a stair of rise {stairs.rise} is not dominated on {box}")


def find_windows(judge: Judge, leader: Leader, most_boxes: int, hint: frozenset[Box] = frozenset()) -> str | None:
    """Return a cover for single steps, or None."""
    return find_cover(lambda boxes: judge.windows_hold(boxes, leader).tolist(), most_boxes=most_boxes, hint=hint)


def find_stairs(
    judge: Judge, leader: Leader, rise: float, most_boxes: int, hint: frozenset[Box] = frozenset()
) -> str | None:
    """Return a cover for blocks on stairs of the given rise, or None."""
    return find_cover(lambda boxes: judge.stairs_hold(boxes, leader, rise).tolist(), most_boxes=most_boxes, hint=hint)
