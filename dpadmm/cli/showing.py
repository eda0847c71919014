"""What reaches the terminal: colour for outcomes, less of it with ``-q``, progress as plain lines with ``-v``.

The commands print the same text always; standard output and standard error are wrapped here. JSON passes unchanged.
"""

from __future__ import annotations

import io
import os
import re
import sys
import time
from collections.abc import Callable
from typing import TextIO

import click

from dpadmm.cli.common import SWITCH

_COLOURS = {
    "green": ("stands", "passed", "agrees", "conforms", "ok", "every claim stands", "private"),
    "red": ("refuted", "failed", "FAULT", "BROKEN", "a claim is refuted", "error:"),
    "yellow": ("inconclusive", "skipped", "waived", "deviates", "warning:", "the adapter failed"),
}
_COLOUR_OF = {word: colour for colour, words in _COLOURS.items() for word in words}
_WORDS = re.compile(rf"^({'|'.join(sorted(map(re.escape, _COLOUR_OF), key=len, reverse=True))})(?=[\s:;]|$)")
_KEPT = re.compile(r"^(refuted|failed|FAULT|inconclusive|guarantee|.*: .*(BROKEN|NOT REFUTED))\b")
_SECONDS = 2.0


def coloured(line: str) -> str:
    """A line with its outcome, if it begins with one, in colour."""
    return _WORDS.sub(lambda match: click.style(match[1], fg=_COLOUR_OF[match[1]], bold=True), line)


def wants_colour(stream: TextIO) -> bool:
    """Whether to write colour: on a terminal, and not where ``NO_COLOR`` is set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def ends_at_a_terminal(stream: TextIO) -> bool:
    """Whether what is written to a stream reaches a terminal in the end, whatever it passes on the way."""
    return ends_at_a_terminal(stream.stream) if isinstance(stream, LineByLine) else stream.isatty()


class LineByLine(io.TextIOBase):
    """A stream that hands every finished line to a function and writes what it returns."""

    def __init__(self, stream: TextIO, change: Callable[[str], str]) -> None:
        self.stream = stream
        self._change = change
        self._rest = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # io.TextIOBase has an attribute of that name
        """That of the stream behind."""
        return self.stream.encoding

    def isatty(self) -> bool:
        """Whether the stream behind is a terminal."""
        return self.stream.isatty()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Write the finished lines of it."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self.stream.write(self._change(line + "\n"))
        return len(text)

    def flush(self) -> None:
        """Flush the stream behind; an unfinished line waits."""
        self.stream.flush()

    def finish(self) -> None:
        """Write what is left."""
        rest, self._rest = self._rest, ""
        self.stream.write(self._change(rest) if rest else "")
        self.stream.flush()


class Conclusion:
    """For ``-q``: drops all lines but those that say what is wrong, and the last; JSON passes whole."""

    def __init__(self) -> None:
        self._json: bool | None = None
        self._last = ""

    def __call__(self, line: str) -> str:
        """What is written now."""
        if self._json is None and line.strip():
            self._json = line.lstrip().startswith("{")
        if self._json or _KEPT.match(line):
            self._last = ""
            return line
        self._last = line if line.strip() else self._last
        return ""

    def rest(self) -> str:
        """The last line, unless it has been written."""
        return self._last


class PlainProgress(LineByLine):
    """For ``-v``: a standard error on which progress is shown though it is no terminal, a line every two seconds."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream, lambda line: line)
        self._shown = 0.0

    def isatty(self) -> bool:
        """True, so that progress is reported."""
        return True

    def write(self, text: str) -> int:
        """Write lines; what overwrites a line on a terminal becomes a line of its own, now and then."""
        plain = click.unstyle(text)
        if "\r" not in text:
            return super().write(plain)
        last = plain.replace("\r", "\n").strip().rpartition("\n")[2]
        if last and time.monotonic() - self._shown > _SECONDS:
            self._shown = time.monotonic()
            self.stream.write(last + "\n")
        return len(text)


def in_colour(ctx: click.Context) -> None:
    """Colour standard output until the context is closed, where a terminal can show it."""
    if not wants_colour(sys.stdout):
        return
    behind = sys.stdout
    shown = LineByLine(behind, coloured)
    sys.stdout = shown

    def restore() -> None:
        shown.finish()
        sys.stdout = behind

    ctx.call_on_close(restore)


def _quiet(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    behind, kept = sys.stdout, Conclusion()
    shown = LineByLine(behind, kept)
    sys.stdout = shown

    def restore() -> None:
        shown.finish()
        sys.stdout = behind
        behind.write(kept.rest())
        behind.flush()

    ctx.call_on_close(restore)


def _verbose(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    behind, began = sys.stderr, time.monotonic()
    if not behind.isatty():
        sys.stderr = PlainProgress(behind)

    def restore() -> None:
        sys.stderr = behind
        click.echo(f"{ctx.command_path}: {time.monotonic() - began:.1f} s", err=True)

    ctx.call_on_close(restore)


def verbosity_options() -> list[click.Option]:
    """``-q`` and ``-v``, for every command that does something."""
    described = (
        (["-q", "--quiet"], _quiet, "Print only failures and the conclusion."),
        (["-v", "--verbose"], _verbose, "Report progress and time, even without a terminal."),
    )
    return [click.Option(names, callback=called, help=text, **SWITCH) for names, called, text in described]


def equipped(command: click.Command) -> click.Command:
    """The command, and those inside it, with ``-q`` and ``-v``."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            equipped(inner)
    elif not any("--quiet" in parameter.opts for parameter in command.params):
        arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
        options = [parameter for parameter in command.params if not isinstance(parameter, click.Argument)]
        command.params = [*options, *verbosity_options(), *arguments]
    return command
