"""`dpadmm predict`: the classes that a trained model gives to records."""

from __future__ import annotations

from pathlib import Path

import click

from dpadmm.cli.common import emit_json, format_option


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--delimiter", help="CSV: by default found from the first lines.")
@format_option
def command(*, model: Path, data: Path, delimiter: str | None, output_format: str) -> None:
    """Print the class of every record of DATA, one a line, by the MODEL that `dpadmm train` wrote.

    Columns of a CSV file with a header are found by name; a label may be missing. Text is CSV: the class, and for the
    logistic loss the probability of the second class. Predictions are post-processing of the
    private model: they cost the records that it was trained on no further privacy.
    """
    from dpadmm.evaluation import read_for
    from dpadmm.saved import load_model

    loaded = load_model(model)
    features, _ = read_for(loaded, data, labelled=False, delimiter=delimiter)
    classes = [str(name) for name in loaded.predict(features)]
    shown = [f"{value:.6f}" for value in loaded.predict_proba(features)] if loaded.loss == "logistic" else []
    if output_format == "json":
        emit_json({"format": "dpadmm-predictions", "version": 1, "classes": classes, "probabilities": shown or None})
        return
    click.echo("class,probability" if shown else "class")
    lines = (f"{name},{value}" for name, value in zip(classes, shown, strict=True)) if shown else iter(classes)
    for line in lines:
        click.echo(line)
