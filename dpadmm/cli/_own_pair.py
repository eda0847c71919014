"""The user's own neighbours, from two files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from accountant.mechanisms.words import Neighbours as Relation
from audits.errors import AuditError
from dpadmm.loaders import format_of, load
from verification.neighbours.neighbours import Neighbours, own_neighbours
from verification.wire.records import Records


def load_pair(first: Path, second: Path, *, label_column: str | None = None) -> Neighbours:
    """Read two files of records and require that they are replace-one neighbours."""
    return own_neighbours(*load_both(first, second, label_column=label_column), Relation.REPLACE_ONE)


def load_both(first: Path, second: Path, *, label_column: str | None = None) -> tuple[Records, Records]:
    """Read two files of records with the same features and the same names of classes."""
    for path in (first, second):
        if not path.is_file():
            raise AuditError(f"{path}: there is no such file")
    a, b = (load(path, label_column=label_column) for path in (first, second))
    # LIBSVM leaves out what is 0: the replaced record may hold the only value of the last feature
    widths = a.features.shape[1], b.features.shape[1]
    if widths[0] < widths[1] and format_of(first) == "libsvm":
        a = load(first, features=widths[1])
    if widths[1] < widths[0] and format_of(second) == "libsvm":
        b = load(second, features=widths[0])
    if a.classes != b.classes:
        raise AuditError(f"{first} and {second} must name their classes alike, got {a.classes} and {b.classes}")
    one, other = (Records(loaded.features, loaded.labels.astype(np.int64)) for loaded in (a, b))
    return one, other
