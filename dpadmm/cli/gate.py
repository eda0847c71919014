"""`dpadmm gate`: everything for one claim file; what a CI job runs.

`--init` on a terminal asks for what no check can find out, and writes the answers into the claim file.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import secrets
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

import click
from click.shell_completion import CompletionItem, split_arg_string

from dpadmm.cli.common import (
    EXISTING,
    EXISTING_FOLDER,
    FILE,
    FOLDER,
    NATURAL,
    asked,
    cluster_option,
    format_option,
    gathered,
    in_sections,
    option,
    overwrite,
    workers_option,
)
from dpadmm.cli.showing import ends_at_a_terminal
from verification.files import write_text
from verification.plain_text import harmless

if TYPE_CHECKING:
    from audits.gate.claim_file import ClaimFile
    from audits.gate.evidence import KeptEvidence
    from verification.neighbours.neighbours import Neighbours
    from verification.outcome import Finding, Outcome


QUESTIONS: Mapping[str, str] = {
    "unit": "Whom does the claim protect (one person, one device), and how many records has each?",
    "composition": "What else was or will be released from the same data?",
    "trust": "Who sees the records, and who sees what is released?",
    "tuned": "What was chosen by looking at the private data (step size, iterations, features)?",
    "hazards": "Which hazards of the implementation are known (timing, shared machines, random numbers)?",
}
"""One question for each key of [statement]."""


def statement_answers(ask: Callable[[str], str]) -> dict[str, str]:
    """Ask every question; an empty answer leaves the line out."""
    answers = {key: ask(question).strip() for key, question in QUESTIONS.items()}
    return {key: answer for key, answer in answers.items() if answer}


def with_statement(template: str, answers: Mapping[str, str]) -> str:
    """The template with these answers in place of its examples; unchanged if there are none."""
    if not answers:
        return template
    text = template.replace("# [statement]  ", "[statement]    ", 1)
    for key, answer in answers.items():
        line = f"{key} = {json.dumps(answer, ensure_ascii=False)}"
        text = re.sub(rf"^# {key} = .*$", lambda _: line, text, count=1, flags=re.MULTILINE)  # noqa: B023 - used at once
    return text


DEFAULT_FILE = Path("privacy-claim.toml")


class ReportTarget(click.ParamType[tuple[str, Path]]):
    """KIND=FILE, KIND one of the renderers."""

    name = "kind=file"

    def convert(
        self, value: str | tuple[str, Path], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """Return the renderer's name and the file."""
        if isinstance(value, tuple):
            return value
        from audits.report import RENDERERS

        kind, equals, name = value.partition("=")
        if not equals or not name or kind not in RENDERERS:
            self.fail(f"{value!r} is not KIND=FILE with KIND one of {', '.join(RENDERERS)}", param, ctx)
        path = Path(name)
        kind = "badge-svg" if kind == "badge" and path.suffix == ".svg" else kind
        if not path.absolute().parent.is_dir():
            self.fail(f"the folder of {name!r} does not exist", param, ctx)
        return kind, path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """The kinds; after one, files whose name begins as given."""
        from audits.report import RENDERERS

        kind, equals, name = incomplete.partition("=")
        if not equals:
            return [CompletionItem(f"{known}=") for known in RENDERERS if known.startswith(kind)]
        folder, begin = Path(name).parent, "" if name.endswith("/") else Path(name).name
        found = sorted(folder.glob(f"{glob.escape(begin)}*")) if folder.is_dir() else []
        return [CompletionItem(f"{kind}={path}{'/' * path.is_dir()}") for path in found]


def _names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """For --only: stages, questions, and the ids and mechanisms of the claim files that are named, if they are read.

    Where an option still lacks its value, click forgets the arguments: the words are those that the shell hands over.
    """
    from audits.errors import AuditError
    from audits.gate.claim_file import read_claim_file
    from audits.gate.report import ids_of
    from audits.gate.run import names_of

    names: list[str] = []
    typed = [Path(word) for word in split_arg_string(os.environ.get("COMP_WORDS", "")) if Path(word).suffix == ".toml"]
    for path in typed or [DEFAULT_FILE]:
        with contextlib.suppress(AuditError, OSError):
            claims = read_claim_file(path)
            names += [*names_of(claims), *ids_of(claims, alone=True)]
    return [CompletionItem(name) for name in dict.fromkeys(names or names_of()) if name.startswith(incomplete)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HowToCheck:
    """How claim files are checked, and what is written."""

    reports: tuple[tuple[str, Path], ...] = asked(
        ReportTarget(),
        "Also write html=F, junit=F, sarif=F or another report.",
        name="--report",
        repeated=True,
        metavar="KIND=FILE",
    )
    details: bool = asked(bool, "Print every finding and everything that was looked at.", default=False)
    only: tuple[str, ...] = asked(
        str,
        "A stage (price, small, claimed, games, declared), a question, a mechanism or the id of one finding (a partial "
        "run never exits 0).",
        repeated=True,
        metavar="NAME",
        shell_complete=_names,
    )
    seed: int | None = asked(
        NATURAL,
        "Seed of the gate's draws, given to the implementation as well. If absent, the implementation draws without a "
        "seed, as in production; runs at the claimed size always do.",
    )
    history: Path | None = asked(
        FILE, "Add this gate's evidence to that of earlier gates of the same files: power grows."
    )
    workers: int | None = None
    cluster: str | None = None
    evidence: Path | None = asked(FOLDER, "Keep the evidence of every refutation in this folder.")
    output_format: str = "text"

    def of(self, number: int) -> Self:
        """What is written about the claim file of this number has the number in its name."""
        reports = tuple((kind, _numbered(path, number)) for kind, path in self.reports)
        evidence = None if self.evidence is None else _numbered(self.evidence, number)
        return replace(self, reports=reports, evidence=evidence)


@click.command(
    "gate",
    cls=in_sections(
        {
            "Most used": "init reports details only seed",
            "What is checked": "history workers cluster fail_fast",
            "What is written": "evidence output_format",
            "Instead of a check": "examined stated compare",
        }
    ),
)
@click.argument("claim_files", type=FILE, nargs=-1, metavar="[CLAIM_FILE]...")
@option("--init", bool, "Write a commented claim file to start from, and exit; on a terminal, ask for its [statement].")
@workers_option
@cluster_option
@option("--fail-fast", bool, "With several claim files: stop after the first that is refuted.")
@option("--examine examined", EXISTING_FOLDER, "Test the evidence kept in this folder again, and exit.")
@option(
    "--verify-evidence stated",
    EXISTING,
    "Examine a statement of --report intoto=F against the claim file and the files it names, and exit.",
)
@option(
    "--compare",
    EXISTING,
    "Say what changed between two reports of --report json=F, and exit.",
    nargs=2,
    metavar="OLD.json NEW.json",
)
@format_option
@gathered(HowToCheck, "how")
def command(
    *,
    claim_files: tuple[Path, ...],
    init: bool,
    examined: Path | None,
    stated: Path | None,
    compare: tuple[Path, Path] | None,
    fail_fast: bool,
    how: HowToCheck,
) -> None:
    """Check a privacy claim: recompute epsilon, ask questions at a few records and at the claimed size, play games.

    CLAIM_FILE is privacy-claim.toml where none is named; every path in it is relative to it, and the implementation
    runs in its folder. Several are checked one after the other: the exit code is that of the worst, and a report or a
    folder for evidence gets the number of the claim file in its name.

    A verdict has an outcome, a power (what would have been detected) and a coverage (what was checked).

    Exit codes: 0 every claim stands with the power asked for (or deviates and is not less private), 1 refuted,
    2 usage or claim file, 3 inconclusive or nothing checked, 4 the adapter failed, 70 a fault of dpadmm itself.
    """
    from audits.gate.claim_file import read_claim_file
    from audits.gate.run import check_only
    from verification.outcome import Outcome, worst

    if init:
        if len(claim_files) > 1:
            raise click.UsageError(f"--init writes one file, got {len(claim_files)}: {_named(claim_files)}")
        _write_template(claim_files[0] if claim_files else DEFAULT_FILE)
        return
    if examined is not None:
        _examine(examined)
    if compare is not None:
        _compare(*compare)
    files = claim_files or (DEFAULT_FILE,)
    _require_readable(files)
    if stated is not None:
        _verify(stated, files[0])
    if how.history is not None and (how.seed is not None or how.only):
        raise click.UsageError("--history adds up whole gates with fresh randomness: leave out --seed and --only")
    if how.output_format == "json" and len(files) > 1:
        raise click.UsageError(f"--format json is for one claim file, got {len(files)}: use --report json=FILE")
    for claim_file in files:
        check_only(read_claim_file(claim_file), how.only)  # all of them, before any is checked
    outcomes = []
    for number, claim_file in enumerate(files, start=1):
        if len(files) > 1:
            click.echo(f"{claim_file}:")
        outcomes.append(check(claim_file, how.of(number) if len(files) > 1 else how))
        if fail_fast and outcomes[-1] is Outcome.REFUTED:
            break
    if len(files) > 1:
        click.echo(_summary(files, outcomes))
    raise click.exceptions.Exit(worst(outcomes).exit_code)


def _summary(files: Sequence[Path], outcomes: Sequence[Outcome]) -> str:
    words = [f"{file} {outcome.value}" for file, outcome in zip(files, outcomes, strict=False)]
    words += [f"{file} not checked" for file in files[len(outcomes) :]]
    return f"{len(outcomes)} of {len(files)} claim files checked: {', '.join(words)}"


def _numbered(path: Path, number: int) -> Path:
    """report.html of the second claim file is report-2.html."""
    return path.with_name(f"{path.stem}-{number}{path.suffix}")


def _named(files: Sequence[Path]) -> str:
    return ", ".join(str(file) for file in files)


def _require_readable(files: Sequence[Path]) -> None:
    """Refuse before anything is checked; a claim file that is not there may still have to be written."""
    missing = [file for file in files if not file.is_file()]
    if not missing:
        return
    raise click.UsageError(
        f"no claim file {_named(missing)}; name one that exists, or write one to start from: "
        f"{shlex.join(['dpadmm', 'gate', '--init', *([] if missing == [DEFAULT_FILE] else [str(missing[0])])])}"
    )


def check(claim_file: Path, how: HowToCheck) -> Outcome:
    """Check one claim file, print and write what was found."""
    from audits.errors import AuditError
    from audits.games.executors import executor
    from audits.gate.claim_file import read_claim_file
    from audits.gate.evidence import KeptEvidence
    from audits.gate.run import GateOptions, run_gate
    from audits.report import RENDERERS
    from audits.report.text import render_summary

    claims = read_claim_file(claim_file)
    chosen = secrets.randbits(32) if how.seed is None else how.seed
    if how.seed is None:
        click.echo(f"seed {chosen}", err=True)

    def reproduce(finding: str, used: int) -> str:
        # without a seed the finding is looked for in fresh draws: what was seen is in --evidence
        with_seed = [] if how.seed is None else ["--seed", str(used)]
        return shlex.join(["dpadmm", "gate", str(claim_file), *with_seed, "--only", finding])

    options = GateOptions(
        chosen,
        how.only,
        say=overwrite,
        pair=_pair(claims, claim_file),
        seeded=how.seed is not None,
        evidence=None if how.evidence is None else KeptEvidence(),
        source=claim_file,
        reproduce=reproduce,
        history=how.history,
        found=_as_they_come(how.output_format),
    )
    with executor(how.workers, how.cluster) as pool:
        report = run_gate(claims, pool, options)
    # first the verdict: a report that cannot be written must not hide it, nor change the exit code
    short = how.output_format == "text" and not (how.details or how.only)
    click.echo(render_summary(report) if short else RENDERERS[how.output_format](report), nl=False)
    for kind, path in how.reports:
        try:
            write_text(path, RENDERERS[kind](report))
        except (OSError, AuditError) as error:
            click.echo(f"the report {kind}={path} could not be written: {error}", err=True)
    if how.evidence is not None and options.evidence is not None:
        _write_evidence(options.evidence, how.evidence, claim_file)
    return report.outcome


def _write_evidence(kept: KeptEvidence, folder: Path, claim_file: Path) -> None:
    try:
        paths = kept.write(folder, claim_file.read_text("utf-8"))
    except OSError as error:
        click.echo(f"the evidence could not be written to {folder}: {error}", err=True)
        return
    if paths:
        click.echo(f"evidence: {shlex.join(['dpadmm', 'gate', '--examine', str(folder)])}", err=True)


def _examine(folder: Path) -> NoReturn:
    """Exit 1 if all of the evidence still refutes, 3 if some of it does not."""
    from audits.gate.examine import examine

    found = examine(folder)
    for each in found:
        word = each.outcome.value if each.confirmed else f"{each.outcome.value}, not as kept"
        click.echo(f"{word:<14} {each.kept.about}")
        click.echo(f"{'':<14} {harmless(each.detail)}")
    raise click.exceptions.Exit(1 if all(each.confirmed for each in found) else 3)


def _verify(stated: Path, claim_file: Path) -> NoReturn:
    """Exit 0 if the statement is about these files and its result is a pass, 1 if not."""
    from audits.gate.claim_file import read_claim_file
    from audits.report.filed import verify

    text = stated.read_text("utf-8", "replace")
    wrong = verify(text, read_claim_file(claim_file), claim_file)
    for line in wrong:
        click.echo(f"{'differs':<14} {harmless(line)}")
    result = json.loads(text)["predicate"]["result"]
    click.echo(f"{stated}: states {result}, which {'does not hold' if wrong else 'holds'} for {claim_file}")
    raise click.exceptions.Exit(1 if wrong or result == "FAILED" else 0)


def _compare(old: Path, new: Path) -> NoReturn:
    """Exit 1 if the new one is refuted and the old one was not."""
    from audits.report.filed import changes

    try:
        before, after = (json.loads(path.read_text("utf-8")) for path in (old, new))
        lines = changes(before, after)
    except (ValueError, AttributeError, KeyError) as error:
        raise click.UsageError(f"--compare takes two files of --report json=F: {error}") from None
    click.echo("\n".join(harmless(line) for line in lines) or "nothing changed")
    worse = after.get("outcome") == "refuted" != before.get("outcome")
    raise click.exceptions.Exit(1 if worse else 0)


def _pair(claims: ClaimFile, claim_file: Path) -> Neighbours | None:
    """The pair that the claim file names, its paths relative to the file."""
    if claims.pair is None:
        return None
    from dpadmm.cli._own_pair import load_pair

    folder, pair = claim_file.absolute().parent, claims.pair
    return load_pair(folder / pair.first, folder / pair.second, label_column=pair.label_column)


def _as_they_come(output_format: str) -> Callable[[Finding], None]:
    """Without a terminal, a line for each conclusion on stderr: a gate in CI is never silent for long."""
    if ends_at_a_terminal(sys.stderr) or output_format != "text":
        return lambda _: None
    return lambda finding: click.echo(f"{finding.outcome.value:<14} {finding.name}", err=True)


def _write_template(path: Path) -> None:
    from audits.gate.claim_file import TEMPLATE

    if path.exists():
        raise click.UsageError(f"{path} is already there; name another file, or delete it first")
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    answers = (
        statement_answers(lambda question: click.prompt(question, default="", show_default=False))
        if on_terminal
        else {}
    )
    write_text(path, with_statement(TEMPLATE, answers))
    click.echo(f"wrote {path}; fill it in, then run: dpadmm gate {shlex.quote(str(path))}")
