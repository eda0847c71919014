"""What the subcommands share: exit codes, errors to codes, JSON out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

import click

from dpadmm.durations import Duration

Command = TypeVar("Command", bound=Callable[..., object])

EXIT_REFUTED = 1
EXIT_USAGE = 2
EXIT_ADAPTER = 4
EXIT_FAULT = 70
EXIT_PIPE = 141  # what a shell reports for a program that nobody reads any more: 128 + SIGPIPE

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
