"""Pictures of a gate's data, and any picture as inline SVG: no library, no script, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from accountant import float_up
from accountant.numbers import fraction_of
from audits.eprocess.confidence import roc_band
from audits.games.sequential import AuditResult
from audits.gate.price import Account
from audits.gate.report import GateReport
from verification.outcome import Finding, Ink, Outcome, Picture, Points, Series, Stage
from verification.pictures import MOST_POINTS, pairs, quantiles, thinned


def plots_of(report: GateReport) -> list[Picture]:
    """Return every plot that this gate has data for."""
    plots = [epsilon_by_method(account) for account in report.accounts if account.report is not None]
    for audit in report.audits:
        if audit.first.size:
            plots += [trade_off(audit), wealth(audit)]
    return [*plots, *(quantiles(mode, noise) for mode, noise in report.noise.items() if noise)]


def trade_off(audit: AuditResult) -> Picture:
    """The claimed trade-off function against what the scores show, with its simultaneous 95 % band."""
    band = roc_band(audit.first, audit.second, confidence=0.95)
    grid = np.linspace(0.0, 1.0, MOST_POINTS)
    claimed = audit.plan.curve.trade_off(grid)
    pick = thinned(band.thresholds.size)
    at = band.thresholds[pick]
    first, second = np.sort(audit.first), np.sort(audit.second)
    seen_first = 1.0 - np.searchsorted(first, at, side="right") / first.size
    seen_second = 1.0 - np.searchsorted(second, at, side="right") / second.size
    return Picture(
        f"Trade-off: {audit.plan.game.name}",
        "If the claim is true, no test lies below the claimed curve. The true errors of tests by this score lie "
        "below and left of the dotted line with 95 % confidence, all thresholds at once: where that line dips below "
        "the claim, the claim is wrong.",
        "type I error",
        "type II error",
        (
            Series(
                "at most this, with 95 % confidence",
                pairs(band.second_at_most[pick], 1.0 - band.first_at_least[pick]),
                Ink.BAND,
            ),
            Series("claimed", pairs(grid, claimed), Ink.CLAIMED),
            Series("seen", pairs(seen_second, 1.0 - seen_first), Ink.SEEN),
        ),
    )


def wealth(audit: AuditResult) -> Picture:
    """The e-process: the claim is refuted when the log-wealth reaches log 1/alpha."""
    size = audit.log_wealth.size
    pick = thinned(size, 2 * MOST_POINTS)
    goal = -math.log(audit.plan.alpha)
    return Picture(
        f"Evidence against the claim: {audit.plan.game.name}",
        "The evidence so far against the claim (the logarithm of an e-process). If the claim is true, it "
        f"ever reaches the dashed line with probability at most {audit.plan.alpha:.2g}; reaching it refutes the claim.",
        "trial pairs",
        "log e-value",
        (
            Series("evidence so far", pairs((pick + 1).astype(np.float64), audit.log_wealth[pick]), Ink.SEEN),
            Series("refuted from here up", ((0.0, goal), (float(size), goal)), Ink.CLAIMED),
        ),
    )


def epsilon_by_method(account: Account) -> Picture:
    """Epsilon by every method that is proved for the mechanism, beside the claim and the certified lower end."""
    if account.report is None:
        raise ValueError("nothing was priced")
    methods = [(name, float_up(fraction_of(r.epsilon.upper))) for name, r in account.report.methods.items()]
    methods.sort(key=lambda entry: -entry[1])
    last = float(len(methods))
    claimed = methods[0][1] if account.claim.nothing else float(account.claim.epsilon)
    attained = float(fraction_of(account.report.epsilon.lower))
    names = ", ".join(f"{i + 1}: {name} {value:.5g}" for i, (name, value) in enumerate(methods))
    return Picture(
        f"Epsilon by method: {account.mechanism.title}",
        f"Methods from left to right: {names}. Each is a proved upper bound; a concrete pair attains the lower line.",
        "method",
        "epsilon",
        (
            Series(
                "proved upper bounds",
                tuple((i + 1.0, value) for i, (_, value) in enumerate(methods)),
                Ink.SEEN,
                dots=True,
            ),
            Series("claimed", ((0.5, claimed), (last + 0.5, claimed)), Ink.CLAIMED),
            Series("attained by a pair", ((0.5, attained), (last + 0.5, attained)), Ink.FLOOR),
        ),
    )


def refuted_price(report: GateReport, finding: Finding) -> Picture | None:
    """The bounds on epsilon of a mechanism whose price is refuted."""
    if finding.stage is not Stage.PRICE or finding.outcome is not Outcome.REFUTED:
        return None
    priced = (a for a in report.accounts if a.judged.about == finding.about and a.report is not None)
    account = next(priced, None)
    return None if account is None else epsilon_by_method(account)


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
