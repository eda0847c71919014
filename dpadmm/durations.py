"""Durations on the command line."""

from __future__ import annotations

import re

import click

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """Seconds, or a number with s, m or h."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", value)
        if match is None or float(match[1]) == 0:
            self.fail(f"{value!r} is no positive duration; write 90, 90s, 5m or 1h", param, ctx)
        return float(match[1]) * _SECONDS[match[2]]
