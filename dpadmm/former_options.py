"""Options of earlier versions: refused with their new name, never accepted silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object] | click.Command)


def former_option(former: str, now: str, written: str = "", *, flag: bool = False) -> Callable[[F], F]:
    """Refuse the former spelling with the new one, and how it is written; ``--help`` does not show it."""

    def refuse(ctx: click.Context, _: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"{former} is now called {now}{written}", ctx)

    name = f"former_{former.strip('-').replace('-', '_')}"
    return click.option(former, name, hidden=True, expose_value=False, callback=refuse, is_flag=flag)
