"""One vocabulary of results for verify, vectors, conform, audit and gate: outcome, finding, power.

An `Outcome` is what a check concluded, a `Finding` one conclusion under the name of what was checked. The exit code
of a run is that of its worst finding (`worst`).
"""

from __future__ import annotations

import datetime
import enum
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from verification.picture import Picture


class Outcome(enum.StrEnum):
    """What a check concluded; the value is the word that reports print."""

    STANDS = "stands"
    DEVIATES = "deviates"  # different from what is claimed, and not less private
    REFUTED = "refuted"  # less private than claimed, or wrong
    INCONCLUSIVE = "inconclusive"  # not enough was shown, or there was no time
    SKIPPED = "skipped"  # not offered by the implementation, or not applicable; never a pass
    ADAPTER_FAILED = "adapter failed"
    FAULT = "fault"  # of this program

    @property
    def exit_code(self) -> int:
        """The documented exit code of a run whose worst outcome this is."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Outcome.STANDS: 0,
    Outcome.DEVIATES: 0,
    Outcome.REFUTED: 1,
    Outcome.INCONCLUSIVE: 3,
    Outcome.SKIPPED: 3,
    Outcome.ADAPTER_FAILED: 4,
    Outcome.FAULT: 70,
}
# A fault of this program makes every other conclusion worthless; a refutation outweighs what else went wrong.
PRECEDENCE = (
    Outcome.FAULT,
    Outcome.REFUTED,
    Outcome.ADAPTER_FAILED,
    Outcome.INCONCLUSIVE,
    Outcome.DEVIATES,
    Outcome.STANDS,
)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that decides; if nothing was checked (none, or all skipped), `INCONCLUSIVE`."""
    seen = set(outcomes)
    return next((outcome for outcome in PRECEDENCE if outcome in seen), Outcome.INCONCLUSIVE)


def counted(findings: Iterable[Finding]) -> str:
    """Return how many findings have which outcome, in words; empty if there are none."""
    counts = Counter(finding.outcome for finding in findings)
    words = {Outcome.STANDS: "passed"}
    return ", ".join(f"{counts[outcome]} {words.get(outcome, outcome)}" for outcome in Outcome if counts[outcome])


@dataclass(frozen=True, slots=True)
class Power:
    """The smallest violation that the test would have detected: noise divided by ``divisor``, with this probability.

    ``at_least`` is a lower confidence bound (95 %) of the probability, from ``simulations`` simulated audits.
    """

    divisor: float
    at_least: float
    simulations: int

    def describe(self) -> str:
        """Return the sentence a report prints."""
        return (
            f"noise too small by a factor of {self.divisor:.3g} throughout, all else as claimed, would have been "
            f"detected with probability at least {self.at_least:.2f}"
        )


@dataclass(frozen=True, slots=True)
class Waived:
    """A refutation that the claim file tolerates until a date."""

    reason: str
    expires: datetime.date


@dataclass(frozen=True, slots=True)
class Finding:
    """One conclusion, by the name of what was checked.

    ``subject`` is the mechanism that it is about, with what that releases; empty where it is about none in
    particular. ``p_value`` bounds the probability that an honest implementation shows this much or more, and
    ``false_alarm`` is the level it was compared with. ``tightness`` is the largest observed value over its bound.
    """

    name: str
    outcome: Outcome
    detail: str
    subject: str = ""
    seconds: float = 0.0
    p_value: float | None = None
    false_alarm: float = 0.0
    trials: int | None = None
    power: Power | None = None
    tightness: float | None = None
    witness: str = ""
    reproduction: str = ""
    tags: tuple[str, ...] = ()
    waiver: Waived | None = None
    picture: Picture | None = None

    @property
    def stage(self) -> str:
        """The stage of a gate, which stands before the colon of its findings' names."""
        return self.name.partition(":")[0]
