"""What a check is, and what it may conclude."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verification.picture import Picture
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm, Release
from verification.wire.schemes import BASELINES, SCHEMES

if TYPE_CHECKING:
    from verification.conformance.context import Context


class Family(enum.StrEnum):
    """What a check looks at."""

    UPDATES = "updates"
    SENSITIVITY = "sensitivity"
    CLIPPING = "clipping"
    BATCHES = "batches"
    NOISE = "noise"
    DETERMINISM = "determinism"
    SCALE = "scale"


@dataclass(frozen=True, slots=True)
class Mode:
    """One way in which an implementation can be run: an algorithm, and for mpADMM what it perturbs."""

    algorithm: Algorithm
    release: Release | None = None

    def __str__(self) -> str:
        return str(self.algorithm) if self.release is None else f"{self.algorithm}/{self.release}"


SSADMM = Mode(Algorithm.SSADMM)
MPADMM_ALL = Mode(Algorithm.MPADMM, Release.ALL)
MPADMM_PRIMAL = Mode(Algorithm.MPADMM, Release.PRIMAL)
EVERY_MODE = (SSADMM, MPADMM_ALL, MPADMM_PRIMAL)
"""The paper's."""
BASELINE_MODES = tuple(Mode(algorithm) for algorithm in BASELINES)
ALL_MODES = (*EVERY_MODE, *BASELINE_MODES)
BATCHED_MODES = tuple(mode for mode in ALL_MODES if "batch" in SCHEMES[mode.algorithm].takes)


class NotApplicable(Exception):
    """Raised inside a check that finds it cannot be run; the message is the reason shown."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a check saw.

    ``p_value`` bounds the probability of seeing this much or more from an honest implementation: 0 or 1 for a
    deterministic check. The check refutes when it is at most the check's share of the false-alarm probability.
    ``deviation`` is the same for a difference that costs no privacy, and ``difference`` says which. ``picture`` shows
    what was seen; nothing is concluded from it.
    """

    p_value: float
    detail: str
    deviation: float = 1.0
    difference: str = ""
    picture: Picture | None = None

    @classmethod
    def exact(cls, holds: bool, detail: str, picture: Picture | None = None) -> Observation:
        """A deterministic finding: it holds, or it does not."""
        return cls(1.0 if holds else 0.0, detail, picture=picture)


Run = Callable[["Context"], Observation]
# Any one of these sets of capabilities is enough.
Needs = tuple[frozenset[Capability], ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One question to an implementation."""

    name: str
    family: Family
    catches: str
    statements: tuple[str, ...]
    run: Run
    statistical: bool
    needs: Needs = (frozenset({Capability.REPLAY}), frozenset({Capability.TRIALS}))
    modes: tuple[Mode, ...] = ALL_MODES

    def missing(self, capabilities: frozenset[Capability]) -> str | None:
        """Why it cannot be run with these capabilities; None if it can."""
        if any(need <= capabilities for need in self.needs):
            return None
        wanted = " or ".join(" and ".join(sorted(need)) for need in self.needs)
        return f"needs the capability {wanted}"


TRIALS: Needs = (frozenset({Capability.TRIALS}),)
EVERY_ITERATE: Needs = (frozenset({Capability.TRIALS, Capability.EVERY_ITERATE}),)
REPLAY: Needs = (frozenset({Capability.REPLAY}),)
OBSERVABLE: Needs = (frozenset({Capability.REPLAY}), frozenset({Capability.TRIALS}))
