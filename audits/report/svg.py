"""A line plot as inline SVG: axes, ticks, curves, bands, points; no library, no script, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT = 460, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 14, 44


@dataclass(frozen=True, slots=True)
class Series:
    """One curve, or dots; ``style`` is a class of the page's style sheet."""

    label: str
    points: Points
    style: str
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """A titled plot with a caption that says what to look for."""

    title: str
    caption: str
    x_label: str
    y_label: str
    series: Sequence[Series] = field(default_factory=tuple)

    def render(self) -> str:
        """Return a <figure>; an empty plot says so instead of showing empty axes."""
        shown = [s for s in self.series if s.points]
        if not shown:
            return f"<figure><h3>{escape(self.title)}</h3><p>Nothing to show.</p></figure>"
        xs = [x for s in shown for x, _ in s.points]
        ys = [y for s in shown for _, y in s.points]
        frame = _Frame(*_range(xs), *_range(ys))
        body = frame.axes(self.x_label, self.y_label) + "".join(frame.draw(s) for s in shown)
        legend = "".join(f'<li><i class="{s.style}"></i>{escape(s.label)}</li>' for s in shown)
        return (
            f"<figure><h3>{escape(self.title)}</h3>"
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(self.title, quote=True)}">{body}'
            f'</svg><ul class="legend">{legend}</ul><figcaption>{escape(self.caption)}</figcaption></figure>'
        )


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"a plot needs finite values, got a range from {low} to {high}")
    margin = 0.03 * (high - low) or 0.5
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
            return f'<g class="{series.style} dots">{label}{circles}</g>'
        return f'<polyline class="{series.style}" points="{self.path(series.points)}">{label}</polyline>'

    def axes(self, x_label: str, y_label: str) -> str:
        left, bottom = self.at(self.x0, self.y0)
        right, top = self.at(self.x1, self.y1)
        parts = [f'<path class="axis" d="M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}"/>']
        for tick in _ticks(self.x0, self.x1):
            x, _ = self.at(tick, self.y0)
            parts.append(f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
            parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{tick:g}</text>')
        for tick in _ticks(self.y0, self.y1):
            _, y = self.at(self.x0, tick)
            parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
            parts.append(f'<text class="tick" x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        middle = 0.5 * (top + bottom)
        parts.append(
            f'<text x="{0.5 * (left + right):.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>'
        )
        parts.append(
            f'<text x="14" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 14 {middle:.1f})">'
            f"{escape(y_label)}</text>"
        )
        return "".join(parts)


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    raw = (high - low) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]
