"""The picture of a price: epsilon by method, epsilon over alpha, delta over epsilon."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from accountant.curve import delta_curve
from accountant.errors import AccountantError, CannotCertifyError
from accountant.mechanisms.ledger import Ledger
from accountant.numbers import float_up, fraction_of
from accountant.pricing import RENYI, Report
from accountant.renyi.conversion import epsilon_at
from accountant.renyi.moments import ledger_log_moment
from accountant.renyi_curve import RenyiPoint
from verification.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class PlotError(AccountantError):
    """The plot cannot be drawn here."""


def draw(report: Report, path: Path) -> None:
    """Write the picture whole or not at all; the format follows the file's name."""
    figure = _figure(path, width=13)
    by_method, over_alpha, curve = figure.subplots(1, 3)
    _by_method(report, by_method)
    _over_alpha(report, over_alpha)
    _delta(report, curve)
    _write(figure, path)


def draw_renyi(points: Sequence[RenyiPoint], best: Mapping[Fraction, Sequence[str]], path: Path) -> None:
    """Write the Renyi curve of every method, the orders of the best conversions marked."""
    figure = _figure(path, width=6)
    axes = figure.subplots()
    for name in dict.fromkeys(name for point in points for name in point.epsilon):
        known = [point for point in points if name in point.epsilon]
        alphas = [float(point.alpha) for point in known]
        axes.plot(alphas, [float_up(point.epsilon[name].upper) for point in known], ".-", label=name)
    for alpha, methods in best.items():
        axes.axvline(float(alpha), color="grey", linestyle=":")
        axes.annotate(", ".join(methods), (float(alpha), 1), xycoords=("data", "axes fraction"), rotation=90, va="top")
    axes.set(xscale="log", yscale="log", xlabel="alpha", ylabel="Renyi epsilon at most, of the whole run")
    axes.legend(fontsize=8)
    _write(figure, path)


def _figure(path: Path, *, width: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotError("--plot needs matplotlib: pip install 'dpadmm[plots]'") from None
    figure = Figure(figsize=(width, 4), layout="constrained")
    if path.suffix.lstrip(".").lower() not in figure.canvas.get_supported_filetypes():
        raise PlotError(f"--plot needs a file name with a known format (png, svg, pdf), got {path.name!r}")
    return figure


def _write(figure: Figure, path: Path) -> None:
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix.lstrip(".").lower())


def _by_method(report: Report, axes: Axes) -> None:
    names = list(report.methods)
    axes.barh(names, [float_up(report.methods[name].epsilon.upper) for name in names], color="#4477aa")
    lower = float_up(report.epsilon.lower)
    if lower > 0:
        axes.axvline(lower, color="#cc3311", linestyle="--", label="no accountant below this")
        axes.legend(fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(f"epsilon at delta = {float(report.delta):g}")


def _over_alpha(report: Report, axes: Axes) -> None:
    for name, result in report.methods.items():
        if result.alpha is None:
            continue
        theorem, conversion, _ = RENYI[name]
        moment = functools.partial(ledger_log_moment, report.ledger, theorem)
        shown: list[tuple[float, float]] = []
        for alpha in _orders_around(result.alpha):
            try:
                bound = epsilon_at(moment, alpha, report.delta, conversion, digits=4)
            except CannotCertifyError:
                continue
            shown.append((float(alpha), float_up(bound.upper)))
        axes.plot([alpha for alpha, _ in shown], [value for _, value in shown], label=name)
        axes.plot([float(result.alpha)], [float_up(result.epsilon.upper)], "o", color="black", markersize=3)
    axes.set(xscale="log", yscale="log", xlabel="alpha", ylabel="epsilon")
    if axes.lines:
        best = min(float_up(result.epsilon.upper) for result in report.methods.values() if result.alpha is not None)
        if best > 0:
            axes.set_ylim(best / 2, 50 * best)
        axes.legend(fontsize=8)


def _orders_around(alpha: Fraction) -> list[Fraction]:
    """Return some 25 orders from a quarter of alpha - 1 to four times it."""
    return [
        1 + round((alpha - 1) * Fraction(2) ** (k // 6) * (6 + k % 6) / 6 * 1000) / Fraction(1000)
        for k in range(-12, 13)
    ]


def _delta(report: Report, axes: Axes) -> None:
    curve = delta_curve(Ledger(report.ledger.corrected or report.ledger.steps))
    top = 2 * float(fraction_of(report.epsilon.upper)) or 1.0
    epsilons = [top * k / 60 for k in range(61)]
    axes.plot(epsilons, curve.delta_upper(epsilons), color="#228833")
    axes.axhline(float(report.delta), color="grey", linestyle=":")
    axes.set(yscale="log", xlabel="epsilon", ylabel=f"delta at most ({curve.description})")
