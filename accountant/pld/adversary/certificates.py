"""Certificates found, checked and kept: one for each (q, mu), whatever the number of steps and delta.

Finding may guess; a certificate counts only if `ordering.check` accepts it or its very search tested each box. Those
found in a process are kept; `save` and `load` write them to a folder under a name made of their content, and `load`
checks again whatever it reads.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Final

from accountant.errors import CannotCertifyError, CertificateError
from accountant.pld.adversary.leader import Leader
from accountant.pld.adversary.ordering import Judge, Ordering, check, find_stairs, find_windows

_MOST_BOXES: Final = 1500
_SINGLE_LIFT: Final = 3e-4
_BLOCK_LIFT: Final = 1e-4
_ATTEMPTS: Final = 4
_LARGER: Final = 1.4


@functools.lru_cache(maxsize=64)
def certificate_for(q: float, mu: float) -> Ordering:
    """Return a certificate for the step; raise `CannotCertifyError` where none was found."""
    judge = Judge(q, mu, 1.0)
    share = 0.24 * mu + 0.006
    for _ in range(_ATTEMPTS):
        single = _leader(q, mu, min(share, 1.0), _SINGLE_LIFT)
        windows = find_windows(judge, single, _MOST_BOXES)
        if windows is not None:
            break
        share *= _LARGER
    else:
        raise CannotCertifyError(f"no cover for single steps closes at q={q}, nu={1 / mu:.6g}")
    share = 0.0016 / mu + 0.001
    for _ in range(_ATTEMPTS):
        block = _leader(q, mu, min(share, 1.0), _BLOCK_LIFT)
        stairs = find_stairs(judge, block, _MOST_BOXES)
        if stairs is not None:
            return Ordering(single, block, 1.0, windows, stairs)
        share *= 2 * _LARGER
    raise CannotCertifyError(f"no cover for blocks closes at q={q}, nu={1 / mu:.6g}")


def _leader(q: float, mu: float, share: float, lift: float) -> Leader:
    """Return a leader whose lift leaves half of the atom at loss 0."""
    atom = share * (1 - q) * math.erf(mu / math.sqrt(8))
    return Leader(q, mu, share, min(lift, atom / 2))


def save(certificate: Ordering, folder: Path) -> Path:
    """Write the certificate under the digest of its content and return the path."""
    text = json.dumps(_as_data(certificate), sort_keys=True, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
    path.write_text(text + "\n", encoding="utf-8")
    return path


def load(path: Path) -> Ordering:
    """Read a certificate and check it anew; raise `CertificateError` if it does not hold."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        single, block = (
            Leader(*(float.fromhex(data[name][field]) for field in ("q", "mu", "share", "lift")))
            for name in ("single", "block")
        )
        ordering = Ordering(single, block, float.fromhex(data["fineness"]), str(data["windows"]), str(data["stairs"]))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CertificateError(f"{path} holds no certificate: {error}") from error
    check(ordering)
    return ordering


def _as_data(certificate: Ordering) -> dict[str, object]:
    def leader(value: Leader) -> dict[str, str]:
        return {name: float(number).hex() for name, number in asdict(value).items()}

    return {
        "single": leader(certificate.single),
        "block": leader(certificate.block),
        "fineness": certificate.fineness.hex(),
        "windows": certificate.windows,
        "stairs": certificate.stairs,
    }
