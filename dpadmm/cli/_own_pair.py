"""The user's own neighbours, from two files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from audits.errors import AuditError
from audits.own_pair import OwnPair, own_pair
from audits.plans import BOUND
from dpadmm.loaders import Loaded, load
from verification.adapter.records import Records


def load_pair(first: Path, second: Path, *, label_column: str | None = None, bound: float = BOUND) -> OwnPair:
    """Read two files of records and require that they are neighbours."""
    for path in (first, second):
        if not path.is_file():
            raise AuditError(f"{path}: there is no such file")
    a, b = (load(path, label_column=label_column) for path in (first, second))
    if a.classes != b.classes:
        raise AuditError(f"{first} and {second} must name their classes alike, got {a.classes} and {b.classes}")
    return own_pair(_records(a), _records(b), bound)


def _records(loaded: Loaded) -> Records:
    return Records(loaded.features, loaded.labels.astype(np.int64))
