"""`dpadmm adapter`: write a skeleton adapter, smoke-test one, serve the reference, print the schema."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpadmm.cli.common import (
    EXIT_ADAPTER,
    FOLDER,
    SuggestingGroup,
    emit_json,
    folded,
    format_option,
    memory_option,
    option,
    timeout_option,
)
from verification.files import write_text
from verification.wire import Face
from verification.wire.faults import AdapterError, as_fields
from verification.wire.process import Limits
from verification.wire.skeletons import (
    ACCOUNTANT_FILE,
    FILE_NAMES,
    FILLED_IN,
    Language,
    accountant_skeleton,
    declared_claim,
    next_commands,
    skeleton,
)

if TYPE_CHECKING:
    from verification.wire.smoke import Passed


@click.group("adapter", cls=SuggestingGroup)
def command() -> None:
    """Adapters connect dpadmm to an implementation in any language (docs/reference/protocol.md)."""


FACES = """\b
  paper      an algorithm of the paper (ssADMM, mpADMM, ...): compared with the reference, step
             by step. Detects most. Three lines: a record's gradient, the update, the draws.
  declared   another algorithm: you declare each released value with its noise and sensitivity,
             and the gate checks the declaration. Three lines: scale and sensitivity, a value
             before its noise, the noise.
  black-box  only complete runs are observed: an audit searches for two neighbouring data sets
             whose outputs can be distinguished. Detects least. One line: a run."""


@command.command(
    "new",
    short_help="Write an adapter with one to three lines to fill in.",
    help=f"Write a dependency-free adapter with one to three lines to fill in.\n\nWhich face fits:\n\n{FACES}",
)
@option("--language", [str(language) for language in Language], "What you write it in.", required=True)
@option("--face", [str(face) for face in Face], "What it shows, see above; asked for on a terminal, else paper.")
@option(
    "--directory", FOLDER, "Where to write it, here by default; created if needed.", default=Path(), show_default=False
)
@option("--accountant", bool, "A skeleton for `dpadmm vectors accountant` (Python).")
@option("--force", bool, "Overwrite an existing file.")
def new(*, language: str, face: str | None, directory: Path, accountant: bool, force: bool) -> None:
    """Write a dependency-free adapter with one to three lines to fill in."""
    chosen = Language(language)
    if accountant:
        if chosen is not Language.PYTHON or face is not None:
            raise click.UsageError(
                "--accountant has a Python skeleton only, and no face; docs/reference/accountants.md has the protocol"
            )
        _write(directory, {ACCOUNTANT_FILE: accountant_skeleton()}, force=force)
        click.echo(f"fill in `epsilon`, then\n  dpadmm vectors accountant -- python3 {ACCOUNTANT_FILE}")
        return
    shown = Face(face or _asked())
    files = {FILE_NAMES[chosen]: skeleton(chosen, shown)}
    if shown is Face.DECLARED:
        files["claim.toml"] = declared_claim(chosen)
    _write(directory, files, force=force)
    lines = FILLED_IN[shown]
    click.echo(f"fill in the {'line' if lines == 1 else f'{lines} lines'} marked FILL IN, then")
    for line in next_commands(chosen, shown):
        click.echo(f"  {line}")


def _asked() -> str:
    """The face that the user chooses on a terminal; otherwise that of the paper."""
    if not sys.stdin.isatty():
        return Face.PAPER
    click.echo("Which face fits?\n" + FACES.removeprefix("\b\n"))
    answer: str = click.prompt("face", type=click.Choice([str(face) for face in Face]), default=str(Face.PAPER))
    return answer


def _write(directory: Path, files: dict[str, str], *, force: bool) -> None:
    """All of the files or none of them."""
    for path in (directory / name for name in files):
        if path.exists() and not force:
            raise click.UsageError(f"{path} exists; use --force to overwrite it")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(directory / name, text)
        click.echo(f"wrote {directory / name}")


@command.command("smoke", short_help="Test an adapter, one protocol step at a time.")
@timeout_option
@memory_option()
@format_option
@click.argument("adapter", nargs=-1, required=True, metavar="-- COMMAND...")
def smoke_command(*, timeout: float, memory: int, output_format: str, adapter: tuple[str, ...]) -> None:
    """Test an adapter, one protocol step at a time; a fault is named, with a hint.

    Exit code 0 if every step passes, 4 otherwise.
    """
    from verification.wire.smoke import smoke

    limits = Limits.of(timeout, memory)
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
        click.echo(folded(f"FAULT {error}"))
        return
    emit_json({"version": 1, "sound": False, "steps": _steps(passed), "fault": as_fields(error)})


@command.command("schema")
def schema() -> None:
    """Print the JSON schema of the protocol."""
    from verification.wire.declaration import schema_text

    click.echo(schema_text(), nl=False)


@command.command("loopback", short_help="Serve the reference implementation as an adapter.")
def loopback() -> None:
    """Serve the reference implementation as an adapter, to try the other commands with."""
    from verification.served.loopback import Loopback
    from verification.served.serve import serve

    serve(Loopback())
