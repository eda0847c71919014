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
from accountant.pld.adversary.ordering import Judge, Ordering, find_stairs, find_windows

_MOST_BOXES: Final = 1500
_SINGLE_LIFT: Final = 3e-4
_BLOCK_LIFT: Final = 1e-4
_ATTEMPTS: Final = 4
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
    share = 0.0016 / mu + 0.001
    for _ in range(_ATTEMPTS):
        block = _leader(q, mu, min(share, 1.0), _BLOCK_LIFT)
        stairs = find_stairs(judge, block, _MOST_BOXES, "" if neighbour is None else neighbour.stairs)
        if stairs is not None:
            return Ordering(single, block, 1.0, windows, stairs)
        share *= 2 * _LARGER
    raise CannotCertifyError(f"no cover for blocks closes at q={q}, nu={1 / mu:.6g}")


def _leader(q: float, mu: float, share: float, lift: float) -> Leader:
    """Return a leader whose lift leaves half of the atom at loss 0."""
    atom = share * (1 - q) * math.erf(mu / math.sqrt(8))
    return Leader(q, mu, share, min(lift, atom / 2))
