"""Draw docs/figures/adversary.svg: the disc with a triple, profiles, and a window and a stair function.

`python -m benchmarks.draw_adversary` writes the file anew; numbers are plain float64, for the eye alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "adversary.svg"
_Q, _MU = 0.1, 1.0
_COLOURS = ("#1b6ca8", "#b03a2e", "#777777")
Floats = NDArray[np.float64]


def main() -> None:
    """Write the figure."""
    TARGET.write_text(_svg([*_disc(), *_profiles(), *_functions()]), encoding="utf-8")


def _svg(parts: Sequence[str]) -> str:
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 300" '
        'font-family="sans-serif" font-size="13"><rect width="900" height="300" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _text(x: float, y: float, words: str, colour: str = "#222222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{words}</text>'


def _line(points: Sequence[tuple[float, float]], colour: str, *, dashed: bool = False) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>'


def _disc() -> list[str]:
    """Return the disc of radius 1/2 with an inscribed triangle, its angles p and r named."""
    centre, radius = (150.0, 150.0), 100.0
    angles = {"a": 0.0, "a'": math.pi, "c": 1.9}
    places = {
        name: (centre[0] + radius * math.cos(angle), centre[1] - radius * math.sin(angle))
        for name, angle in angles.items()
    }
    parts = [f'<circle cx="{centre[0]}" cy="{centre[1]}" r="{radius}" fill="none" stroke="#999999"/>']
    parts.append(_line([places["a"], places["a'"], places["c"], places["a"]], "#222222"))
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#222222"/>' for x, y in places.values()]
    offsets = {"a": (8, 5), "a'": (-22, 5), "c": (-4, -10)}
    parts += [_text(places[n][0] + dx, places[n][1] + dy, n) for n, (dx, dy) in offsets.items()]
    parts += [_text(185, 143, "r"), _text(80, 143, "p"), _text(70, 285, "a triple in the ball of radius 1/2")]
    return parts


def _forward(u: Floats) -> Floats:
    log = np.log1p(u) / _MU
    return np.asarray(ndtr(_MU / 2 - log) - (1 + u) * ndtr(-_MU / 2 - log))


def _behind(u: Floats) -> Floats:
    d, ga = np.maximum(1 - u * (1 - _Q), 1e-12), 1 + _Q * u
    r = _MU / 2 - np.log(ga / d) / _MU
    return np.where(u * (1 - _Q) < 1, d * ndtr(r) - ga * ndtr(r - _MU), 0.0)


def _profiles() -> list[str]:
    """Return U and D of the forward pair, and D of the leader."""
    u = np.linspace(0, 2.5, 120)
    ahead, behind = _forward(u), _behind(u)
    curves = ((ahead, _COLOURS[0], "U: forward pair, y &gt; 1"), (behind, _COLOURS[1], "D: forward pair, y &lt; 1"))
    parts = [_line([(330, 40), (330, 260), (590, 260)], "#999999"), _text(580, 277, "u")]
    for number, (values, colour, name) in enumerate(curves):
        parts.append(_line(_scaled(u, values), colour))
        parts.append(_text(400, 60 + 18 * number, name, colour))
    parts.append(_line(_scaled(u, behind + 0.24 * (ahead - behind)), _COLOURS[1], dashed=True))
    parts.append(_text(400, 96, "D of the leader", _COLOURS[1]))
    return parts


def _scaled(u: Floats, values: Floats) -> list[tuple[float, float]]:
    return [(330 + 100 * float(a), 260 - 520 * float(b)) for a, b in zip(u, values, strict=True)]


def _functions() -> list[str]:
    """Return m of a window function and of its stair continuation."""

    def bell(x: float) -> float:
        return math.exp(-x * x / 2)

    def stair(x: float) -> float:
        return bell(max(x, 0.0))

    parts = [_line([(630, 260), (890, 260)], "#999999"), _line([(760, 60), (760, 260)], "#dddddd")]
    shapes: tuple[tuple[Callable[[float], float], bool], ...] = ((bell, False), (stair, True))
    for shape, dashed in shapes:
        points = [(760 + 40 * x, 260 - 150 * shape(x)) for x in np.linspace(-3.2, 3.2, 90)]
        parts.append(_line(points, _COLOURS[0], dashed=dashed))
    parts += [_text(640, 98, "stair (blocks)", _COLOURS[0]), _text(790, 130, "window (single steps)", _COLOURS[0])]
    parts += [_text(640, 285, "m(s): masses in the measure e^(s/2) ds; s = loss")]
    return parts


if __name__ == "__main__":
    main()
