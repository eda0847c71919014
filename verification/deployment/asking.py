"""What the questions at the claimed size share: what an answer is, the clock, and runs without a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.deployment.claimed import Claimed
from verification.deployment.rare import Census
from verification.deployment.sighting import Aspect, Look
from verification.picture import Draw
from verification.pictures import quantiles
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.records import Run

_FEW, _MORE = 16, 128
OWN_REPLAYS = 20
"""How many replays the noise of one run takes, about."""
FEWER_OF_ITS_OWN = 10
"""How many times fewer runs are looked at where each has to be replayed."""
_ITERATIONS_WANTED, _RECORDS_SEEN, _MOST_REPEATED = 2000, 2_000_000, 20


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A look, and the runs whose noise can be counted for rare failures."""

    look: Look
    census: Census | None = None
    noise: dict[str, Floats] | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """How long a question may take, and how many iterations fit."""

    seconds: float

    def fitting(self, context: Context, name: str, claimed: Claimed) -> Fitting:
        """The claimed number of iterations, or as many as fit: measured on a few of them."""
        few, more = claimed.shortened(_FEW), claimed.shortened(_MORE)
        if few is claimed:
            return Fitting(claimed, None)
        try:
            first = Start(few, run_without_seed(context, name, few, 1))
        except RefusedRequest:  # it does not run so few iterations
            return Fitting(claimed, None)
        took = context.session.last_seconds
        # noise that is read by replays takes many of them
        share = self.seconds / (OWN_REPLAYS if context.own else 1)
        each = took / few.parameters.iterations
        if each * claimed.parameters.iterations > share and more is not claimed:
            # part of it was for the request, not for the iterations
            run_without_seed(context, name, more, 1)
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


class NotNeeded(NotApplicable):
    """Raised by a question that has nothing to look for here: leaving it out leaves nothing uncovered."""


Ask = Callable[[Context, Claimed, Clock], Asked]


@dataclass(frozen=True, slots=True)
class Question:
    """One scene: what it is called, what it can show, how it is asked, and whether with the claimed size and noise."""

    name: str
    aspects: tuple[Aspect, ...]
    ask: Ask
    as_claimed: bool = False


def run_without_seed(context: Context, name: str, claimed: Claimed, count: int) -> Run:
    """As in production: no seed. Always with an axis for the iteration."""
    return context.trials_of(context.session, name, claimed.parameters, count, None)


def another_request(context: Context, name: str, claimed: Claimed) -> Start:
    """The first iterations once more, in a request of its own: what starts anew with every request repeats itself."""
    start = claimed.shortened(_MORE)
    try:
        return Start(start, run_without_seed(context, name, start, 1))
    except RefusedRequest:
        return Start(claimed, run_without_seed(context, name, claimed, 1))


def joined(runs: Sequence[Run]) -> Run:
    """The runs of several requests as those of one."""
    return Run({name: np.concatenate([run.values[name] for run in runs]) for name in runs[0].values})


def repeated(claimed: Claimed) -> int:
    """How many whole runs: one of many iterations, several of few, as far as that is cheap."""
    by_length = _ITERATIONS_WANTED // claimed.parameters.iterations
    seen = claimed.parameters.batch or claimed.records
    by_cost = _RECORDS_SEEN // (seen * claimed.parameters.iterations)
    return max(1, min(_MOST_REPEATED, by_length, by_cost))


def require_private(claimed: Claimed) -> None:
    """Nothing to look for where nothing is claimed."""
    if not claimed.private:
        raise NotNeeded(f"{claimed.mode} adds no noise and claims no privacy")


def require_every_iterate(context: Context) -> None:
    """Not applicable where only the last model is shown."""
    if not context.sees_every_iterate:
        raise NotApplicable("needs every iterate, which the implementation does not show in full")


def drawn(where: str, noise: dict[str, Floats] | None) -> dict[Aspect, Draw]:
    """The picture of the noise."""
    if noise is None:
        return {}
    kept = list(noise.values())
    return {Aspect.NOISE: lambda: quantiles(where, kept)}
