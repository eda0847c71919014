r"""Loads ``reference``, ``accountant``, ``verification`` and ``audits`` of this project, not a folder of that name.

These names are common. ``python -m dpadmm`` and ``PYTHONPATH=.`` put the user's folder before installed packages, so
that a user's ``audits/__init__.py`` or ``audits.py`` would be imported in the place of ours.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from pathlib import Path

import dpadmm

NAMES = ("reference", "accountant", "verification", "audits")
HOME = Path(dpadmm.__file__).resolve().parents[1]
"""The folder that holds this package and the four others."""


class Shadowed(ImportError):
    """A module of the user's has the name of one of this project's packages, and would be imported instead."""

    exit_code = 2


def prefer_own() -> None:
    """Make our packages the ones that are imported, for a process that is ours alone (the command line).

    Entries of ``sys.path`` that hold a module of the same name move behind the rest, so that everything else in them
    can still be imported; worker processes inherit the order. Refuses with the reason where that does not help.
    """
    for name in NAMES:
        for _ in range(len(sys.path)):
            found = _origin(name)
            if found is None or _ours(name, found):
                break
            _move_back(name)
    importlib.invalidate_caches()
    require_own()


def require_own() -> None:
    """Refuse to go on where a name leads to somebody else's module."""
    for name in NAMES:
        loaded = sys.modules.get(name)
        found = Path(loaded.__file__) if loaded is not None and loaded.__file__ else _origin(name)
        if found is not None and not _ours(name, found):
            raise Shadowed(
                f"{found} hides dpadmm's own package {name!r} ({HOME / name}): "
                f"rename it, or run from another folder without it on PYTHONPATH"
            )


def _origin(name: str) -> Path | None:
    """The file that ``import name`` would load; None for a folder without ``__init__.py`` and for nothing."""
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None)
        if spec is not None:
            return Path(spec.origin).resolve() if spec.origin else None
    return None


def _ours(name: str, origin: Path) -> bool:
    return origin.resolve().parent == HOME / name


def _move_back(name: str) -> None:
    """Move the first entry of ``sys.path`` that holds a module of this name, and is not ours, to the end."""
    for place, entry in enumerate(sys.path):
        spec = importlib.machinery.PathFinder.find_spec(name, [entry or str(Path.cwd())])
        if spec is not None and spec.origin and not _ours(name, Path(spec.origin)):
            sys.path.append(str(Path(sys.path.pop(place)).resolve()))
            return
