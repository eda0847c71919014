"""Two composed steps by direct double integration at 20 digits: no lattice, no rounding of losses, no transform."""

from __future__ import annotations

from mpmath import MPContext, mpf

from tests.accountant.moments import Which


class TwoSteps:
    """delta(epsilon) of two equal steps by one integral over the first step, at 20 digits."""

    def __init__(self, q: str, nu: str) -> None:
        self.mp = MPContext()
        self.mp.dps = 20
        self.q = self.mp.mpf(q)
        self.mu = 1 / self.mp.mpf(nu)

    def delta(self, which: Which, epsilon: str) -> mpf:
        """Integrate the profile of the second step over the loss of the first."""
        mp, eps = self.mp, self.mp.mpf(epsilon)
        base = mp.mpf(0)
        parts = []
        if which is not Which.SECOND:
            parts.append(lambda z: self._density(z) * self._y(z) * self._profile(which, mp.exp(eps) / self._y(z)))
        if which is not Which.FIRST:
            parts.append(lambda z: self._density(z) * self._profile(which, mp.exp(eps) * self._y(z)))
        if which is Which.DOMINATING:
            atom = (1 - self.q) * mp.erf(self.mu / mp.sqrt(8))
            base = atom * self._profile(which, mp.exp(eps))
        kink = self._point(mp.exp(eps))
        low = self.mu / 2 if which is Which.DOMINATING else mp.mpf(-14)
        points = sorted({low, low + 1, low + 3, self.mu / 2 + mp.mpf("0.01"), kink, kink + 1, kink + 3, kink + 9})
        inside = [point for point in points if point >= low] + [max(points) + 30]
        return base + sum((mp.quad(part, inside) for part in parts), mp.mpf(0))

    def _density(self, z: mpf) -> mpf:
        return self.mp.exp(-z * z / 2) / self.mp.sqrt(2 * self.mp.pi)

    def _y(self, z: mpf) -> mpf:
        return 1 + self.q * self.mp.expm1(self.mu * (z - self.mu / 2))

    def _point(self, y: mpf) -> mpf:
        return self.mp.log1p((y - 1) / self.q) / self.mu + self.mu / 2

    def _profile(self, which: Which, y: mpf) -> mpf:
        mirrored = which is Which.SECOND or (which is Which.DOMINATING and y < 1)
        return 1 - y + y * self._first(1 / y) if mirrored else self._first(y)

    def _first(self, y: mpf) -> mpf:
        """The profile of (1-q)N(0)+qN(mu) against N(0) at any y > 0."""
        if y <= 1 - self.q:
            return 1 - y
        z = self._point(y)
        above_base, above_shifted = self._tail(z), self._tail(z - self.mu)
        return self.q * above_shifted + (1 - self.q) * above_base - y * above_base

    def _tail(self, x: mpf) -> mpf:
        return self.mp.erfc(x / self.mp.sqrt(2)) / 2
