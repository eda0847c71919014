"""`dpadmm verify`: run the evidence for every statement of this project."""

from __future__ import annotations

import sys
import time

import click

from dpadmm.cli.common import EXIT_USAGE, emit_json, fail_fast_option, format_option
from verification.outcome import Outcome, worst

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """90, 90s, 5m or 1h, as seconds."""
    if value is None:
        return None
    number, unit = (value[:-1], _UNITS[value[-1]]) if value[-1:] in _UNITS else (value, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = float("nan")
    if not 0 < seconds < float("inf"):
        raise click.BadParameter(f"{value!r} is no positive duration; write 90, 90s, 5m or 1h")
    return seconds


@click.command("verify")
@click.option("--statement", "names", multiple=True, metavar="ID", help="Check only this statement; may be repeated.")
@click.option(
    "--budget", callback=_seconds, metavar="TIME", help="Stop after this long (60s, 5m); the rest is unknown."
)
@click.option(
    "--question", callback=_seconds, default="60s", show_default=True, help="Longest time for one SMT question."
)
@fail_fast_option
@format_option
def command(
    *, names: tuple[str, ...], budget: float | None, question: float, fail_fast: bool, output_format: str
) -> None:
    """Check this project's own statements: proofs, enclosures, attacks, counterexamples.

    A statement is proved, holds on every attack, or is refuted by a counterexample that the reference reproduces; an
    erratum of the paper is confirmed when the paper's version is refuted. Exit codes: 0 every statement has its listed
    status, 1 one has not, 3 something was not decided in time.
    """
    try:
        from verification.statements.registry import STATEMENTS, find  # needs the solvers
        from verification.statements.runner import check
    except ModuleNotFoundError as missing:
        click.echo(f"error: {missing}; the proofs need their solvers: pip install 'dpadmm[proofs]'", err=True)
        sys.exit(EXIT_USAGE)
    from dpadmm.cli._verify_report import as_json, line, summary, title

    statements = tuple(dict.fromkeys(find(name) for name in names)) if names else STATEMENTS
    started, checked = time.monotonic(), []
    if output_format == "text":
        click.echo(title())
    for entry in check(statements, budget=budget, question_seconds=question):
        checked.append(entry)
        if output_format == "text":
            click.echo(line(entry))
        if fail_fast and entry.outcome is Outcome.REFUTED:
            break
    code = worst(entry.outcome for entry in checked).exit_code
    if output_format == "json":
        emit_json(as_json(checked, time.monotonic() - started, code))
    else:
        click.echo(summary(checked, time.monotonic() - started))
    sys.exit(code)
