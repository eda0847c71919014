"""Hints for the search of certificates: what closed for the steps of a grid of (q, mu), shipped as a table.

Nothing rests on the table: a hint says which boxes to halve without a test and which leaders to try, and every box that
is kept is tested for the (q, mu) at hand, in the process that uses it. With a wrong hint a search takes longer, or
finds nothing and refuses. `make certificates` rebuilds the table (`table`).
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

PATH: Final = Path(__file__).with_name("table.json")
FORMAT: Final = "dpadmm-adversary-table-1"
SHARES: Final = (0.0, 0.0007, 0.0015, 0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2, 0.4)
"""Shares that the rises of the stairs are chosen for."""
_FARTHEST: Final = 1.25
"""Entries help where mu is within this factor; q matters less."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Where a search starts: covers of a neighbouring step, and how often a share was raised before a cover closed."""

    windows: str = ""
    single: int = 0
    stairs: str = ""
    blocks: tuple[int | None, ...] = (0,) * len(SHARES)
    """One for each of `SHARES`; None where no cover closed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A step of the grid and its hint."""

    q: float
    mu: float
    hint: Hint


def hint_for(q: float, mu: float) -> Hint:
    """Return the hint of the nearest step of the table; an empty one far from all of them, or without a table."""
    near = [entry for entry in entries() if abs(math.log(entry.mu / mu)) <= math.log(_FARTHEST)]
    if not near:
        return Hint()
    closest = min(abs(math.log(entry.mu / mu)) for entry in near)
    row = [entry for entry in near if abs(math.log(entry.mu / mu)) <= closest * (1 + 1e-9)]
    easier = [entry for entry in row if entry.q <= 1.25 * q] or row[:1]  # a larger q may need larger shares
    return min(easier, key=lambda entry: abs(math.log(entry.q / q))).hint


@functools.lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """Return the table that was shipped; a damaged one counts as none."""
    try:
        return read(PATH.read_text("utf-8"))
    except (OSError, ValueError):
        return ()


def read(text: str) -> tuple[Entry, ...]:
    """Return the entries; raise `ValueError` unless format and digest are right."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT or data["digest"] != _digest(data["entries"]):
            raise ValueError("the table of hints has another format or was changed by hand")
        return tuple(
            Entry(
                float(item["q"]),
                float(item["mu"]),
                Hint(
                    str(item["hint"]["windows"]),
                    int(item["hint"]["single"]),
                    str(item["hint"]["stairs"]),
                    tuple(None if one is None else int(one) for one in item["hint"]["blocks"]),
                ),
            )
            for item in data["entries"]
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"no table of hints: {error}") from error


def written(table: tuple[Entry, ...]) -> str:
    """Return the text of a table, one entry a line."""
    items = [json.loads(json.dumps(asdict(entry))) for entry in table]
    lines = ",\n".join(json.dumps(item, sort_keys=True) for item in items)
    return f'{{"format": "{FORMAT}", "digest": "{_digest(items)}", "entries": [\n{lines}\n]}}\n'


def _digest(items: object) -> str:
    return hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()
