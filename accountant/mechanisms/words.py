"""The words that describe a mechanism, each defined here and nowhere else.

A neighbouring relation, a sampling scheme and a kind of noise are part of every mechanism: a theorem proved for one of
them says nothing about another. The wire uses the same words, so this module imports nothing of ours.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class Algorithm(enum.StrEnum):
    """The paper's two algorithms, and those that it compares them with."""

    SSADMM = "ssadmm"
    MPADMM = "mpadmm"
    DPSGD = "dpsgd"
    DPADMM = "dpadmm"
    DPSVRG = "dpsvrg"
    OBJP = "objp"
    SADMM = "sadmm"
    ADMM = "admm"


class Neighbours(enum.StrEnum):
    """When two data sets count as neighbours."""

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE = "add-or-remove"


class Sampling(enum.StrEnum):
    """How the records of one iteration are drawn."""

    ALL = "all"
    WITHOUT_REPLACEMENT = "without-replacement"
    WITH_REPLACEMENT = "with-replacement"
    POISSON = "poisson"
    SHUFFLE = "shuffle"


class Noise(enum.StrEnum):
    """What is added: reals of the normal law, or the exact discrete Gaussian on a grid."""

    GAUSSIAN = "gaussian"
    DISCRETE = "discrete"


class Release(enum.StrEnum):
    """What Algorithm 2 adds noise to: x, z and y, or only x (z and y are then computed from the noisy x)."""

    ALL = "all"
    PRIMAL = "primal"


class Accounting(enum.StrEnum):
    """How x, z and y of one iteration are priced: three releases as printed, or one joint release (J)."""

    SEPARATE = "separate"
    JOINT = "joint"


class Sensitivity(enum.StrEnum):
    """Which Delta(x): the corrected 2C eta/(n(1+eta rho)), or the printed 2C/(n(1+eta rho)) (E1, E2)."""

    CORRECTED = "corrected"
    PRINTED = "printed"


class Visibility(enum.StrEnum):
    """What an adversary sees of a run. Prices are for every iterate: showing less only weakens the adversary."""

    EVERY_ITERATE = "every-iterate"
    LAST_MODEL = "last-model"
    ONE_STEP = "one-step"


FORMER_WORDS: Mapping[type[enum.StrEnum], Mapping[str, str]] = MappingProxyType(
    {
        Neighbours: MappingProxyType({"add-or-remove-one": Neighbours.ADD_OR_REMOVE.value}),
        Sampling: MappingProxyType({"fixed-size": Sampling.WITHOUT_REPLACEMENT.value, "none": Sampling.ALL.value}),
    }
)
"""Spellings of earlier versions, and what they are now."""


def former_word(kind: type[enum.StrEnum], word: object) -> str:
    """Return what a word of an earlier version is called now, as a sentence; empty for every other word."""
    now = FORMER_WORDS.get(kind, {}).get(word) if isinstance(word, str) else None
    return "" if now is None else f"{word!r} is now called {now!r}"


def current_word(kind: type[enum.StrEnum], word: object) -> object:
    """Return the word; one of an earlier version raises an error that names the new one."""
    former = former_word(kind, word)
    if former:
        raise ValueError(former)
    return word
