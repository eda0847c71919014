"""Every check, in the order in which they are run: what is quick and decisive first."""

from __future__ import annotations

from verification.conformance import batches, clipping, determinism, golden, jumps, noise, scale, sensitivity, updates
from verification.conformance.check import Check

CHECKS: tuple[Check, ...] = (
    *updates.CHECKS,
    *golden.CHECKS,
    *clipping.CHECKS,
    *jumps.CHECKS,
    *determinism.CHECKS,
    *sensitivity.CHECKS,
    *batches.CHECKS,
    *noise.CHECKS,
    *scale.CHECKS,
)


def find(names: tuple[str, ...]) -> tuple[Check, ...]:
    """The checks of these names or families; all of them if none is named. Raises KeyError for an unknown one."""
    if not names:
        return CHECKS
    chosen = []
    for name in names:
        found = [check for check in CHECKS if name in (check.name, check.family)]
        if not found:
            raise KeyError(name)
        chosen += [check for check in found if check not in chosen]
    return tuple(check for check in CHECKS if check in chosen)
