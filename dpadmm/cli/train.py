"""`dpadmm train`, `predict` and `evaluate`: fit a private model, use it, compare it with labels.

The words that options accept stand here as plain text, so that `--help` needs no numerical library;
tests/dpadmm/test_startup.py compares each list with the code that it names.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dpadmm.cli.common import FILE, asked, complain, emit_json, format_option, gathered, in_sections, option

if TYPE_CHECKING:
    from dpadmm.cli.train_run import Trained
    from dpadmm.saved import Evaluation
    from dpadmm.training import Shape


ALGORITHMS = ("ssadmm", "mpadmm")
LOSSES = ("logistic", "huber")
REGULARIZERS = ("none", "l1", "elastic-net", "group-l1", "nuclear", "scad", "mcp")
SCHEDULES = ("constant", "per-epoch", "inverse-sqrt")
RELEASES = ("all", "primal")
SAMPLINGS = ("without-replacement", "fixed-order", "shuffle")
OUTPUTS = ("auto", "last", "average", "sparse")
FORMATS = ("libsvm", "csv", "npz")


def _plain(value: object) -> object:
    if isinstance(value, float):
        return repr(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


# [CL20] section 5.4.
PAPER_SCHEDULES = {"ssadmm": "per-epoch", "mpadmm": "constant"}
_BY_DEFAULT = "[default: by n, p and the target]"


def _bounds(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[float, float]], ...]:
    """``0:120`` for every column, ``age=0:120`` for one."""
    found: dict[str, tuple[float, float]] = {}
    for value in values:
        name, _, span = value.rpartition("=")
        low, colon, high = span.partition(":")
        try:
            pair = (float(low), float(high)) if colon else None
        except ValueError:
            pair = None
        if pair is None or not pair[0] < pair[1] or not all(map(math.isfinite, pair)):
            raise click.BadParameter(f"{value!r} is not LOW:HIGH or NAME=LOW:HIGH with LOW < HIGH, such as age=0:120")
        if name in found:
            raise click.BadParameter(f"{value!r} states bounds of {name or 'every column'} a second time")
        found[name] = pair
    return tuple(found.items())


def _groups(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[tuple[int, ...], ...]:
    """``0,1,2;3,4`` as groups of coefficients, counted from 0, the intercept (if any) first."""
    if value is None:
        return ()
    try:
        return tuple(tuple(int(index) for index in group.split(",")) for group in value.split(";"))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of groups such as 0,1,2;3,4") from None


def _matrix(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, int]:
    """``4x31`` as rows and columns."""
    rows, _, columns = value.partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise click.BadParameter(f"{value!r} is not a shape such as 4x31")
    return int(rows), int(columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Every public choice of a run, as it was typed."""

    algorithm: str = asked(
        ALGORITHMS, "ssadmm takes a batch of records in every iteration, mpadmm all of them.", default="ssadmm"
    )
    loss: str = asked(LOSSES, "logistic gives probabilities; huber is a smoothed SVM.", default="logistic")
    regularizer: str = asked(
        REGULARIZERS, "Penalty on the coefficients; all but none and nuclear can set some of them to 0.", default="l1"
    )
    lam: float = asked(float, "Weight of the regularizer.", default=1e-4, name="--lambda")
    l1_ratio: float = asked(float, "elastic-net: share of L1.", default=0.5)
    a: float = asked(float, "scad: where it becomes flat.", default=3.7)
    gamma: float = asked(float, "mcp: where it becomes flat.", default=3.0)
    groups: tuple[tuple[int, ...], ...] = asked(
        str, "group-l1: coefficients from 0, such as 0,1,2;3,4.", callback=_groups
    )
    matrix: tuple[int, int] = asked(str, "nuclear: the model's shape, such as 4x31.", default="1x1", callback=_matrix)
    rho: float | None = asked(float, f"Penalty parameter of ADMM.  {_BY_DEFAULT}")
    eta: float | None = asked(float, f"Step size (its first value).  {_BY_DEFAULT}")
    schedule: str = asked(SCHEDULES, "How the step size falls.  [default: ssadmm per-epoch, mpadmm constant]")
    batch: int | None = asked(int, "ssadmm: records in each iteration.  [default: the root of n, rounded up]")
    sampling: str = asked(
        SAMPLINGS,
        "ssadmm: fresh batches, which mostly cost less; or the next batch of an epoch, one release an epoch: in the "
        "order of the file, or of a fresh shuffle, which costs the same. Records that fill no batch are left out.",
        default=SAMPLINGS[0],
    )
    iterations: int | None = asked(int, "ssadmm: iterations, 5 epochs by default; mpadmm: epochs, 20 to 400.")
    sigma: float | None = asked(float, "Standard deviation of the noise, instead of --epsilon.")
    epsilon: str | None = asked(str, "Calibrate the noise to this epsilon ...", metavar="NUMBER")
    delta: str | None = asked(str, "... at this delta; with --sigma, price the run at it.", metavar="NUMBER")
    effort: Literal["quick", "standard"] = asked(
        ["quick", "standard"],
        "standard prices by the exact adversary where it may gain 1 %, for at most 3 s a price; quick never does.",
        default="standard",
    )
    clip: float | None = asked(float, "Clip each record's gradient to this norm.")
    normalise: bool = asked(
        bool,
        "Divide each record by its norm, after the intercept.  [default: unless --clip is given]",
        default=None,
        name="--normalise/--no-normalise",
    )
    intercept: bool = asked(bool, "A column of ones, first.", default=True, name="--intercept/--no-intercept")
    bounds: tuple[tuple[str, tuple[float, float]], ...] = asked(
        str,
        "Public bounds of a column, or of all: its values are cut off there and scaled to [0, 1].",
        repeated=True,
        callback=_bounds,
        metavar="[NAME=]LOW:HIGH",
    )
    seed: int | None = asked(int, "Repeat a run. Anyone who knows the seed can remove the noise.")
    noise: str = asked(
        ["gaussian", "discrete"],
        "discrete: the exact discrete Gaussian on a --grid, without floating-point artefacts.",
        default="gaussian",
    )
    grid: float | None = asked(float, "discrete: a power of two that the noise is a multiple of.")
    release: str = asked(RELEASES, "mpadmm: whether noise is added to x alone, or to x, z and y.", default="primal")
    output_kind: str = asked(
        OUTPUTS,
        "The model to write: of the last iteration, the mean of all, or the sparse copy z; auto is sparse where the "
        "regularizer is.",
        default=OUTPUTS[0],
    )

    def require_consistent(self) -> None:
        """Refuse options that contradict or need each other."""
        if self.sigma is None and self.epsilon is None:
            raise click.UsageError("no noise is asked for: give either --sigma, or --epsilon with --delta")
        if self.sigma is not None and self.epsilon is not None:
            both = f"--sigma {self.sigma:g} and --epsilon {self.epsilon} both determine the noise"
            raise click.UsageError(f"{both}: give either --sigma, or --epsilon with --delta")
        if self.epsilon is not None and self.delta is None:
            raise click.UsageError("--epsilon needs --delta")
        if self.clip is not None and self.normalise:
            raise click.UsageError("give --clip or --normalise, not both: each bounds a record's gradient")
        if self.clip is None and not self.normalise and self.sigma != 0:
            raise click.UsageError(
                "noise protects only bounded gradients: give --clip or --normalise, not --no-normalise"
            )
        if (self.noise == "discrete") != (self.grid is not None):
            raise click.UsageError("--noise discrete and --grid go together")
        if self.algorithm == "mpadmm" and self.batch is not None:
            raise click.UsageError(f"mpadmm uses every record in every epoch: no --batch, got --batch {self.batch}")
        if self.algorithm == "mpadmm" and self.sampling != SAMPLINGS[0]:
            raise click.UsageError(
                f"mpadmm uses every record in every epoch: no --sampling, got --sampling {self.sampling}"
            )
        if self.regularizer == "group-l1" and not self.groups:
            raise click.UsageError("--regularizer group-l1 needs --groups, such as 0,1,2;3,4")

    def shape(self) -> Shape:
        """What the regularizer needs beyond lambda."""
        from dpadmm.training import Shape

        return Shape(self.l1_ratio, self.a, self.gamma, self.groups, self.matrix)

    def document(self) -> dict[str, object]:
        """Every choice for the manifest, reals as decimal strings."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def choice_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options, hand them to the function as one ``choices``, and fill in what depends on others."""
    command = gathered(Choices, "choices")(function)

    @functools.wraps(command)
    def with_defaults(**options: object) -> None:
        options["schedule"] = options["schedule"] or PAPER_SCHEDULES[str(options["algorithm"])]
        options["normalise"] = options["clip"] is None if options["normalise"] is None else options["normalise"]
        command(**options)

    return with_defaults


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


delimiter_option = option("--delimiter", str, "CSV: by default found from the first lines.")


@click.command(
    "train",
    cls=in_sections(
        {
            "What to give": "out epsilon delta bounds categories",
            "The file": "data_format label_column delimiter features",
            "The model": "loss regularizer lam intercept output_kind",
            "The algorithm": "algorithm iterations batch sampling eta rho schedule release",
            "The noise": "sigma effort noise grid clip normalise seed",
            "Regularizers": "l1_ratio a gamma groups matrix",
        }
    ),
)
@click.argument("data", type=FILE)
@option("--out", click.Path(path_type=Path), "A new directory for the results.", required=True)
@option("--data-format", FORMATS, "By default from the file name.")
@option(
    "--label-column",
    str,
    "CSV: name or number (from 1) of the label's column.  [default: one called label, target, class, y or outcome, or "
    "the only one without numbers; without a header the last]",
)
@delimiter_option
@option(
    "--categories",
    str,
    "CSV: the public categories of a column of words, each of which becomes a feature.",
    repeated=True,
    callback=_categories,
    metavar="NAME=A,B,...",
)
@option("--features", int, "LIBSVM: number of features; by default the largest index.")
@choice_options
@option("--trace", bool, "Also write the objective of every iteration. This is NOT private.")
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

    Only --out, --epsilon and --delta have to be given. Everything else has a default, which depends on public numbers
    (of records and features, and the target) and not on the records.

    The noise is given (--sigma) or calibrated to a target (--epsilon with --delta). It comes from the system's entropy;
    a run with --seed can be repeated and is therefore not private.

    The directory gets model.npz and model.json (coefficients, classes, preprocessing) and manifest.json (every
    parameter, the versions, the guarantee). On any error nothing is written.
    """
    from dpadmm.cli.train_run import train
    from dpadmm.loaders import format_of, load
    from dpadmm.saved import require_free

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
        complain(f"warning: {warning}")
    if output_format == "json":
        emit_json(trained.document())
    else:
        _show(trained, out)


def _show(trained: Trained, out: Path) -> None:
    from accountant import decimal_string

    click.echo(f"model      {out / 'model.json'} ({trained.nonzero} of {trained.dimension} coefficients are not 0)")
    click.echo(f"noise      sigma = {trained.sigma:.4g}, {trained.choices.noise}")
    if trained.guarantee is None:
        click.echo("guarantee  none")
    else:
        shown = decimal_string(trained.guarantee.epsilon, 6, "up")
        holds = "" if trained.private else "  (void: the seed reproduces the noise)"
        click.echo(
            f"guarantee  epsilon <= {shown}, delta = {float(trained.guarantee.delta):g}, "
            f"one record replaced, by {trained.guarantee.method}{holds}"
        )
        if trained.guarantee.theorem is not None:
            click.echo(f"theorem    {trained.guarantee.theorem} (EndToEnd.v, checked by Coq: make proofs)")


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=FILE)
@delimiter_option
@format_option
def predict(*, model: Path, data: Path, delimiter: str | None, output_format: str) -> None:
    """Predict the class of every record of DATA with a MODEL that `dpadmm train` wrote, one line for each.

    Columns of a CSV file with a header are found by name; a label may be missing. Text is CSV: the class, and for the
    logistic loss the probability of the second class. Predictions are post-processing of the
    private model: they cost the records that it was trained on no further privacy.
    """
    from dpadmm.saved import load_model, read_for

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


@click.command("evaluate")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=FILE)
@option("--label-column", str, "CSV: name or number (from 1) of the label's column.  [default: as in training]")
@delimiter_option
@format_option
def evaluate(*, model: Path, data: Path, label_column: str | None, delimiter: str | None, output_format: str) -> None:
    """Compare the MODEL that `dpadmm train` wrote with the labels of DATA, records that it was not trained on.

    The result is computed from DATA without noise: it is NOT private. Warns where the model is no better than always
    predicting the larger class.
    """
    from dpadmm.saved import NOT_PRIVATE, evaluated, load_model, read_for

    loaded = load_model(model)
    features, labels = read_for(loaded, data, labelled=True, label_column=label_column, delimiter=delimiter)
    found = evaluated(loaded, features, labels)
    if output_format == "json":
        emit_json(_evaluation(found))
    else:
        _show_evaluation(found)
    click.echo(f"warning: this was {NOT_PRIVATE}", err=True)


def _evaluation(found: Evaluation) -> dict[str, object]:
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


def _show_evaluation(found: Evaluation) -> None:
    """The result as text, and a warning where the model is of no use."""
    click.echo(f"accuracy   {found.accuracy:.4f} on {found.records:,} records ({found.correct:,} right)")
    click.echo(f"majority   {found.majority:.4f}, the accuracy of always predicting the larger class")
    if found.useless:
        click.echo(
            "warning: the model is no better than always predicting the larger class: use more records, fewer "
            "features or a larger epsilon",
            err=True,
        )
