"""What a question is, and what an answer holds.

A question sends data to an implementation at a size, reads what comes back, and yields tests. The same question is
asked at a few records, where every branch is reached, and at the claimed size, which is what production runs.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace

from verification.outcome import Draw, Picture
from verification.pictures import quantiles
from verification.reading.context import ALL_MODES, Claimed, Clock, Context, Mode
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Cause, Cost, Test
from verification.wire.arrays import Floats
from verification.wire.messages import Capability

Needs = tuple[frozenset[Capability], ...]
"""Any one of these sets of capabilities is enough."""
TRIALS: Needs = (frozenset({Capability.TRIALS}),)
EVERY_ITERATE: Needs = (frozenset({Capability.TRIALS, Capability.EVERY_ITERATE}),)
REPLAY: Needs = (frozenset({Capability.REPLAY}),)
OBSERVABLE: Needs = (frozenset({Capability.REPLAY}), frozenset({Capability.TRIALS}))


class Size(enum.StrEnum):
    """At which size a question is asked."""

    SMALL = "small"  # a few records: quick, mostly exact, every branch
    CLAIMED = "claimed"  # n, m, T and p of the claim, as production runs it: without a seed


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a question showed: the data and size in words, its tests, what they cover, the noise that was read.

    ``missing`` says why something could not be read; then nothing stands by it.
    """

    data: str
    size: str
    runs: int
    tests: tuple[Test, ...]
    covers: tuple[Aspect, ...]
    missing: str = ""
    energies: RunEnergies | None = None
    noise: dict[str, Floats] | None = None
    vectors: tuple[Floats, ...] = ()  # noise in the order in which it was drawn, [draws, p], for what is used again
    tightness: float | None = None  # the largest observed value over its bound
    by_epochs: bool = False  # batches that are claimed to be fresh are those of epochs


Ask = Callable[[Context, Claimed | None, Clock], Answer]


@dataclass(frozen=True, slots=True)
class Question:
    """One question: what it can show, what it detects, the statements it rests on, what it needs.

    ``needed`` at a size: leaving it out leaves something uncovered. ``as_claimed``: what it sends is the claimed size
    and noise, so that an implementation that refuses it refuses what it claims to run. ``settles_updates``: without its
    answer another update is not known to be harmless.
    """

    name: str
    ask: Ask
    catches: str
    statements: tuple[str, ...]
    sizes: tuple[Size, ...]
    needs: Needs = TRIALS
    modes: tuple[Mode, ...] = ALL_MODES
    statistical: bool = True
    as_claimed: bool = False
    settles_updates: bool = False

    def missing(self, capabilities: frozenset[Capability]) -> str | None:
        """Why it cannot be asked with these capabilities; None if it can."""
        if any(need <= capabilities for need in self.needs):
            return None
        wanted = " or ".join(" and ".join(sorted(need)) for need in self.needs)
        return f"needs the capability {wanted}"


@dataclass(frozen=True, slots=True)
class Observation:
    """What a question at a few records saw, without chance: whether what it asks holds.

    ``difference`` says what is another update and costs no privacy.
    """

    holds: bool
    detail: str
    picture: Picture | None = None
    difference: str = ""
    cause: Cause | None = None  # where it is not that of the question


def at_few_records(  # noqa: PLR0917 - in the order in which a question is described
    name: str,
    cause: Cause,
    aspect: Aspect,
    catches: str,
    statements: tuple[str, ...],
    run: Callable[[Context], Observation],
    *,
    covers: bool = True,
    cost: Cost = Cost.PRIVACY,
    needs: Needs = OBSERVABLE,
    modes: tuple[Mode, ...] = ALL_MODES,
) -> Question:
    """A question without chance that makes its own few records."""

    def ask(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
        seen = run(context)
        picture = seen.picture
        draw: Draw | None = None if picture is None else lambda: picture
        tests = [replace(Test.exact(name, aspect, seen.holds, seen.detail, seen.cause or cause, cost), draw=draw)]
        if seen.difference:
            tests.append(Test.exact(name, aspect, False, seen.difference, Cause.UPDATE, Cost.NOTHING))
        return Answer(name, "small sizes", 0, tuple(tests), (aspect,) if covers else ())

    return Question(name, ask, catches, statements, (Size.SMALL,), needs, modes, statistical=False)


def drawn(where: str, noise: dict[str, Floats] | None) -> Draw | None:
    """The picture of the noise."""
    if noise is None:
        return None
    kept = list(noise.values())
    return lambda: quantiles(where, kept)
