"""Check whether a DP-ADMM implementation meets its claimed (epsilon, delta): the public names.

``from dpadmm import SsADMMClassifier, MpADMMClassifier`` needs the extra ``dpadmm[sklearn]``; they are imported when
they are asked for, so that everything else works without it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpadmm.budget import PrivacyBudget
    from dpadmm.estimators import MpADMMClassifier, NotCoveredWarning, SsADMMClassifier
    from dpadmm.saved import load_model

__all__ = ["MpADMMClassifier", "NotCoveredWarning", "PrivacyBudget", "SsADMMClassifier", "load_model"]
_HOMES = {
    "MpADMMClassifier": "dpadmm.estimators",
    "NotCoveredWarning": "dpadmm.estimators",
    "PrivacyBudget": "dpadmm.budget",
    "SsADMMClassifier": "dpadmm.estimators",
    "load_model": "dpadmm.saved",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dpadmm' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "sklearn":
            raise
        raise ImportError(f"dpadmm.{name} needs scikit-learn: pip install 'dpadmm[sklearn]'") from missing


from dpadmm.own_packages import OwnFinder  # noqa: E402 - it needs to know where this package is

if OwnFinder not in sys.meta_path:
    sys.meta_path.insert(0, OwnFinder)
