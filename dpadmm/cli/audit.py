"""`dpadmm audit`: the statistics alone, on an implementation behind the wire.

What runs `--black-box` is loaded when it is run; its options are here.
"""

from __future__ import annotations

import secrets
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accountant.mechanisms.words import Algorithm, Neighbours, Release, Sensitivity, Visibility
from audits.errors import NoPower
from dpadmm.cli.common import (
    COUNT,
    EXISTING,
    FILE,
    FOLDER,
    NATURAL,
    POSITIVE,
    Duration,
    asked,
    cluster_option,
    emit_json,
    false_alarm_option,
    format_option,
    gathered,
    in_sections,
    memory_option,
    overwrite,
    timeout_option,
    with_seed,
    workers_option,
)
from verification.outcome import Finding, Outcome, worst
from verification.wire.process import Limits

if TYPE_CHECKING:
    from audits.eprocess.confidence import LowerBound
    from audits.games.executors import Checkpoint, Target
    from audits.games.game import Subject
    from audits.games.plans import Planned
    from audits.games.sequential import AuditResult


_PAPER = "release sensitivity released detect lower_bounds checkpoint cluster clip"
_BLACK_BOX = "curve neighbours records features norm labels request budget detect_epsilon explore library beyond_norm"


def require_fitting(context: click.Context, *, black_box: bool) -> None:
    """Refuse an option of the other kind of audit that was given on the command line."""
    other = set((f"algorithm {_PAPER}" if black_box else f"epsilon {_BLACK_BOX}").split())
    by_default = {click.core.ParameterSource.DEFAULT, None}
    foreign = [
        param.opts[0]
        for param in context.command.params
        if param.name in other and context.get_parameter_source(param.name) not in by_default
    ]
    if foreign:
        raise click.UsageError(f"{'not' if black_box else 'only'} with --black-box: {', '.join(foreign)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Every option of both kinds of audit."""

    algorithm: str = asked([a.value for a in Algorithm], "An algorithm of the paper ...", default="ssadmm")
    black_box: bool = asked(bool, "... or any code: nothing is assumed about it.")
    epsilon: float | None = asked(
        click.FloatRange(min=0), "With --black-box: the claimed epsilon, at --delta (0: pure)."
    )
    delta: float = asked(click.FloatRange(0, 1, max_open=True), "The delta of the claim.", default=1e-5)
    false_alarm: float = 1e-3
    release: str | None = asked([r.value for r in Release], "For mpadmm: what is perturbed.")
    sensitivity: str = asked(
        [w.value for w in Sensitivity],
        "For mpadmm: claim with the corrected sensitivities or with those printed in the paper.",
        default="corrected",
    )
    released: str = asked(
        [Visibility.EVERY_ITERATE.value, Visibility.LAST_MODEL.value],
        "What the adversary sees, even if the implementation shows more.",
        default="every-iterate",
    )
    detect: float = asked(click.FloatRange(min=1.01), "Noise too small by this factor must be detectable.", default=1.2)
    lower_bounds: bool = asked(bool, "Also print confidence lower bounds on epsilon by every estimator.")
    checkpoint: Path | None = asked(FOLDER, "Save the scores in this folder; the same command resumes (needs --seed).")
    cluster: str | None = None
    clip: float | None = asked(
        POSITIVE, "For --pair: the bound on a record's gradient; by default that of the standard games."
    )
    curve: Path | None = asked(EXISTING, "Instead of --epsilon: a JSON list of claimed [epsilon, delta].")
    neighbours: str = asked(
        [relation.value for relation in (Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE)],
        "Which data sets are neighbours.",
        default="replace-one",
    )
    records: int = asked(click.IntRange(min=2), "Records of a data set.", default=12)
    features: int = asked(COUNT, "Features of a record.", default=3)
    norm: float = asked(POSITIVE, "Largest Euclidean norm of a record that the claim allows.", default=1.0)
    labels: tuple[float, float] | None = asked(
        click.Tuple([float, float]), "Labels may be any number between these; by default -1 and 1.", metavar="LOW HIGH"
    )
    request: Path | None = asked(EXISTING, "A JSON object whose members are added to every `trials` request.")
    budget: float = asked(Duration(), "Time for the whole audit (90s, 5m).", default="5m")
    detect_epsilon: float | None = asked(
        POSITIVE, "Inconclusive unless noise that leaks as much is found; by default 2 epsilon."
    )
    explore: int = asked(
        click.IntRange(min=20), "Runs of a pair and neighbour, on average, to compare pairs by.", default=800
    )
    library: bool = asked(bool, "Run the library of pairs.", name="--library/--no-library", default=True)
    beyond_norm: bool = asked(bool, "The code bounds records itself: send longer ones too.")
    own: tuple[Path, Path] | None = asked(
        FILE,
        "Also audit this pair of neighbours: two files of records (CSV, NPZ, LIBSVM) that differ in one.",
        name="--pair",
        nargs=2,
        metavar="FIRST SECOND",
    )
    label_column: str | None = asked(str, "Of --pair's CSV files: a name or a number, the last by default.")
    pairs: int | None = asked(COUNT, "Trial pairs of a game; by default as many as the power asked for needs.")
    seed: int | None = asked(NATURAL, "Seed of all draws; if absent, a fresh one is drawn and printed.")
    workers: int | None = None
    timeout: float = 60.0
    memory: int = 4096
    output_format: str = "text"

    @property
    def limits(self) -> Limits:
        """Those of the adapter."""
        return Limits.of(self.timeout, self.memory)


@click.command(
    "audit",
    cls=in_sections(
        {
            "The claim": "algorithm black_box epsilon delta false_alarm",
            "An algorithm of the paper": _PAPER,
            "A black box": _BLACK_BOX,
            "Either": "own label_column pairs seed workers timeout memory",
        }
    ),
)
@false_alarm_option
@cluster_option
@workers_option
@timeout_option
@memory_option()
@format_option
@click.argument("adapter", nargs=-1, metavar="-- COMMAND...")
@gathered(AuditOptions, "options")
@click.pass_context
def command(context: click.Context, /, *, adapter: tuple[str, ...], options: AuditOptions) -> None:
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
    from audits.games.plans import BOUND, own_pair_game, standard_games
    from audits.games.sequential import learned_game, plan_audit, run_audit
    from dpadmm.cli._own_pair import load_pair
    from verification.judge import finding
    from verification.wire.session import Session

    if not adapter:
        raise click.UsageError("name the adapter's command after --, for example: dpadmm audit -- ./adapter")
    require_fitting(context, black_box=options.black_box)
    if options.black_box:
        from dpadmm.cli._black_box import black_box_audit

        raise click.exceptions.Exit(black_box_audit(options, adapter))
    if options.delta == 0.0:
        raise click.UsageError("--delta 0 goes only with --black-box: the other audits price a curve")
    if options.checkpoint is not None and options.seed is None:
        raise click.UsageError("--checkpoint needs --seed: only the same seed can be resumed")
    subject = _subject(options)
    neighbours = None if options.own is None else load_pair(*options.own, label_column=options.label_column)
    chosen = secrets.randbits(32) if options.seed is None else options.seed
    target = Target(adapter, options.limits, seeded=options.seed is not None)
    with Session(target.command, target.limits) as session:
        games = standard_games(session, subject)
        if neighbours is not None:
            games.append(own_pair_game(session, subject, neighbours, options.clip or BOUND))
        share = options.false_alarm / (len(games) + 1)
        learned = finding(learned_game(session, subject, chosen, seeded=target.seeded, alpha=share))
    results, unseen = [], {}
    with executor(options.workers, options.cluster) as pool:
        for stream, planned in enumerate(games):
            kept = _kept(options.checkpoint, planned, target, chosen, stream)
            try:
                plan = plan_audit(
                    planned,
                    subject,
                    alpha=share,
                    pairs=options.pairs,
                    seed=chosen,
                    stream=stream,
                    power=options.detect,
                )
            except NoPower as error:
                unseen[planned.game.name] = str(error)
                continue
            results.append(run_audit(plan, target, pool, checkpoint=kept, progress=_say))
    found = [
        estimates(r.first, r.second, options.delta, pair=r.plan.planned.simulate) if options.lower_bounds else []
        for r in results
    ]
    again = shlex.join(["dpadmm", "audit", *with_seed(sys.argv[2:], chosen)])
    outcome = worst([*(r.judged.outcome for r in results), *[Outcome.INCONCLUSIVE] * len(unseen), learned.outcome])
    if options.output_format == "json":
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


def _subject(options: AuditOptions) -> Subject:
    from audits.games.game import Subject

    which, visibility = Algorithm(options.algorithm), Visibility(options.released)
    if which is Algorithm.MPADMM:
        return Subject(which, Release(options.release or Release.ALL), Sensitivity(options.sensitivity), visibility)
    if options.release is not None or options.sensitivity != Sensitivity.CORRECTED:
        raise click.UsageError("--release and --sensitivity belong to --algorithm mpadmm")
    return Subject(which, visibility=visibility)


def _kept(folder: Path | None, planned: Planned, target: Target, seed: int, stream: int) -> Checkpoint | None:
    if folder is None:
        return None
    from audits.games.executors import Checkpoint, fingerprint
    from audits.games.sequential import CHUNK

    identity = fingerprint(planned.game, target.command, seed, stream, CHUNK)
    return Checkpoint(folder / f"{stream}-{planned.game.algorithm}.jsonl", identity)


def _say(pairs: int, log_wealth: float) -> None:
    overwrite(f"{pairs} trial pairs, log-wealth {log_wealth:.2f}")


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
