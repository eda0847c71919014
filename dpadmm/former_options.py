"""Options of earlier versions: refused with their new name, never accepted silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object] | click.Command)


def former_option(former: str, now: str) -> Callable[[F], F]:
    """Refuse the former spelling with the new one; ``--help`` does not show it."""

    def refuse(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{former} is now called {now}", ctx)

    return click.option(former, "former", hidden=True, expose_value=False, callback=refuse)
