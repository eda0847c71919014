"""`dpadmm account`: the price of a mechanism, by every method that is proved for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, Unpack

import click

from accountant.certificates.certificate import Certificate, certificate, read_certificate
from accountant.certificates.recheck import recheck
from accountant.mechanisms.algorithms import Accounting, Release, Sensitivity, mpadmm, ssadmm
from accountant.mechanisms.baselines import admm_objp, dp_admm, dp_svrg, gaussian_releases, poisson_sgd
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.ledger_file import read_ledger_file
from accountant.mechanisms.quantities import Noise, Sampling
from accountant.pricing import THEOREMS, Report, epsilon
from dpadmm.cli import _accounting as shared
from dpadmm.cli._account_help import HELP, LEDGER_HELP
from dpadmm.cli.common import EXIT_REFUTED, emit_json, format_option


class Output(TypedDict):
    """What every mechanism's command takes besides its own parameters."""

    delta: str
    methods: tuple[str, ...]
    digits: int
    plot: Path | None
    output_format: str


output_options = shared.combined(
    shared.delta_option,
    click.option(
        "--method",
        "methods",
        multiple=True,
        type=click.Choice(list(THEOREMS)),
        help="Only this method (repeatable); default: every proved one.",
    ),
    click.option("--digits", type=click.IntRange(1, 500), default=15, show_default=True, help="Certified digits."),
    click.option(
        "--plot",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Draw epsilon by method, epsilon over alpha and delta(epsilon) to FILE (png, svg, pdf).",
    ),
    format_option,
)


@click.group("account", invoke_without_command=True, help=HELP)
@click.option(
    "--check",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Re-derive a certificate (what --format json prints) by an independent route; exit 1 if it does not hold.",
)
@click.pass_context
def command(ctx: click.Context, check: Path | None) -> None:
    """Price a mechanism, or re-derive a price that was written down."""
    if check is not None:
        if ctx.invoked_subcommand is not None:
            raise click.UsageError("--check takes a file and no mechanism")
        _check(check)
    elif ctx.invoked_subcommand is None:
        raise click.UsageError("name a mechanism (see --help), or --check FILE")


def _check(path: Path) -> None:
    document = read_certificate(path.read_text("utf-8"))
    for finding in recheck(document):
        click.echo(f"{finding.subject}: {finding.statement}")
    click.echo(f"certified: epsilon in [{document.epsilon.lower}, {document.epsilon.upper}] at delta {document.delta}")


def _gradient_options(function: Callable[..., None]) -> Callable[..., None]:
    return shared.combined(
        shared.records_option,
        shared.batch_option,
        shared.iterations_option,
        shared.real_option("--noise-multiplier", explain="nu = sigma m/(2C); or give --sigma and --clip."),
        shared.real_option("--sigma", explain="Standard deviation added to the batch gradient."),
        shared.real_option("--clip", explain="C, the bound on every record's gradient."),
        shared.sampling_option,
        shared.noise_option,
        output_options,
    )(function)


@command.command("ssadmm", short_help="Algorithm 1: noisy gradients on fresh batches.")
@_gradient_options
def ssadmm_command(
    *,
    records: int,
    batch: int,
    iterations: int,
    noise_multiplier: str | None,
    sigma: str | None,
    clip: str | None,
    sampling: str,
    noise: str,
    **output: Unpack[Output],
) -> None:
    """Algorithm 1: noisy gradients on fresh batches without replacement."""
    ledger = ssadmm(
        records=records,
        batch=batch,
        iterations=iterations,
        noise_multiplier=noise_multiplier,
        sigma=sigma,
        clip=clip,
        sampling=Sampling(sampling),
        noise=Noise(noise),
    )
    _answer(ledger, **output)


command.add_command(
    click.Command(
        "dp-sgd",
        callback=ssadmm_command.callback,
        params=ssadmm_command.params,
        help=("Proximal DP-SGD: priced exactly like ssadmm."),
    )
)


@command.command("mpadmm", short_help="Algorithm 2: noisy x, z, y after every epoch.")
@shared.combined(
    shared.records_option,
    shared.epochs_option,
    shared.real_option("--clip", required=True, explain="C, the bound on every record's gradient."),
    shared.real_option("--sigma", required=True, explain="Standard deviation added to each released vector."),
    shared.mpadmm_shape_options,
    output_options,
)
def mpadmm_command(
    *,
    records: int,
    epochs: int,
    clip: str,
    sigma: str,
    rho: str,
    eta: tuple[str, ...],
    release: str,
    sensitivity: str,
    accounting: str | None,
    regularizer: str,
    shape: str | None,
    noise: str,
    **output: Unpack[Output],
) -> None:
    """Algorithm 2: noisy x, z and y after every epoch (or noisy x alone)."""
    ledger = mpadmm(
        records=records,
        eta=shared.one_or_many(eta),
        rho=rho,
        clip=clip,
        sigma=sigma,
        epochs=epochs,
        release=Release(release),
        sensitivity=Sensitivity(sensitivity),
        accounting=None if accounting is None else Accounting(accounting),
        proximal=shared.proximal_of(regularizer, shape, rho, release),
        noise=Noise(noise),
    )
    _answer(ledger, **output)


@command.command("dp-admm", short_help="DP-ADMM: noisy x_i from full local gradients.")
@shared.combined(
    shared.records_option,
    shared.whole_option("--parties", default=2, required=False, explain="Equal parties that share the records."),
    shared.iterations_option,
    shared.rho_option,
    shared.eta_option,
    shared.real_option("--clip", required=True, explain="C, the bound on every record's gradient."),
    shared.real_option("--sigma", required=True, explain="Standard deviation added to every x_i."),
    output_options,
)
def dp_admm_command(
    *,
    records: int,
    parties: int,
    iterations: int,
    rho: str,
    eta: tuple[str, ...],
    clip: str,
    sigma: str,
    **output: Unpack[Output],
) -> None:
    """DP-ADMM (Huang et al. 2019): noisy x_i from full local gradients."""
    ledger = dp_admm(
        records=records,
        eta=shared.one_or_many(eta),
        rho=rho,
        clip=clip,
        sigma=sigma,
        iterations=iterations,
        parties=parties,
    )
    _answer(ledger, **output)


@command.command("admm-objp", short_help="ADMM-objP: pure DP each iteration.")
@shared.combined(
    shared.iterations_option,
    click.option(
        "--epsilon", metavar=shared.REAL, multiple=True, required=True, help="epsilon_k, once or once per iteration."
    ),
    output_options,
)
def admm_objp_command(iterations: int, epsilon: tuple[str, ...], **output: Unpack[Output]) -> None:
    """ADMM-objP (Wang and Zhang 2019): pure DP each iteration, if solved exactly."""
    _answer(admm_objp(epsilon=shared.one_or_many(epsilon), iterations=iterations), **output)


@command.command("dp-svrg")
@shared.combined(
    shared.records_option,
    shared.batch_option,
    shared.epochs_option,
    shared.whole_option("--inner", explain="Inner iterations of an epoch."),
    shared.real_option("--clip", required=True, explain="C, the bound on every record's gradient."),
    shared.real_option("--sigma-full", required=True, explain="Standard deviation added to the full gradient."),
    shared.real_option("--sigma-inner", required=True, explain="Standard deviation added to the inner gradients."),
    shared.sampling_option,
    output_options,
)
def dp_svrg_command(
    *,
    records: int,
    batch: int,
    epochs: int,
    inner: int,
    clip: str,
    sigma_full: str,
    sigma_inner: str,
    sampling: str,
    **output: Unpack[Output],
) -> None:
    """DP-SVRG (our variant of Wang, Ye and Xu 2017)."""
    ledger = dp_svrg(
        records=records,
        batch=batch,
        epochs=epochs,
        inner=inner,
        sigma_full=sigma_full,
        sigma_inner=sigma_inner,
        clip=clip,
        sampling=Sampling(sampling),
    )
    _answer(ledger, **output)


@command.command("gaussian")
@shared.combined(
    shared.real_option("--noise-multiplier", required=True, explain="sigma over the replace-one sensitivity."),
    shared.whole_option("--releases", default=1, required=False, explain="How many adaptive releases."),
    shared.noise_option,
    output_options,
)
def gaussian_command(noise_multiplier: str, releases: int, noise: str, **output: Unpack[Output]) -> None:
    """Plain Gaussian releases: exact."""
    _answer(gaussian_releases(noise_multiplier=noise_multiplier, releases=releases, noise=Noise(noise)), **output)


@command.command("poisson", short_help="DP-SGD with Poisson batches, for comparison.")
@shared.combined(
    shared.real_option("--sampling-rate", required=True, explain="q, the probability of joining a batch."),
    shared.real_option("--noise-multiplier", required=True, explain="sigma/C: add-or-remove-one neighbours."),
    shared.iterations_option,
    output_options,
)
def poisson_command(sampling_rate: str, noise_multiplier: str, iterations: int, **output: Unpack[Output]) -> None:
    """DP-SGD with Poisson batches: another neighbouring relation, for comparison."""
    ledger = poisson_sgd(sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, iterations=iterations)
    _answer(ledger, **output)


@command.command("ledger", short_help="A file of steps: batches, noise or mechanism that change.", help=LEDGER_HELP)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@output_options
def ledger_command(file: Path, **output: Unpack[Output]) -> None:
    """Price a heterogeneous ledger."""
    _answer(read_ledger_file(file), **output)


def _answer(ledger: Ledger, **output: Unpack[Output]) -> None:
    methods = output["methods"] or None
    report = epsilon(ledger, output["delta"], methods=methods, digits=output["digits"], progress=shared.progress)
    document = certificate(report)
    if output["plot"] is not None:
        from dpadmm.cli._account_plot import draw  # noqa: PLC0415 - matplotlib is an extra

        draw(report, output["plot"])
    if output["output_format"] == "json":
        emit_json(document.to_json())
    else:
        click.echo(_text(report, document))
    if not ledger.sound:
        click.echo("refuted: " + "; ".join(ledger.notes), err=True)
        raise click.exceptions.Exit(EXIT_REFUTED)


def _text(report: Report, document: Certificate) -> str:
    lower, upper = report.epsilon.decimal_strings(min(report.digits, 12))
    lines = [f"epsilon in [{lower}, {upper}] at delta {document.delta} ({report.ledger.neighbours.value} neighbours)"]
    if not report.ledger.sound:
        lines.append("the methods below use the printed sensitivities and bound nothing; the line above is corrected")
    rows = [("method", "epsilon at most", "alpha", "theorem")]
    rows += [(name, record.upper, record.alpha or "-", record.theorem) for name, record in document.methods.items()]
    lines.append(shared.table(rows))
    lines += [f"{name}: no answer: {reason}" for name, reason in document.refused.items()]
    if report.ledger.sound:  # else they are said once, as what refutes the claim
        lines += [f"note: {note}" for note in report.ledger.notes]
    return "\n".join(lines)
