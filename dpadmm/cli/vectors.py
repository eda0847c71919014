"""`dpadmm vectors`: golden vectors for ports in any language, and questions to accountants in any language.

Answers of an accountant are judged by certified enclosures (docs/reference/accountants.md).
"""

from __future__ import annotations

import secrets
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpadmm.cli.common import (
    EXIT_REFUTED,
    FOLDER,
    NATURAL,
    SuggestingGroup,
    emit_json,
    fail_fast_option,
    folded,
    format_option,
    memory_option,
    option,
    overwrite,
    timeout_option,
)
from verification.files import write_text
from verification.outcome import Outcome, counted
from verification.plain_text import harmless
from verification.wire.faults import as_fields
from verification.wire.process import Limits

if TYPE_CHECKING:
    from verification.accountants.judging import AccountantReport, Judged
    from verification.vectors.checking import VectorsReport
    from verification.vectors.model import Case, Flag

_MOST_SUSPECTS = 6
_files_option = option(
    "--file files", click.Path(path_type=Path), "A vector file, by default the package's own.", repeated=True
)


@click.group("vectors", cls=SuggestingGroup)
def command() -> None:
    """Golden vectors: inputs and every intermediate value, for ports in any language (docs/reference/vectors.md)."""


@command.command("generate", short_help="Compute the vectors and their tolerances anew.")
@option("--check only_check", bool, "Write nothing; exit code 1 if a file is stale or was edited.")
@option("--out", FOLDER, "The folder; by default the package's own.")
def generate(*, only_check: bool, out: Path | None) -> None:
    """Compute the vectors: values in 60 digits, tolerances in ball arithmetic. Needs a checkout (tools/)."""
    from verification.vectors.files import FOLDER

    try:
        from tools.golden_vectors.writing import generated, stale
    except ModuleNotFoundError:
        raise click.UsageError("the generator is not in the wheel: run this command in a checkout") from None
    texts, out = generated(), out or FOLDER
    if only_check:
        wrong = stale(texts, out)
        for path in wrong:
            click.echo(f"stale: {path}; run `dpadmm vectors generate`")
        if wrong:
            raise click.exceptions.Exit(EXIT_REFUTED)
        click.echo(f"{len(texts)} files are what would be generated now")
        return
    _write(texts, out)


def _write(texts: Mapping[str, str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text)
        click.echo(f"{folder / name}: {len(text.encode()):,} bytes")


@command.command("check")
@_files_option
@option(
    "--only",
    ["arithmetic", "invalid"],
    "arithmetic: only runs, which a port gets right first. invalid: only input that must be refused.",
)
@timeout_option
@memory_option()
@fail_fast_option
@format_option
@click.argument("adapter", nargs=-1, required=True, metavar="-- COMMAND...")
def check(
    *,
    files: tuple[Path, ...],
    only: str | None,
    timeout: float,
    memory: int,
    fail_fast: bool,
    output_format: str,
    adapter: tuple[str, ...],
) -> None:
    """Compare an implementation with the vectors, by replay.

    Exit codes: 0 every case that it offers agrees, 1 a case does not, 2 a vector file is broken, 3 nothing was checked
    (the adapter has no replay), 4 the adapter failed.
    """
    from verification.vectors.checking import check_adapter
    from verification.vectors.files import load_all

    loaded = load_all(files or None)
    notes = {name: flag for file in loaded for name, flag in file.flags.items()}
    every = [case for file in loaded for case in file.cases]
    cases = [case for case in every if only is None or (case.result == "invalid") == (only == "invalid")]
    limits = Limits.of(timeout, memory)
    report = check_adapter(adapter, cases, limits, lambda done: overwrite(done.name), fail_fast=fail_fast)
    if output_format == "json":
        emit_json(as_document(report, adapter, cases))
    else:
        _table(report, notes, cases)
    raise click.exceptions.Exit(report.outcome.exit_code)


def _table(report: VectorsReport, notes: dict[str, Flag], cases: Sequence[Case]) -> None:
    if report.description is not None:
        who = report.description
        click.echo(f"{who.name} {who.version} ({who.language})")
    for finding in report.findings:
        if finding.outcome is Outcome.REFUTED:
            click.echo(f"failed   {finding.name}: {finding.detail}")
    from verification.vectors.suspects import diagnose

    found = diagnose(report.findings, cases)
    for line in found.lines():
        click.echo(f"first    {line}")
    for place, suspect in enumerate(found.suspects[:_MOST_SUSPECTS], start=1):
        note = notes[suspect.flag]
        rate = f"{suspect.failed} of {suspect.played} failed ({suspect.rate:.0%})"
        click.echo(f"suspect  {place}. {suspect.flag}: {rate}. Catches: {note.bug}. Effect: {note.effect}")
    if len(found.suspects) > _MOST_SUSPECTS:
        rest = ", ".join(s.flag for s in found.suspects[_MOST_SUSPECTS:])
        click.echo(f"suspect  less likely: {rest}")
    skipped = [f for f in report.findings if f.outcome is Outcome.SKIPPED]
    lacking = Counter(name for f in skipped for name in f.lacking)
    if lacking:
        needed = ", ".join(f"{name} ({count})" for name, count in lacking.most_common())
        click.echo(f"skipped  {sum(bool(f.lacking) for f in skipped)} cases need what is not offered: {needed}")
    for reason, count in Counter(f.detail for f in skipped if not f.lacking).most_common():
        click.echo(f"skipped  {count} cases: {reason}")
    if report.fault is not None:
        where = f" in case {report.during}" if report.during else ""
        click.echo(folded(f"FAULT{where} {report.fault}"))
    headline = "agrees" if report.outcome is Outcome.STANDS else report.outcome.value
    click.echo(f"{headline}: {counted(report.findings) or 'nothing checked'}, of {len(cases)} cases")


def as_document(report: VectorsReport, adapter: tuple[str, ...], cases: Sequence[Case]) -> dict[str, object]:
    """The report as JSON, version 2; reals inside the details are decimal."""
    from verification.vectors.suspects import diagnose

    found = diagnose(report.findings, cases)
    return {
        "version": 2,
        "outcome": report.outcome.value,
        "implementation": None if report.description is None else report.description.model_dump(mode="json"),
        "command": list(adapter),
        "cases": len(cases),
        "counts": {outcome.value: report.count(outcome) for outcome in Outcome if report.count(outcome)},
        "findings": [
            {"id": f.name, "outcome": f.outcome.value, "flags": list(f.flags), "detail": f.detail}
            for f in report.findings
        ],
        "differs_first": dict(found.first),
        "only_with": dict(found.only),
        "suspects": [{"flag": s.flag, "failed": s.failed, "played": s.played} for s in found.suspects],
        "fault": None if report.fault is None else {**as_fields(report.fault), "case": report.during or None},
    }


@command.command("list")
@_files_option
@option("--flag", str, "Only cases with this flag.")
@format_option
def list_cases(*, files: tuple[Path, ...], flag: str | None, output_format: str) -> None:
    """List the cases, or those of one flag with what it means."""
    from verification.vectors.files import load_all

    loaded = load_all(files or None)
    notes = {name: note for file in loaded for name, note in file.flags.items()}
    if flag is not None and flag not in notes:
        raise click.UsageError(f"no flag is called {flag!r}; known are {', '.join(sorted(notes))}")
    cases = [case for file in loaded for case in file.cases if flag is None or flag in case.flags]
    if output_format == "json":
        shown = [{"id": c.id, "result": c.result, "flags": c.flags, "comment": c.comment} for c in cases]
        used = {name: notes[name].model_dump() for case in cases for name in case.flags}
        emit_json({"version": 1, "flags": used, "cases": shown})
        return
    if flag is not None:
        click.echo(folded(f"{flag}: catches {notes[flag].bug}; effect: {notes[flag].effect}"))
    for case in cases:
        click.echo(folded(f"{case.id:<56} {case.comment}", indent=57))


@command.command("path", short_help="Print the folder that the vector files are in.")
def path() -> None:
    """Print the folder that the vector files are in, for a program that reads them where they are."""
    from verification.vectors.files import FOLDER

    click.echo(FOLDER)


@command.command("export", short_help="Write the vector files to a folder, for use without dpadmm.")
@option("--accounting", bool, "The accounting vectors instead, with checkers in Python and Rust.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def export(*, accounting: bool, folder: Path) -> None:
    """Write the vectors to FOLDER, as JSON with their schemas: they need no dpadmm (docs/reference/vectors.md)."""
    from verification.vectors.files import FOLDER

    golden = {file.name: file.read_text("utf-8") for file in sorted(FOLDER.glob("*.json"))}
    _write(_accounting() if accounting else golden, folder)


def _accounting() -> dict[str, str]:
    """The accounting vectors: JSON with its schema, the same as one line a value, and the checkers."""
    from importlib.resources import files
    from json import loads

    stored = ("accounting.json", "accounting.schema.json", "check.py.txt", "check.rs")
    texts = {name.removesuffix(".txt"): (files("accountant.vectors") / name).read_text("utf-8") for name in stored}
    rows = [("id", "quantity", "inputs", "lower", "upper")]
    for vector in loads(texts["accounting.json"])["vectors"]:
        inputs = " ".join(f"{name}={value}" for name, value in vector["inputs"].items())
        rows += [(vector["id"], name, inputs, ends["lower"], ends["upper"]) for name, ends in vector["values"].items()]
    return {**texts, "accounting.tsv": "".join("\t".join(row) + "\n" for row in rows)}


@command.command("accountant", short_help="Compare an accountant with certified bounds.")
@option(
    "--golden/--no-golden",
    bool,
    "Ask the golden vectors, and the questions that users of other accountants reported.",
    default=True,
)
@option("--random fresh", NATURAL, "How many fresh questions to ask.", default=40)
@option("--seed", NATURAL, "Seed of the fresh questions; by default drawn and printed.")
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

    An answer below what a concrete pair of data sets attains is unsound. One at or above our certified upper bound is
    valid, and its excess over that bound is reported. Between the two nothing is decided.

    Exit codes: 0 nothing unsound, 1 an answer is unsound, 3 nothing was answered, 4 it failed on a question.
    """
    from verification.accountants.judging import judge_all
    from verification.accountants.questions import golden_questions, random_questions, reported_questions

    chosen = secrets.randbits(32) if seed is None else seed
    known = (*golden_questions(), *reported_questions()) if golden else ()
    questions = (*known, *random_questions(fresh, chosen))
    limits = Limits.of(timeout, memory)
    report = judge_all(adapter, questions, limits, lambda done: overwrite(done.question.id))
    if output_format == "json":
        emit_json(answers_document(report, adapter, chosen))
    else:
        _answers(report, chosen)
    raise click.exceptions.Exit(report.outcome.exit_code)


def _answers(report: AccountantReport, seed: int) -> None:
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
    q, given = judged.question, {"epsilon": "delta", "delta": "epsilon", "renyi": "alpha"}[judged.question.quantity]
    least = judged.ends.printed(8)[0] if judged.ends is not None else ""
    return (
        f"unsound    {q.id}: answered {_short(judged)}, the true value is at least {least} ({q.neighbours.value}, "
        f"{q.sampling}, {q.batch} of {q.records}, noise {q.noise}, {q.steps} steps, {given} {q.at}); {judged.detail}"
    )


def _short(judged: Judged) -> str:
    from accountant.numbers import float_up

    return "no number" if judged.answer is None else f"{float_up(judged.answer):.8g}"


def answers_document(report: AccountantReport, adapter: tuple[str, ...], seed: int) -> dict[str, object]:
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
                "ends": each.ends and dict(zip(("lower", "upper"), each.ends.printed(12), strict=True)),
                "loose": None if each.loose is None else f"{float_up(each.loose):.6g}",
                "detail": each.detail,
                "seconds": f"{each.seconds:.3f}",
            }
            for each in report.judged
        ],
    }
