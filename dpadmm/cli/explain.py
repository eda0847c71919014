"""`dpadmm explain`: a claim's statement, place in the paper and evidence, without running anything."""

from __future__ import annotations

import sys

import click

from dpadmm.cli.common import EXIT_USAGE, emit_json, format_option


@click.command("explain")
@click.argument("name", metavar="[CLAIM-ID]", required=False)
@format_option
def command(*, name: str | None, output_format: str) -> None:
    """Print a claim's statement, place in the paper and evidence; without an id, list all claims."""
    try:
        from verification.statements.registry import CLAIMS, find  # noqa: PLC0415 - needs the solvers
    except ModuleNotFoundError as missing:
        click.echo(f"error: {missing}; the claims need their solvers: pip install 'dpadmm[proofs]'", err=True)
        sys.exit(EXIT_USAGE)
    claims = CLAIMS if name is None else (find(name),)
    if output_format == "json":
        emit_json(
            {
                "format": "dpadmm-explain",
                "version": 1,
                "claims": [
                    {
                        "id": claim.id,
                        "aliases": list(claim.aliases),
                        "status": claim.status.value,
                        "statement": claim.statement,
                        "truth": claim.truth or None,
                        "place": claim.place,
                        "evidence": [
                            {
                                "name": evidence.name,
                                "kind": evidence.kind.value,
                                "obligations": [
                                    {"name": obligation.name, "digest": obligation.digest}
                                    for obligation in (evidence.obligations() if evidence.obligations else [])
                                ],
                            }
                            for evidence in claim.evidence
                        ],
                    }
                    for claim in claims
                ],
            }
        )
        return
    if name is None:
        for claim in claims:
            click.echo(f"{claim.id.ljust(24)}{claim.status.value.ljust(10)}{claim.statement}")
        return
    claim = claims[0]
    click.echo(f"{claim.id}: {claim.status.value}")
    click.echo(f"  says:   {claim.statement}")
    if claim.truth:
        click.echo(f"  truth:  {claim.truth}")
    click.echo(f"  place:  {claim.place}")
    for evidence in claim.evidence:
        click.echo(f"  {evidence.kind.value}: {evidence.name}")
        for obligation in evidence.obligations() if evidence.obligations else []:
            click.echo(f"    {obligation.digest}  {obligation.name}")
    click.echo(f"  run it: dpadmm verify --claim {claim.id}")
