"""Two neighbouring data sets whose names and order say nothing about which is which.

An adapter that could tell the pair apart by name, by the order of sending or by the order of asking could answer
differently. Names are random, the two are sent in random order, and every round of questions is shuffled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from verification.wire.arrays import Floats
from verification.wire.messages import Capability, Show
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records, Run
from verification.wire.session import Session


class HiddenPair:
    """A pair of data sets behind an adapter; results come back in the caller's order (first, second)."""

    def __init__(
        self, session: Session, first: Records, second: Records, rng: np.random.Generator, *, may_refuse: bool = False
    ) -> None:
        self._session = session
        self._rng = rng
        names = [f"D{token:012x}" for token in rng.choice(1 << 48, size=2, replace=False)]
        for which in rng.permutation(2):
            session.send((first, second)[which], names[which], may_refuse=may_refuse)
        self._names = (names[0], names[1])

    def replay(
        self,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Mapping[str, Floats],
        batches: Sequence[Sequence[int]] | None = None,
        *,
        may_refuse: bool = False,
    ) -> tuple[Run, Run]:
        """Replay both with the same batches and noise."""
        return self._both(
            lambda name: self._session.replay(name, algorithm, parameters, noise, batches, may_refuse=may_refuse)
        )

    def trials(
        self,
        algorithm: Algorithm,
        parameters: Parameters,
        count: int,
        *,
        show: Show = Show.EVERY_ITERATE,
        seeded: bool = True,
    ) -> tuple[Run, Run]:
        """Run both `count` times, with seeds that differ (where the adapter takes seeds and `seeded` is asked for)."""
        with_seeds = seeded and self._session.can(Capability.SEED)
        return self._both(
            lambda name: self._session.trials(
                name, algorithm, parameters, count, show=show, seed=self._fresh_seed() if with_seeds else None
            )
        )

    def _fresh_seed(self) -> int:
        return int(self._rng.integers(1 << 53))

    def _both(self, ask: Callable[[str], Run]) -> tuple[Run, Run]:
        runs: dict[int, Run] = {int(which): ask(self._names[which]) for which in self._rng.permutation(2)}
        return runs[0], runs[1]
