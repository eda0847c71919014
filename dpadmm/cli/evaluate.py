"""`dpadmm evaluate`: how good a trained model is on records with labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpadmm.cli.common import emit_json, format_option

if TYPE_CHECKING:
    from dpadmm.evaluation import Evaluation


@click.command("evaluate")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--label-column", help="CSV: name or number (from 1) of the label's column.  [default: as in training]")
@click.option("--delimiter", help="CSV: by default found from the first lines.")
@format_option
def command(*, model: Path, data: Path, label_column: str | None, delimiter: str | None, output_format: str) -> None:
    """Compare the MODEL that `dpadmm train` wrote with the labels of DATA, records that it was not trained on.

    The result is computed from DATA without noise: it is NOT private. Warns where the model is no better than always
    predicting the larger class.
    """
    from dpadmm.evaluation import NOT_PRIVATE, evaluated, read_for
    from dpadmm.saved import load_model

    loaded = load_model(model)
    features, labels = read_for(loaded, data, labelled=True, label_column=label_column, delimiter=delimiter)
    found = evaluated(loaded, features, labels)
    if output_format == "json":
        emit_json(document(found))
    else:
        show(found)
    click.echo(f"warning: this was {NOT_PRIVATE}", err=True)


def document(found: Evaluation) -> dict[str, object]:
    """The result as JSON; reals are decimal strings."""
    return {
        "format": "dpadmm-evaluation",
        "version": 1,
        "private": False,
        "records": found.records,
        "correct": found.correct,
        "accuracy": f"{found.accuracy:.6f}",
        "majority_accuracy": f"{found.majority:.6f}",
        "second_class": {"records": found.positives, "predicted_right": found.found},
    }


def show(found: Evaluation) -> None:
    """The result as text, and a warning where the model is of no use."""
    click.echo(f"accuracy   {found.accuracy:.4f} on {found.records:,} records ({found.correct:,} right)")
    click.echo(f"majority   {found.majority:.4f}, the accuracy of always predicting the larger class")
    if found.useless:
        click.echo(
            "warning: the model is no better than always predicting the larger class: use more records, fewer "
            "features or a larger epsilon",
            err=True,
        )
