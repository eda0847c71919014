"""`dpadmm vectors accountant`: ask an accountant in any language, and judge its answers by certified enclosures."""

from __future__ import annotations

import secrets
import statistics
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from dpadmm.cli.common import emit_json, format_option, memory_option, timeout_option
from verification.plain_text import harmless
from verification.wire.process import Limits

if TYPE_CHECKING:
    from verification.accountants.judging import AccountantReport, Judged


@click.command("accountant", short_help="Compare an accountant with certified bounds.")
@click.option("--golden/--no-golden", default=True, show_default=True, help="Ask the questions of the golden vectors.")
@click.option("--random", "fresh", type=click.IntRange(min=0), default=40, show_default=True, help="Fresh questions.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the fresh questions; by default drawn and printed.")
@timeout_option
@memory_option(8192)
@format_option
@click.argument("adapter", nargs=-1, required=True, metavar="-- COMMAND...")
def accountant(
    *,
    golden: bool,
    fresh: int,
    seed: int | None,
    timeout: float,
    memory: int,
    output_format: str,
    adapter: tuple[str, ...],
) -> None:
    """Ask an accountant for epsilon, delta and Renyi epsilon, and judge its answers (docs/reference/accountants.md).

    An answer below what a concrete pair of data sets attains is unsound; from our certified upper end on it is valid,
    and loose by so much; in between nothing is decided.

    Exit codes: 0 nothing unsound, 1 an answer is unsound, 3 nothing was answered, 4 it failed on a question.
    """
    from verification.accountants.judging import judge_all
    from verification.accountants.questions import golden_questions, random_questions

    chosen = secrets.randbits(32) if seed is None else seed
    questions = (*(golden_questions() if golden else ()), *random_questions(fresh, chosen))
    limits = Limits.of(timeout, memory)
    report = judge_all(adapter, questions, limits, _progress if sys.stderr.isatty() else None)
    if output_format == "json":
        emit_json(as_document(report, adapter, chosen))
    else:
        _show(report, chosen)
    raise click.exceptions.Exit(report.outcome.exit_code)


def _progress(judged: Judged) -> None:
    click.echo(f"\r\033[K{judged.question.id}\r", nl=False, err=True)


def _show(report: AccountantReport, seed: int) -> None:
    from accountant.numbers import float_up
    from verification.accountants.judging import AnswerVerdict

    click.echo(harmless(report.name))
    for judged in report.judged:
        if judged.verdict is AnswerVerdict.UNSOUND:
            click.echo(_refuted(judged))
    for verdict in (AnswerVerdict.CRASHED, AnswerVerdict.REFUSED, AnswerVerdict.NOT_JUDGED):
        reasons = Counter(harmless(each.detail) for each in report.judged if each.verdict is verdict)
        for reason, count in reasons.most_common(5):
            click.echo(f"{verdict:<10} {count} questions: {reason}")
    loose = sorted(float_up(each.loose) for each in report.judged if each.loose is not None)
    counts = ", ".join(f"{report.count(verdict)} {verdict}" for verdict in AnswerVerdict if report.count(verdict))
    how = ""
    if loose:
        how = f"; valid answers are loose by {statistics.median(loose):.2%} (median), {loose[-1]:.2%} (worst)"
    click.echo(f"{report.outcome.value}: {counts} of {len(report.judged)} questions{how}; seed {seed}")


def _refuted(judged: Judged) -> str:
    q = judged.question
    ends = judged.ends.printed(8) if judged.ends is not None else ("", "")
    given = {"epsilon": "delta", "delta": "epsilon", "renyi": "alpha"}[q.quantity]
    return (
        f"unsound    {q.id}: answered {_short(judged)}, at least {ends[0]} is true ({q.neighbours.value}, "
        f"{q.sampling}, {q.batch} of {q.records}, noise {q.noise}, {q.steps} steps, {given} {q.at}); {judged.detail}"
    )


def _short(judged: Judged) -> str:
    from accountant.numbers import float_up

    return "no number" if judged.answer is None else f"{float_up(judged.answer):.8g}"


def as_document(report: AccountantReport, adapter: tuple[str, ...], seed: int) -> dict[str, object]:
    """The report as JSON, version 1; reals are decimal strings."""
    from accountant.numbers import float_up
    from verification.accountants.judging import request_of

    return {
        "format": "dpadmm-accountant",
        "version": 1,
        "outcome": report.outcome.value,
        "accountant": report.name,
        "command": list(adapter),
        "seed": seed,
        "answers": [
            {
                "question": request_of(each.question),
                "verdict": str(each.verdict),
                "answer": None if each.answer is None else _short(each),
                "ends": None
                if each.ends is None
                else dict(zip(("lower", "upper"), each.ends.printed(12), strict=True)),
                "loose": None if each.loose is None else f"{float_up(each.loose):.6g}",
                "detail": each.detail,
                "seconds": f"{each.seconds:.3f}",
            }
            for each in report.judged
        ],
    }
