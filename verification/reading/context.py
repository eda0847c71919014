r"""What a question has in hand: an implementation behind a session, the run that is claimed, time, randomness.

`Mode` is one way in which an implementation is run, `Claimed` a mode at one size with all parameters of the wire,
`Context` one question's view of the implementation, `Clock` the time it has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from accountant.mechanisms.words import Algorithm, Sampling
from verification.served.translate import SINGLE
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import EPSILON, Capability, Show, StartResult, parameters_for
from verification.wire.parameters import (
    BASELINES,
    SCHEMES,
    Initial,
    Law,
    LossName,
    Parameters,
    RegularizerName,
    Release,
    Scheme,
)
from verification.wire.records import Records, Run
from verification.wire.session import HiddenPair, Session

_FEW, _MORE = 16, 128
OWN_REPLAYS = 20
"""How many replays the noise of one run takes, about."""
FEWER_OF_ITS_OWN = 10
"""How many times fewer runs are looked at where each has to be replayed."""
_ITERATIONS_WANTED, _RECORDS_SEEN, _MOST_REPEATED = 2000, 2_000_000, 20


@dataclass(frozen=True, slots=True)
class Mode:
    """One way in which an implementation can be run: an algorithm, and for mpADMM what it perturbs."""

    algorithm: Algorithm
    release: Release | None = None
    sampling: Sampling | None = field(default=None, compare=False)  # of batches by epochs

    def __str__(self) -> str:
        return str(self.algorithm) if self.release is None else f"{self.algorithm}/{self.release}"


SSADMM = Mode(Algorithm.SSADMM)
MPADMM_ALL = Mode(Algorithm.MPADMM, Release.ALL)
MPADMM_PRIMAL = Mode(Algorithm.MPADMM, Release.PRIMAL)
EVERY_MODE = (SSADMM, MPADMM_ALL, MPADMM_PRIMAL)
"""The paper's."""
BASELINE_MODES = tuple(Mode(algorithm) for algorithm in BASELINES)
ALL_MODES = (*EVERY_MODE, *BASELINE_MODES)


class NotApplicable(Exception):
    """Raised inside a check that finds it cannot be run; the message is the reason shown."""


DOUBLE = 2.0**-52
ROUNDINGS, FEW_ROUNDINGS = 64, 4
"""Roundings that an honest implementation may add up in a few iterations on a few records. Numbers of 8 or 11 bits get
fewer, for each costs privacy: the unit that is measured is half of the last place of the coordinate that showed it, so
a difference of two values is off by 2 units, and by 4 where that coordinate was half as large as the largest one. With
bfloat16 (2^-8) a record that counts for 1.6 % too much is not told from rounding, and costs as much epsilon."""
COARSEST = 2.0**-7
"""The coarsest unit that bfloat16 can show: a second difference of values each half of a last place (2^-7 of the value
at most) off is 2 last places, and half of that is the unit. Nothing is allowed for what is coarser."""
LARGEST_DOUBLE, LARGEST_SINGLE, LARGEST_HALF = 1e300, 1e37, 6e4
_COARSER_THAN_DOUBLE, _COARSER_THAN_SINGLE, _COARSER_THAN_HALF = 2.0**-36, 2.0**-17, 2.0**-9.5
"""Above the first a unit is that of single precision, above the second of binary16, above the third of bfloat16, which
has the range of single precision."""

FORMATS = {_COARSER_THAN_HALF: 2.0**-8, _COARSER_THAN_SINGLE: 2.0**-11, _COARSER_THAN_DOUBLE: 2.0**-24}
"""The units of these formats, by what a measured unit is then above."""

LARGEST_VALUES = 16_000_000
"""Features that are sent at once, at most: 128 MB in memory, 171 MB on the wire."""

FEWER_VALUES = 1_000_000
"""The same for questions in which the positions of records do not matter: so that many can be asked in little time."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """One mechanism at one size."""

    mode: Mode
    records: int
    columns: int
    parameters: Parameters
    runs: int | None = None  # as many as are wanted of it; None: as many as are cheap

    @property
    def scheme(self) -> Scheme:
        """What the algorithm is on the wire."""
        return SCHEMES[self.mode.algorithm]

    @property
    def private(self) -> bool:
        """Whether noise is claimed at all."""
        return self.scheme.law is not Law.NONE

    @property
    def size(self) -> str:
        """The size in words, for the coverage of a verdict."""
        p = self.parameters
        batch = "" if p.batch is None else f", m = {p.batch:,}"
        return f"n = {self.records:,}{batch}, T = {p.iterations:,}, p = {self.columns:,}"

    def shortened(self, iterations: int) -> Claimed:
        """The first iterations alone; DP-SVRG keeps whole epochs."""
        inner = self.parameters.inner or 1
        kept = max(inner, iterations // inner * inner)
        if kept >= self.parameters.iterations:
            return self
        cut = {"iterations": kept, "eta": self.parameters.eta[:kept]}
        return self.with_parameters(**cut)

    def with_parameters(self, **changed: object) -> Claimed:
        """The same with some parameters changed."""
        return dataclasses.replace(self, parameters=self.parameters.model_copy(update=changed))

    def fitting(self, values: int = LARGEST_VALUES) -> Claimed:
        """The same with as many records as can be sent at once; the batch keeps its size."""
        at_most = max(values // self.columns, self.parameters.batch or 1, self.parameters.parties or 1)
        return self if self.records <= at_most else dataclasses.replace(self, records=at_most)


@dataclass(frozen=True, slots=True)
class Context:
    """One question's view of the implementation.

    ``effort`` scales sample sizes: 1 by default, less for repeated self-tests of the statistics. Where not ``seeded``
    the implementation draws as in production. ``scene_seed`` is that of data which several mechanisms are asked about.
    ``own``: its updates are not the reference's, so that noise is read off by replays (`replayed`).
    ``unit`` is the relative rounding of its arithmetic, as measured (`working_unit`), ``processed`` the values that
    are functions of what was released before them, though noise is claimed for them as well. ``hides``: what it does
    with noisy values (such as scaling them to a length) hides how large their noise was. ``reach`` is the length over
    C of the longest records that it runs: an exponential may overflow where a margin is large. ``turns`` keeps, for
    each dimension, the rotation between the noise that a replay is given and what it adds.
    """

    session: Session
    mode: Mode
    rng: np.random.Generator
    another: Callable[[], Session]
    effort: float = 1.0
    seeded: bool = True
    scene_seed: int = 0
    own: bool = False
    unit: float = DOUBLE
    processed: frozenset[str] = frozenset()
    hides: bool = False
    reach: float = 1e9
    turns: dict[int, Floats | None] = field(default_factory=dict)

    def with_noise(self, noise: dict[str, Floats]) -> dict[str, Floats]:
        """The streams that carry noise of their own."""
        return {name: array for name, array in noise.items() if name not in self.processed}

    @property
    def rounding(self) -> float:
        """How far its arithmetic may move a value of 1 in a few iterations; single precision is always allowed."""
        few = self.unit > _COARSER_THAN_SINGLE  # so coarse that many roundings would hide what costs privacy
        return max(SINGLE, (FEW_ROUNDINGS if few else ROUNDINGS) * self.unit)

    @property
    def largest(self) -> float:
        """The largest number that can be sent: code of low precision has a smaller range than doubles."""
        if self.unit <= _COARSER_THAN_DOUBLE:
            return LARGEST_DOUBLE
        return LARGEST_SINGLE if self.unit <= _COARSER_THAN_SINGLE or self.unit > _COARSER_THAN_HALF else LARGEST_HALF

    def within(self, lengths: tuple[float, ...], bound: float) -> tuple[float, ...]:
        """The lengths over the bound that its numbers hold and that it runs."""
        return tuple(min(length, self.reach, self.largest / (8 * bound)) for length in lengths)

    @property
    def description(self) -> StartResult:
        """What the implementation says of itself."""
        return self.session.description

    def can(self, *capabilities: Capability) -> bool:
        """Whether the implementation declared these."""
        return self.session.can(*capabilities)

    def count(self, full: int) -> int:
        """A sample size, scaled by the effort; never so small that a statistic is undefined."""
        return max(64, round(full * self.effort))

    def iterations(self, wanted: int) -> int:
        """How many iterations can be looked into: one, if only the last model is shown."""
        return wanted if self.can(Capability.REPLAY) or self.sees_every_iterate else 1

    @property
    def sees_every_iterate(self) -> bool:
        """Whether trials show what happens in between, in full."""
        return self.can(Capability.TRIALS, Capability.EVERY_ITERATE) and self.released_all

    @property
    def released_all(self) -> bool:
        """Whether z and y leave the implementation, or are functions of the x that do."""
        whole = {"x", "z", "y"} <= set(self.description.released[self.mode.algorithm])
        return whole or self.mode.release is not Release.ALL

    def parameters(
        self,
        dimension: int,
        *,
        eta: Sequence[float],
        batch: int,
        sigma: float | None = None,
        noise_multiplier: float | None = None,
        rho: float = 1.0,
        bound: float = 1.0,
        lambda_: float = 0.0,
        loss: LossName | None = None,
        regularizer: RegularizerName | None = None,
        initial: Initial | None = None,
        normalise: bool | None = None,
        intercept: bool = False,
        inner: int | None = None,
        epsilon: float = EPSILON,
    ) -> Parameters:
        """Complete parameters in this mode, in the implementation's own terms where they are left open."""
        if initial is not None and not self.can(Capability.INITIAL):
            raise NotApplicable("needs the capability initial")
        return parameters_for(
            self.description,
            self.mode.algorithm,
            dimension,
            eta=eta,
            batch=batch,
            sigma=sigma,
            noise_multiplier=noise_multiplier,
            bound=bound,
            rho=rho,
            lambda_=lambda_,
            loss=loss,
            regularizer=regularizer,
            release=self.mode.release or Release.ALL,
            sampling=self.mode.sampling,
            initial=initial,
            normalise=normalise,
            intercept=intercept,
            inner=inner,
            epsilon=epsilon,
        )

    @property
    def scheme(self) -> Scheme:
        """What the algorithm is on the wire."""
        return SCHEMES[self.mode.algorithm]

    @property
    def clips(self) -> bool:
        """Whether gradients can be clipped: the implementation offers it, and the algorithm allows it."""
        return self.can(Capability.CLIP) and self.scheme.clips

    def penalty(self, lambda_: float) -> float:
        """A strength of the regularizer that hides nothing: 0 where x itself goes through the proximal map."""
        return 0.0 if self.scheme.proximal_x else lambda_

    def require_private(self) -> None:
        """Nothing to look for where nothing is claimed."""
        if self.scheme.law is Law.NONE:
            raise NotNeeded(f"{self.mode} adds no noise and claims no privacy")

    def trials(self, records: Records, parameters: Parameters, count: int) -> Run:
        """Run with the implementation's own randomness; arrays [count, T, p], seeded where seeds are taken."""
        return self.run(self.session.send(records), parameters, count)

    def run(self, name: str, parameters: Parameters, count: int) -> Run:
        """The same on records that were sent."""
        drawn = int(self.rng.integers(1 << 53)) if self.seeded else 0
        seed = drawn if self.seeded and self.can(Capability.SEED) else None
        return self.trials_of(self.session, name, parameters, count, seed)

    def unseeded(self, name: str, claimed: Claimed, count: int) -> Run:
        """As in production: no seed. Always with an axis for the iteration."""
        return self.trials_of(self.session, name, claimed.parameters, count, None)

    def trials_of(
        self,
        session: Session,
        name: str,
        parameters: Parameters,
        count: int,
        seed: int | None,
        *,
        may_refuse: bool = False,
    ) -> Run:
        """Trials on records that were sent, always with an axis for the iteration."""
        algorithm, every = self.mode.algorithm, self.can(Capability.EVERY_ITERATE)
        show = Show.EVERY_ITERATE if every else Show.LAST
        if not every and parameters.iterations > 1:
            raise NotApplicable("needs the capability every-iterate")
        run = session.trials(name, algorithm, parameters, count, show=show, seed=seed, may_refuse=may_refuse)
        return run if every else Run({key: array[:, None] for key, array in run.values.items()})

    def pair_trials(self, first: Records, second: Records, parameters: Parameters, count: int) -> tuple[Run, Run]:
        """Trials of two neighbours under hidden names and in random order; arrays [count, T, p]."""
        hidden = HiddenPair(self.session, first, second, self.rng)
        return hidden.both(lambda name: self.run(name, parameters, count))

    @property
    def plain(self) -> RegularizerName:
        """A regularizer that with lambda = 0 leaves z = x + y/rho: every one does, `none` is the simplest."""
        offered = self.description.regularizers
        return RegularizerName.NONE if RegularizerName.NONE in offered else offered[0]

    def gaussian(self, *shape: int) -> Floats:
        """Standard normal values for the harness's own use."""
        return self.rng.standard_normal(shape)


@dataclass(frozen=True, slots=True)
class Clock:
    """How long a question may take, and how many iterations fit."""

    seconds: float

    def fitting(self, context: Context, name: str, claimed: Claimed) -> Fitting:
        """The claimed number of iterations, or as many as fit: measured on a few of them. A few records always do."""
        few, more = claimed.shortened(_FEW), claimed.shortened(_MORE)
        if few is claimed or claimed.runs is not None:
            return Fitting(claimed, None)
        try:
            first = Start(few, context.unseeded(name, few, 1))
        except RefusedRequest:  # it does not run so few iterations
            return Fitting(claimed, None)
        took = context.session.last_seconds
        # noise that is read by replays takes many of them
        share = self.seconds / (OWN_REPLAYS if context.own else 1)
        each = took / few.parameters.iterations
        if each * claimed.parameters.iterations > share and more is not claimed:
            # part of it was for the request, not for the iterations
            context.unseeded(name, more, 1)
            longer = more.parameters.iterations - few.parameters.iterations
            each = max(context.session.last_seconds - took, 1e-9) / max(1, longer)
        used = claimed.shortened(max(few.parameters.iterations, int(share / max(each, 1e-9))))
        return Fitting(used, first)


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The first iterations of a run, in a request of their own, and what was asked for."""

    claimed: Claimed
    run: Run


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """What fits the time, and the few iterations on which that was measured; None where all of them are few."""

    used: Claimed
    start: Start | None


class Undecided(Exception):
    """Raised by a question that was asked and could not be answered: too little time, or nothing that repeats."""


class NotNeeded(NotApplicable):
    """Raised by a question that has nothing to look for here: leaving it out leaves nothing uncovered."""


def another_request(context: Context, name: str, claimed: Claimed) -> Start:
    """The first iterations once more, in a request of its own: what starts anew with every request repeats itself."""
    start = claimed.shortened(_MORE)
    try:
        return Start(start, context.unseeded(name, start, 1))
    except RefusedRequest:
        return Start(claimed, context.unseeded(name, claimed, 1))


def joined(runs: Sequence[Run]) -> Run:
    """The runs of several requests as those of one."""
    return Run({name: np.concatenate([run.values[name] for run in runs]) for name in runs[0].values})


def repeated(claimed: Claimed) -> int:
    """How many whole runs: one of many iterations, several of few, as far as that is cheap."""
    if claimed.runs is not None:
        return claimed.runs
    by_length = _ITERATIONS_WANTED // claimed.parameters.iterations
    seen = claimed.parameters.batch or claimed.records
    by_cost = _RECORDS_SEEN // (seen * claimed.parameters.iterations)
    return max(1, min(_MOST_REPEATED, by_length, by_cost))


def require_every_iterate(context: Context) -> None:
    """Not applicable where only the last model is shown."""
    if not context.sees_every_iterate:
        raise NotApplicable("needs every iterate, which the implementation does not show in full")
