"""The picture of a price (`--plot`), and the certified Renyi curve as a table, JSON or picture (`--rdp 2,4,8`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accountant.errors import AccountantError, CannotCertifyError, InvalidQuantityError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import order
from accountant.numbers import exact, exact_string, float_up, fraction_of, shown
from accountant.pricing import RENYI, RenyiPoint, Report, renyi_curve
from accountant.renyi.conversion import epsilon_at
from accountant.renyi.moments import ledger_log_moment
from dpadmm.cli import _mechanism_options as shared
from dpadmm.cli.common import emit_json
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
    from accountant.curve import delta_curve

    curve = delta_curve(Ledger(report.ledger.corrected or report.ledger.steps))
    top = 2 * float(fraction_of(report.epsilon.upper)) or 1.0
    epsilons = [top * k / 60 for k in range(61)]
    axes.plot(epsilons, curve.delta_upper(epsilons), color="#228833")
    axes.axhline(float(report.delta), color="grey", linestyle=":")
    axes.set(yscale="log", xlabel="epsilon", ylabel=f"delta at most ({curve.description})")


def orders_of(text: str) -> list[Fraction]:
    """Return the orders of "2,4,8"; each > 1, exact."""
    orders = [order(part.strip()) for part in text.split(",") if part.strip()]
    if not orders:
        raise InvalidQuantityError(f"--rdp needs one or more orders, as in --rdp 2,4,8; got {text!r}")
    return orders


def best_orders(report: Report) -> dict[Fraction, list[str]]:
    """Return the orders at which the methods' conversions to (epsilon, delta) were smallest, with their names."""
    best: dict[Fraction, list[str]] = {}
    for name, result in report.methods.items():
        if result.alpha is not None and name.endswith("-cks"):
            best.setdefault(result.alpha, []).append(name)
    return best


def show_curve(
    ledger: Ledger,
    orders: list[Fraction],
    best: dict[Fraction, list[str]] | None,
    *,
    delta: str | None,
    digits: int,
    output_format: str,
    plot: Path | None = None,
) -> None:
    """Print epsilon(alpha), rounded up, at the orders asked for and at the best ones; draw it where asked to."""
    best = best or {}
    points = renyi_curve(ledger, sorted({*orders, *best}), digits=digits)
    if plot is not None:
        draw_renyi(points, best, plot)
    if output_format == "json":
        emit_json(_document(ledger, delta, digits, points, best))
        return
    names = list(dict.fromkeys(name for point in points for name in (*point.epsilon, *point.refused)))
    rows = [["alpha", *names, ""]]
    for point in points:
        cells = [point.epsilon[name].printed(digits)[1] if name in point.epsilon else "no answer" for name in names]
        mark = f"<- smallest epsilon by {', '.join(best[point.alpha])}" if point.alpha in best else ""
        rows.append([shown(point.alpha), *cells, mark])
    click.echo("Renyi epsilon(alpha) at most, of the whole run:")
    click.echo(shared.table(rows))
    for point in points:
        if point.between is not None:
            below, above = point.between
            click.echo(f"alpha {shown(point.alpha)}: lemma2 and wbk27 are the chord between orders {below} and {above}")


def _document(
    ledger: Ledger,
    delta: str | None,
    digits: int,
    points: tuple[RenyiPoint, ...],
    best: dict[Fraction, list[str]],
) -> dict[str, object]:
    return {
        "format": "dpadmm-rdp",
        "version": 1,
        "digits": digits,
        "delta": None if delta is None else exact_string(exact("delta", delta)),
        "neighbours": ledger.neighbours.value,
        "points": [
            {
                "alpha": exact_string(point.alpha),
                "between": point.between,
                "best_for": best.get(point.alpha, []),
                "epsilon": {
                    name: dict(zip(("lower", "upper"), bound.printed(digits), strict=True))
                    for name, bound in point.epsilon.items()
                },
                "refused": dict(point.refused),
            }
            for point in points
        ],
    }
