"""Groups and options that say what was meant: the nearest command, the new spelling of a word."""

from __future__ import annotations

import click


class WordChoice(click.Choice[str]):
    """One of several words; a spelling of an earlier version is refused with the new one."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        # not at the top: this file is loaded before our packages are known to be ours
        from accountant.mechanisms.words import FORMER_WORDS, former_word

        for kind, words in FORMER_WORDS.items():
            if words.get(value) in self.choices:
                self.fail(former_word(kind, value), param, ctx)
        return super().convert(value, param, ctx)


def unknown_command(group: click.Group, ctx: click.Context, name: str) -> click.UsageError:
    """The error for a command that a group does not have, with the nearest that it has."""
    import difflib

    known = group.list_commands(ctx)
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    return click.UsageError(f"{ctx.command_path} has no command {name!r}; {meant}", ctx)


class SuggestingGroup(click.Group):
    """A group that names the nearest command where there is none of the given name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or refuse with what was probably meant."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            raise unknown_command(self, ctx, name)
        return super().resolve_command(ctx, args)
