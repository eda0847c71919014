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


class Stage(enum.StrEnum):
    """Where a finding comes from, in order of cost; `coverage` is about what was not looked at."""

    PRICE = "price"
    SMALL = "small"
    CLAIMED = "claimed"
    GAMES = "games"
    DECLARED = "declared"
    COVERAGE = "coverage"


class Aspect(enum.StrEnum):
    """What a privacy claim rests on."""

    NOISE = "noise"
    BATCHES = "batches"
    CLIPPING = "clipping"
    RELEASED = "released values"
    UPDATES = "updates"


class Cost(enum.Enum):
    """What it costs if it is not by chance."""

    PRIVACY = "less private than claimed"
    NOTHING = "different, not less private"


class Cause(enum.StrEnum):
    """What is wrong, in the words of a headline; one mistake shows in tests of one cause, or of one `root`."""

    NOISE_SMALL = "noise too small"
    NOISE_LARGE = "noise too large"
    NOISE_LAW = "noise is not of the claimed law"
    NOISE_MEAN = "noise is not centred"
    NOISE_DEPENDENT = "noise is not independent"
    NOISE_REUSED = "noise is used again"
    NOISE_GRID = "noise on a grid, values beside it"
    NOISE_LOST = "noise is not added"
    BATCH_SIZE = "batches are not of the claimed size"
    BATCH_LAW = "batches are not drawn as claimed"
    BATCH_REUSED = "batches are not fresh"
    CONTRIBUTION = "a record counts for too much"
    UNNOISED = "released without noise"
    DATA_DEPENDENT = "depends on the data"
    UPDATE = "another update"
    UNSOLVED = "the inner problem is not solved"
    NOT_REPEATED = "runs do not repeat"
    NOT_AS_SHOWN = "runs are not those that are shown"
    DISTINGUISHED = "neighbours are told apart better than claimed"
    PRICE = "the mechanism costs more than is claimed"

    @property
    def root(self) -> Cause:
        """The cause under whose headline it stands: one of its kind that several tests may name differently."""
        return _ROOTS.get(self, self)

    @property
    def specific(self) -> int:
        """The headline of several causes of one root is the most specific: the largest of these."""
        return _SPECIFIC.get(self, 1)


_NOISE = (
    Cause.NOISE_SMALL,
    Cause.NOISE_LARGE,
    Cause.NOISE_LAW,
    Cause.NOISE_MEAN,
    Cause.NOISE_DEPENDENT,
    Cause.NOISE_REUSED,
)
_ROOTS = {
    **dict.fromkeys(_NOISE, Cause.NOISE_SMALL),
    Cause.BATCH_SIZE: Cause.BATCH_LAW,
    Cause.BATCH_REUSED: Cause.BATCH_LAW,
}
_SPECIFIC = {Cause.NOISE_SMALL: 2, Cause.NOISE_LARGE: 2, Cause.BATCH_SIZE: 2, Cause.NOISE_LAW: 0}


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
    """One conclusion.

    ``name`` is its id, the same whether it passes or fails: the question, what it is about and the size or stage,
    separated by slashes. ``subject`` is the mechanism with what that releases; empty where it is about none in
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
    stage: Stage | None = None
    cause: Cause | None = None
    trials: int | None = None
    power: Power | None = None
    tightness: float | None = None
    witness: str = ""
    measured: str = ""  # the noise that was measured and the epsilon that it costs
    reproduction: str = ""
    tags: tuple[str, ...] = ()
    waiver: Waived | None = None
    picture: Picture | None = None
