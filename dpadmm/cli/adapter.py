"""`dpadmm adapter`: write a skeleton adapter, smoke-test one, serve the reference, print the schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpadmm.cli.common import EXIT_ADAPTER, emit_json, format_option
from dpadmm.cli.suggesting import SuggestingGroup
from verification.files import write_text
from verification.wire.faults import AdapterError, as_fields
from verification.wire.process import Limits
from verification.wire.skeletons import ACCOUNTANT_FILE, COMMANDS, FILE_NAMES, Language, accountant_skeleton, skeleton

if TYPE_CHECKING:
    from verification.wire.smoke import Passed


@click.group("adapter", cls=SuggestingGroup)
def command() -> None:
    """Adapters connect dpadmm to an implementation in any language (docs/reference/protocol.md)."""


@command.command("new")
@click.option("--language", type=click.Choice([str(language) for language in Language]), required=True)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where to write it, made if it is not there; the current directory by default.",
)
@click.option("--accountant", is_flag=True, help="A skeleton for `dpadmm vectors accountant` (Python).")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def new(*, language: str, directory: Path, accountant: bool, force: bool) -> None:
    """Write a dependency-free adapter with three functions to fill in."""
    chosen = Language(language)
    if accountant and chosen is not Language.PYTHON:
        raise click.UsageError(
            "--accountant has a Python skeleton only; docs/reference/accountants.md has the protocol"
        )
    path = directory / (ACCOUNTANT_FILE if accountant else FILE_NAMES[chosen])
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; use --force to overwrite it")
    directory.mkdir(parents=True, exist_ok=True)
    if accountant:
        write_text(path, accountant_skeleton())
        click.echo(f"wrote {path}: fill in `epsilon`, then\n  dpadmm vectors accountant -- python3 {ACCOUNTANT_FILE}")
        return
    write_text(path, skeleton(chosen))
    click.echo(f"wrote {path}: fill in the three lines marked FILL IN, then")
    for line in COMMANDS[chosen]:
        click.echo(f"  {line}")


@command.command("smoke")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds per request.")
@click.option(
    "--memory",
    type=click.IntRange(min=64),
    default=4096,
    show_default=True,
    help="Memory limit of the adapter, in megabytes.",
)
@format_option
@click.argument("adapter", nargs=-1, required=True, metavar="-- COMMAND...")
def smoke_command(*, timeout: float, memory: int, output_format: str, adapter: tuple[str, ...]) -> None:
    """Test an adapter, one protocol step at a time; a fault is named, with a hint.

    Exit code 0 if every step passes, 4 otherwise.
    """
    from verification.wire.smoke import smoke

    limits = Limits(request_seconds=timeout, start_seconds=timeout, memory_bytes=memory << 20)
    passed: list[Passed] = []
    try:
        for step in smoke(adapter, limits):
            passed.append(step)
            if output_format == "text":
                click.echo(f"ok    {step.step:<7} {step.detail}")
    except AdapterError as error:
        _report_fault(error, passed, output_format)
        raise click.exceptions.Exit(EXIT_ADAPTER) from error
    if output_format == "json":
        emit_json({"version": 1, "sound": True, "steps": _steps(passed), "fault": None})


def _steps(passed: list[Passed]) -> list[dict[str, str]]:
    return [{"step": str(step.step), "detail": step.detail} for step in passed]


def _report_fault(error: AdapterError, passed: list[Passed], output_format: str) -> None:
    if output_format == "text":
        click.echo(f"FAULT {error}")
        return
    emit_json({"version": 1, "sound": False, "steps": _steps(passed), "fault": as_fields(error)})


@command.command("schema")
def schema() -> None:
    """Print the JSON schema of the protocol."""
    from verification.wire.schema import schema_text

    click.echo(schema_text(), nl=False)


@command.command("loopback")
def loopback() -> None:
    """Serve the reference implementation as an adapter, to try the other commands with."""
    from verification.served.loopback import Loopback
    from verification.served.serve import serve

    serve(Loopback())
