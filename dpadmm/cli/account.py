"""`dpadmm account`: the price of a mechanism, by every method that is proved for it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypedDict, Unpack, cast

import click

from accountant.certificates.certificate import Certificate, certificate, unsigned
from accountant.limits import time_limit
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.registry import mechanism_from
from accountant.numbers import decimal_string, exact, fraction_of
from accountant.pricing import (
    THEOREMS,
    WORTH_SAYING,
    Effort,
    Report,
    epsilon,
    may_gain,
    wide_by,
)
from dpadmm.cli import _mechanism_options as shared
from dpadmm.cli._mechanism_options import MechanismCommand, MechanismGroup, described, options_of
from dpadmm.cli.common import EXISTING, EXIT_REFUTED, FILE, emit_json, format_option, option

if TYPE_CHECKING:
    from accountant.dp_events import Event
    from accountant.mechanisms.words import Neighbours

HELP = """Price a mechanism: a certified enclosure of epsilon at delta.

Numbers are exact: 1e-8, 0.1 and 1/3 are never rounded. `epsilon.upper` holds for every data set;
`epsilon.lower` is what a concrete pair of neighbouring data sets attains, where one is known.

\b
dpadmm account ssadmm --records 48842 --batch 221 \\
    --noise-multiplier 4 --iterations 2210 --delta 1e-8
dpadmm account mpadmm --records 48842 --eta 1 --rho 0.5 \\
    --clip 1 --sigma 0.01 --iterations 50 --delta 1e-8
dpadmm account ssadmm ... --format json > price.json
dpadmm account --check price.json
"""

LEDGER_HELP = """A run that changed on the way: the steps of a file, priced together.

FILE is TOML, or JSON if its name ends in .json. `algorithm` names a command of `dpadmm account`, the other fields
are its options (`noise_multiplier` for --noise-multiplier). Decimals are exact.

\b
[[step]]                        # 1000 iterations ...
algorithm = "ssadmm"
records = 48842
batch = 221
noise_multiplier = 4
iterations = 1000
[[step]]                        # ... then larger batches and more noise
algorithm = "ssadmm"
records = 48842
batch = 442
noise_multiplier = 6.5
iterations = 500

\b
dpadmm account ledger run.toml --delta 1e-8
"""


class PriceOptions(TypedDict):
    """What every mechanism's command takes besides the mechanism's fields."""

    delta: str | None
    methods: tuple[str, ...]
    table: bool
    effort: Effort
    digits: int
    rdp: str | None
    plot: Path | None
    dp_event: Path | None
    time_limit: float
    output_format: str


output_options = shared.combined(
    shared.delta_or_orders_option,
    option("--method methods", list(THEOREMS), "Only this method, by default every proved one.", repeated=True),
    option("--methods table", bool, "Also print what every method answers, and how."),
    shared.effort_option,
    option("--digits", click.IntRange(1, 1000), "Certified digits.", default=15),
    option(
        "--rdp",
        str,
        "Print the Renyi curve, certified, at these orders, in place of the price; with --delta at the best too.",
        metavar="ALPHA,...",
    ),
    option(
        "--plot",
        FILE,
        "Draw epsilon by method, epsilon over alpha and delta(epsilon) to FILE (png, svg, pdf); with --rdp, the Renyi "
        "curve.",
    ),
    option("--dp-event", FILE, "Also write the ledger to FILE as a DpEvent of dp-accounting (JSON)."),
    shared.time_limit_option,
    format_option,
)


@click.group("account", cls=MechanismGroup, invoke_without_command=True, help=HELP)
@option(
    "--check",
    EXISTING,
    "Re-derive a certificate (what --format json prints) by an independent route; exit 1 if it does not hold.",
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
    from accountant.certificates.certificate import read_certificate
    from accountant.certificates.recheck import certified_lower, certified_upper, recheck

    document = read_certificate(path.read_bytes())
    findings = recheck(document, seconds=seconds)
    for finding in findings:
        click.echo(f"{finding.subject}: {finding.statement}")
    lower, upper = document.epsilon.lower, document.epsilon.upper
    # where the check has a width, what it proves is certified, not what is stated
    if (most := certified_upper(findings)) > exact("epsilon.upper", upper):
        upper = decimal_string(most, document.digits, "up")
    if (least := certified_lower(findings)) < exact("epsilon.lower", lower):
        lower = decimal_string(least, document.digits, "down")
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
@click.argument("file", type=EXISTING)
@output_options
def ledger_command(file: Path, **output: Unpack[PriceOptions]) -> None:
    """Price a heterogeneous ledger."""
    from accountant.mechanisms.registry import read_ledger_file

    _answer(read_ledger_file(file), **output)


@command.command("dp-event", short_help="A DpEvent of dp-accounting (JSON): ours beside theirs.")
@click.argument("file", type=EXISTING)
@output_options
def dp_event_command(file: Path, **output: Unpack[PriceOptions]) -> None:
    """Price a DpEvent of dp-accounting, written as JSON, and show theirs beside it where that is installed.

    An event states noise over the norm of one record's value, and not for which neighbours it is meant: the file names
    the relation, and replacing a record counts twice that norm. What no theorem here covers is refused.
    """
    from accountant.dp_events import ledger_of_event, read_event_file

    event, neighbours = read_event_file(file)
    _answer(ledger_of_event(event, neighbours), **output)
    if output["output_format"] == "text" and output["delta"] is not None:
        show_theirs(event, neighbours, output["delta"])


def _answer(ledger: Ledger, **output: Unpack[PriceOptions]) -> None:
    methods = output["methods"] or None
    if output["rdp"] is not None:
        _show_curve(ledger, **output)
        return
    if output["delta"] is None:
        raise click.UsageError("Missing option '--delta' (the Renyi curve, --rdp, needs none).")
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
        write_event(ledger, output["dp_event"])
    if output["plot"] is not None:
        from dpadmm.cli._curves import draw

        draw(report, output["plot"])
    if output["output_format"] == "json":
        emit_json(certificate(report).to_json())
    else:
        document = unsigned(report)
        click.echo("\n".join(_answer_lines(report, document)))
        if output["table"] or len(output["methods"]) > 1:
            click.echo(_table(report, document))
    if not ledger.sound:
        _refute(ledger)


def _show_curve(ledger: Ledger, **output: Unpack[PriceOptions]) -> None:
    """Print the Renyi curve; where a delta is given, the orders that are best for it are marked."""
    from dpadmm.cli._curves import best_orders, orders_of, show_curve

    orders = orders_of(output["rdp"] or "")
    with time_limit(output["time_limit"]):
        best = None
        if output["delta"] is not None:
            best = best_orders(epsilon(ledger, output["delta"], methods=output["methods"] or None))
        show_curve(
            ledger,
            orders,
            best,
            delta=output["delta"],
            digits=output["digits"],
            output_format=output["output_format"],
            plot=output["plot"],
        )
    if output["dp_event"] is not None:
        write_event(ledger, output["dp_event"])
    if not ledger.sound:
        _refute(ledger)


def _refute(ledger: Ledger) -> NoReturn:
    click.echo("refuted: " + "; ".join(ledger.notes), err=True)
    raise click.exceptions.Exit(EXIT_REFUTED)


def _answer_lines(report: Report, document: Certificate) -> list[str]:
    """Return the answer: both ends, the theorem that proves the upper one, and what it would take to prove less."""
    lower, upper = document.epsilon.lower, document.epsilon.upper
    lines = [f"epsilon in [{lower}, {upper}] at delta {document.delta} ({report.ledger.neighbours.value} neighbours)"]
    if not report.ledger.sound:  # the notes are printed once, as what refutes the claim
        return [*lines, "the printed sensitivities bound nothing; this is the price of the corrected ones"]
    best = min(report.methods, key=lambda name: report.methods[name].epsilon.most)
    lines.append(f"at most {upper} by {best}: {report.methods[best].theorem}")
    return [*lines, _what_would_give_less(report), *(f"note: {note}" for note in report.ledger.notes)]


def _what_would_give_less(report: Report) -> str:
    if report.adaptive is not None:
        attained = decimal_string(report.adaptive, 6, "down")
        return (
            f"less than {attained} cannot be proved: steps whose vectors follow the outputs attain it; no accountant "
            "that knows only these steps can report less"
        )
    if gain := may_gain(report):
        return f"up to {float(gain):.1%} less may be proved: --effort tight lets the exact adversary take its time"
    slack = wide_by(report)
    if slack <= WORTH_SAYING:
        return "hardly less can be proved: a pair of neighbouring data sets attains the lower end"
    if not fraction_of(report.epsilon.least):
        return "no pair of neighbouring data sets is known that attains any of it; no other method here proves less"
    return f"no method here proves less; a pair of data sets attains the lower end, {float(slack):.1%} below"


def _table(report: Report, document: Certificate) -> str:
    """Return what every method answers, how it was found, and why one has no answer."""
    lines = [] if report.ledger.sound else ["with the printed sensitivities, which bound nothing:"]
    rows = [("method", "epsilon at most", "alpha", "theorem")]
    rows += [(name, record.upper, record.alpha or "-", record.theorem) for name, record in document.methods.items()]
    lines.append(shared.table(rows))
    lines += [f"{name}: {result.how}" for name, result in report.methods.items() if result.how]
    return "\n".join([*lines, *(f"{name}: no answer: {reason}" for name, reason in document.refused.items())])


def write_event(ledger: Ledger, path: Path) -> None:
    """Write the ledger as an event file; refuse what no event describes."""
    from accountant.dp_events import event_document

    path.write_text(json.dumps(event_document(ledger), indent=2) + "\n", "utf-8")


def theirs(event: Event, neighbours: Neighbours, delta: str) -> str:
    """Return what dp-accounting answers, as lines of a table."""
    if importlib.util.find_spec("dp_accounting") is None:
        return "dp-accounting is not installed: theirs is not shown"
    import dp_accounting
    from dp_accounting import pld, rdp

    from accountant.dp_events import object_of_event
    from accountant.mechanisms.words import Neighbours

    relation = {
        Neighbours.REPLACE_ONE: dp_accounting.NeighboringRelation.REPLACE_ONE,
        Neighbours.ADD_OR_REMOVE: dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        Neighbours.ZERO_OUT: dp_accounting.NeighboringRelation.REPLACE_SPECIAL,
    }[neighbours]
    rows = [("dp-accounting (not certified)", "epsilon")]
    composed = object_of_event(event)
    for name, kind in (("RdpAccountant", rdp.RdpAccountant), ("PLDAccountant", pld.PLDAccountant)):
        try:
            accountant = kind(neighboring_relation=relation)
            answer = repr(float(accountant.compose(composed).get_epsilon(float(delta))))
        except dp_accounting.UnsupportedEventError as reason:
            answer = f"refused: {str(reason)[:100]}"
        except Exception as error:  # whatever it raises is its answer
            answer = f"failed: {type(error).__name__}: {str(error)[:100]}"
        rows.append((name, answer))
    return shared.table(rows)


def show_theirs(event: Event, neighbours: Neighbours, delta: str) -> None:
    """Print what dp-accounting answers."""
    click.echo(theirs(event, neighbours, delta))
