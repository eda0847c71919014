"""The words that describe a mechanism, each defined here and nowhere else.

A neighbouring relation, a sampling scheme and a kind of noise are part of every mechanism: a theorem proved for one of
them says nothing about another. The wire uses the same words, so this module imports nothing of ours.
"""

from __future__ import annotations

import enum


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
    """When two data sets count as neighbours.

    `zero-out`: as many records, or parties, in both, one of which contributes nothing in the second.
    """

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE = "add-or-remove"
    ZERO_OUT = "zero-out"


class Sampling(enum.StrEnum):
    """How the records of one iteration are drawn: all, fresh ones, or the next batch of an epoch.

    An epoch cuts all records into disjoint batches, in one order that never changes (`fixed-order`) or in a fresh
    random one (`shuffle`); records that fill no batch are left out.
    """

    ALL = "all"
    WITHOUT_REPLACEMENT = "without-replacement"
    WITH_REPLACEMENT = "with-replacement"
    POISSON = "poisson"
    FIXED_ORDER = "fixed-order"
    SHUFFLE = "shuffle"

    @property
    def by_epochs(self) -> bool:
        """Whether a record is in one batch of an epoch at most."""
        return self in (Sampling.FIXED_ORDER, Sampling.SHUFFLE)


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
