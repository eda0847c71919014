"""``python -m experiments STUDY``: the studies of the paper, and how their open parameters were chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpadmm.cli import run_command
from dpadmm.cli.common import Duration

if TYPE_CHECKING:
    from experiments.report import Results

EXAMPLES = """\b
Examples:
  python -m experiments synthetic --quick
  python -m experiments adult --data FOLDER --workers 2
  python -m experiments tune > algorithms.toml
"""
STUDIES = ("adult", "ipums-br", "synthetic")


@click.command(epilog=EXAMPLES)
@click.argument("study", metavar="STUDY", type=click.Choice([*STUDIES, "all", "tune", "document"]))
@click.option("--data", "source", metavar="PATH", help="Folder or file with the records, or openml:NAME.")
@click.option(
    "--ipums-data", metavar="PATH", help="For `all`: the file of IPUMS-BR; without it that study is left out."
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/experiments"), show_default=True)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that train.")
@click.option("--quick", is_flag=True, help="Fewer folds, repeats and records; every figure.")
@click.option("--repeats", type=click.IntRange(min=1), help="Run only so many repeats; more can follow later.")
@click.option("--budget", type=Duration(), help="Begin no unit after so long (90s, 5m); the rest can follow later.")
@click.option("--config", metavar="FILE.toml", help="A study of your own, in place of the packaged one.")
@click.option("--algorithms", metavar="FILE.toml", default="algorithms", help="Algorithm parameters of your own.")
@click.option("--trust-data", is_flag=True, help="Use a file whose hash is not the known one.")
@click.option(
    "--docs", type=click.Path(path_type=Path), default=Path("docs/evidence"), help="For `document`: where it goes."
)
@click.option("--fresh", is_flag=True, help="Start over; without it an interrupted study resumes.")
def command(  # noqa: PLR0917 - click passes its options by name
    study: str,
    source: str | None,
    ipums_data: str | None,
    out: Path,
    workers: int,
    quick: bool,
    repeats: int | None,
    budget: float | None,
    config: str | None,
    algorithms: str,
    trust_data: bool,
    fresh: bool,
    docs: Path,
) -> None:
    """Repeat the paper's experiments under its own accounting and under the certified one.

    STUDY is adult, ipums-br, synthetic, all of them (all), tune or document. A study writes a folder: every trained
    model (results.csv), means (summary.csv), noise (noise.csv), figures (SVG and PNG), one page (report.html) and a
    section (section.md).

    tune chooses the parameters that the paper leaves open, on simulated data only, and prints them as TOML; document
    collects the sections and figures of all studies found in --out into one Markdown file.
    """
    from experiments.config import load_algorithms, load_study
    from experiments.document import collect
    from experiments.studies import Progress, Request, carry_out
    from experiments.tune import as_toml, tune

    progress = Progress()
    if study == "tune":
        click.echo(as_toml(tune(load_algorithms(algorithms), quick=quick, progress=progress.say)), nl=False)
        return
    if study == "document":
        names = collect(out, docs, load_algorithms(algorithms).how_chosen)
        click.echo(f"written: {docs / 'experiments.md'} ({', '.join(names)})")
        return
    from dpadmm.cli.common import require_extra

    require_extra("matplotlib", f"`python -m experiments {study}`")  # now, and not when the models are trained
    wanted = [(study, source)] if study != "all" else _all(source, ipums_data)
    requests = [
        Request(
            study=load_study(config or name),
            algorithms=load_algorithms(algorithms),
            source=place,
            trust=trust_data,
            quick=quick,
            out=out / name,
            workers=workers,
            fresh=fresh,
            repeats=repeats,
            budget=budget,
        )
        for name, place in wanted
    ]
    for request in requests:
        _show(carry_out(request, progress), request.out)


def _all(source: str | None, ipums: str | None) -> list[tuple[str, str | None]]:
    """Every study that there are records for; IPUMS-BR cannot be had without a licence, so it may be left out."""
    if ipums is None:
        click.echo("ipums-br is left out: give its file with --ipums-data", err=True)
    listed: list[tuple[str, str | None]] = [("adult", source), ("ipums-br", ipums), ("synthetic", None)]
    return [(name, place) for name, place in listed if name != "ipums-br" or place is not None]


def _show(results: Results, folder: Path) -> None:
    from experiments.document import write_section
    from experiments.report import markdown_table, statements_table, write_all

    write_all(results, folder)
    write_section(results, folder)
    click.echo(results.coverage_note)
    click.echo(markdown_table(statements_table(results)))
    click.echo(f"written: {folder / 'report.html'}")


if __name__ == "__main__":
    run_command(command, "python -m experiments")
