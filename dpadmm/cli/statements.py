"""`dpadmm verify` and `dpadmm explain`: this project's own statements, checked, or printed without running anything."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from dpadmm.cli.common import EXIT_USAGE, Duration, One, emit_json, fail_fast_option, folded, format_option, option
from verification.outcome import Outcome, worst

if TYPE_CHECKING:
    from verification.statements.catalogue import Described
    from verification.statements.model import Checked, Evidence, Statement

_WIDTHS = (24, 12, 16, 10, 9)


@click.command("verify")
@option("--statement names", One(), "Check only this statement.", repeated=True, metavar="ID")
@option("--budget", Duration(), "Stop after this long (60s, 5m); the rest is undecided.")
@option("--question", Duration(), "Longest computing time for one SMT question.", default="60s")
@fail_fast_option
@format_option
def verify(
    *, names: tuple[str, ...], budget: float | None, question: float, fail_fast: bool, output_format: str
) -> None:
    """Check this project's own statements: proofs, enclosures, attacks, counterexamples.

    A statement is proved (for all values, by two SMT solvers or by Coq), enclosed (at so many points, in exact or ball
    arithmetic), attacked (so many times, in vain), or refuted by a counterexample that the reference reproduces; an
    erratum of the paper is confirmed when the paper's version is refuted. Exit codes: 0 every statement has its
    listed status, 1 a statement has not, 3 something was not decided in time, 70 a piece of evidence failed to run.
    """
    try:
        from dpadmm.statements import STATEMENTS, find  # needs the solvers
        from verification.statements.model import check
    except ModuleNotFoundError as missing:
        click.echo(f"error: {missing}; the proofs need their solvers: pip install 'dpadmm[proofs]'", err=True)
        sys.exit(EXIT_USAGE)
    statements = tuple(dict.fromkeys(find(name) for name in names)) if names else STATEMENTS
    started, checked = time.monotonic(), []
    if output_format == "text":
        click.echo(_row("statement", "status", "looked at", "tightness", "seconds") + "evidence")

    def progress(statement: Statement, evidence: Evidence) -> None:
        number = statements.index(statement) + 1
        text, terminal = f"{number} of {len(statements)}: {statement.id}, {evidence.kind.value}", sys.stderr.isatty()
        click.echo(f"\r{text:<70}\r" if terminal else text, err=True, nl=not terminal)

    for entry in check(statements, budget=budget, question_seconds=question, progress=progress):
        checked.append(entry)
        if output_format == "text":
            click.echo(_line(entry))
        if fail_fast and entry.outcome is Outcome.REFUTED:
            break
    code = worst(entry.outcome for entry in checked).exit_code
    if output_format == "json":
        seconds = f"{time.monotonic() - started:.3f}"
        head = {"format": "dpadmm-verify", "version": 3, "exit_code": code, "seconds": seconds}
        emit_json({**head, "statements": [_statement(entry) for entry in checked]})
    else:
        click.echo(_summary(checked, time.monotonic() - started))
    sys.exit(code)


def _line(checked: Checked) -> str:
    """One statement: a line, and below it the witnesses and whatever did not stand."""
    tightness = "" if checked.tightness is None else f"{checked.tightness:.6f}"
    kinds = ", ".join(dict.fromkeys(evidence.kind.value for evidence in checked.statement.evidence))
    lines = [_row(checked.statement.id, checked.status, checked.size, tightness, f"{checked.seconds:.1f}") + kinds]
    for finding in checked.findings:
        if finding.outcome is not Outcome.STANDS:
            lines.append(f"    {finding.outcome}: {finding.name}: {finding.detail}")
        elif finding.witness:
            lines.append(f"    witness: {finding.witness}")
    return "\n".join(lines)


def _summary(checked: list[Checked], seconds: float) -> str:
    """How many statements have which status."""
    counts = Counter(entry.status for entry in checked)
    shown = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(checked)} statement{'s' * (len(checked) > 1)} in {seconds:.0f} s: {shown}"


def _statement(checked: Checked) -> dict[str, object]:
    """A statement in the versioned document; reals are decimal strings."""
    return {
        "id": checked.statement.id,
        "status": checked.status,
        "expected": checked.statement.status.value,
        "outcome": checked.outcome.value,
        "looked_at": checked.size or None,
        "place": checked.statement.place,
        "statement": checked.statement.statement,
        "truth": checked.statement.truth or None,
        "tightness": None if checked.tightness is None else f"{checked.tightness:.9f}",
        "seconds": f"{checked.seconds:.3f}",
        "evidence": [
            {
                "name": finding.name,
                "kind": evidence.kind.value,
                "outcome": finding.outcome.value,
                "detail": finding.detail,
                "witness": finding.witness or None,
                "seconds": f"{finding.seconds:.3f}",
            }
            for evidence, finding in zip(checked.statement.evidence, checked.findings, strict=True)
        ],
    }


def _row(*cells: str) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))


def _ids(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The statements whose id begins as given, whatever the case."""
    from verification.statements.catalogue import catalogue

    found = (statement for statement in catalogue() if statement.id.startswith(incomplete.upper()))
    return [CompletionItem(statement.id, help=statement.status) for statement in found]


@click.command("explain")
@click.argument("name", metavar="[STATEMENT-ID]", required=False, shell_complete=_ids)
@format_option
def explain(*, name: str | None, output_format: str) -> None:
    """Print a statement, its place in the paper and its evidence; without an id, list all statements."""
    from verification.statements.catalogue import catalogue, described

    statements = catalogue() if name is None else (described(name),)
    if output_format == "json":
        entries = [asdict(statement) | {"truth": statement.truth or None} for statement in statements]
        emit_json({"format": "dpadmm-explain", "version": 1, "statements": entries})
    elif name is None:
        for statement in statements:
            click.echo(folded(f"{statement.id:<24}{statement.status:<10}{statement.statement}", indent=34))
    else:
        _show(statements[0])


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
    if statement.evidence:
        click.echo(f"  run it: dpadmm verify --statement {statement.id}")
