"""The options of `account` and `calibrate`, made from the mechanisms' fields: one name for a parameter everywhere.

Also what else the two commands share: exact numbers, a time limit, progress, tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence

import click

from accountant.mechanisms.fields import Field, FieldKind, fields_of
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.registry import MECHANISMS, PRIVATE, unknown_field
from dpadmm.cli.common import ONCE_FOR_EACH, Command, One, Repeated, Sectioned, SuggestingGroup, option, option_name

REAL = "NUMBER"
"""Exact numbers: decimals ("1e-8") and ratios ("1/3") are read as written, never through binary floats."""


class MechanismGroup(SuggestingGroup):
    """A group with a command for each private mechanism."""

    make: Callable[[type[Mechanism]], MechanismCommand]
    """Makes the command of a mechanism, when it is asked for: its options are not free."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the mechanisms' commands and the others, in alphabetical order."""
        return sorted([*PRIVATE, *super().list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name."""
        return self.make(MECHANISMS[cmd_name]) if cmd_name in PRIVATE else super().get_command(ctx, cmd_name)


class MechanismCommand(Sectioned):
    """One mechanism's command; an option of another mechanism is refused by name."""

    def __init__(
        self, kind: type[Mechanism], callback: Callable[..., None], options: Sequence[click.Parameter]
    ) -> None:
        lines = (kind.__doc__ or "").strip()
        summary = lines.partition("\n")[0]
        super().__init__(kind.algorithm, params=list(options), callback=callback, help=lines, short_help=summary)
        self._kind = kind
        first, names = {*priced_fields(kind), "epsilon", "delta", "quantity"}, [option.name or "" for option in options]
        self.sections = {
            "The mechanism": " ".join(name for name in names if name in first),
            "The answer": " ".join(name for name in names if name not in first),
        }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            if any(name in fields_of(kind) for kind in MECHANISMS.values()):
                raise click.UsageError(_as_option(unknown_field(name, self._kind), name), ctx) from None
            raise


def _as_option(message: str, name: str) -> str:
    return f"{option_name(name)}: {message}"


def priced_fields(kind: type[Mechanism]) -> dict[str, Field[object, object]]:
    """Return the fields on which the price may depend: those that are options."""
    return {name: field for name, field in fields_of(kind).items() if field.priced}


def options_of(
    kind: type[Mechanism], *, without: Collection[str] = (), free: Collection[str] = ()
) -> list[click.Option]:
    """Return an option for each priced field, except those `without`; those `free` are not required."""
    return [
        _option(name, field, required=field.required and name not in free)
        for name, field in priced_fields(kind).items()
        if name not in without
    ]


def _option(name: str, field: Field[object, object], *, required: bool) -> click.Option:
    names, explain = [option_name(name), name], field.explain
    if field.kind is FieldKind.SCHEDULE:
        explain = f"{explain.rstrip('.')}; {ONCE_FOR_EACH}."
        return Repeated(names, type=One(), metavar=REAL, multiple=True, required=required, help=explain)
    if field.kind is FieldKind.NUMBER:
        return click.Option(names, metavar=REAL, required=required, help=explain)
    shown = None if field.required or field.default is None else str(field.default)
    if field.kind is FieldKind.COUNT:
        if not isinstance(field.default, int):  # click takes a default of None for an answer
            return click.Option(names, type=int, metavar="N", required=required, help=explain)
        return click.Option(names, type=int, metavar="N", default=field.default, show_default=True, help=explain)
    return click.Option(
        names, type=click.Choice(list(field.choices)), default=shown, show_default=shown is not None, help=explain
    )


def described(kind: type[Mechanism], values: dict[str, object]) -> dict[str, object]:
    """Return the parameters of the mechanism among the command's values; a schedule that was not given is absent."""
    own = {name: value for name, value in values.items() if name in priced_fields(kind) and value not in (None, ())}
    return {"algorithm": kind.algorithm, **own}


def combined(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator that adds the options in the order given."""

    def decorate(command: Command) -> Command:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


def options_in(decorate: Callable[[Callable[..., None]], Callable[..., None]]) -> list[click.Parameter]:
    """Return the options that a decorator adds, for commands that are made without one."""

    def nothing(**_: object) -> None:
        """Do nothing: only the options are wanted."""

    return click.command()(decorate(nothing)).params


_DELTA = "delta, strictly between 0 and 1; 0 for the price of a pure mechanism."
delta_option = option("--delta", str, _DELTA, required=True, metavar=REAL)
delta_or_orders_option = option("--delta", str, f"{_DELTA} Needed unless --rdp is given.", metavar=REAL)
time_limit_option = option(
    "--time-limit",
    click.FloatRange(min=0.1),
    "Seconds after which the best bounds so far are returned: wider, and still certified.",
    default=60.0,
)
effort_option = option(
    "--effort",
    ["quick", "standard", "tight"],
    "standard uses the exact adversary where it may gain 1 % (fixed-size batches), for at most 3 s a price; quick "
    "never does, tight always and without that limit.",
    default="standard",
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
