"""What a guarantee does not cover, and a warning where a fit is part of something that it does not cover.

The classifier sees only the records passed to it. A step that read them before (a fitted scaler, other fits of a
search) leaks about them as well, and only the caller of ``fit`` knows of it: so the call stack is inspected.
"""

from __future__ import annotations

import sys
from types import FrameType

from sklearn.pipeline import Pipeline

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


def _reads_records(step: object) -> bool:
    """Whether fitting a step learns something from the records; a stateless one says so in its tags."""
    if step is None or isinstance(step, str):  # "passthrough"
        return False
    tags = getattr(step, "__sklearn_tags__", None)
    return bool(tags().requires_fit) if tags is not None else True
