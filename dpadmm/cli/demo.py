"""`dpadmm demo`: the reference keeps its claim, a wrong implementation does not; from anywhere, nothing to prepare."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dpadmm.cli.common import EXIT_FAULT, FOLDER, NATURAL, option
from verification.files import write_text


@click.command("demo")
@click.argument("folder", type=FOLDER, default=Path("dpadmm-demo"))
@option("--files-only", bool, "Write the claim files, and stop.")
@option("--seed", NATURAL, "Seed of both gates; fresh by default.")
def command(*, folder: Path, files_only: bool, seed: int | None) -> None:
    """Write claim files into FOLDER (dpadmm-demo), gate two of them, and name the reports.

    The first is about the reference, which must stand. The second is about an implementation that passes a variance
    where a standard deviation is expected, which must be refuted. Takes about two minutes.

    Exit codes: 0 both as they must be, 70 otherwise.
    """
    from dpadmm.cli.gate import HowToCheck, check
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
        how = HowToCheck(seed=seed, reports=(("html", folder / f"{name}.html"),))
        found[name] = check(folder / f"{name}.toml", how)
    click.echo(f"\nreports: {', '.join((folder / f'{name}.html').absolute().as_uri() for name in found)}")
    right = found == {HONEST: Outcome.STANDS, WRONG: Outcome.REFUTED}
    words = "the reference stands, the wrong implementation is refuted"
    click.echo(words if right else f"expected: {words}; found: {', '.join(f'{n} {o}' for n, o in found.items())}")
    raise click.exceptions.Exit(0 if right else EXIT_FAULT)
