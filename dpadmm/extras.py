"""Optional dependencies: which extra brings which module, and the error that names it."""

from __future__ import annotations

import importlib.util

EXTRA_OF = {
    "sklearn": "sklearn",
    "z3": "proofs",
    "cvc5": "proofs",
    "matplotlib": "plots",
    "distributed": "cluster",
    "dask": "cluster",
    "pandas": "data",
    "pyarrow": "data",
}
"""A module that only an extra installs, and that extra."""


class MissingExtra(ImportError):
    """Something was asked for that needs an extra which is not installed."""

    exit_code = 2


def missing(module: str, what: str) -> MissingExtra:
    """The error for a module that is not installed; ``what`` needs it."""
    return MissingExtra(f"{what} needs {module}: pip install 'dpadmm[{EXTRA_OF[module]}]'")


def require_extra(module: str, what: str) -> None:
    """Refuse, before any work is done, what needs a module that is not installed."""
    if importlib.util.find_spec(module) is None:
        raise missing(module, what)
