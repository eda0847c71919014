"""Whether the noise is really added: released is what was there before plus the noise, or a function of that alone.

Rounding and clamping what is about to be released is post-processing. So a difference is excused if it is that of
single precision, or if, over all numbers of all runs, what is released never falls where value plus noise rises, and
is near it or at an end of what is ever released.
"""

from __future__ import annotations

import numpy as np

from verification.declared.bench import Bench
from verification.declared.objective import NOT_SOLVED, residual
from verification.wire.arrays import Floats
from verification.wire.declaration import DeclaredValue
from verification.wire.declared_session import Recorded

_DOUBLE, _SINGLE = 1e-9, 4 * 2.0**-24
"""Of the largest number: value, noise and sum are each rounded once in single precision."""
_NEAR = 0.05
"""A rounded release may be so far from value plus noise, over the typical size of the noise: coarser rounding is
declared as a value of its own that is computed from the release."""


def not_added(bench: Bench, data: str, runs: list[Recorded]) -> tuple[str, str]:
    """What is wrong, empty if nothing is; and what is only rounded or clamped, in words."""
    notes = []
    for value in bench.declaration.noised:
        if value.enters == "objective":
            gap = residual(bench, value, data, runs[0], bench.seed())
            if gap > NOT_SOLVED:
                text = f"{value.name} does not minimise the objective with its noise: the gradient is {gap:.3g} of it"
                return text, ""
            continue
        if not all(is_sum(run, value) for run in runs):
            lost = _no_function(value, runs)
            if lost:
                return lost, ""
            notes.append(f"{value.name} is rounded or clamped after its noise")
    return "", "; ".join(notes)


def is_sum(run: Recorded, value: DeclaredValue) -> bool:
    """Whether released is value plus noise, but for the rounding of the arithmetic, and that hides no noise."""
    shown = run.values[value.name]
    gap = float(np.abs(shown.released - shown.before - shown.noise).max(initial=0.0))
    size = 1.0 + max(np.abs(shown.before).max(initial=0.0), np.abs(shown.released).max(initial=0.0))
    single = gap <= _SINGLE * size and gap <= _NEAR * _NEAR * float(np.median(np.abs(shown.noise)))
    return gap <= _DOUBLE * size or single


def _no_function(value: DeclaredValue, runs: list[Recorded]) -> str:
    """Why released is no rounded or clamped value plus noise; empty if it may be."""
    shown = [run.values[value.name] for run in runs]
    released, before, noise = (
        np.concatenate([part.ravel() for part in parts])
        for parts in zip(*((s.released, s.before, s.noise) for s in shown), strict=True)
    )
    sums: Floats = before + noise
    gaps = np.abs(released - sums)
    near = gaps <= _NEAR * float(np.median(np.abs(noise)))
    clamped = ((released == released.max()) & (sums >= released)) | ((released == released.min()) & (sums <= released))
    order = np.argsort(sums, kind="stable")
    falls = np.maximum.accumulate(released[order]) - released[order]
    slack = _SINGLE * (1.0 + float(np.abs(released).max(initial=0.0)))
    if np.all(near | clamped) and float(falls.max(initial=0.0)) <= slack and np.mean(near) >= 0.5:
        return ""
    worst = int(np.argmax(np.where(near | clamped, 0.0, gaps))) if not np.all(near | clamped) else int(np.argmax(gaps))
    share = float(np.abs(released[worst] - before[worst])) / max(float(np.abs(noise[worst])), 1e-300)
    return (
        f"what is released of {value.name} is not its value plus its noise, nor a rounding of that (off by "
        f"{gaps[worst]:.4g}; {share:.4g} of the noise arrives)"
    )
