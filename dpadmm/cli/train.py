"""`dpadmm train`: fit a private model; model, manifest and, if asked for, a trace that is not private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpadmm.cli.common import emit_json, format_option
from dpadmm.cli.train_options import Choices, choice_options
from dpadmm.cli.train_words import FORMATS
from dpadmm.saving import require_free

if TYPE_CHECKING:
    from dpadmm.cli.train_run import Trained


def _categories(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """``colour=red,green`` as a column and its categories."""
    found: dict[str, tuple[str, ...]] = {}
    for value in values:
        name, equals, listed = value.partition("=")
        if not equals or not name or len(listed.split(",")) < 2:
            raise click.BadParameter(f"{value!r} is not NAME=A,B,... with two categories or more")
        if name in found:
            raise click.BadParameter(f"{value!r} states the categories of {name} a second time")
        found[name] = tuple(category.strip() for category in listed.split(","))
    return found


@click.command("train")
@click.argument("data", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A new directory for the results.")
@click.option("--data-format", type=click.Choice(FORMATS), help="By default from the file name.")
@click.option(
    "--label-column",
    help="CSV: name or number (from 1) of the label's column.  [default: one called label, target, class, y or "
    "outcome, or the only one without numbers; without a header the last]",
)
@click.option("--delimiter", help="CSV: by default found from the first lines.")
@click.option(
    "--categories",
    multiple=True,
    callback=_categories,
    metavar="NAME=A,B,...",
    help="CSV: the public categories of a column of words; each becomes a feature. Repeatable.",
)
@click.option("--features", type=int, help="LIBSVM: number of features; by default the largest index.")
@choice_options
@click.option("--trace", is_flag=True, help="Also write the objective of every iteration. This is NOT private.")
@format_option
def command(
    *,
    data: Path,
    out: Path,
    data_format: str | None,
    label_column: str | None,
    features: int | None,
    delimiter: str | None,
    categories: dict[str, tuple[str, ...]],
    trace: bool,
    output_format: str,
    choices: Choices,
) -> None:
    """Fit a model on DATA (LIBSVM, CSV or NPZ) and write it to a new directory.

    Only --epsilon and --delta have to be given: everything else has defaults that depend on the numbers of records and
    features and on the target, which count as public, and not on the records.

    The noise is given (--sigma) or calibrated to a target (--epsilon with --delta). It comes from the system's entropy;
    a run with --seed can be repeated and is therefore not private.

    The directory gets model.npz and model.json (coefficients, classes, preprocessing) and manifest.json (every
    parameter, the versions, the guarantee). On any error nothing is written.
    """
    from dpadmm.cli.train_run import train
    from dpadmm.loaders import format_of, load

    if features is not None and features < 1:
        raise click.UsageError(f"--features must be >= 1, got {features}")
    kind = data_format or format_of(data)
    for name, given, meant in (
        ("--features", features is not None, "libsvm"),
        ("--label-column", label_column is not None, "csv"),
        ("--delimiter", delimiter is not None, "csv"),
        ("--categories", bool(categories), "csv"),
    ):
        if given and kind != meant:
            raise click.UsageError(f"{name} is for {meant}, and {data} is read as {kind}; see --data-format")
    require_free(out)
    choices.require_consistent()
    loaded = load(
        data,
        file_format=data_format,
        label_column=label_column,
        features=features,
        delimiter=delimiter,
        categories=categories,
    )
    trained = train(loaded, choices, data, out, trace=trace)
    for warning in trained.warnings:
        click.echo(f"warning: {warning}", err=True)
    if output_format == "json":
        emit_json(trained.document())
    else:
        _show(trained, out)


def _show(trained: Trained, out: Path) -> None:
    from accountant import decimal_string

    click.echo(f"model      {out / 'model.json'} ({trained.nonzero} of {trained.dimension} coefficients are not 0)")
    click.echo(f"noise      sigma = {trained.sigma!r}, {trained.choices.noise}")
    if trained.guarantee is None:
        click.echo("guarantee  none")
    else:
        shown = decimal_string(trained.guarantee.epsilon, 6, "up")
        holds = "" if trained.private else "  (void: the seed reproduces the noise)"
        click.echo(
            f"guarantee  epsilon <= {shown}, delta = {float(trained.guarantee.delta):g}, "
            f"one record replaced, by {trained.guarantee.method}{holds}"
        )
