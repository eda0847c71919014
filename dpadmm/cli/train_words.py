"""The words that `dpadmm train` accepts, as plain text, so that its help needs no numerical library.

tests/dpadmm/test_startup.py compares each list with the code that it names.
"""

from __future__ import annotations

ALGORITHMS = ("ssadmm", "mpadmm")
LOSSES = ("logistic", "huber")
REGULARIZERS = ("none", "l1", "elastic-net", "group-l1", "nuclear", "scad", "mcp")
SCHEDULES = ("constant", "per-epoch", "inverse-sqrt")
RELEASES = ("all", "primal")
OUTPUTS = ("auto", "last", "average", "sparse")
FORMATS = ("libsvm", "csv", "npz")
