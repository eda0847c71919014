"""`dpadmm audit`: the statistics alone, on an implementation behind the wire."""

from __future__ import annotations

import secrets
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accountant.mechanisms.words import Algorithm, Release, Sensitivity, Visibility
from audits.errors import NoPower
from dpadmm.cli._black_box_options import black_box_options, require_fitting
from dpadmm.cli.common import emit_json, format_option, memory_option, timeout_option
from verification.outcome import Finding, Outcome, worst
from verification.wire.process import Limits

if TYPE_CHECKING:
    from audits.estimators.estimates import Estimate
    from audits.games.plans import Planned
    from audits.games.subject import Subject
    from audits.trials.checkpoint import Checkpoint
    from audits.trials.executors import Target
    from audits.trials.sequential import AuditResult


@click.command("audit")
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
    (--records, --features, --norm). Every pair of a library of hard neighbours is run; scores are learned on one part
    of the runs and tested on fresh ones. The result is a lower bound on epsilon with its confidence, and a verdict.
    For example:

    dpadmm audit --black-box --epsilon 1 --delta 1e-5 -- python adapter.py

    Exit codes: 0 stands with the power asked for, 1 refuted, 3 inconclusive, 4 the adapter failed.
    """
    import numpy as np

    from audits.estimators.estimates import estimates
    from audits.games.game import curve_of
    from audits.games.learned import judged
    from audits.games.own_pair import own_pair_game
    from audits.games.plans import BOUND, standard_games
    from audits.trials.executors import Target, executor
    from audits.trials.sequential import plan_audit, run_audit
    from dpadmm.cli._own_pair import load_pair
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
        learned = judged(session, subject, np.random.default_rng([chosen, 1]), seeded=target.seeded, alpha=share)
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
    found = [
        estimates(r.first, r.second, r.plan.curve, delta, pair=r.plan.simulate) if lower_bounds else [] for r in results
    ]
    again = shlex.join(["dpadmm", "audit", *_again(sys.argv[2:], chosen)])
    outcome = worst([*(r.verdict.outcome for r in results), *[Outcome.INCONCLUSIVE] * len(unseen), learned.outcome])
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
    from audits.games.subject import Subject

    which = Algorithm(algorithm)
    if which is not Algorithm.MPADMM:
        if release is not None or sensitivity != Sensitivity.CORRECTED:
            raise click.UsageError("--release and --sensitivity belong to --algorithm mpadmm")
        return Subject(which, visibility=visibility)
    return Subject(which, Release(release or Release.ALL), Sensitivity(sensitivity), visibility)


def _kept(folder: Path | None, planned: Planned, target: Target, seed: int, stream: int) -> Checkpoint | None:
    if folder is None:
        return None
    from audits.trials.checkpoint import Checkpoint, fingerprint
    from audits.trials.sequential import CHUNK

    identity = fingerprint(planned.game, target.command, seed, stream, CHUNK)
    return Checkpoint(folder / f"{stream}-{planned.game.algorithm}.jsonl", identity)


def _again(arguments: list[str], seed: int) -> list[str]:
    return arguments if "--seed" in arguments else ["--seed", str(seed), *arguments]


def _progress(pairs: int, log_wealth: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{pairs} trial pairs, log-wealth {log_wealth:.2f}\r")
        sys.stderr.flush()


def _show(results: list[AuditResult], found: list[list[Estimate]], unseen: dict[str, str], again: str) -> None:
    for name, reason in unseen.items():
        click.echo(f"{Outcome.INCONCLUSIVE.value:<14} {name}: {reason}")
    for result, bounds in zip(results, found, strict=True):
        click.echo(f"{result.verdict.outcome.value:<14} {result.plan.game.name}: claim {result.plan.curve.describe()}")
        click.echo(f"{'':<14} {result.verdict.summary} ({result.seconds:.1f} s)")
        for bound in bounds:
            click.echo(f"{'':<14} {bound.describe()}")
    click.echo(f"again: {again}")


def _document(results: list[AuditResult], found: list[list[Estimate]], seed: int, again: str) -> dict[str, object]:
    return {
        "version": 1,
        "seed": seed,
        "again": again,
        "games": [
            {
                "name": result.plan.game.name,
                "claim": result.plan.curve.describe(),
                "outcome": result.verdict.outcome.value,
                "summary": result.verdict.summary,
                "pairs": result.verdict.trials,
                "alpha": repr(result.plan.alpha),
                "largest_log_wealth": repr(result.verdict.log_wealth),
                "power": None
                if result.verdict.power is None
                else {
                    "noise_divisor": repr(result.verdict.power.divisor),
                    "probability_at_least": repr(result.verdict.power.at_least),
                },
                "lower_bounds": [bound.document() for bound in bounds],
            }
            for result, bounds in zip(results, found, strict=True)
        ],
    }
