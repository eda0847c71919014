"""Which bug is likely: by what differs first, by what all failed cases have in common, by how often a flag fails.

The iterates of a case are compared in the order in which they are computed. If x agrees and z differs first, the update
of z is wrong; if that happens with the L1 penalty alone, its threshold is. So the flags are ranked: first those that
are about the value that differs first, among them by the share of their cases that failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from verification.outcome import Outcome
from verification.vectors import model
from verification.vectors.checking import CaseFinding, ValueDifference
from verification.vectors.recipe import POINT, Recipe, read

_Z = frozenset({"threshold", "at-threshold", "party-mean", "elastic-net", "folded", "groups", "matrix"})
_Y = frozenset({"old-dual"})
_ANY = frozenset({"plain", "subnormal", "scale"})
"""Such cases fail with nearly every bug."""
_ONLY = {
    "elastic-net": ("regularizer", {"elastic-net"}),
    "folded": ("regularizer", {"scad", "mcp"}),
    "groups": ("regularizer", {"group-l1"}),
    "matrix": ("regularizer", {"nuclear"}),
    "huber-knees": ("loss", {"huber"}),
    "noise-order": ("release", {"all"}),
    "release": ("release", {"primal"}),
    "batch-mean": ("batches", {"given"}),
    "initial": ("start", {"given"}),
    "intercept": ("intercept", {"present"}),
    "proximal-step": ("algorithm", {"dpsgd", "dpsvrg"}),
    "party-mean": ("algorithm", {"dpadmm"}),
    "control-variate": ("algorithm", {"dpsvrg"}),
    "anchor-noise": ("algorithm", {"dpsvrg"}),
    "objective": ("algorithm", {"objp", "admm"}),
    "clipping": ("bounded by", {"clipping"}),
    "normalising": ("bounded by", {"normalising"}),
}
"""A bug of these kinds shows only where all failed cases have this in common."""
_ROUNDING, _MOST = 1e-5, 0.8
_ABOUT = ("algorithm", "release", "loss", "regularizer", "bounded by", "intercept", "start", "batches")


@dataclass(frozen=True, slots=True)
class Suspect:
    """A flag, and how many of its cases failed."""

    flag: str
    failed: int
    played: int
    fits: bool  # whether it is about the value that differs first

    @property
    def rate(self) -> float:
        """The share of its cases that failed."""
        return self.failed / self.played


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the failures have in common, and the suspects, the likeliest first."""

    first: tuple[tuple[str, int], ...]  # by value: in how many failed cases it differs first
    failed: int
    only: tuple[tuple[str, str], ...]  # what all failed cases have, and some that passed do not
    suspects: tuple[Suspect, ...]

    def lines(self) -> list[str]:
        """In words: where it goes wrong first, and only where."""
        found = []
        for name, count in self.first:
            before = POINT[: POINT.index(name)]
            agrees = f" ({' and '.join(before)} agree{'s' if len(before) == 1 else ''} until then)" if before else ""
            found.append(f"{name} differs first in {count} of {self.failed} failed cases{agrees}")
        if self.only:
            found.append("fails only with " + ", ".join(f"{what} {value}" for what, value in self.only))
        return found


def diagnose(findings: Sequence[CaseFinding], cases: Sequence[model.Case]) -> Diagnosis:
    """Rank the flags of the failed cases."""
    played = [finding for finding in findings if finding.outcome is not Outcome.SKIPPED]
    failed = [finding for finding in played if finding.outcome is Outcome.REFUTED]
    differences = [finding.difference for finding in failed if finding.difference is not None]
    first = Counter(difference.value for difference in differences)
    leading = first.most_common(1)[0][0] if first else ""
    counts = Counter(flag for finding in failed for flag in finding.flags)
    of_all = Counter(flag for finding in played for flag in finding.flags)
    rounded = bool(first) and sum(map(_rounded, differences)) >= _MOST * len(failed)
    traits = _traits(failed, cases)
    suspects = [
        Suspect(flag, count, of_all[flag], _fits(flag, leading, rounded=rounded) and _explains(flag, traits))
        for flag, count in counts.items()
    ]
    suspects.sort(key=lambda s: (not s.fits, -s.rate, -s.failed, s.flag))
    return Diagnosis(tuple(first.most_common()), len(failed), _only(played, cases), tuple(suspects))


def _rounded(difference: ValueDifference) -> bool:
    """Whether only the last digits of the first wrong value are wrong."""
    right = model.from_bits(difference.expected.bits)
    return abs(difference.got - right) <= _ROUNDING * abs(right)


def _explains(flag: str, traits: Sequence[dict[str, str]]) -> bool:
    """Whether every failed case has what this kind of bug needs."""
    if flag == "old-dual":  # shows without a penalty as well
        return any(trait["regularizer"] == "none" for trait in traits)
    what, values = _ONLY.get(flag, ("", set[str]()))
    return not what or all(trait[what] in values for trait in traits)


def _fits(flag: str, leading: str, *, rounded: bool) -> bool:
    if not leading:
        return True
    if flag == "precision" or rounded:
        return flag == "precision" and rounded
    if flag in _ANY:
        return False
    if flag in ("noise-order", "release"):
        return leading != "x"
    return {"z": flag in _Z or flag in _Y, "y": flag in _Y}.get(leading, flag not in _Z | _Y)


def _only(played: Sequence[CaseFinding], cases: Sequence[model.Case]) -> tuple[tuple[str, str], ...]:
    """What every failed case has in common and not every case that passed."""
    failed = _traits([f for f in played if f.outcome is Outcome.REFUTED], cases)
    passed = _traits([f for f in played if f.outcome is Outcome.STANDS], cases)
    if not failed or not passed:
        return ()
    found = []
    for what in _ABOUT:
        values = sorted({trait[what] for trait in failed})
        spared = {trait[what] for trait in passed} - set(values)
        if spared:
            fewer = len(spared) < len(values)
            found.append((what, f"other than {' or '.join(sorted(spared))}" if fewer else " or ".join(values)))
    return tuple(found)


def _traits(findings: Sequence[CaseFinding], cases: Sequence[model.Case]) -> list[dict[str, str]]:
    """What the valid cases of these findings are about."""
    wanted = {finding.name for finding in findings}
    return [_about(read(case)) for case in cases if case.id in wanted and case.expected is not None]


def _about(recipe: Recipe) -> dict[str, str]:
    bounded = "clipping" if recipe.clip is not None else "normalising"
    return dict(
        zip(
            _ABOUT,
            (
                recipe.algorithm,
                recipe.release or "none",
                recipe.loss,
                recipe.regularizer,
                bounded,
                "present" if recipe.intercept else "absent",
                "given" if recipe.start is not None else "at 0",
                "given" if recipe.batches is not None else "none",
            ),
            strict=True,
        )
    )
