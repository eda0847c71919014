"""What a guarantee does not cover, and a warning where a fit is part of something that it does not cover.

The classifier sees only the records passed to it. A step that read them before (a fitted scaler, other fits of a
search) leaks about them as well, and only the caller of ``fit`` knows of it: so the call stack is inspected. Whatever
fits more than once (bagging, stacking, calibration, one-vs-rest, ...) fits clones, and clones know their family.
"""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from types import FrameType

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

NOT_COVERED = (
    "preprocessing that was fitted on the same records (scalers, encoders, selection of features)",
    "hyper-parameters chosen on the same records (grid search, cross-validation)",
    "repeated fits: each costs as much again; PrivacyBudget adds them up and refuses to overspend",
    "classes_, and the numbers of records and features, which count as public",
)
VALIDATION = "sklearn.model_selection._validation"


class NotCoveredWarning(UserWarning):
    """A private fit is part of something that reads the records outside of its guarantee."""


def reasons(*, repeated_fits: bool = True) -> list[str]:
    """Why the guarantee of a fit that is running now does not cover all that its callers do with the records.

    ``repeated_fits``: whether further fits on the same records count; a budget covers them.
    """
    found: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Pipeline) and frame.f_code.co_name == "fit":
            fitted = [name for name, step in owner.steps[:-1] if _reads_records(step)]
            found += [f"step {name!r} of the pipeline is fitted on the same records" for name in fitted]
        searched = frame.f_globals.get("__name__") == VALIDATION and frame.f_code.co_name == "_fit_and_score"
        if searched and repeated_fits:
            found.append("cross-validation or a search fits many models, and each fit costs as much again")
        frame = frame.f_back
    return list(dict.fromkeys(found))


@dataclass(slots=True)
class _Family:
    """An estimator and its clones: how many clones were fitted, and whether the estimator itself had a seed."""

    seeded: bool
    fits: int = 0


_FAMILIES: weakref.WeakKeyDictionary[object, _Family] = weakref.WeakKeyDictionary()
_CLONES: weakref.WeakSet[object] = weakref.WeakSet()


def adopt(clone: object, of: object) -> None:
    """Remember whose clone it is; a clone of a clone is of the same family."""
    _FAMILIES[clone] = _FAMILIES.setdefault(of, _Family(getattr(of, "random_state", None) is not None))
    _CLONES.add(clone)


def repeated(estimator: object) -> list[str]:
    """A reason where a clone is fitted after another clone of its family, in this process.

    Some meta-estimators give each clone a seed; where the estimator itself had none, the warning is still due.
    """
    family = _FAMILIES.get(estimator)
    if family is None or family.seeded or estimator not in _CLONES:
        return []
    family.fits += 1
    if family.fits == 1:
        return []
    return [f"this is fit {family.fits} of clones of one estimator, and each fit costs as much again"]


def _reads_records(step: object) -> bool:
    """Whether fitting a step learns something from the records; a stateless one says so in its tags."""
    if step is None or isinstance(step, str):  # "passthrough"
        return False
    if isinstance(step, ColumnTransformer):
        return any(_reads_records(each[1]) for each in step.transformers)
    if isinstance(step, Pipeline):
        return any(_reads_records(each) for _, each in step.steps)
    if isinstance(step, FeatureUnion):
        return any(_reads_records(each) for _, each in step.transformer_list)
    if not isinstance(getattr(step, "categories", "auto"), str):  # an encoder of fixed categories
        counts = (getattr(step, name, None) for name in ("min_frequency", "max_categories"))
        return any(count is not None for count in counts)
    tags = getattr(step, "__sklearn_tags__", None)
    return bool(tags().requires_fit) if tags is not None else True
