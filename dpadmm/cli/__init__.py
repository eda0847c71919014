"""The command line: one file a subcommand, loaded only when it is asked for.

A subcommand lives in ``dpadmm/cli/<name>.py`` and calls its click command ``command``.
Loading on demand keeps ``dpadmm --help`` instant and lets each subcommand need its own extras.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys

import click

from dpadmm.cli.common import EXIT_FAULT, EXIT_USAGE, exit_code_of

SUBCOMMANDS: dict[str, str] = {
    "train": "Fit a private model: LIBSVM, CSV or NPZ in; model, trace and manifest out.",
    "account": "Price a mechanism: certified epsilon by every method.",
    "calibrate": "The least noise (most steps, largest batch) for a privacy target.",
    "verify": "Check this project's own claims: proofs, enclosures, attacks.",
    "vectors": "Golden vectors: generate, check, run an implementation through them.",
    "adapter": "The wire: write a skeleton adapter, smoke-test one.",
    "conform": "Does an implementation do what its privacy proof assumes?",
    "audit": "Statistics alone: does an implementation leak more than it says?",
    "gate": "Everything above for one claim file; what a CI job runs.",
    "experiment": "The paper's experiments, repeated.",
    "explain": "A claim's statement, place in the paper and evidence.",
}


class LazyGroup(click.Group):
    """A group whose members are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every subcommand whose file exists, in the order in which a user meets them."""
        return [name for name in SUBCOMMANDS if importlib.util.find_spec(f"dpadmm.cli.{name}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand's file; None for a name that is not one."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"dpadmm.cli.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"dpadmm/cli/{cmd_name}.py must define a click command called 'command'")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUBCOMMANDS[name]) for name in self.list_commands(ctx)])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(importlib.metadata.version("dpadmm"), prog_name="dpadmm")
def group() -> None:
    """Evidence for privacy claims about private ADMM.

    Claims go in; proofs, enclosures, golden vectors, conformance checks and statistical audits come out.

    Exit codes: 0 every claim stands, 1 a claim is refuted, 2 usage or input error, 3 inconclusive or
    nothing was checked, 4 the adapter failed, 70 a fault of this program.
    """


def main() -> None:
    """Run the command line; every exception becomes a documented exit code."""
    try:
        # Outside its standalone mode click *returns* the code of an Exit: dropping it would turn failures into 0.
        code = group(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.Abort:
        click.echo("interrupted; nothing was left half written", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except Exception as error:
        code = exit_code_of(error)
        if code == EXIT_FAULT:
            import traceback  # noqa: PLC0415 - only needed when this program itself is wrong

            traceback.print_exc()
            click.echo("this is a fault of dpadmm, not of your input; please report it", err=True)
        else:
            click.echo(f"error: {error}", err=True)
        sys.exit(code)
