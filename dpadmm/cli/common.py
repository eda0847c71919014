"""What the subcommands share: exit codes, durations, common options, help, suggestions, extras, JSON out."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])

EXIT_REFUTED = 1
EXIT_USAGE = 2
EXIT_ADAPTER = 4
EXIT_FAULT = 70
EXIT_PIPE = 141  # what a shell reports when the reader has closed the pipe: 128 + SIGPIPE

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """Seconds, or a number with s, m or h."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", value)
        if match is None or float(match[1]) == 0:
            self.fail(f"{value!r} is no positive duration; write 90, 90s, 5m or 1h", param, ctx)
        return float(match[1]) * _SECONDS[match[2]]


ONCE_FOR_EACH = "give the option once for each value"


class Repeated(click.Option):
    """An option that may be given several times, and says so where a value that cannot be read holds a comma."""

    def process_value(self, ctx: click.Context, value: object) -> object:
        """Return the values, or add to the refusal how several are given."""
        try:
            return super().process_value(ctx, value)
        except click.BadParameter as error:
            if isinstance(value, list | tuple) and any("," in str(each) for each in value):
                message = f"{error.message.rstrip('.')}; {ONCE_FOR_EACH}."
                raise click.BadParameter(message, error.ctx or ctx, error.param or self) from None
            raise


class One(click.ParamType[str]):
    """A name or a number as it is written, without a comma: several values need the option several times."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it."""
        if "," in value:
            self.fail(f"{value[:60]!r} is not one value", param, ctx)
        return value


format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text, or JSON (versioned, reals as decimal strings).",
)

fail_fast_option = click.option("--fail-fast", is_flag=True, help="Stop at the first refutation.")


timeout_option = click.option(
    "--timeout", type=Duration(), default=60.0, show_default=True, help="Seconds per request."
)


def memory_option(megabytes: int = 4096) -> Callable[[Command], Command]:
    """``--memory``, with the command's own default."""
    return click.option(
        "--memory",
        type=click.IntRange(min=64),
        default=megabytes,
        show_default=True,
        help="Memory limit of the adapter, in megabytes.",
    )


def exit_code_of(error: Exception) -> int:
    """Return the documented exit code of an exception.

    An exception class says its own code in an attribute ``exit_code``; unreadable files are the user's input;
    everything else is a fault of this program.
    """
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return code
    return EXIT_USAGE if isinstance(error, OSError) else EXIT_FAULT


def emit_json(document: dict[str, object]) -> None:
    """Print one JSON document to standard output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def unknown_command(group: click.Group, ctx: click.Context, name: str) -> click.UsageError:
    """The error for a command that a group does not have, with the nearest that it has."""
    import difflib

    known = group.list_commands(ctx)
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    return click.UsageError(f"{ctx.command_path} has no command {name!r}; {meant}", ctx)


class SuggestingGroup(click.Group):
    """A group that names the nearest command where there is none of the given name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or refuse with what was probably meant."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            raise unknown_command(self, ctx, name)
        return super().resolve_command(ctx, args)


def in_sections(sections: dict[str, str]) -> type[click.Command]:
    """A command whose help lists its options under titles, those that matter most first, and the rest at the end.

    A title names its options by their parameters.
    """

    class Sectioned(click.Command):
        def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            rows = {param.name: row for param in self.get_params(ctx) if (row := param.get_help_record(ctx))}
            listed = {title: [rows.pop(name) for name in names.split()] for title, names in sections.items()}
            for title, found in {**listed, "Other options": list(rows.values())}.items():
                with formatter.section(title):
                    formatter.write_dl(found)

    return Sectioned


EXTRA_OF = {
    "sklearn": "sklearn",
    "z3": "proofs",
    "cvc5": "proofs",
    "matplotlib": "plots",
    "distributed": "cluster",
    "dask": "cluster",
    "pandas": "data",
    "pyarrow": "data",
}
"""A module that only an extra installs, and that extra."""


class MissingExtra(ImportError):
    """Something was asked for that needs an extra which is not installed."""

    exit_code = 2


def missing(module: str, what: str) -> MissingExtra:
    """The error for a module that is not installed; ``what`` needs it."""
    return MissingExtra(f"{what} needs {module}: pip install 'dpadmm[{EXTRA_OF[module]}]'")


def require_extra(module: str, what: str) -> None:
    """Refuse, before any work is done, what needs a module that is not installed."""
    if importlib.util.find_spec(module) is None:
        raise missing(module, what)
