"""`dpadmm account`: the price of a mechanism, by every method that is proved for it."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack, cast

import click

from accountant.certificates.certificate import Certificate, certificate, unsigned
from accountant.limits import time_limit
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.registry import mechanism_from
from accountant.numbers import decimal_string
from accountant.pricing import THEOREMS, Effort, Report, epsilon, tighter
from dpadmm.cli import _accounting as shared
from dpadmm.cli._account_help import HELP, LEDGER_HELP
from dpadmm.cli._mechanism_options import MechanismCommand, MechanismGroup, described, options_of
from dpadmm.cli.common import EXIT_REFUTED, emit_json, format_option


class PriceOptions(TypedDict):
    """What every mechanism's command takes besides the mechanism's fields."""

    delta: str
    methods: tuple[str, ...]
    effort: Effort
    digits: int
    rdp: str | None
    plot: Path | None
    dp_event: Path | None
    time_limit: float
    output_format: str


output_options = shared.combined(
    shared.delta_option,
    click.option(
        "--method",
        "methods",
        multiple=True,
        type=click.Choice(list(THEOREMS)),
        help="Only this method (repeatable); default: every proved one that is quick.",
    ),
    click.option(
        "--effort",
        type=click.Choice(["quick", "tight"]),
        default="quick",
        show_default=True,
        help="tight adds the exact adversary (fixed-size batches, Gaussian noise): some seconds.",
    ),
    click.option("--digits", type=click.IntRange(1, 500), default=15, show_default=True, help="Certified digits."),
    click.option(
        "--rdp",
        metavar="ALPHA,...",
        help="Print the Renyi curve, certified, at these orders and at the best ones, in place of the price.",
    ),
    click.option(
        "--plot",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Draw epsilon by method, epsilon over alpha and delta(epsilon) to FILE (png, svg, pdf); with --rdp, "
        "the Renyi curve.",
    ),
    click.option(
        "--dp-event",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Also write the ledger to FILE as a DpEvent of dp-accounting (JSON).",
    ),
    shared.time_limit_option,
    format_option,
)


@click.group("account", cls=MechanismGroup, invoke_without_command=True, help=HELP)
@click.option(
    "--check",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Re-derive a certificate (what --format json prints) by an independent route; exit 1 if it does not hold.",
)
@shared.time_limit_option
@click.pass_context
def command(ctx: click.Context, check: Path | None, time_limit: float) -> None:
    """Price a mechanism, or re-derive a price that was written down."""
    if check is not None:
        if ctx.invoked_subcommand is not None:
            raise click.UsageError("--check takes a file and no mechanism")
        _check(check, time_limit)
    elif ctx.invoked_subcommand is None:
        raise click.UsageError("name a mechanism (see --help), or --check FILE")


def _check(path: Path, seconds: float) -> None:
    from accountant.certificates.reading import read_certificate
    from accountant.certificates.recheck import recheck

    document = read_certificate(path.read_bytes())
    findings = recheck(document, seconds=seconds)
    for finding in findings:
        click.echo(f"{finding.subject}: {finding.statement}")
    lower, upper = document.epsilon.lower, document.epsilon.upper
    if document.mechanisms or lower == "0":
        click.echo(f"certified: epsilon in [{lower}, {upper}] at delta {document.delta}")
        return
    click.echo(f"certified: epsilon at most {upper} at delta {document.delta}")
    click.echo(f"not certified: the lower end {lower}: no mechanism is named that would attain it")


def _account(kind: type[Mechanism]) -> MechanismCommand:
    def price(**values: object) -> None:
        output = {name: values.pop(name) for name in PriceOptions.__annotations__}
        _answer(mechanism_from(described(kind, values)).ledger(), **cast(PriceOptions, output))

    return MechanismCommand(kind, price, [*options_of(kind), *shared.options_in(output_options)])


command.make = _account


@command.command("ledger", short_help="A file of steps: batches, noise or algorithm that change.", help=LEDGER_HELP)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@output_options
def ledger_command(file: Path, **output: Unpack[PriceOptions]) -> None:
    """Price a heterogeneous ledger."""
    from accountant.mechanisms.ledger_file import read_ledger_file

    _answer(read_ledger_file(file), **output)


@command.command("dp-event", short_help="A DpEvent of dp-accounting (JSON): ours beside theirs.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@output_options
def dp_event_command(file: Path, **output: Unpack[PriceOptions]) -> None:
    """Price a DpEvent of dp-accounting, written as JSON, and show theirs beside it where that is installed.

    An event states noise over the norm of one record's value, and not for which neighbours it is meant: the file names
    the relation, and replacing a record counts twice that norm. What no theorem here covers is refused.
    """
    from accountant.dp_events import ledger_of_event, read_event_file
    from dpadmm.cli._dp_event import show_theirs

    event, neighbours = read_event_file(file)
    _answer(ledger_of_event(event, neighbours), **output)
    if output["output_format"] == "text":
        show_theirs(event, neighbours, output["delta"])


def _answer(ledger: Ledger, **output: Unpack[PriceOptions]) -> None:
    methods = output["methods"] or None
    orders = None
    if output["rdp"] is not None:
        from dpadmm.cli._rdp import orders_of

        orders = orders_of(output["rdp"])
    with time_limit(output["time_limit"]):
        report = epsilon(
            ledger,
            output["delta"],
            methods=methods,
            digits=output["digits"],
            effort=output["effort"],
            progress=shared.progress,
        )
    if output["dp_event"] is not None:
        from dpadmm.cli._dp_event import write_event

        write_event(ledger, output["dp_event"])
    if output["plot"] is not None and orders is None:
        from dpadmm.cli._account_plot import draw

        draw(report, output["plot"])
    if orders is not None:
        from dpadmm.cli._rdp import show_curve

        with time_limit(output["time_limit"]):
            show_curve(report, orders, output["output_format"], output["plot"])
    elif output["output_format"] == "json":
        emit_json(certificate(report).to_json())
    else:
        click.echo(_text(report, unsigned(report)))
        if methods is None and output["effort"] == "quick" and (hint := tighter(report)):
            click.echo(hint)
    if not ledger.sound:
        click.echo("refuted: " + "; ".join(ledger.notes), err=True)
        raise click.exceptions.Exit(EXIT_REFUTED)


def _text(report: Report, document: Certificate) -> str:
    lower, upper = document.epsilon.lower, document.epsilon.upper
    lines = [f"epsilon in [{lower}, {upper}] at delta {document.delta} ({report.ledger.neighbours.value} neighbours)"]
    if not report.ledger.sound:
        lines.append("the methods below use the printed sensitivities and bound nothing; the line above is corrected")
    rows = [("method", "epsilon at most", "alpha", "theorem")]
    rows += [(name, record.upper, record.alpha or "-", record.theorem) for name, record in document.methods.items()]
    lines.append(shared.table(rows))
    lines += [f"{name}: {result.how}" for name, result in report.methods.items() if result.how]
    if report.adaptive is not None:
        lines.append(
            f"steps whose vectors follow the outputs attain epsilon {decimal_string(report.adaptive, 6, 'down')}: "
            "no accountant that is told the steps alone may answer less"
        )
    lines += [f"{name}: no answer: {reason}" for name, reason in document.refused.items()]
    if report.ledger.sound:  # else they are said once, as what refutes the claim
        lines += [f"note: {note}" for note in report.ledger.notes]
    return "\n".join(lines)
