"""Mechanisms to try a black-box audit on: nineteen that leak more than they claim, and ten that do not.

All claim (1, 1e-5)-DP, most of them for records of norm at most 1. They share nothing with the reference: one-shot
fits, gradient descent, histograms, randomised response, two parties.
"""

from __future__ import annotations

from audits.errors import AuditError
from tests.zoo.black_box.honest import HONEST
from tests.zoo.black_box.subject import CLAIM, BoxedSubject, LocalSource, SlowSource, claimed_curve
from tests.zoo.black_box.wrong import WRONG

__all__ = ["CLAIM", "HONEST", "WRONG", "BoxedSubject", "LocalSource", "SlowSource", "boxed", "claimed_curve"]


def boxed(identity: str) -> BoxedSubject:
    """Return a subject by its name."""
    for subject in (*WRONG, *HONEST):
        if subject.identity == identity:
            return subject
    known = ", ".join(each.identity for each in (*WRONG, *HONEST))
    raise AuditError(f"there is no subject {identity!r}; known are {known}")
