"""`dpadmm calibrate`: the least noise, the most iterations, the largest batch for a privacy target."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import TypedDict, cast

import click

from accountant.calibration import Calibration, calibrate_count, calibrate_noise
from accountant.certificates.certificate import ledger_record, record_json
from accountant.errors import InvalidQuantityError
from accountant.limits import time_limit
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import GaussianNoise, Mechanism
from accountant.mechanisms.quantities import failure_probability, positive
from accountant.mechanisms.registry import mechanism_from
from accountant.numbers import Bound, decimal_string, exact_string
from accountant.pricing import THEOREMS, Effort, epsilon
from dpadmm.cli import _mechanism_options as shared
from dpadmm.cli._mechanism_options import (
    MechanismCommand,
    MechanismGroup,
    described,
    options_of,
    priced_fields,
)
from dpadmm.cli.common import emit_json, format_option, option, option_name

HELP = """The least noise (or most iterations, or largest batch) that meets a target (epsilon, delta).

Answers are rounded to the private side, then priced and certified. The nearest value that was priced and misses the
target is printed with the answer: it shows how tight the answer is.

\b
dpadmm calibrate ssadmm --records 48842 --batch 221 \\
    --iterations 2210 --epsilon 1 --delta 1e-8
dpadmm calibrate ssadmm --records 48842 --batch 221 \\
    --noise-multiplier 4 --for iterations --epsilon 1 --delta 1e-8
"""
FIXED_SIGMA = (
    "at a fixed sigma a larger batch has a larger noise multiplier, and the cost is not proved to grow with the batch: "
    "this batch meets the target, and of the larger ones only a few were tried"
)
NOISE = ("noise_multiplier", "sigma", "anchor_sigma", "epsilon")
"""The fields that say how much noise there is."""


class Goal(TypedDict):
    """What every mechanism's command takes besides the mechanism's fields."""

    epsilon: str
    delta: str
    method: str | None
    effort: Effort
    digits: int
    time_limit: float
    output_format: str


goal_options = shared.combined(
    option("--epsilon", str, "The target epsilon, > 0.", required=True, metavar=shared.REAL),
    shared.delta_option,
    option("--method", list(THEOREMS), "The method that decides; by default the tightest proved one."),
    shared.effort_option,
    option("--digits", click.IntRange(1, 12), "Digits of the noise.", default=4),
    shared.time_limit_option,
    format_option,
)


@click.group("calibrate", cls=MechanismGroup, help=HELP)
def command() -> None:
    """Group the mechanisms."""


def quantities_of(kind: type[Mechanism]) -> list[str]:
    """Return what can be found: the noise, the iterations (where each is a release of its own), the batch."""
    fields = priced_fields(kind)
    if kind.calibrated == "epsilon":  # --epsilon is the target here
        return ["noise"]
    counts = ["iterations"] if "inner" not in fields else []
    return ["noise", *counts, *(["batch"] if "batch" in fields else [])]


def _calibrate(kind: type[Mechanism]) -> MechanismCommand:
    quantities = quantities_of(kind)
    without = {"epsilon"} if kind.calibrated == "epsilon" else set()
    free = {*NOISE, "iterations" if "iterations" in quantities else "", "batch" if "batch" in quantities else ""}

    def find(**values: object) -> None:
        goal = cast(Goal, {name: values.pop(name) for name in Goal.__annotations__})
        quantity = str(values.pop("quantity", "noise"))
        given = described(kind, values)
        if quantity == "noise":
            _refuse(quantity, given, *NOISE)
            _find_noise(kind, given, goal)
        else:
            _refuse(quantity, given, quantity)
            _find_count(given, quantity, goal)

    options: list[click.Parameter] = [*options_of(kind, without=without, free=free)]
    if len(quantities) > 1:
        kinds = click.Choice(quantities)
        options.append(
            click.Option(["--for", "quantity"], type=kinds, default="noise", show_default=True, help="What to find.")
        )
    return MechanismCommand(kind, find, [*options, *shared.options_in(goal_options)])


command.make = _calibrate


def _refuse(quantity: str, given: dict[str, object], *names: str) -> None:
    for name in names:
        if name in given:
            raise InvalidQuantityError(f"--for {quantity} and {option_name(name)} contradict each other here")


def _find_noise(kind: type[Mechanism], given: dict[str, object], goal: Goal) -> None:
    """Find the least noise; of a pure mechanism the largest epsilon of an iteration, which is the inverse of one."""
    shared.progress(f"searching {kind.calibrated}")
    if kind.calibrated == "epsilon":
        _show(_pure(given, goal), "epsilon", goal)
        return

    def candidate(noise: Fraction) -> Mechanism:
        return mechanism_from({**given, kind.calibrated: noise})

    found = _least(candidate, goal)
    made = candidate(found.value)
    sigma = made.spread() if isinstance(made, GaussianNoise) and kind.calibrated != "sigma" else None
    _show(found, kind.calibrated, goal, sigma=sigma)


def _least(candidate: Callable[[Fraction], Mechanism], goal: Goal) -> Calibration:
    with time_limit(goal["time_limit"]):
        return calibrate_noise(
            candidate,
            epsilon=goal["epsilon"],
            delta=goal["delta"],
            method=goal["method"],
            digits=goal["digits"],
            effort=goal["effort"],
        )


def _pure(given: dict[str, object], goal: Goal) -> Calibration:
    found = _least(lambda noise: mechanism_from({**given, "epsilon": 1 / noise}), goal)
    # Rounded down: a smaller epsilon than the one that was certified.
    spent = Fraction(decimal_string(1 / found.value, goal["digits"] + 1, "down"))
    missed = None if found.missed is None else Fraction(decimal_string(1 / found.missed, goal["digits"] + 1, "up"))
    ledger = mechanism_from({**given, "epsilon": spent}).ledger()
    return dataclasses.replace(found, value=spent, missed=missed, ledger=ledger)


def _find_count(given: dict[str, object], quantity: str, goal: Goal) -> None:
    """Find the most iterations, or the largest batch; at a fixed sigma the cost need not grow with the batch."""
    fixed_sigma = quantity == "batch" and "sigma" in given

    def candidate(number: int) -> Ledger:
        ledger = mechanism_from({**given, quantity: number}).ledger()
        return dataclasses.replace(ledger, notes=(*ledger.notes, FIXED_SIGMA)) if fixed_sigma else ledger

    shared.progress(f"searching {quantity}")
    records = given.get("records")
    with time_limit(goal["time_limit"]):
        found = calibrate_count(
            candidate,
            epsilon=goal["epsilon"],
            delta=goal["delta"],
            method=goal["method"],
            largest=records if quantity == "batch" and isinstance(records, int) else 10**9,
            increasing=not fixed_sigma,
            effort=goal["effort"],
        )
    _show(found, quantity, goal)


DIGITS = 12


def _show(found: Calibration, quantity: str, goal: Goal, *, sigma: Fraction | None = None) -> None:
    """Print the answer, its certified price and how far from tight it is."""
    target, delta = goal["epsilon"], goal["delta"]
    lower, upper = _ends(found, target, delta)
    slack = decimal_string(found.slack, 3, "up")
    missed = None if found.missed is None else exact_string(found.missed)
    # Rounding sigma up keeps it on the private side: more noise than was certified.
    spread = None if sigma is None else decimal_string(sigma, DIGITS, "up")
    if goal["output_format"] == "json":
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
        click.echo("no larger value is allowed")
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
