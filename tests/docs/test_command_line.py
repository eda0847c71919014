"""docs/reference/command-line.md is what `--help` prints."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click

from dpadmm.cli import group
from dpadmm.cli.common import ALL, ONCE_FOR_EACH, WIDTH, Repeated
from tools.command_line_page import PAGE

SCREEN = 48


def test_the_page_is_current() -> None:
    # In a process of its own: click keeps the help option of a command that another test called by itself.
    command = [sys.executable, "-m", "tools.command_line_page", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_command_has_its_section() -> None:
    page = PAGE.read_text("utf-8")
    for name in ("train", "account ssadmm", "calibrate mpadmm", "vectors check", "adapter new", "gate", "explain"):
        assert f"# dpadmm {name}\n" in page


def commands_of(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            if (found := command.get_command(context, inner)) is not None:
                yield from commands_of(found, f"{name} {inner}")


def test_every_help_fits_a_screen_and_names_every_option() -> None:
    for name, command in commands_of(group, "dpadmm"):
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
        shown = command.get_help(context)
        assert len(shown.splitlines()) <= SCREEN, name
        context.meta[ALL] = True
        assert max(map(len, [*shown.splitlines(), *command.get_help(context).splitlines()])) <= WIDTH, name
        for option in options_of(command) if not isinstance(command, click.Group) else ():
            assert option.opts[0] in shown, f"{name} {option.opts[0]}"


def options_of(command: click.Command) -> Iterator[click.Option]:
    yield from (parameter for parameter in command.params if isinstance(parameter, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from options_of(inner)


def test_every_option_that_may_be_repeated_says_so() -> None:
    found = [option for option in options_of(group) if option.multiple]
    assert len(found) > 10
    for option in found:
        assert isinstance(option, Repeated), option.name
        assert ONCE_FOR_EACH in (option.help or ""), option.name
