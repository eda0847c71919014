"""The options of `dpadmm train` that describe the run, as one object, checked against each other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeVar, cast

import click

from dpadmm.training import ALGORITHMS, REGULARIZERS, SCHEDULES, Shape
from reference.losses import LOSSES
from reference.mpadmm import Release
from reference.outputs import Output

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
    rho: float
    eta: float
    schedule: str
    batch: int | None
    iterations: int
    sigma: float | None
    epsilon: str | None
    delta: str | None
    clip: float | None
    normalise: bool
    intercept: bool
    bounds: tuple[float, float] | None
    seed: int | None
    noise: str
    grid: float | None
    release: str
    output_kind: str

    def require_consistent(self) -> None:
        """Refuse options that contradict or need each other."""
        if (self.sigma is None) == (self.epsilon is None):
            raise click.UsageError("give either --sigma, or --epsilon with --delta")
        if self.epsilon is not None and self.delta is None:
            raise click.UsageError("--epsilon needs --delta")
        if self.clip is not None and self.normalise:
            raise click.UsageError("give --clip or --normalise, not both: each bounds a record's gradient")
        if self.clip is None and not self.normalise and self.sigma != 0:
            raise click.UsageError("noise hides only what is bounded: give --clip C or --normalise")
        if (self.noise == "discrete") != (self.grid is not None):
            raise click.UsageError("--noise discrete and --grid go together")
        if self.algorithm == "mpadmm" and self.batch is not None:
            raise click.UsageError(f"mpadmm uses every record in every epoch: no --batch, got --batch {self.batch}")
        if self.regularizer == "group-l1" and not self.groups:
            raise click.UsageError("--regularizer group-l1 needs --groups, such as 0,1,2;3,4")

    def shape(self) -> Shape:
        """What the regularizer needs beyond lambda."""
        return Shape(self.l1_ratio, self.a, self.gamma, self.groups, self.matrix)

    def document(self) -> dict[str, object]:
        """Every choice for the manifest, reals as decimal strings."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: object) -> object:
    if isinstance(value, float):
        return repr(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


# [CL20] section 5.4.
PAPER_DEFAULTS: dict[str, dict[str, object]] = {
    "ssadmm": {"rho": 0.25, "schedule": "per-epoch"},
    "mpadmm": {"rho": 0.5, "schedule": "constant"},
}


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
    click.option("--algorithm", type=click.Choice([a.value for a in ALGORITHMS]), default="ssadmm", show_default=True),
    click.option("--loss", type=click.Choice(list(LOSSES)), default="logistic", show_default=True),
    click.option("--regularizer", type=click.Choice(list(REGULARIZERS)), default="l1", show_default=True),
    click.option("--lambda", "lam", type=float, default=1e-3, show_default=True, help="Weight of the regularizer."),
    click.option("--l1-ratio", type=float, default=0.5, show_default=True, help="elastic-net: share of L1."),
    click.option("--a", type=float, default=3.7, show_default=True, help="scad: where it becomes flat."),
    click.option("--gamma", type=float, default=3.0, show_default=True, help="mcp: where it becomes flat."),
    click.option("--groups", callback=_groups, help="group-l1: coefficients from 0, such as 0,1,2;3,4."),
    click.option("--matrix", callback=_matrix, default="1x1", help="nuclear: the model's shape, such as 4x31."),
    click.option("--rho", type=float, help="Penalty parameter of ADMM.  [default: ssadmm 0.25, mpadmm 0.5]"),
    click.option("--eta", type=float, default=1.0, show_default=True, help="Step size (its first value)."),
    click.option(
        "--schedule",
        type=click.Choice(list(SCHEDULES)),
        help="How the step size falls.  [default: ssadmm per-epoch, mpadmm constant]",
    ),
    click.option("--batch", type=int, help="ssadmm: records an iteration.  [default: the root of n, rounded up]"),
    click.option("--iterations", type=int, required=True, help="ssadmm: iterations; mpadmm: epochs."),
    click.option("--sigma", type=float, help="Standard deviation of the noise."),
    click.option("--epsilon", help="Calibrate the noise to this epsilon (a decimal number) ..."),
    click.option("--delta", help="... at this delta; with --sigma, price the run at it."),
    click.option("--clip", type=float, help="Clip each record's gradient to this norm."),
    click.option("--normalise", is_flag=True, help="Divide each record by its norm, after the intercept."),
    click.option("--intercept/--no-intercept", default=True, show_default=True, help="A column of ones, first."),
    click.option("--bounds", type=(float, float), help="Public lower and upper bound; features are scaled to [0, 1]."),
    click.option("--seed", type=int, help="Repeat a run. Whoever knows the seed can remove the noise."),
    click.option("--noise", type=click.Choice(["gaussian", "discrete"]), default="gaussian", show_default=True),
    click.option("--grid", type=float, help="discrete: a power of two that the noise is a multiple of."),
    click.option("--release", type=click.Choice([r.value for r in Release]), default="primal", show_default=True),
    click.option("--output-kind", type=click.Choice([o.value for o in Output]), default="last", show_default=True),
]


def choice_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add the options and hand them to the function as one ``choices``."""

    @functools.wraps(function)
    def gathered(**options: object) -> R:
        names = [field.name for field in fields(Choices)]
        picked = {name: options.pop(name) for name in names}
        for name, default in PAPER_DEFAULTS[str(picked["algorithm"])].items():
            picked[name] = default if picked[name] is None else picked[name]
        # click has parsed each by its own type, which no type checker can follow through a dictionary.
        make = cast(Callable[..., Choices], Choices)
        return function(**options, choices=make(**picked))

    for option in reversed(OPTIONS):
        option(gathered)
    return gathered
