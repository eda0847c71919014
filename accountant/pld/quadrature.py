r"""Gauss-Legendre quadrature over loss cells with a proved relative error.

The integrands are a normal density times (1 - e^{-mu s}) or (e^{mu s'} - 1), s and s' the distances from the left and
the right end of a cell: entire functions, so Cauchy's estimate on a disc of radius 24 d bounds the tenth derivative in
the remainder of the five-point rule, (5!)^4 d^11 / (11 (10!)^3) f^(10).

With v = z - mu at the cell's left end, D the cell's width and a panel of width d = D/count such that
d(|v| + D + 2 mu + 4) <= 1/4, on that disc, relative to its least value on the panel, the density is at most
exp(25/4 + (24^2+1)/2/16^2) < 1.7e3, and the other factor is at most 380 times its mean over the panel
(mu d <= 1/8; concavity of 1 - e^{-mu s}, convexity of e^{mu s'} - 1). The relative error is therefore at most
(5!)^4/(11 (10!)^2) 24^-10 * 1.7e3 * 380 < 1.5e-14; `QUADRATURE_ERROR` is 2e-14. For an integrand that changes sign,
density * (e^{mu s} - 1) with |s| <= S and S >= d, the same estimate bounds the error by 2e-14 times
(integral of the density) * (e^{mu S} - 1).
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.certified_exp import Floats

NODES: Final = 5
QUADRATURE_ERROR: Final = 2e-14
PANEL_LIMIT: Final = 0.25
MAX_PANELS: Final = 1 << 21
BLOCK_PANELS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Panels:
    """All quadrature nodes of all cells, panel by panel; what is computed of them is not kept: it may be large."""

    cell: NDArray[np.intp]
    counts: NDArray[np.intp]
    width: Floats
    position: NDArray[np.intp] | None  # of each panel in its cell; None where every cell is one panel

    @property
    def from_left(self) -> Floats:
        """Distances of the nodes from the left end of the cell, panels x NODES."""
        return self._scaled(self.position, unit_rule(NODES)[0])

    @property
    def from_right(self) -> Floats:
        """Distances of the nodes from the right end of the cell."""
        behind = None if self.position is None else self.counts[self.cell] - 1 - self.position
        return self._scaled(behind, unit_rule(NODES)[0][::-1])

    def _scaled(self, panels: NDArray[np.intp] | None, nodes: Floats) -> Floats:
        if panels is None:
            return self.width * nodes
        distances: Floats = panels[:, None] + nodes
        distances *= self.width
        return distances

    def per_cell(self, values: Floats) -> Floats:
        """Return the integral over each cell of a function given at the nodes (shape panels x NODES)."""
        weighted = self.width * unit_rule(NODES)[1]
        weighted *= values
        panel_sums = weighted.sum(axis=1)
        if self.cell.size == self.counts.size:
            return np.asarray(panel_sums)
        return np.asarray(np.bincount(self.cell, weights=panel_sums, minlength=self.counts.size), dtype=np.float64)


def blocks(widths: Floats, steepness: Floats) -> list[slice]:
    """Return runs of cells with about `BLOCK_PANELS` panels each: integrated one after the other they need no more."""
    number = np.maximum(_panel_counts(widths, steepness), 1)
    starts = np.flatnonzero(np.diff(np.cumsum(number) // BLOCK_PANELS, prepend=-1))
    return [slice(int(a), int(b)) for a, b in itertools.pairwise((*starts, widths.size))]


def _panel_counts(widths: Floats, steepness: Floats) -> Floats:
    counts = np.ceil(widths * steepness / (PANEL_LIMIT * (1 - 1e-9)))
    total = float(counts.sum())
    if not total <= MAX_PANELS:
        raise CannotCertifyError(
            f"a step of this kind needs {total:.3g} quadrature panels, more than {MAX_PANELS}: use fewer points"
        )
    return np.asarray(counts)


def panels(widths: Floats, steepness: Floats) -> Panels:
    """Divide cells so that (panel width) * steepness <= 1/4; steepness is |v| + D + 2 mu + 4 of the header."""
    number = np.maximum(_panel_counts(widths, steepness), 1).astype(np.intp)
    if int(number.max()) == 1:
        return Panels(np.arange(number.size), number, widths[:, None], None)
    cell = np.repeat(np.arange(number.size), number)
    position = np.arange(cell.size) - np.repeat(np.cumsum(number) - number, number)
    return Panels(cell, number, (widths[cell] / number[cell])[:, None], position)


@functools.lru_cache(maxsize=4)
def unit_rule(number: int) -> tuple[Floats, Floats]:
    """Return nodes and weights on [0, 1], correctly rounded from balls; nodes are symmetric about 1/2."""
    with arb_precision(120):
        roots = [arb.legendre_p_root(number, number - 1 - k, weight=True) for k in range(number)]
        nodes = np.array([float((1 + root) / 2) for root, _ in roots])
        weights = np.array([float(weight / 2) for _, weight in roots])
    return nodes, weights
