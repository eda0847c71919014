"""The options of `dpadmm train` that describe the run, as one object, checked against each other."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar, cast

import click

from dpadmm.cli.train_words import ALGORITHMS, LOSSES, OUTPUTS, REGULARIZERS, RELEASES, SCHEDULES

if TYPE_CHECKING:
    from dpadmm.training import Shape

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Every public choice of a run, as it was typed."""

    algorithm: str
    loss: str
    regularizer: str
    lam: float
    l1_ratio: float
    a: float
    gamma: float
    groups: tuple[tuple[int, ...], ...]
    matrix: tuple[int, int]
    rho: float | None
    eta: float | None
    schedule: str
    batch: int | None
    iterations: int | None
    sigma: float | None
    epsilon: str | None
    delta: str | None
    clip: float | None
    normalise: bool
    intercept: bool
    bounds: tuple[tuple[str, tuple[float, float]], ...]
    seed: int | None
    noise: str
    grid: float | None
    release: str
    output_kind: str

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
            raise click.UsageError("noise hides only what is bounded: give --clip C or --normalise, not --no-normalise")
        if (self.noise == "discrete") != (self.grid is not None):
            raise click.UsageError("--noise discrete and --grid go together")
        if self.algorithm == "mpadmm" and self.batch is not None:
            raise click.UsageError(f"mpadmm uses every record in every epoch: no --batch, got --batch {self.batch}")
        if self.regularizer == "group-l1" and not self.groups:
            raise click.UsageError("--regularizer group-l1 needs --groups, such as 0,1,2;3,4")

    def shape(self) -> Shape:
        """What the regularizer needs beyond lambda."""
        from dpadmm.training import Shape

        return Shape(self.l1_ratio, self.a, self.gamma, self.groups, self.matrix)

    def document(self) -> dict[str, object]:
        """Every choice for the manifest, reals as decimal strings."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


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
        raise click.BadParameter(f"{value!r} is no list of groups such as 0,1,2;3,4") from None


def _matrix(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, int]:
    """``4x31`` as rows and columns."""
    rows, _, columns = value.partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise click.BadParameter(f"{value!r} is no shape such as 4x31")
    return int(rows), int(columns)


OPTIONS = [
    click.option(
        "--algorithm",
        type=click.Choice(ALGORITHMS),
        default="ssadmm",
        show_default=True,
        help="ssadmm takes a batch of records in every iteration, mpadmm all of them.",
    ),
    click.option(
        "--loss",
        type=click.Choice(LOSSES),
        default="logistic",
        show_default=True,
        help="logistic gives probabilities; huber is a smoothed SVM.",
    ),
    click.option(
        "--regularizer",
        type=click.Choice(REGULARIZERS),
        default="l1",
        show_default=True,
        help="Penalty on the coefficients; all but none and nuclear can set some of them to 0.",
    ),
    click.option("--lambda", "lam", type=float, default=1e-4, show_default=True, help="Weight of the regularizer."),
    click.option("--l1-ratio", type=float, default=0.5, show_default=True, help="elastic-net: share of L1."),
    click.option("--a", type=float, default=3.7, show_default=True, help="scad: where it becomes flat."),
    click.option("--gamma", type=float, default=3.0, show_default=True, help="mcp: where it becomes flat."),
    click.option("--groups", callback=_groups, help="group-l1: coefficients from 0, such as 0,1,2;3,4."),
    click.option("--matrix", callback=_matrix, default="1x1", help="nuclear: the model's shape, such as 4x31."),
    click.option("--rho", type=float, help=f"Penalty parameter of ADMM.  {_BY_DEFAULT}"),
    click.option("--eta", type=float, help=f"Step size (its first value).  {_BY_DEFAULT}"),
    click.option(
        "--schedule",
        type=click.Choice(SCHEDULES),
        help="How the step size falls.  [default: ssadmm per-epoch, mpadmm constant]",
    ),
    click.option("--batch", type=int, help="ssadmm: records an iteration.  [default: the root of n, rounded up]"),
    click.option("--iterations", type=int, help="ssadmm: iterations, 5 epochs by default; mpadmm: epochs, 20 to 400."),
    click.option("--sigma", type=float, help="Standard deviation of the noise."),
    click.option("--epsilon", help="Calibrate the noise to this epsilon (a decimal number) ..."),
    click.option("--delta", help="... at this delta; with --sigma, price the run at it."),
    click.option("--clip", type=float, help="Clip each record's gradient to this norm."),
    click.option(
        "--normalise/--no-normalise",
        default=None,
        help="Divide each record by its norm, after the intercept.  [default: unless --clip is given]",
    ),
    click.option("--intercept/--no-intercept", default=True, show_default=True, help="A column of ones, first."),
    click.option(
        "--bounds",
        multiple=True,
        callback=_bounds,
        metavar="[NAME=]LOW:HIGH",
        help="Public bounds of a column, or of all; its values are cut off there and scaled to [0, 1]. Repeatable.",
    ),
    click.option("--seed", type=int, help="Repeat a run. Whoever knows the seed can remove the noise."),
    click.option(
        "--noise",
        type=click.Choice(["gaussian", "discrete"]),
        default="gaussian",
        show_default=True,
        help="discrete is exact on a --grid, where binary64 noise must not be trusted.",
    ),
    click.option("--grid", type=float, help="discrete: a power of two that the noise is a multiple of."),
    click.option(
        "--release",
        type=click.Choice(RELEASES),
        default="primal",
        show_default=True,
        help="mpadmm: whether noise is added to x alone, or to x, z and y.",
    ),
    click.option(
        "--output-kind",
        type=click.Choice(OUTPUTS),
        default=OUTPUTS[0],
        show_default=True,
        help="Which model is written: of the last iteration, the mean of all, or the sparse copy z; auto is sparse "
        "where the regularizer is.",
    ),
]


def choice_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add the options and hand them to the function as one ``choices``."""

    @functools.wraps(function)
    def gathered(**options: object) -> R:
        names = [field.name for field in fields(Choices)]
        picked = {name: options.pop(name) for name in names}
        if picked["schedule"] is None:
            picked["schedule"] = PAPER_SCHEDULES[str(picked["algorithm"])]
        if picked["normalise"] is None:
            picked["normalise"] = picked["clip"] is None
        # click has parsed each by its own type, which no type checker can follow through a dictionary.
        make = cast(Callable[..., Choices], Choices)
        return function(**options, choices=make(**picked))

    for option in reversed(OPTIONS):
        option(gathered)
    return gathered
