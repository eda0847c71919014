r"""The search for certificates: a shipped table of hints, and the search itself.

Hints for the search of certificates: what closed for the steps of a grid of (q, mu), shipped as a table.

Nothing rests on the table: a hint says which boxes to halve without a test and which leaders to try, and every box that
is kept is tested for the (q, mu) at hand, in the process that uses it. With a wrong hint a search takes longer, or
finds nothing and refuses. `make certificates` rebuilds the table (`table`).

Certificates found: one for each (q, mu), whatever the number of steps and delta.

Finding may guess; a certificate counts only if `ordering.check` accepts it or its very search tested each box. Those
found are kept for the process. A search starts from what closed for a neighbouring step: boxes that are likely to fail
are then not tested, so that it costs little more than a test of what it finds.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.pld.adversary.cover import KEPT, Box, halved_boxes
from accountant.pld.adversary.leader import Leader
from accountant.pld.adversary.nodes import far_nodes
from accountant.pld.adversary.ordering import MOST_RISE, Judge, Ordering, Stairs, find_stairs, find_windows

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


_MOST_BOXES: Final = 1500
_SINGLE_LIFT: Final = 3e-4
_BLOCK_LIFT: Final = 1e-4
_ATTEMPTS: Final = 4
_ROUNDS: Final = 4
_LARGER: Final = 1.4
_FEW_BOXES: Final = 600
_LITTLE_MORE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Searched:
    """A certificate, each box of which was tested by its search, and the hint that it makes for its neighbours."""

    ordering: Ordering
    hint: Hint


@functools.lru_cache(maxsize=64)
def certificate_for(q: float, mu: float) -> Ordering:
    """Return a certificate for the step; raise `CannotCertifyError` where none was found."""
    return found_certificate(q, mu, hint_for(q, mu)).ordering


def found_certificate(q: float, mu: float, hint: Hint | None = None) -> Searched:
    """Search for a certificate, from a hint; raise if no cover closes."""
    start = hint or Hint()
    judge = Judge(q, mu, 1.0)
    halved, most = _halved(start.windows)
    for attempt in range(start.single, _ATTEMPTS):
        single = _lifted_leader(q, mu, min((0.24 * mu + 0.006) * _LARGER**attempt, 1.0), _SINGLE_LIFT)
        windows = find_windows(judge, single, most, halved)
        if windows is not None:
            break
    else:
        raise CannotCertifyError(f"no cover for single steps closes at q={q}, nu={1 / mu:.6g}")
    stairs: list[Stairs] = []
    blocks: list[int | None] = []
    halved, most = _halved(start.stairs)
    last = _ATTEMPTS
    for wanted, first in zip(SHARES, start.blocks, strict=True):
        found = (
            None if first is None else _found_stairs(judge, wanted, range(first, max(first + 1, last)), most, halved)
        )
        blocks.append(None if found is None else found[0])
        if found is not None:
            if not stairs:  # with the first cover as a hint the others share most of its boxes, and close as easily
                halved, most = _halved(found[1].cover)[0], found[1].cover.count(KEPT) * 5 // 4 + 20
                last = found[0] + 1
            stairs.append(found[1])
    if not stairs:
        raise CannotCertifyError(f"no cover for blocks closes at q={q}, nu={1 / mu:.6g}")
    return Searched(
        Ordering(single, windows, tuple(stairs), 1.0), Hint(windows, attempt, stairs[0].cover, tuple(blocks))
    )


def _halved(cover: str) -> tuple[frozenset[Box], int]:
    """Return what to halve by a neighbour's cover, and how many boxes are too many: a search that fails costs time."""
    return (halved_boxes(cover), 4 * cover.count(KEPT) + 200) if cover else (frozenset(), _MOST_BOXES)


def _found_stairs(
    judge: Judge, wanted: float, attempts: range, most_boxes: int, hint: frozenset[Box]
) -> tuple[int, Stairs] | None:
    """Return stairs whose rise makes a share of about `wanted` necessary for the reverse pair, if a cover closes."""
    q, mu = judge.reference.nodes.q, judge.reference.nodes.mu
    more = 0.0016 / mu + 0.001 + 0.008 * max(mu - 0.7, 0.0)
    rise = _rise(judge, wanted)
    if rise is None:
        return None
    least = _reverse_share(judge, rise)
    for attempt in attempts:
        share = 1.01 * least + more * (2 * _LARGER) ** attempt
        leader = _lifted_leader(q, mu, min(share, 1.0), _BLOCK_LIFT)
        try:
            cover = find_stairs(judge, leader, rise, most_boxes, hint)
        except CannotCertifyError:  # weights beyond float64
            check_time()  # a search cut short must not pass for one that found nothing: the certificate would be kept
            return None
        if cover is not None:
            return attempt, _lowered(judge, Stairs(leader, rise, cover), 1.01 * least)
    return None


def _lowered(judge: Judge, found: Stairs, least: float) -> Stairs:
    """Return stairs of a smaller share, as long as what it has above the least one is much and few boxes show it."""
    enough = max(_LITTLE_MORE, least / 4)
    while (more := (found.leader.share - least) / _LARGER) > enough and found.cover.count(KEPT) < _FEW_BOXES:
        leader = _lifted_leader(found.leader.q, found.leader.mu, least + more, _BLOCK_LIFT)
        cover = find_stairs(judge, leader, found.rise, 2 * _FEW_BOXES, halved_boxes(found.cover))
        if cover is None:
            break
        found = Stairs(leader, found.rise, cover)
    return found


def _reverse_share(judge: Judge, rise: float) -> float:
    """Return about the share at which the reverse pair is dominated on stairs of the rise (a guess; NaN: none)."""
    ref = judge.reference
    u = np.concatenate([[0.0], ref.nodes.u, far_nodes(ref.nodes.mu)])
    log_y = np.log1p(ref.nodes.q * u)
    difference = ref.forward_low - ref.backward_low
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ahead, behind = (float(np.trapezoid(difference * np.exp(-(1.5 + tilt) * log_y), u)) for tilt in (rise, -rise))
        return max(1 - ahead / behind, 0.0) if behind > 0 else math.nan


def _rise(judge: Judge, wanted: float) -> float | None:
    """Return a rise for which the reverse pair needs about the wanted share, which is nearly proportional to it."""
    if wanted == 0:
        return 0.0
    rise = 1.0
    for _ in range(_ROUNDS):
        share = _reverse_share(judge, rise)
        if not 0 < share < 1:
            return None
        rise *= wanted / share
        rise = rise if abs(rise - 0.5) > 1e-2 else 0.48
    return rise if rise <= MOST_RISE else None


def _lifted_leader(q: float, mu: float, share: float, lift: float) -> Leader:
    """Return a leader whose lift leaves half of the atom at loss 0."""
    atom = share * (1 - q) * math.erf(mu / math.sqrt(8))
    return Leader(q, mu, share, min(lift, atom / 2))
