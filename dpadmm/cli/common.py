"""What the subcommands share: exit codes, durations, common options, help, suggestions, extras, JSON out."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Command = TypeVar("Command", bound=Callable[..., object])
Options = TypeVar("Options", bound="DataclassInstance")
R = TypeVar("R")

EXIT_REFUTED = 1
EXIT_USAGE = 2
EXIT_ADAPTER = 4
EXIT_FAULT = 70
EXIT_PIPE = 141  # what a shell reports when the reader has closed the pipe: 128 + SIGPIPE

_LONGEST_CHOICE = 66  # longer ones stand in the description of their option, where lines can break
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
            self.fail(f"{value!r} is not a positive duration; write 90, 90s, 5m or 1h", param, ctx)
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


COUNT, NATURAL = click.IntRange(min=1), click.IntRange(min=0)
POSITIVE = click.FloatRange(min=0, min_open=True)
PROBABILITY = click.FloatRange(0, 1, min_open=True, max_open=True)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING = click.Path(path_type=Path, dir_okay=False, exists=True)
EXISTING_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
_METAVARS = {int: "N", float: "NUMBER", click.IntRange: "N", click.FloatRange: "NUMBER", Duration: "TIME"}


def option(
    names: str, kind: object = str, text: str = "", *, default: object = None, repeated: bool = False, **more: object
) -> Callable[[Command], Command]:
    """An option; words are a choice, bool is a flag, a default is shown, what may be repeated says so."""
    of = click.Choice(kind) if isinstance(kind, list | tuple) else kind
    flag = kind is bool and "/" not in names
    metavar = next((shown for known, shown in _METAVARS.items() if kind is known or type(kind) is known), None)
    if isinstance(kind, list | tuple) and len("|".join(kind)) > _LONGEST_CHOICE:
        metavar, text = names.partition(" ")[0].lstrip("-").upper(), f"{text.removesuffix('.')}: {', '.join(kind)}."
    given = {"type": of, "help": text, "default": default, "metavar": metavar}
    shown = {"show_default": True} if default is not None else {}
    if flag:
        given, shown = {"is_flag": True, "help": text}, {}
    if repeated:
        given |= {"multiple": True, "help": f"{text.removesuffix('.')}; {ONCE_FOR_EACH}."}
    if more.get("required"):
        del given["default"]  # click takes a default of None for an answer
    return click.option(*names.split(), cls=Repeated if repeated else click.Option, **(given | shown | more))


def option_name(field: str) -> str:
    """The option of a field."""
    return f"--{field.replace('_', '-')}"


def asked(kind: object = str, text: str = "", *, name: str = "{}", default: object = None, **more: object) -> Any:
    """A field of a dataclass of options: the option is made from it, with its name unless ``name`` is another."""
    return field(
        default=() if more.get("repeated") else default, metadata={"option": (kind, text, name, default, more)}
    )


def gathered(kind: type[Options], name: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Add the options that a dataclass declares, and hand those that are its fields to the command as one object."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def called(*arguments: object, **options: object) -> R:
            own = {each.name: options.pop(each.name) for each in fields(kind)}
            # click has parsed each by its own type, which no type checker can follow through a dictionary
            return function(*arguments, **options, **{name: cast(Callable[..., Options], kind)(**own)})

        for each in reversed([each for each in fields(kind) if "option" in each.metadata]):
            of, text, written, default, more = each.metadata["option"]
            names = f"{written.format(option_name(each.name))} {each.name}"
            option(names, of, text, default=default, **more)(called)
        return called

    return decorate


format_option = option(
    "--format output_format", ["text", "json"], "Text, or JSON (versioned, reals as decimal strings).", default="text"
)
fail_fast_option = option("--fail-fast", bool, "Stop at the first refutation.")
workers_option = option("--workers", COUNT, "Processes that run trials; by default one per core.")
cluster_option = option("--cluster", str, "Run the trials on a Dask cluster instead.", metavar="ADDRESS")
timeout_option = option("--timeout", Duration(), "Time for one request (90s, 5m).", default="60s")
false_alarm_option = option(
    "--false-alarm",
    PROBABILITY,
    "Probability that a correct implementation is refuted, over all checks together.",
    default=1e-3,
)


def memory_option(megabytes: int = 4096) -> Callable[[Command], Command]:
    """``--memory``, with the command's own default."""
    text = "Memory limit of the adapter, in megabytes."
    return option("--memory", click.IntRange(min=64), text, default=megabytes)


WIDTH = 100


def folded(text: str, indent: int = 2) -> str:
    """The text, lines longer than `WIDTH` broken between words, further parts indented by so much more."""
    lines = []
    for line in text.splitlines():
        further = " " * (len(line) - len(line.lstrip()) + indent)
        wrapper = textwrap.TextWrapper(WIDTH, "", further, break_long_words=False, break_on_hyphens=False)
        lines += wrapper.wrap(line) or [""]
    return "\n".join(lines)


def complain(text: str) -> None:
    """Write to stderr; long lines are broken on a terminal alone, so that a log holds each message on its own line."""
    click.echo(folded(text) if sys.stderr.isatty() else text, err=True)


def overwrite(line: str) -> None:
    """Show progress on a terminal, over the line before."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{line[:110]}\r")
        sys.stderr.flush()


def with_seed(arguments: list[str], seed: int) -> list[str]:
    """The arguments of a command, with the seed that was drawn for it."""
    return arguments if "--seed" in arguments else ["--seed", str(seed), *arguments]


def exit_code_of(error: Exception) -> int:
    """The exit code of an exception: its own, usage for a file that cannot be read, else a fault of this program."""
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


ALL = "dpadmm.help-all"
SWITCH = {"is_flag": True, "is_eager": True, "expose_value": False}


def _help_all(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


class Sectioned(click.Command):
    """A command with options under titles; `--help` describes those of the first, and `--help-all` the others too."""

    sections: Mapping[str, str] = {}
    """A title, and the parameters of its options."""

    def __init__(self, *arguments: Any, **more: Any) -> None:  # as click's own
        super().__init__(*arguments, **more)
        text = "Describe every option, and exit."
        self.params.append(click.Option(["--help-all"], callback=_help_all, help=text, **SWITCH))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in full or in short."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rows = {param.name: row for param in options if (row := param.get_help_record(ctx))}
        listed = {title: [rows.pop(name) for name in names.split()] for title, names in self.sections.items()}
        first, *others = listed
        described = listed if ctx.meta.get(ALL) else {first: listed[first]}
        for title, found in described.items():
            with formatter.section(title):
                formatter.write_dl(found)
        if not ctx.meta.get(ALL):
            with formatter.section("Further options, described by --help-all"):
                _write_names(formatter, {t: [row[0].split(" ")[0] for row in listed[t]] for t in others})
        with formatter.section("Other options"):
            formatter.write_dl(list(rows.values()))


def _write_names(formatter: click.HelpFormatter, names: dict[str, list[str]]) -> None:
    """Names under their titles; none is broken at its hyphens."""
    left = max(map(len, names), default=0) + 2
    for title, listed in names.items():
        first, *more = textwrap.wrap(", ".join(listed), formatter.width - left - 2, break_on_hyphens=False)
        formatter.write(f"  {title:<{left}}{first}\n" + "".join(f"  {'':<{left}}{line}\n" for line in more))


def in_sections(titles: dict[str, str]) -> type[Sectioned]:
    """A command with these sections."""
    return type("Sectioned", (Sectioned,), {"sections": titles})


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
