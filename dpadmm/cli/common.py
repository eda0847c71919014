"""What the subcommands share: exit codes, errors to codes, JSON out."""

from __future__ import annotations

import json

import click

EXIT_STANDS = 0
EXIT_REFUTED = 1
EXIT_USAGE = 2
EXIT_INCONCLUSIVE = 3
EXIT_ADAPTER = 4
EXIT_FAULT = 70

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text, or JSON (versioned, reals as decimal strings).",
)

fail_fast_option = click.option("--fail-fast", is_flag=True, help="Stop at the first refutation.")


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
