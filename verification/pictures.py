"""The pictures that checks draw of what they saw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from verification.outcome import Ink, Picture, Points, Series
from verification.wire.arrays import Floats

MOST_POINTS = 160


def pairs(x: Floats, y: Floats) -> Points:
    """Points of two arrays of one length."""
    return tuple(zip(x.tolist(), y.tolist(), strict=True))


def thinned(size: int, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """At most so many places of an array of this size, evenly spread, both ends among them."""
    return np.unique(np.linspace(0, size - 1, most).astype(np.intp))


def quantiles(what: str, noise: Sequence[Floats]) -> Picture:
    """Quantiles of noise over its claimed deviation against the standard normal's."""
    values = np.sort(np.concatenate([np.ravel(array) for array in noise]))
    reach = -float(ndtri(0.5 / values.size)) or 1.0
    shares_below = ndtr(np.linspace(-reach, reach, MOST_POINTS))
    pick = np.unique(np.clip(shares_below * values.size, 0, values.size - 1).astype(np.intp))
    normal = ndtri((pick + 0.5) / values.size)
    return Picture(
        f"Noise quantiles: {what}",
        "Noise as it was drawn, over the claimed sigma. Flatter than the dashed diagonal: too little noise; bent: not "
        "Gaussian.",
        "standard normal quantile",
        "noise / claimed sigma",
        (
            Series("claimed", ((-reach, -reach), (reach, reach)), Ink.CLAIMED),
            Series("seen", pairs(normal, values[pick]), Ink.SEEN, dots=True),
        ),
    )


_SCORES = (
    "One score for each run. The further the curves lie apart, the better an adversary can tell the two data sets."
)


def scores(what: str, first: Floats, second: Floats, caption: str = _SCORES) -> Picture:
    """How a score is distributed on either neighbour: the further apart, the more one run reveals."""
    curves = []
    for label, values, ink in (("first neighbour", first, Ink.SEEN), ("second neighbour", second, Ink.OTHER)):
        ordered = np.sort(values)
        pick = thinned(ordered.size)
        curves.append(Series(label, pairs(ordered[pick], (pick + 1) / ordered.size), ink))
    return Picture(f"Scores of both neighbours: {what}", caption, "score of a run", "share of runs", tuple(curves))


def against_claim(title: str, caption: str, named: dict[str, tuple[float, float]], y_label: str) -> Picture:
    """What was seen beside what is allowed, for each name."""
    places = np.arange(1, len(named) + 1, dtype=np.float64)
    seen, allowed = (np.array([pair[side] for pair in named.values()], dtype=np.float64) for side in (0, 1))
    limits = tuple(
        Series("claimed at most", ((float(x) - 0.3, float(y)), (float(x) + 0.3, float(y))), Ink.CLAIMED)
        for x, y in zip(places, allowed, strict=True)
    )
    return Picture(
        title,
        caption,
        "",
        y_label,
        (*limits, Series("seen", pairs(places, seen), Ink.SEEN, dots=True)),
        tuple(named),
    )


def shares(
    title: str,
    caption: str,
    places: Floats | NDArray[np.intp],
    seen: Floats,
    claimed: float,
    *,
    axes: tuple[str, str],
) -> Picture:
    """A share or a count for each place, and the one that is claimed for all of them."""
    order = np.argsort(places, kind="stable")
    ends = (float(places.min()), float(places.max()))
    return Picture(
        title,
        caption,
        *axes,
        (
            Series("claimed", ((ends[0], claimed), (ends[1], claimed)), Ink.CLAIMED),
            Series(
                "seen", pairs(places[order].astype(np.float64), seen[order].astype(np.float64)), Ink.SEEN, dots=True
            ),
        ),
    )


def coordinates(what: str, got: Floats, right: Floats) -> Picture:
    """Every coordinate of a value, and of the reference's."""
    places = np.arange(1, got.size + 1, dtype=np.float64)
    return Picture(
        f"Coordinates of {what}",
        "The value that the implementation computed, beside the reference's on the same records, batches and noise.",
        "coordinate",
        "value",
        (
            Series("reference", pairs(places, np.ravel(right)), Ink.CLAIMED),
            Series("seen", pairs(places, np.ravel(got)), Ink.SEEN, dots=True),
        ),
    )
