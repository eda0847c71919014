"""Certificates found: one for each (q, mu), whatever the number of steps and delta.

Finding may guess; a certificate counts only if `ordering.check` accepts it or its very search tested each box. Those
found are kept for the process and on disk (`cache`). A search takes the halvings of the last certificate found for a
neighbouring step for granted, which spares the tests of boxes that are likely to fail.
"""

from __future__ import annotations

import functools
import math
from typing import Final

from accountant.errors import CannotCertifyError
from accountant.pld.adversary.cache import keep, kept
from accountant.pld.adversary.leader import Leader
from accountant.pld.adversary.ordering import Judge, Ordering, Stairs, find_stairs, find_windows

_MOST_BOXES: Final = 1500
_SINGLE_LIFT: Final = 3e-4
_BLOCK_LIFT: Final = 1e-4
_ATTEMPTS: Final = 4
_ROUNDS: Final = 4
_SHARES: Final = (0.0, 0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2, 0.4)
"""Shares that the rises of the stairs are chosen for."""
_LARGER: Final = 1.4
_NEAR: Final = 1.25
"""A step is a neighbour if mu is within this factor; q matters little."""


@functools.lru_cache(maxsize=64)
def certificate_for(q: float, mu: float) -> Ordering:
    """Return a certificate for the step; raise `CannotCertifyError` where none was found."""
    certificate = kept(q, mu)
    if certificate is None:
        certificate = found_certificate(q, mu, _neighbour(mu))
        keep(certificate)
    _RECENT[:] = [certificate]
    return certificate


_RECENT: Final[list[Ordering]] = []


def _neighbour(mu: float) -> Ordering | None:
    return next((known for known in _RECENT if 1 / _NEAR <= mu / known.single.mu <= _NEAR), None)


def found_certificate(q: float, mu: float, neighbour: Ordering | None = None) -> Ordering:
    """Search for a certificate, with the halvings of a neighbour's covers as hints; raise if none closes."""
    judge = Judge(q, mu, 1.0)
    share = 0.24 * mu + 0.006
    for _ in range(_ATTEMPTS):
        single = _leader(q, mu, min(share, 1.0), _SINGLE_LIFT)
        windows = find_windows(judge, single, _MOST_BOXES, "" if neighbour is None else neighbour.windows)
        if windows is not None:
            break
        share *= _LARGER
    else:
        raise CannotCertifyError(f"no cover for single steps closes at q={q}, nu={1 / mu:.6g}")
    stairs: list[Stairs] = []
    for wanted in _SHARES:  # with the first cover as a hint the others share most of its boxes
        stairs += _found_stairs(judge, wanted, stairs[0].cover if stairs else "")
    if not stairs:
        raise CannotCertifyError(f"no cover for blocks closes at q={q}, nu={1 / mu:.6g}")
    return Ordering(single, windows, tuple(stairs), 1.0)


def _found_stairs(judge: Judge, wanted: float, hint: str) -> list[Stairs]:
    """Return stairs whose rise makes a share of about `wanted` necessary for the reverse pair, if a cover closes."""
    q, mu = judge.reference.nodes.q, judge.reference.nodes.mu
    more = 0.0016 / mu + 0.001 + 0.008 * max(mu - 0.7, 0.0)
    try:
        rise = _rise(judge, wanted)
        least = _reverse_share(judge, rise)
    except CannotCertifyError:  # weights beyond float64
        return []
    for _ in range(_ATTEMPTS):
        leader = _leader(q, mu, min(1.01 * least + more, 1.0), _BLOCK_LIFT)
        cover = find_stairs(judge, leader, rise, _MOST_BOXES, hint)
        if cover is not None:
            return [Stairs(leader, rise, cover)]
        more *= 2 * _LARGER
    return []


def _reverse_share(judge: Judge, rise: float) -> float:
    """Return about the share at which the reverse pair is dominated on stairs of the rise."""
    weights = judge.integrals(rise)
    ahead, behind = (float(side.forward[-1] - side.backward[-1]) for side in (weights.ahead, weights.behind))
    return max(1 - ahead / behind, 0.0)


def _rise(judge: Judge, wanted: float) -> float:
    """Return a rise for which the reverse pair needs about the wanted share: that is nearly proportional to it."""
    if wanted == 0:
        return 0.0
    rise = 1.0
    for _ in range(_ROUNDS):
        rise *= wanted / _reverse_share(judge, rise)
        rise = rise if abs(rise - 0.5) > 1e-2 else 0.48
    return rise


def _leader(q: float, mu: float, share: float, lift: float) -> Leader:
    """Return a leader whose lift leaves half of the atom at loss 0."""
    atom = share * (1 - q) * math.erf(mu / math.sqrt(8))
    return Leader(q, mu, share, min(lift, atom / 2))
