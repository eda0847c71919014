"""One vocabulary of results for verify, vectors, conform, audit and gate: outcome, power, picture, finding.

An `Outcome` is what a check concluded, a `Finding` one conclusion under the name of what was checked. The exit code
of a run is that of its worst finding (`worst`).
"""

from __future__ import annotations

import datetime
import enum
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass


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


def needed_aspects(*, private: bool, sampled: bool) -> tuple[Aspect, ...]:
    """What a claim rests on."""
    if not private:
        return ()
    return Aspect.NOISE, Aspect.RELEASED, *([Aspect.BATCHES] if sampled else []), Aspect.CLIPPING


class Cost(enum.Enum):
    """What it costs if it is not by chance."""

    PRIVACY = "less private than claimed"
    NOTHING = "different, not less private"


class Cause(enum.StrEnum):
    """What is wrong, in the words of a headline; one mistake shows in tests of one cause, or of what it `explains`."""

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
    DISTINGUISHED = "neighbours can be distinguished better than claimed"
    PRICE = "the mechanism costs more than is claimed"

    @property
    def where(self) -> str:
        """Where to look in the code: the line that is most often at fault."""
        return _WHERE.get(self, "")

    def explains(self, other: Cause) -> bool:
        """Whether a mistake of this cause shows in tests of the other one as well."""
        return other in _EXPLAINS.get(self, frozenset()) or (other is Cause.DISTINGUISHED and self is not other)


_ANY_NOISE = frozenset({Cause.NOISE_SMALL, Cause.NOISE_LAW, Cause.NOISE_MEAN, Cause.NOISE_DEPENDENT})
_EXPLAINS: dict[Cause, frozenset[Cause]] = {  # transitive, so that of causes that explain each other's one is first
    Cause.NOISE_SMALL: _ANY_NOISE - {Cause.NOISE_SMALL},
    Cause.NOISE_LARGE: frozenset({Cause.NOISE_LAW}),
    Cause.NOISE_DEPENDENT: frozenset({Cause.NOISE_LAW, Cause.NOISE_MEAN}),
    Cause.NOISE_MEAN: frozenset({Cause.NOISE_LAW}),
    Cause.NOISE_REUSED: _ANY_NOISE,
    Cause.NOISE_GRID: _ANY_NOISE | {Cause.NOISE_REUSED},
    Cause.NOISE_LOST: _ANY_NOISE,
    Cause.BATCH_SIZE: frozenset({Cause.BATCH_LAW, Cause.BATCH_REUSED}),
    Cause.BATCH_REUSED: frozenset({Cause.BATCH_LAW}),
    # where a gradient is longer than is known, what it leaves looks like noise of another law
    Cause.CONTRIBUTION: _ANY_NOISE - {Cause.NOISE_SMALL},
    Cause.DATA_DEPENDENT: _ANY_NOISE - {Cause.NOISE_SMALL} | {Cause.CONTRIBUTION},
    Cause.UNSOLVED: _ANY_NOISE | {Cause.UPDATE, Cause.NOISE_LARGE, Cause.CONTRIBUTION},
}


_WHERE = {
    Cause.NOISE_SMALL: "the line that scales the noise: a standard deviation (not a variance), of the claimed size, "
    "for every value, iteration and run",
    Cause.NOISE_LAW: "the line that draws the noise: normal, unrounded, not cut off",
    Cause.NOISE_MEAN: "the line that draws the noise: its mean must be 0",
    Cause.NOISE_DEPENDENT: "the line that draws the noise: one independent value for every coordinate and iteration",
    Cause.NOISE_REUSED: "where the generator is made and seeded: noise must be drawn anew for every use",
    Cause.NOISE_GRID: "where noise is rounded: what it is added to must lie on the same grid",
    Cause.NOISE_LOST: "the line that adds the noise: all of it, to what is used from there on",
    Cause.BATCH_SIZE: "the line that draws the batch: m records",
    Cause.BATCH_LAW: "the line that draws the batch: every record as likely as every other, each batch independent",
    Cause.BATCH_REUSED: "where batches are drawn or shuffled: anew in every iteration and run",
    Cause.CONTRIBUTION: "all between one record's gradient and the noise: clip each record to C, sum, divide by m; "
    "nothing else that looks at the data",
    Cause.UNNOISED: "the line that computes the value named: from released (noisy) values alone, or with noise added",
    Cause.DATA_DEPENDENT: "what is computed from the data and gets no noise",
    Cause.UNSOLVED: "the stopping rule of the inner solver",
    Cause.DISTINGUISHED: "everything between one record's gradient and what is released",
    Cause.PRICE: "the claimed epsilon and delta, or the noise that they were computed for",
}


def headlines(causes: Iterable[Cause]) -> dict[Cause, Cause]:
    """Under which of these causes each stands: under one that explains it and that none of them explains."""
    present = list(dict.fromkeys(causes))
    first = [cause for cause in present if not any(other.explains(cause) for other in present)]
    return {cause: next((head for head in first if head.explains(cause)), cause) for cause in present}


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
            f"detected with probability at least {math.floor(100 * self.at_least) / 100:.2f}"
        )


@dataclass(frozen=True, slots=True)
class Waived:
    """A refutation that the claim file tolerates until a date."""

    reason: str
    expires: datetime.date


@dataclass(frozen=True, slots=True)
class About:
    """What a finding is about: the question, the mechanism by its title, the stage; the same if it passes or fails.

    ``subject`` is the mechanism with what that releases. A part that does not apply is empty; its id, which is what
    people write and read, has the others with slashes between them.
    """

    question: str = ""
    mechanism: str = ""
    stage: Stage | None = None
    subject: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.question, self.mechanism, self.stage)))

    @classmethod
    def read(cls, text: str) -> About:
        """The id that a user wrote: what `str` prints, without the subject."""
        *parts, last = text.split("/")
        if last not in {str(stage) for stage in Stage}:
            raise ValueError(f"must be question/mechanism/stage with a stage of {', '.join(Stage)}, got {text!r}")
        if Stage(last) is Stage.PRICE:
            return cls("", "/".join(parts), Stage.PRICE)
        return cls(parts[0] if parts else "", "/".join(parts[1:]), Stage(last))

    def called(self, word: str) -> bool:
        """Whether a word means it: its id, its question, its mechanism or its stage."""
        return word in (str(self), self.question, self.mechanism, self.subject, self.stage)


# -- what a finding looks like: curves and dots over two axes; nothing is concluded from it ----------------------------

Points = tuple[tuple[float, float], ...]


class Ink(enum.StrEnum):
    """What a series is: the report's style sheet has a colour for each."""

    SEEN = "seen"
    OTHER = "other"
    CLAIMED = "claimed"
    FLOOR = "floor"
    BAND = "band"


@dataclass(frozen=True, slots=True)
class Series:
    """One curve, or dots."""

    label: str
    points: Points
    ink: Ink
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A titled picture with a caption that says what to look for; ``x_names`` name the places 1, 2, ... of x."""

    title: str
    caption: str
    x_label: str
    y_label: str
    series: tuple[Series, ...] = ()
    x_names: tuple[str, ...] = ()


Draw = Callable[[], Picture]


@dataclass(frozen=True, slots=True)
class Finding:
    """One conclusion.

    ``p_value`` bounds the probability that an honest implementation shows this much or more, and ``false_alarm`` is the
    level it was compared with. ``tightness`` is the largest observed value over its bound.
    """

    about: About
    outcome: Outcome
    detail: str
    seconds: float = 0.0
    p_value: float | None = None
    false_alarm: float = 0.0
    cause: Cause | None = None
    trials: int | None = None
    power: Power | None = None
    tightness: float | None = None
    witness: str = ""
    measured: str = ""  # the noise that was measured and the epsilon that it costs
    reproduction: str = ""
    waiver: Waived | None = None
    picture: Picture | None = None

    @property
    def name(self) -> str:
        """Its id."""
        return str(self.about)

    @property
    def subject(self) -> str:
        """The mechanism with what that releases; empty where it is about none in particular."""
        return self.about.subject

    @property
    def stage(self) -> Stage | None:
        """Where it comes from."""
        return self.about.stage
