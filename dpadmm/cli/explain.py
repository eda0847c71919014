"""`dpadmm explain`: a statement, its place in the paper and its evidence, without running anything."""

from __future__ import annotations

import sys

import click

from dpadmm.cli.common import EXIT_USAGE, emit_json, format_option


@click.command("explain")
@click.argument("name", metavar="[STATEMENT-ID]", required=False)
@format_option
def command(*, name: str | None, output_format: str) -> None:
    """Print a statement, its place in the paper and its evidence; without an id, list all statements."""
    try:
        from verification.statements.registry import STATEMENTS, find  # needs the solvers
    except ModuleNotFoundError as missing:
        click.echo(f"error: {missing}; the statements need their solvers: pip install 'dpadmm[proofs]'", err=True)
        sys.exit(EXIT_USAGE)
    statements = STATEMENTS if name is None else (find(name),)
    if output_format == "json":
        emit_json(
            {
                "format": "dpadmm-explain",
                "version": 1,
                "statements": [
                    {
                        "id": statement.id,
                        "aliases": list(statement.aliases),
                        "status": statement.status.value,
                        "statement": statement.statement,
                        "truth": statement.truth or None,
                        "place": statement.place,
                        "evidence": [
                            {
                                "name": evidence.name,
                                "kind": evidence.kind.value,
                                "obligations": [
                                    {"name": obligation.name, "digest": obligation.digest}
                                    for obligation in (evidence.obligations() if evidence.obligations else [])
                                ],
                            }
                            for evidence in statement.evidence
                        ],
                    }
                    for statement in statements
                ],
            }
        )
        return
    if name is None:
        for statement in statements:
            click.echo(f"{statement.id.ljust(24)}{statement.status.value.ljust(10)}{statement.statement}")
        return
    statement = statements[0]
    click.echo(f"{statement.id}: {statement.status.value}")
    click.echo(f"  says:   {statement.statement}")
    if statement.truth:
        click.echo(f"  truth:  {statement.truth}")
    click.echo(f"  place:  {statement.place}")
    for evidence in statement.evidence:
        click.echo(f"  {evidence.kind.value}: {evidence.name}")
        for obligation in evidence.obligations() if evidence.obligations else []:
            click.echo(f"    {obligation.digest}  {obligation.name}")
    click.echo(f"  run it: dpadmm verify --statement {statement.id}")
