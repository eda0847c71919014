"""`dpadmm conform`: whether an implementation does what its privacy proof assumes."""

from __future__ import annotations

import difflib
import shlex
import sys
from typing import TYPE_CHECKING

import click

from dpadmm.cli.common import (
    NATURAL,
    Duration,
    One,
    emit_json,
    fail_fast_option,
    false_alarm_option,
    folded,
    format_option,
    memory_option,
    option,
    timeout_option,
)
from verification.outcome import Finding, Outcome, counted
from verification.wire.faults import as_fields
from verification.wire.process import Limits

if TYPE_CHECKING:
    from verification.conform import ConformanceReport
    from verification.judge import Result
    from verification.questions.question import Question


@click.command("conform")
@option("--only", One(), "Ask only this.", repeated=True, metavar="QUESTION")
@option("--budget", Duration(), "Stop after this long (90s, 5m); the remaining questions are inconclusive.")
@option("--seed", NATURAL, "Seed of the questions' own draws.", default=0)
@false_alarm_option
@option(
    "--effort",
    click.FloatRange(min=0.01, max=1000),
    "Factor on the number of trials; more trials detect smaller violations.",
    default=1.0,
)
@timeout_option
@memory_option()
@option("--list list_checks", bool, "List the questions and what each detects, then exit.")
@fail_fast_option
@format_option
@click.argument("adapter", nargs=-1, metavar="-- COMMAND...")
def command(
    *,
    only: tuple[str, ...],
    budget: float | None,
    seed: int,
    false_alarm: float,
    effort: float,
    timeout: float,
    memory: int,
    list_checks: bool,
    fail_fast: bool,
    output_format: str,
    adapter: tuple[str, ...],
) -> None:
    """Check whether an implementation does what its privacy proof assumes.

    Exit codes: 0 nothing refuted and everything that a claim rests on looked at, 1 refuted, 3 not everything could be
    looked at, or the budget ran out, 4 the adapter failed.
    """
    from verification.conform import conform
    from verification.judge import Plan

    questions = _chosen(only)
    if list_checks:
        _list(questions, output_format)
        return
    if not adapter:
        raise click.UsageError("name the adapter's command after --, for example: dpadmm conform -- ./adapter")
    seconds = float("inf") if budget is None else budget
    plan = Plan(false_alarm, seconds, seed, effort=effort, fail_fast=fail_fast)
    limits = Limits.of(timeout, memory)
    quiet = output_format == "json"
    progress = _progress if quiet and sys.stderr.isatty() else lambda _: None
    report = conform(adapter, plan, limits, questions=questions, progress=progress)
    if quiet:
        emit_json(as_document(report, adapter))
    else:
        _table(report, adapter)
    raise click.exceptions.Exit(report.outcome.exit_code)


def _chosen(only: tuple[str, ...]) -> tuple[Question, ...]:
    from verification.questions.catalogue import at, find
    from verification.questions.question import Size

    try:
        return find(only)
    except KeyError as unknown:
        name = str(unknown.args[0])
        known = sorted(question.name for question in at(Size.SMALL))
        close = difflib.get_close_matches(name, known, n=1)
        meant = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
        raise click.UsageError(f"no question is called {name!r}{meant}") from None


def _list(questions: tuple[Question, ...], output_format: str) -> None:
    if output_format == "json":
        emit_json({"version": 2, "questions": [_question_document(question) for question in questions]})
        return
    for question in questions:
        kind = "statistical" if question.statistical else "deterministic"
        click.echo(folded(f"{question.name} ({kind})\n    detects: {question.catches}"))


def _question_document(question: Question) -> dict[str, object]:
    return {
        "name": question.name,
        "catches": question.catches,
        "statements": list(question.statements),
        "statistical": question.statistical,
        "needs": [sorted(str(capability) for capability in need) for need in question.needs],
        "modes": [str(mode) for mode in question.modes],
    }


def _progress(result: Result) -> None:
    click.echo(f"{result.outcome.value:<12} {result.about}", err=True)


def _table(report: ConformanceReport, adapter: tuple[str, ...]) -> None:
    if report.description is not None:
        who = report.description
        click.echo(f"{who.name} {who.version} ({who.language})")
    for finding in report.findings:
        word = "passed" if finding.outcome is Outcome.STANDS else finding.outcome.value
        first, *rest = finding.detail.splitlines() or [""]
        click.echo(f"{word:<12} {finding.name:<40} {finding.seconds:6.2f} s  {first}")
        for line in rest:
            click.echo(f"{'':<12} {line}")
        if finding.outcome is Outcome.REFUTED:
            click.echo(f"{'':<12} detects: {_question(finding).catches}")
            click.echo(f"{'':<12} again:   {_again(report, finding, adapter)}")
    if report.fault is not None:
        click.echo(folded(f"FAULT {report.fault}"))
    summary = counted(report.findings) or "nothing checked"
    headline = "conforms" if report.outcome is Outcome.STANDS else report.outcome.value
    headline = "passed, of a part of the questions" if report.outcome is Outcome.STANDS and report.partial else headline
    for mode in dict.fromkeys(mode for mode, _ in report.uncovered):
        aspects = ", ".join(aspect for about, aspect in report.uncovered if about == mode)
        click.echo(f"{'not covered':<12} {mode}: a claim would rest on {aspects}, and no question could look at it")
    click.echo(
        f"{headline}: {summary}; false-alarm probability at most {report.false_alarm:g} over all questions; "
        f"{report.seconds:.1f} s"
    )


def _question(finding: Finding) -> Question:
    from verification.questions.catalogue import find

    return find((finding.about.question,))[0]


def _again(report: ConformanceReport, finding: Finding, adapter: tuple[str, ...]) -> str:
    return f"dpadmm conform --only {_question(finding).name} --seed {report.seed} -- {shlex.join(adapter)}"


def as_document(report: ConformanceReport, adapter: tuple[str, ...]) -> dict[str, object]:
    """The report as JSON, version 3; reals are decimal strings."""
    who = report.description
    return {
        "version": 3,
        "outcome": report.outcome.value,
        "implementation": None if who is None else who.model_dump(mode="json"),
        "command": list(adapter),
        "false_alarm": repr(report.false_alarm),
        "seed": report.seed,
        "seconds": f"{report.seconds:.3f}",
        "findings": [_finding_document(report, finding, adapter) for finding in report.findings],
        "uncovered": [{"subject": mode, "aspect": aspect.value} for mode, aspect in report.uncovered],
        "fault": None if report.fault is None else as_fields(report.fault),
    }


def _finding_document(report: ConformanceReport, finding: Finding, adapter: tuple[str, ...]) -> dict[str, object]:
    question = _question(finding)
    return {
        "id": finding.name,
        "question": question.name,
        "subject": finding.subject,
        "outcome": finding.outcome.value,
        "cause": None if finding.cause is None else finding.cause.value,
        "detail": finding.detail,
        "detects": question.catches,
        "statements": list(question.statements),
        "p_value": None if finding.p_value is None else repr(finding.p_value),
        "false_alarm": repr(finding.false_alarm),
        "seconds": f"{finding.seconds:.3f}",
        "again": _again(report, finding, adapter) if finding.outcome is Outcome.REFUTED else None,
    }
