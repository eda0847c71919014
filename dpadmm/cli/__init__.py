"""The command line: subcommands are loaded only when they are used.

A subcommand is the click command ``command`` of ``dpadmm/cli/<name>.py``, or of its own name in the file that `HOMES`
states. Loading on demand keeps ``dpadmm --help`` instant and lets each subcommand need its own extras.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import NoReturn

import click

from dpadmm.cli.common import (
    EXIT_FAULT,
    EXIT_PIPE,
    EXIT_USAGE,
    EXTRA_OF,
    SuggestingGroup,
    complain,
    exit_code_of,
    missing,
)
from dpadmm.cli.showing import equipped, in_colour
from dpadmm.own_packages import prefer_own

SUBCOMMANDS: dict[str, str] = {
    "train": "Fit a private model on LIBSVM, CSV or NPZ data.",
    "predict": "Print the classes that a trained model gives to records.",
    "evaluate": "Compare a trained model with the labels of records.",
    "account": "Compute the privacy cost of a mechanism: certified epsilon by every method.",
    "calibrate": "Find the least noise (most iterations, largest batch) for a privacy target.",
    "verify": "Check this project's own statements: proofs, enclosures, attacks.",
    "vectors": "Golden vectors: list or generate them, or compare an implementation with them.",
    "adapter": "Adapters: write a skeleton, or test one.",
    "conform": "Check whether an implementation does what its privacy proof assumes.",
    "audit": "Test statistically whether an implementation leaks more than it claims.",
    "gate": "Run all checks for one claim file; for CI.",
    "demo": "See it work: the reference stands, a wrong implementation is refuted.",
    "explain": "Print a statement, its place in the paper and its evidence.",
}


HOMES = {"predict": "train", "evaluate": "train", "verify": "statements", "explain": "statements"}
"""The files of subcommands that share one."""
COLLECT_FROM = 50_000
"""New objects after which cycles are looked for: imports make thousands of objects and no cycles worth collecting."""


class LazyGroup(SuggestingGroup):
    """A group whose members are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every subcommand, in the order of the help."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import the subcommand's file; None for a name that is not one."""
        if cmd_name not in SUBCOMMANDS:
            return None
        module = importlib.import_module(f"dpadmm.cli.{HOMES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name if cmd_name in HOMES else "command")
        return equipped(command)

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand; a reader that went away (`| head -1`) ends it as a signal would, never as a result."""
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # what is left in the buffer has nowhere to go: without this Python complains at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(EXIT_PIPE)
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUBCOMMANDS[name]) for name in self.list_commands(ctx)])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="dpadmm", prog_name="dpadmm")
@click.pass_context
def group(ctx: click.Context) -> None:
    """Check whether a DP-ADMM implementation meets its claimed (epsilon, delta).

    Every pass states the smallest violation that it would have detected.

    Exit codes: 0 every claim stands, 1 a claim is refuted, 2 usage or input error, 3 inconclusive or
    nothing was checked, 4 the adapter failed, 70 a fault of dpadmm itself.

    Completion: eval "$(_DPADMM_COMPLETE=bash_source dpadmm)" in bash; zsh_source and fish_source likewise.
    """
    in_colour(ctx)


def main() -> None:
    """Run the command line."""
    run_command(group, "dpadmm")


def run_command(command: click.Command, name: str) -> NoReturn:
    """Run a command and exit; every exception becomes a documented exit code."""
    gc.set_threshold(COLLECT_FROM)
    # small products, often beside processes of an implementation: more threads would only wait for one another
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        prefer_own()
        # Outside its standalone mode click *returns* the code of an Exit: dropping it would turn failures into 0.
        code = command(prog_name=name, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.Abort:
        click.echo("interrupted; nothing was left half written", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except Exception as raised:
        explained = _explained(raised, name)
        code = exit_code_of(explained)
        if code == EXIT_FAULT:
            import traceback

            traceback.print_exc()
            click.echo("this is a fault of dpadmm, not of your input; please report it", err=True)
        else:
            complain(f"error: {_words(explained)}")
        sys.exit(code)


def _words(error: Exception) -> str:
    """The message; that of the system without its number."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _explained(error: Exception, name: str) -> Exception:
    """A module that only an extra installs is missing: say which extra, not where it was imported."""
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return missing(module, f"`{name} {' '.join(sys.argv[1:2])}`") if module in EXTRA_OF else error
