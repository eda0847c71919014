"""A picture as inline SVG: axes, ticks, curves, dots; no library, no script, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from verification.picture import Picture, Points, Series

_WIDTH, _HEIGHT = 460, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 14, 44
_LARGEST = 1e150
"""A wrong implementation may show values of any size; what is larger or not finite is left out, and that is said."""


def figure(picture: Picture) -> str:
    """Return a <figure>; an empty picture says so instead of showing empty axes."""
    title = escape(picture.title)
    shown = [series for series in map(_drawable, picture.series) if series.points]
    dropped = sum(len(s.points) for s in picture.series) - sum(len(s.points) for s in shown)
    note = f" {dropped} points are not finite, or too large to draw." if dropped else ""
    caption = f"<figcaption>{escape(picture.caption + note)}</figcaption>"
    if not shown:
        return f"<figure><h3>{title}</h3><p>Nothing to draw.</p>{caption}</figure>"
    xs = [x for s in shown for x, _ in s.points]
    ys = [y for s in shown for _, y in s.points]
    frame = _Frame(*_range(xs), *_range(ys))
    body = frame.axes(picture) + "".join(frame.draw(s) for s in shown)
    labels = dict.fromkeys((s.ink, s.dots, s.label) for s in shown)
    legend = "".join(
        f'<li><i class="{ink}{" dot" if dots else ""}"></i>{escape(label)}</li>' for ink, dots, label in labels
    )
    return (
        f"<figure><h3>{title}</h3>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(picture.title, quote=True)}">{body}'
        f'</svg><ul class="legend">{legend}</ul>{caption}</figure>'
    )


def _drawable(series: Series) -> Series:
    # this way round, what is not a number is left out as well
    points = tuple((x, y) for x, y in series.points if abs(x) <= _LARGEST and abs(y) <= _LARGEST)
    return Series(series.label, points, series.ink, series.dots)


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = 0.03 * (high - low) or 0.5 * abs(low) or 0.5
    return low - margin, high + margin


@dataclass(frozen=True, slots=True)
class _Frame:
    x0: float
    x1: float
    y0: float
    y1: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - self.x0) / (self.x1 - self.x0) * (_WIDTH - _LEFT - _RIGHT)
        down = _TOP + (self.y1 - y) / (self.y1 - self.y0) * (_HEIGHT - _TOP - _BOTTOM)
        return across, down

    def path(self, points: Points) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in points))

    def draw(self, series: Series) -> str:
        label = f"<title>{escape(series.label)}</title>"
        if series.dots:
            dots = (self.at(*point) for point in series.points)
            circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in dots)
            return f'<g class="{series.ink} dots">{label}{circles}</g>'
        return f'<polyline class="{series.ink}" points="{self.path(series.points)}">{label}</polyline>'

    def axes(self, picture: Picture) -> str:
        left, bottom = self.at(self.x0, self.y0)
        right, top = self.at(self.x1, self.y1)
        parts = [f'<path class="axis" d="M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}"/>']
        for place, name in self._places(picture.x_names):
            x, _ = self.at(place, self.y0)
            parts.append(f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
            parts.append(
                f'<text class="tick" x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{escape(name)}</text>'
            )
        for tick in _ticks(self.y0, self.y1):
            _, y = self.at(self.x0, tick)
            parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
            parts.append(f'<text class="tick" x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        middle = 0.5 * (top + bottom)
        parts.append(
            f'<text x="{0.5 * (left + right):.1f}" y="{_HEIGHT - 6}" text-anchor="middle">'
            f"{escape(picture.x_label)}</text>"
        )
        parts.append(
            f'<text x="14" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 14 {middle:.1f})">'
            f"{escape(picture.y_label)}</text>"
        )
        return "".join(parts)

    def _places(self, names: tuple[str, ...]) -> list[tuple[float, str]]:
        if names:
            return [(float(place), name) for place, name in enumerate(names, start=1)]
        return [(tick, f"{tick:g}") for tick in _ticks(self.x0, self.x1)]


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    raw = (high - low) / about
    if not raw > 0.0:
        return [low]
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10, 20) if size * factor >= raw)
    first = math.ceil(low / step)
    return [float(f"{k * step:.12g}") for k in range(first, math.floor(high / step) + 1)]
