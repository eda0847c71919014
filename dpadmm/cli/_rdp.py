"""`dpadmm account ... --rdp 2,4,8`: the certified Renyi curve as a table or as JSON, the best order marked."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.quantities import order
from accountant.numbers import exact_string, shown
from accountant.pricing import Report
from accountant.renyi_curve import RenyiPoint, renyi_curve
from dpadmm.cli import _accounting as shared
from dpadmm.cli.common import emit_json


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


def show_curve(report: Report, orders: list[Fraction], output_format: str, plot: Path | None = None) -> None:
    """Print epsilon(alpha), rounded up, at the orders asked for and at the best ones; draw it where asked to."""
    best = best_orders(report)
    points = renyi_curve(report.ledger, sorted({*orders, *best}), digits=report.digits)
    if plot is not None:
        from dpadmm.cli._account_plot import draw_renyi

        draw_renyi(points, best, plot)
    if output_format == "json":
        emit_json(_document(report, points, best))
        return
    names = list(dict.fromkeys(name for point in points for name in (*point.epsilon, *point.refused)))
    rows = [["alpha", *names, ""]]
    for point in points:
        cells = [
            point.epsilon[name].printed(report.digits)[1] if name in point.epsilon else "no answer" for name in names
        ]
        mark = f"<- smallest epsilon by {', '.join(best[point.alpha])}" if point.alpha in best else ""
        rows.append([shown(point.alpha), *cells, mark])
    click.echo("Renyi epsilon(alpha) at most, of the whole run:")
    click.echo(shared.table(rows))


def _document(report: Report, points: tuple[RenyiPoint, ...], best: dict[Fraction, list[str]]) -> dict[str, object]:
    return {
        "format": "dpadmm-rdp",
        "version": 1,
        "digits": report.digits,
        "delta": exact_string(report.delta),
        "neighbours": report.ledger.neighbours.value,
        "points": [
            {
                "alpha": exact_string(point.alpha),
                "best_for": best.get(point.alpha, []),
                "epsilon": {
                    name: dict(zip(("lower", "upper"), bound.printed(report.digits), strict=True))
                    for name, bound in point.epsilon.items()
                },
                "refused": dict(point.refused),
            }
            for point in points
        ],
    }
