"""What `account` and `calibrate` share: options with exact numbers, the mechanisms, tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.algorithms import Accounting, Proximal, Release, Sensitivity
from accountant.mechanisms.quantities import Noise, Sampling

Command = TypeVar("Command", bound=Callable[..., object])

REAL = "NUMBER"
"""Exact numbers: decimals ("1e-8") and ratios ("1/3") are read as written, never through binary floats."""


def real_option(*names: str, explain: str, required: bool = False) -> Callable[[Command], Command]:
    """Return an option that takes an exact number."""
    return click.option(*names, metavar=REAL, required=required, help=explain)


def whole_option(
    *names: str, explain: str, required: bool = True, default: int | None = None
) -> Callable[[Command], Command]:
    """Return an option that takes a whole number."""
    if default is not None:
        return click.option(*names, type=int, default=default, show_default=True, help=explain)
    return click.option(*names, type=int, required=required, help=explain)


def combined(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator that adds the options in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


records_option = whole_option("--records", explain="n, the number of records (public, fixed).")
batch_option = whole_option("--batch", explain="m, the batch size.")
iterations_option = whole_option("--iterations", explain="T, the number of iterations.")
epochs_option = whole_option("--epochs", explain="T, the number of epochs.")
delta_option = real_option("--delta", required=True, explain="delta, strictly between 0 and 1.")
rho_option = real_option("--rho", required=True, explain="rho, the penalty parameter.")
sampling_option = click.option(
    "--sampling",
    type=click.Choice([scheme.value for scheme in Sampling]),
    default=Sampling.WITHOUT_REPLACEMENT.value,
    show_default=True,
    help="How batches are drawn; the theorems here are for fresh batches without replacement.",
)
noise_option = click.option(
    "--noise",
    type=click.Choice([kind.value for kind in Noise]),
    default=Noise.GAUSSIAN.value,
    show_default=True,
    help="Real Gaussian noise, or the exact discrete Gaussian (only Renyi bounds are proved for it).",
)
eta_option = click.option(
    "--eta",
    "eta",
    metavar=REAL,
    multiple=True,
    required=True,
    help="eta, the step size; once for a constant one, or once per epoch (eta^0 first).",
)
release_option = click.option(
    "--release",
    type=click.Choice([release.value for release in Release]),
    default=Release.ALL.value,
    show_default=True,
    help="Noisy x, z and y (Algorithm 2), or noisy x with z and y computed from it.",
)
sensitivity_option = click.option(
    "--sensitivity",
    type=click.Choice([sensitivity.value for sensitivity in Sensitivity]),
    default=Sensitivity.CORRECTED.value,
    show_default=True,
    help="The corrected Delta(x) = 2C eta/(n(1+eta rho)), or the paper's (erratum E1: too small for eta > 1).",
)
accounting_option = click.option(
    "--accounting",
    type=click.Choice([accounting.value for accounting in Accounting]),
    default=None,
    help="x, z, y as one joint release or as three; default: joint, and separate for printed sensitivities.",
)
regularizer_option = click.option(
    "--regularizer",
    type=click.Choice(["convex", "scad", "mcp"]),
    default="convex",
    show_default=True,
    help="Convex ones (L1, elastic net, group, nuclear norm) are nonexpansive; SCAD and MCP are not (E11).",
)
shape_option = real_option("--shape", explain="a of SCAD, gamma of MCP.")
mpadmm_shape_options = combined(
    rho_option,
    eta_option,
    release_option,
    sensitivity_option,
    accounting_option,
    regularizer_option,
    shape_option,
    noise_option,
)


def proximal_of(regularizer: str, shape: str | None, rho: str, release: str) -> Proximal:
    """Return the Lipschitz constant that the regularizer needs; none is needed where only x is released."""
    if regularizer == "convex" or release == Release.PRIMAL.value:
        return Proximal()
    if shape is None:
        raise InvalidQuantityError(f"--regularizer {regularizer} needs --shape")
    return Proximal.scad(shape, rho) if regularizer == "scad" else Proximal.mcp(shape, rho)


def one_or_many(values: Sequence[str]) -> str | list[str]:
    """Return a single value as itself: a constant schedule."""
    return values[0] if len(values) == 1 else list(values)


def progress(message: str) -> None:
    """Say what is being computed, on a terminal only."""
    if sys.stderr.isatty():
        click.echo(f"... {message}", err=True)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
