"""The paper's two algorithms once more, in plain Python, as a reader would type them: what the reference is held to."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = list[float]
Records = Sequence[tuple[Sequence[float], float]]


def slope(loss: str, v: float) -> float:
    if loss == "logistic":
        return -1 / (1 + math.exp(v))
    return 0.0 if v > 1.5 else -1.0 if v < 0.5 else -(1.5 - v) / 1.0


def gradient(loss: str, x: Point, records: Records, clip: float | None) -> Point:
    total = [0.0] * len(x)
    for s, label in records:
        one = [slope(loss, label * sum(a * b for a, b in zip(x, s, strict=True))) * label * c for c in s]
        length = math.hypot(*one)
        if clip is not None and length > clip:
            one = [c * clip / length for c in one]
        total = [a + b for a, b in zip(total, one, strict=True)]
    return [c / len(records) for c in total]


def soft(w: float, t: float) -> float:
    return w - t if w > t else w + t if w < -t else 0.0


def step(g: Point, x: Point, z: Point, y: Point, *, rho: float, eta: float, lam: float) -> tuple[Point, Point, Point]:
    p = range(len(x))
    x = [(-g[i] - y[i] + rho * z[i] + x[i] / eta) / (rho + 1 / eta) for i in p]
    z = [soft(x[i] + y[i] / rho, lam / rho) for i in p]
    y = [y[i] + rho * (x[i] - z[i]) for i in p]
    return x, z, y


def plus(a: Point, b: Sequence[float]) -> Point:
    return [s + t for s, t in zip(a, b, strict=True)]
