"""How a calibration is shown, as text and as JSON."""

from __future__ import annotations

from fractions import Fraction

import click

from accountant.calibration import Calibration
from accountant.certificates.certificate import ledger_record, record_json
from accountant.mechanisms.quantities import failure_probability, positive
from accountant.numbers import Bound, decimal_string, exact_string
from accountant.pricing import epsilon
from dpadmm.cli.common import emit_json

DIGITS = 12


def show(
    found: Calibration, quantity: str, *, target: str, delta: str, output_format: str, sigma: Fraction | None = None
) -> None:
    """Print the answer, its certified price and how far from tight it is."""
    lower, upper = _ends(found, target, delta)
    slack = decimal_string(found.slack, 3, "up")
    missed = None if found.missed is None else exact_string(found.missed)
    # Rounding sigma up keeps it on the private side: more noise than was certified.
    spread = None if sigma is None else decimal_string(sigma, DIGITS, "up")
    if output_format == "json":
        emit_json(
            {
                "format": "dpadmm-calibrate",
                "version": 1,
                "quantity": quantity,
                "value": exact_string(found.value),
                "sigma": spread,
                "missed": missed,
                "slack": slack,
                "method": found.method,
                "target": {
                    "epsilon": exact_string(positive("epsilon", target)),
                    "delta": exact_string(failure_probability(delta)),
                },
                "epsilon": {"lower": lower, "upper": upper},
                "ledger": record_json(ledger_record(found.ledger)),
            }
        )
        return
    if quantity == "epsilon":
        quantity = "epsilon of each iteration"
    click.echo(f"{quantity} = {exact_string(found.value)}" + (f" (sigma = {spread})" if spread else ""))
    click.echo(f"epsilon in [{lower}, {upper}] at delta {delta}, by {found.method}")
    if missed is None:
        click.echo("nothing larger was allowed")
    else:
        click.echo(f"{quantity} = {missed} misses the target: within {slack} (relative) of tight for this method")
    for note in found.ledger.notes:
        click.echo(f"note: {note}")


def _ends(found: Calibration, target: str, delta: str) -> tuple[str, str]:
    """Return what a realisable pair attains at the answer (0 where none is known), and the certified upper end.

    Rounding up must not carry the upper end over the target that it meets: then it keeps more digits.
    """
    report = epsilon(found.ledger, delta, methods=[found.method], digits=DIGITS)
    lower = min(report.epsilon.least.fraction(), found.epsilon_upper)
    low, high = Bound.from_fractions(lower, found.epsilon_upper).printed(DIGITS)
    within = Fraction(high) <= positive("epsilon", target)
    return low, high if within else decimal_string(found.epsilon_upper, DIGITS, "up")
