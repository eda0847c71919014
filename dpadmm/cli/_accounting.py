"""What `account` and `calibrate` share beside the mechanisms' options: exact numbers, progress, tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from dpadmm.cli._mechanism_options import REAL

Command = TypeVar("Command", bound=Callable[..., object])


def real_option(*names: str, explain: str, required: bool = False) -> Callable[[Command], Command]:
    """Return an option that takes an exact number."""
    return click.option(*names, metavar=REAL, required=required, help=explain)


def combined(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator that adds the options in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def options_in(decorate: Callable[[Callable[..., None]], Callable[..., None]]) -> list[click.Parameter]:
    """Return the options that a decorator adds, for commands that are made without one."""

    def nothing(**_: object) -> None:
        """Do nothing: only the options are wanted."""

    return click.command()(decorate(nothing)).params


delta_option = real_option(
    "--delta", required=True, explain="delta, strictly between 0 and 1; 0 for the price of a pure mechanism."
)


time_limit_option = click.option(
    "--time-limit",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Seconds after which the answer is what is known so far: wider, and still certified.",
)


def progress(message: str) -> None:
    """Say what is being computed, on a terminal only."""
    if sys.stderr.isatty():
        click.echo(f"... {message}", err=True)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
