"""`dpadmm explain`: a statement, its place in the paper and its evidence, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from dpadmm.cli.common import emit_json, format_option
from verification.statements.catalogue import Described, catalogue, described


@click.command("explain")
@click.argument("name", metavar="[STATEMENT-ID]", required=False)
@format_option
def command(*, name: str | None, output_format: str) -> None:
    """Print a statement, its place in the paper and its evidence; without an id, list all statements."""
    statements = catalogue() if name is None else (described(name),)
    if output_format == "json":
        entries = [asdict(statement) | {"truth": statement.truth or None} for statement in statements]
        emit_json({"format": "dpadmm-explain", "version": 1, "statements": entries})
    elif name is None:
        _list(statements)
    else:
        _show(statements[0])


def _list(statements: Sequence[Described]) -> None:
    for statement in statements:
        click.echo(f"{statement.id.ljust(24)}{statement.status.ljust(10)}{statement.statement}")


def _show(statement: Described) -> None:
    click.echo(f"{statement.id}: {statement.status}")
    click.echo(f"  says:   {statement.statement}")
    if statement.truth:
        click.echo(f"  truth:  {statement.truth}")
    click.echo(f"  place:  {statement.place}")
    for evidence in statement.evidence:
        click.echo(f"  {evidence.kind}: {evidence.name}")
        for obligation in evidence.obligations:
            click.echo(f"    {obligation.digest}  {obligation.name}")
    click.echo(f"  run it: dpadmm verify --statement {statement.id}")
