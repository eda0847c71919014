"""`dpadmm demo`: the reference keeps its claim, a wrong implementation does not; from anywhere, nothing to prepare."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dpadmm.cli.common import EXIT_FAULT
from verification.files import write_text


@click.command("demo")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("dpadmm-demo"))
@click.option("--files-only", is_flag=True, help="Write the claim files, and stop.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of both gates; fresh by default.")
def command(*, folder: Path, files_only: bool, seed: int | None) -> None:
    """Write two claim files into FOLDER (dpadmm-demo), gate both, and name the reports.

    The first is about the reference, which must stand. The second is about an implementation that passes a variance
    where a standard deviation is expected, which must be refuted. Takes about two minutes.

    Exit codes: 0 both as they must be, 70 otherwise.
    """
    from dpadmm.cli.gate import _check
    from dpadmm.demo import HONEST, PAPER, WRONG, claim
    from verification.outcome import Outcome

    folder.mkdir(parents=True, exist_ok=True)
    names = (HONEST, WRONG, PAPER)
    for name in names:
        # the python of this installation, whatever `python` is there
        write_text(folder / f"{name}.toml", claim(name).replace('"python"', f'"{Path(sys.executable).as_posix()}"'))
    click.echo(f"wrote {', '.join(str(folder / f'{name}.toml') for name in names)}")
    if files_only:
        return
    found = {}
    for name in (HONEST, WRONG):
        click.echo(f"\ndpadmm gate {folder / name}.toml")
        found[name] = _check(
            folder / f"{name}.toml",
            seed=seed,
            only=(),
            workers=None,
            cluster=None,
            reports=(("html", folder / f"{name}.html"),),
            evidence=None,
            output_format="text",
        )
    click.echo(f"\nreports: {', '.join((folder / f'{name}.html').absolute().as_uri() for name in found)}")
    right = found == {HONEST: Outcome.STANDS, WRONG: Outcome.REFUTED}
    words = "the reference stands, the wrong implementation is refuted"
    click.echo(words if right else f"expected: {words}; found: {', '.join(f'{n} {o}' for n, o in found.items())}")
    raise click.exceptions.Exit(0 if right else EXIT_FAULT)
