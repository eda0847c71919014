"""The options of `dpadmm audit --black-box`; what runs it is loaded when it is run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

import click

from accountant.mechanisms.words import Neighbours
from dpadmm.cli.common import Duration

CommandT = TypeVar("CommandT", bound=Callable[..., object])
_Kind: TypeAlias = click.Path | click.Choice[str] | click.FloatRange | click.IntRange | Duration
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_NEIGHBOURS = click.Choice([relation.value for relation in Neighbours])
_AT_LEAST_0 = click.FloatRange(min=0)
_POSITIVE = click.FloatRange(min=0, min_open=True)
_CONFIDENCE = click.FloatRange(0, 1, min_open=True, max_open=True)
# name, type, default, what it is; all for --black-box
_OPTIONS: tuple[tuple[str, _Kind, object, str], ...] = (
    ("--epsilon", _AT_LEAST_0, None, "The claimed epsilon, at --delta (0: pure)."),
    ("--curve", _FILE, None, "Instead: a JSON list of claimed [epsilon, delta]."),
    ("--neighbours", _NEIGHBOURS, "replace-one", "Which data sets are neighbours."),
    ("--records", click.IntRange(min=2), 12, "Records of a data set."),
    ("--features", click.IntRange(min=1), 3, "Features of a record."),
    ("--norm", _POSITIVE, 1.0, "Largest Euclidean norm of a record that the claim allows."),
    ("--request", _FILE, None, "A JSON object whose members are added to every `trials` request."),
    ("--budget", Duration(), "5m", "Time for the whole audit (90s, 5m)."),
    ("--detect-epsilon", _POSITIVE, 4.0, "Inconclusive unless an epsilon this large would have been detected."),
    ("--confidence", _CONFIDENCE, 0.95, "Confidence of the lower bound."),
    ("--explore", click.IntRange(min=20), 800, "Runs of each neighbour to learn from."),
)


def black_box_options(command: CommandT) -> CommandT:
    """Add the options of a black-box audit to a command."""
    switch = click.option("--library/--no-library", default=True, help="Black box: run the library of pairs.")
    command = switch(command)
    for name, kind, default, text in reversed(_OPTIONS):
        shown = default is not None
        option = click.option(name, type=kind, default=default, show_default=shown, help=f"Black box: {text}")
        command = option(command)
    flag = click.option("--black-box", is_flag=True, help="Assume nothing about the code; see above.")
    return flag(command)


NAMES = frozenset({"library", *(name[2:].replace("-", "_") for name, *_ in _OPTIONS)})
SHARED = frozenset(
    {
        "black_box",
        "false_alarm",
        "delta",
        "pairs",
        "own",
        "label_column",
        "seed",
        "workers",
        "timeout",
        "memory",
        "output_format",
    }
)


def require_fitting(context: click.Context, *, black_box: bool) -> None:
    """Refuse an option of the other kind of audit that was given on the command line."""
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) not in {click.core.ParameterSource.DEFAULT, None}
    }
    foreign = given - SHARED - NAMES - {"adapter"} if black_box else given & NAMES
    if foreign:
        listed = ", ".join(sorted(f"--{name.replace('_', '-')}" for name in foreign))
        raise click.UsageError(f"{listed} {'do not go' if black_box else 'go only'} with --black-box")
