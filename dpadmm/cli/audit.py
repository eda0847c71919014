"""`dpadmm audit`: the statistics alone, on an implementation behind the wire.

What runs `--black-box` is loaded when it is run; its options are here.
"""

from __future__ import annotations

import secrets
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import click

from accountant.mechanisms.words import Algorithm, Neighbours, Release, Sensitivity, Visibility
from audits.errors import NoPower
from dpadmm.cli.common import Duration, emit_json, format_option, in_sections, memory_option, timeout_option
from verification.outcome import Finding, Outcome, worst
from verification.wire.process import Limits

if TYPE_CHECKING:
    from audits.eprocess.confidence import LowerBound
    from audits.games.checkpoint import Checkpoint
    from audits.games.executors import Target
    from audits.games.game import Subject
    from audits.games.plans import Planned
    from audits.games.sequential import AuditResult


CommandT = TypeVar("CommandT", bound=Callable[..., object])
_Kind: TypeAlias = click.Path | click.Tuple | click.Choice[str] | click.FloatRange | click.IntRange | Duration
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_NEIGHBOURS = click.Choice([relation.value for relation in (Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE)])
_AT_LEAST_0 = click.FloatRange(min=0)
_POSITIVE = click.FloatRange(min=0, min_open=True)
# name, type, default, what it is; all for --black-box
_OPTIONS: tuple[tuple[str, _Kind, object, str], ...] = (
    ("--epsilon", _AT_LEAST_0, None, "The claimed epsilon, at --delta (0: pure)."),
    ("--curve", _FILE, None, "Instead: a JSON list of claimed [epsilon, delta]."),
    ("--neighbours", _NEIGHBOURS, "replace-one", "Which data sets are neighbours."),
    ("--records", click.IntRange(min=2), 12, "Records of a data set."),
    ("--features", click.IntRange(min=1), 3, "Features of a record."),
    ("--norm", _POSITIVE, 1.0, "Largest Euclidean norm of a record that the claim allows."),
    ("--labels", click.Tuple([float, float]), None, "Labels may be any number between these; by default -1 and 1."),
    ("--request", _FILE, None, "A JSON object whose members are added to every `trials` request."),
    ("--budget", Duration(), "5m", "Time for the whole audit (90s, 5m)."),
    (
        "--detect-epsilon",
        _POSITIVE,
        None,
        "Inconclusive unless noise that leaks as much is found; by default 2 epsilon.",
    ),
    ("--explore", click.IntRange(min=20), 800, "Runs of a pair and neighbour, on average, to compare pairs by."),
)


def black_box_options(command: CommandT) -> CommandT:
    """Add the options of a black-box audit to a command."""
    switch = click.option("--library/--no-library", default=True, help="Run the library of pairs.")
    longer = click.option("--beyond-norm", is_flag=True, help="The code bounds records: send longer ones too.")
    command = longer(switch(command))
    for name, kind, default, text in reversed(_OPTIONS):
        shown = default is not None
        option = click.option(name, type=kind, default=default, show_default=shown, help=text)
        command = option(command)
    flag = click.option("--black-box", is_flag=True, help="Assume nothing about the code.")
    return flag(command)


NAMES = frozenset({"library", "beyond_norm", *(name[2:].replace("-", "_") for name, *_ in _OPTIONS)})
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


@click.command(
    "audit",
    cls=in_sections(
        {
            "The claimed mechanism": "algorithm release sensitivity released delta",
            "How sure": "false_alarm detect pairs lower_bounds",
            "A pair of your own": "own label_column clip",
            "Black box": " ".join(
                ["black_box", *(name[2:].replace("-", "_") for name, *_ in _OPTIONS), "library", "beyond_norm"]
            ),
            "How it runs": "seed workers cluster checkpoint timeout memory",
        }
    ),
)
@click.option("--algorithm", type=click.Choice([a.value for a in Algorithm]), default="ssadmm", show_default=True)
@click.option("--release", type=click.Choice([r.value for r in Release]), help="For mpadmm: what is perturbed.")
@click.option(
    "--sensitivity",
    type=click.Choice([w.value for w in Sensitivity]),
    default="corrected",
    show_default=True,
    help="For mpadmm: claim with the corrected sensitivities or with those printed in the paper.",
)
@click.option(
    "--false-alarm",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-3,
    show_default=True,
    help="Probability that a correct implementation is refuted, over all games together.",
)
@click.option(
    "--detect",
    type=click.FloatRange(min=1.01),
    default=1.2,
    show_default=True,
    help="Noise too small by this factor must be detectable.",
)
@click.option(
    "--released",
    type=click.Choice([Visibility.EVERY_ITERATE.value, Visibility.LAST_MODEL.value]),
    default="every-iterate",
    show_default=True,
    help="What the adversary sees, even if the implementation shows more.",
)
@click.option(
    "--pair",
    "own",
    nargs=2,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FIRST SECOND",
    help="Also audit this pair of neighbours: two files of records (CSV, NPZ, LIBSVM) that differ in one.",
)
@click.option("--label-column", help="Of --pair's CSV files: a name or a number, the last by default.")
@click.option(
    "--clip",
    type=click.FloatRange(min=0, min_open=True),
    help="For --pair: the bound on the gradient of a record; by default that of the standard games.",
)
@click.option("--pairs", type=click.IntRange(min=1), help="Trial pairs per game; by default as many as --detect needs.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of all draws; if absent, a fresh one is drawn and printed."
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes that run trials; by default one per core.")
@click.option("--cluster", metavar="ADDRESS", help="Run the trials on a Dask cluster instead.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    help="Save the scores in this folder; the same command resumes (needs --seed).",
)
@click.option(
    "--lower-bounds/--no-lower-bounds",
    default=False,
    help="Also print confidence lower bounds on epsilon by every estimator.",
)
@click.option("--delta", type=click.FloatRange(0, 1, max_open=True), default=1e-5, show_default=True)
@timeout_option
@memory_option()
@format_option
@black_box_options
@click.argument("adapter", nargs=-1, metavar="-- COMMAND...")
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    black_box: bool,
    algorithm: str,
    release: str | None,
    sensitivity: str,
    false_alarm: float,
    detect: float,
    released: str,
    own: tuple[Path, Path] | None,
    label_column: str | None,
    clip: float | None,
    pairs: int | None,
    seed: int | None,
    workers: int | None,
    cluster: str | None,
    checkpoint: Path | None,
    lower_bounds: bool,
    delta: float,
    timeout: float,
    memory: int,
    output_format: str,
    adapter: tuple[str, ...],
    **box: object,
) -> None:
    """Test an implementation against the privacy curve of the claimed mechanism.

    With --black-box nothing is assumed about the code: it need not be an algorithm of the paper, declares nothing, and
    answers only `start`, `data`, `trials` and `stop` (docs/guides/black-box.md). State the claim (--epsilon and
    --delta, or --curve), which data sets are neighbours (--neighbours) and the records that the claim covers
    (--records, --features, --norm). Pairs of a library of hard neighbours are run, the better ones more often; scores
    are learned on earlier runs and tested on fresh ones. The result is a verdict, a lower bound on epsilon, and what
    would have been found.
    For example:

    dpadmm audit --black-box --epsilon 1 --delta 1e-5 -- python adapter.py

    Exit codes: 0 stands with the power asked for, 1 refuted, 3 inconclusive, 4 the adapter failed.
    """
    from audits.eprocess.lower_bounds import estimates
    from audits.games.executors import Target, executor
    from audits.games.game import curve_of
    from audits.games.learned import learned_game
    from audits.games.plans import BOUND, own_pair_game, standard_games
    from audits.games.sequential import plan_audit, run_audit
    from dpadmm.cli._own_pair import load_pair
    from verification.judge import finding
    from verification.wire.session import Session

    if not adapter:
        raise click.UsageError("name the adapter's command after --, for example: dpadmm audit -- ./adapter")
    require_fitting(context, black_box=black_box)
    if black_box:
        from dpadmm.cli._black_box import black_box_audit

        raise click.exceptions.Exit(black_box_audit(box, context.params, adapter))
    if delta == 0.0:
        raise click.UsageError("--delta 0 goes only with --black-box: the other audits price a curve")
    if checkpoint is not None and seed is None:
        raise click.UsageError("--checkpoint needs --seed: only the same seed can be resumed")
    subject = _subject(algorithm, release, sensitivity, Visibility(released))
    neighbours = None if own is None else load_pair(*own, label_column=label_column)
    chosen = secrets.randbits(32) if seed is None else seed
    target = Target(adapter, Limits.of(timeout, memory), seeded=seed is not None)
    with Session(target.command, target.limits) as session:
        games = standard_games(session, subject)
        if neighbours is not None:
            games.append(own_pair_game(session, subject, neighbours, clip or BOUND))
        share = false_alarm / (len(games) + 1)
        learned = finding(learned_game(session, subject, chosen, seeded=target.seeded, alpha=share))
    results, unseen = [], {}
    with executor(workers, cluster) as pool:
        for stream, planned in enumerate(games):
            kept = _kept(checkpoint, planned, target, chosen, stream)
            curve = curve_of(subject.ledger(planned.game.records, planned.game.parameters))
            try:
                plan = plan_audit(
                    planned.game,
                    curve,
                    planned.simulate,
                    alpha=share,
                    pairs=pairs,
                    seed=chosen,
                    stream=stream,
                    wanted=detect if planned.demanded else None,
                    attack=planned.attack,
                )
            except NoPower as error:
                unseen[planned.game.name] = str(error)
                continue
            results.append(run_audit(plan, target, pool, checkpoint=kept, progress=_progress))
    found = [estimates(r.first, r.second, delta, pair=r.plan.simulate) if lower_bounds else [] for r in results]
    again = shlex.join(["dpadmm", "audit", *_again(sys.argv[2:], chosen)])
    outcome = worst([*(r.judged.outcome for r in results), *[Outcome.INCONCLUSIVE] * len(unseen), learned.outcome])
    if output_format == "json":
        emit_json(
            _document(results, found, chosen, again)
            | {"outcome": outcome.value, "without_power": unseen, "learned_scores": _learned(learned)}
        )
    else:
        click.echo(f"{learned.outcome.value:<14} {learned.name}: {learned.detail}")
        _show(results, found, unseen, again)
    raise click.exceptions.Exit(outcome.exit_code)


def _learned(finding: Finding) -> dict[str, object]:
    return {
        "outcome": finding.outcome.value,
        "detail": finding.detail,
        "p_value": None if finding.p_value is None else repr(finding.p_value),
        "alpha": repr(finding.false_alarm),
        "runs": finding.trials,
    }


def _subject(algorithm: str, release: str | None, sensitivity: str, visibility: Visibility) -> Subject:
    from audits.games.game import Subject

    which = Algorithm(algorithm)
    if which is not Algorithm.MPADMM:
        if release is not None or sensitivity != Sensitivity.CORRECTED:
            raise click.UsageError("--release and --sensitivity belong to --algorithm mpadmm")
        return Subject(which, visibility=visibility)
    return Subject(which, Release(release or Release.ALL), Sensitivity(sensitivity), visibility)


def _kept(folder: Path | None, planned: Planned, target: Target, seed: int, stream: int) -> Checkpoint | None:
    if folder is None:
        return None
    from audits.games.checkpoint import Checkpoint, fingerprint
    from audits.games.sequential import CHUNK

    identity = fingerprint(planned.game, target.command, seed, stream, CHUNK)
    return Checkpoint(folder / f"{stream}-{planned.game.algorithm}.jsonl", identity)


def _again(arguments: list[str], seed: int) -> list[str]:
    return arguments if "--seed" in arguments else ["--seed", str(seed), *arguments]


def _progress(pairs: int, log_wealth: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{pairs} trial pairs, log-wealth {log_wealth:.2f}\r")
        sys.stderr.flush()


def _show(results: list[AuditResult], estimated: list[list[LowerBound]], unseen: dict[str, str], again: str) -> None:
    from verification.judge import finding

    for name, reason in unseen.items():
        click.echo(f"{Outcome.INCONCLUSIVE.value:<14} {name}: {reason}")
    for result, bounds in zip(results, estimated, strict=True):
        found = finding(result.judged)
        click.echo(f"{found.outcome.value:<14} {result.plan.game.name} ({result.seconds:.1f} s)")
        click.echo(f"{'':<14} {found.detail}")
        for bound in bounds:
            chance = f"; above the claim by chance, as {1 - bound.confidence:.0%} of them are: it refutes nothing"
            click.echo(f"{'':<14} {bound.describe()}{chance if above_by_chance(bound, result) else ''}")
    click.echo(f"again: {again}")


def above_by_chance(bound: LowerBound, result: AuditResult) -> bool:
    """Whether a bound is above a claim that the test, which alone has the stated false alarms, does not refute."""
    import numpy as np

    refuted = result.judged.outcome is Outcome.REFUTED
    if refuted or bound.delta is None:
        return False
    return float(result.plan.curve.delta(np.array([bound.epsilon]))[0]) < bound.delta


def _document(results: list[AuditResult], found: list[list[LowerBound]], seed: int, again: str) -> dict[str, object]:
    from verification.judge import finding

    judged = [(result, finding(result.judged), bounds) for result, bounds in zip(results, found, strict=True)]
    return {
        "version": 1,
        "seed": seed,
        "again": again,
        "games": [
            {
                "name": result.plan.game.name,
                "claim": result.plan.curve.describe(),
                "outcome": concluded.outcome.value,
                "summary": concluded.detail,
                "pairs": int(result.first.size),
                "alpha": repr(result.plan.alpha),
                "largest_log_wealth": repr(float(result.log_wealth.max(initial=0.0))),
                "power": None
                if concluded.power is None
                else {
                    "noise_divisor": repr(concluded.power.divisor),
                    "probability_at_least": repr(concluded.power.at_least),
                },
                "lower_bounds": [bound.document() | {"by_chance": above_by_chance(bound, result)} for bound in bounds],
            }
            for result, concluded, bounds in judged
        ],
    }
