"""The options of `account` and `calibrate`, made from the mechanisms' fields: one name for a parameter everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import click

from accountant.mechanisms.fields import Field, FieldKind, fields_of
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.registry import FORMER_ALGORITHMS, FORMER_FIELDS, MECHANISMS, PRIVATE, unknown_field
from dpadmm.cli.suggesting import SuggestingGroup, WordChoice

REAL = "NUMBER"
"""Exact numbers: decimals ("1e-8") and ratios ("1/3") are read as written, never through binary floats."""


class MechanismGroup(SuggestingGroup):
    """A group with a command for each private mechanism; names of earlier versions are refused with the new one."""

    make: Callable[[type[Mechanism]], MechanismCommand]
    """Makes the command of a mechanism, when it is asked for: its options are not free."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the mechanisms' commands and the others, in alphabetical order."""
        return sorted([*PRIVATE, *super().list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name."""
        if cmd_name in FORMER_ALGORITHMS:
            raise click.UsageError(f"{cmd_name} is now called {FORMER_ALGORITHMS[cmd_name]}", ctx)
        return self.make(MECHANISMS[cmd_name]) if cmd_name in PRIVATE else super().get_command(ctx, cmd_name)


class MechanismCommand(click.Command):
    """One mechanism's command; an option of an earlier version or of another mechanism is refused by name."""

    def __init__(
        self, kind: type[Mechanism], callback: Callable[..., None], options: Sequence[click.Parameter]
    ) -> None:
        lines = (kind.__doc__ or "").strip()
        summary = lines.partition("\n")[0]
        super().__init__(kind.algorithm, params=list(options), callback=callback, help=lines, short_help=summary)
        self._kind = kind

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            if name in FORMER_FIELDS or any(name in fields_of(kind) for kind in MECHANISMS.values()):
                raise click.UsageError(_as_option(unknown_field(name, self._kind), name), ctx) from None
            raise


def _as_option(message: str, name: str) -> str:
    return f"{option_name(name)}: {message}"


def option_name(field: str) -> str:
    """Return the option of a field."""
    return f"--{field.replace('_', '-')}"


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
        return click.Option(names, metavar=REAL, multiple=True, required=required, help=explain)
    if field.kind is FieldKind.NUMBER:
        return click.Option(names, metavar=REAL, required=required, help=explain)
    shown = None if field.required or field.default is None else str(field.default)
    if field.kind is FieldKind.COUNT:
        default = field.default if isinstance(field.default, int) else None
        return click.Option(
            names, type=int, required=required, default=default, show_default=shown or False, help=explain
        )
    return click.Option(
        names, type=WordChoice(field.choices), default=shown, show_default=shown is not None, help=explain
    )


def described(kind: type[Mechanism], values: dict[str, object]) -> dict[str, object]:
    """Return the parameters of the mechanism among the command's values; a schedule that was not given is absent."""
    own = {name: value for name, value in values.items() if name in priced_fields(kind) and value not in (None, ())}
    return {"algorithm": kind.algorithm, **own}
