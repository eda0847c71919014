r"""Certificates on disk: one file for each (q, mu), tested again whenever it is read.

A file that is damaged, forged or for another step proves nothing: it is ignored, a certificate is found anew and
written in its place. The test on reading is the whole one (every box), about two seconds; so nothing rests on the file.
The folder is `DPADMM_CACHE`, or `dpadmm` in the user's folder for caches; `DPADMM_CACHE=off` keeps nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

from accountant.errors import CertificateError
from accountant.pld.adversary.leader import Leader
from accountant.pld.adversary.ordering import Ordering, Stairs, check

VARIABLE: Final = "DPADMM_CACHE"
OFF: Final = "off"
_FORMAT: Final = "dpadmm-adversary-2"


def cache_folder() -> Path | None:
    """Return where certificates are kept, or None."""
    named = os.environ.get(VARIABLE)
    if named == OFF:
        return None
    if named:
        return Path(named) / "certificates"
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "dpadmm" / "certificates"
    except RuntimeError:  # no home
        return None


def path_for(q: float, mu: float, folder: Path) -> Path:
    """Return the file for a step: its name is the digest of the format, q and mu."""
    key = f"{_FORMAT} {float(q).hex()} {float(mu).hex()}"
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def kept(q: float, mu: float) -> Ordering | None:
    """Return the certificate on disk for the step if there is one and it holds."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        certificate = load(path_for(q, mu, folder))
    except CertificateError:
        return None
    return certificate if (certificate.single.q, certificate.single.mu) == (q, mu) else None


def keep(certificate: Ordering) -> None:
    """Write the certificate; a folder that cannot be written to is no error."""
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            save(certificate, folder)


def save(certificate: Ordering, folder: Path) -> Path:
    """Write the certificate whole or not at all, and return its path."""
    text = json.dumps(_as_data(certificate), sort_keys=True, indent=1) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = path_for(certificate.single.q, certificate.single.mu, folder)
    handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return path


def load(path: Path) -> Ordering:
    """Read a certificate and check it anew; raise `CertificateError` if it does not hold."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        single = _leader(data["single"])
        stairs = tuple(
            Stairs(_leader(entry["leader"]), float.fromhex(entry["rise"]), str(entry["cover"]))
            for entry in data["stairs"]
        )
        ordering = Ordering(single, str(data["windows"]), stairs, float.fromhex(data["fineness"]))
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CertificateError(f"{path} holds no certificate: {error}") from error
    check(ordering)
    return ordering


def _leader(data: dict[str, str]) -> Leader:
    return Leader(*(float.fromhex(data[field]) for field in ("q", "mu", "share", "lift")))


def _as_data(certificate: Ordering) -> dict[str, object]:
    def leader(value: Leader) -> dict[str, str]:
        return {name: float(number).hex() for name, number in asdict(value).items()}

    return {
        "single": leader(certificate.single),
        "windows": certificate.windows,
        "stairs": [
            {"leader": leader(entry.leader), "rise": entry.rise.hex(), "cover": entry.cover}
            for entry in certificate.stairs
        ],
        "fineness": certificate.fineness.hex(),
    }
