r"""Loads ``reference``, ``accountant``, ``verification`` and ``audits`` of this project, not a user's module so called.

These names are common. The command line, whose process is ours alone, moves the user's folders behind installed
packages (`prefer_own`). In a process of the user's their modules keep their names: where one of them hides a package
of ours, the modules of ``dpadmm`` import ours under ``dpadmm._own`` (`OwnFinder`), and no other import changes.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import dpadmm

NAMES = ("reference", "accountant", "verification", "audits")
HOME = Path(dpadmm.__file__).resolve().parents[1]
"""The folder that holds this package and the four others."""
PRIVATE = "dpadmm._own"
_PLAIN = ("dpadmm.own_packages", "dpadmm.cli", "dpadmm.__main__", PRIVATE)
_ALWAYS = ("dpadmm.pytest_plugin",)  # loaded before the folders of the user's tests can be imported from


class OwnFinder:
    """Finds our packages under ``dpadmm._own``, for modules of ours that cannot have them under their own names."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module with its imports redirected; None for what is not ours, or what nothing hides."""
        if not name.startswith("dpadmm."):
            return None
        if name == PRIVATE:
            spec = importlib.machinery.ModuleSpec(PRIVATE, None, is_package=True)
            spec.submodule_search_locations = [str(HOME)]
            return spec
        inside = name.startswith(f"{PRIVATE}.") and name.split(".")[2] in NAMES
        plain = any(name == each or name.startswith(f"{each}.") for each in _PLAIN)
        if not inside and (plain or (name not in _ALWAYS and not shadowed())):
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path)
        if found is not None and isinstance(found.loader, importlib.machinery.SourceFileLoader) and found.origin:
            found.loader = _PrivateLoader(name, found.origin)
        return found


class _PrivateLoader(importlib.machinery.SourceFileLoader):
    """Runs a module whose import statements find our packages under `PRIVATE`."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _private_import}
        super().exec_module(module)


def _private_import(
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002 - Python's name for it
    locals: Mapping[str, object] | None = None,  # noqa: A002 - as above
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    top = name.partition(".")[0]
    if level or top not in NAMES:
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    found = importlib.import_module(f"{PRIVATE}.{name}")
    if not fromlist:
        return sys.modules[f"{PRIVATE}.{top}"]
    return builtins.__import__(found.__name__, globals, locals, fromlist, 0)


def shadowed() -> bool:
    """Whether one of the names leads, or would lead, to somebody else's module."""
    return any(found is not None and not _ours(name, found) for name in NAMES for found in [_leads_to(name)])


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
        found = _leads_to(name)
        if found is not None and not _ours(name, found):
            raise Shadowed(
                f"{found} hides dpadmm's own package {name!r} ({HOME / name}): "
                f"rename it, or run from another folder without it on PYTHONPATH"
            )


def _leads_to(name: str) -> Path | None:
    loaded = sys.modules.get(name)
    return Path(loaded.__file__) if loaded is not None and loaded.__file__ else _origin(name)


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
