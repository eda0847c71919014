"""What an adversary looks at: every released number in one row, with the shapes that were released as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from verification.wire.arrays import Floats

_HUGE = 1e150


@dataclass(frozen=True, slots=True)
class Layout:
    """The names and widths of one row; fixed on the runs that teach, so that later runs give rows of the same width."""

    widths: tuple[tuple[str, int], ...]

    def rows(self, values: Mapping[str, Floats]) -> Floats:
        """Return one row a run; what is missing is 0.

        The number of values and of those that are not finite is part of the row: an output that is longer, or NaN, on
        one of the neighbours tells them apart.
        """
        count = len(next(iter(values.values())))
        columns: list[Floats] = []
        known = {name for name, _ in self.widths}
        for name, width in self.widths:
            flat = values[name].reshape(count, -1) if name in values else np.zeros((count, 0))
            finite = np.isfinite(flat)
            row = np.zeros((count, width))
            used = min(width, flat.shape[1])
            row[:, :used] = np.clip(np.where(finite, flat, 0.0), -_HUGE, _HUGE)[:, :used]
            sizes = np.full(count, float(flat.shape[1] if name in values else -1))
            columns += [row, sizes[:, None], (flat.shape[1] - finite.sum(axis=1))[:, None].astype(np.float64)]
        surplus = sum(array[0].size if count else 0 for name, array in values.items() if name not in known)
        return np.hstack([*columns, np.full((count, 1), float(surplus))])


def layout_of(first: Mapping[str, Floats], second: Mapping[str, Floats]) -> Layout:
    """Return a layout that holds everything that either side released."""
    widths: dict[str, int] = {}
    for values in (first, second):
        for name, array in values.items():
            widths[name] = max(widths.get(name, 0), array.reshape(len(array), -1).shape[1])
    return Layout(tuple(sorted(widths.items())))


def joined(parts: list[Floats]) -> Floats:
    """Return chunks of rows below each other."""
    return np.vstack(parts)
