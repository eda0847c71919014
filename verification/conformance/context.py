"""What a check has in hand: a session, randomness of its own, its share of the false alarms, and an effort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from verification.conformance.check import Mode, NotApplicable
from verification.wire.arrays import Floats
from verification.wire.hidden_pair import HiddenPair
from verification.wire.messages import Capability, Show, StartResult
from verification.wire.parameters import Initial, LossName, Parameters, RegularizerName, Release
from verification.wire.records import Records, Run
from verification.wire.schemes import SCHEMES, Law, Scheme
from verification.wire.session import Session
from verification.wire.simple_parameters import EPSILON, parameters_for


@dataclass(frozen=True, slots=True)
class Context:
    """One check's view of the implementation.

    ``effort`` scales sample sizes: 1 by default, less for repeated self-tests of the statistics. Where not ``seeded``
    the implementation draws as in production; the seeds of `determinism` are given all the same. ``read`` keeps the
    noise of every run that was read: sums of squares over the claimed scale, and of how many values each is.
    ``scene_seed`` is that of data which several mechanisms are asked about. ``own``: its updates are not the
    reference's, so that noise is read off by replays (`own_updates`).
    """

    session: Session
    mode: Mode
    rng: np.random.Generator
    another: Callable[[], Session]
    effort: float = 1.0
    seeded: bool = True
    read: list[tuple[Floats, int]] = field(default_factory=list)
    scene_seed: int = 0
    own: bool = False

    def keep(self, noise: dict[str, Floats]) -> dict[str, Floats]:
        """Keep the noise over its scale of some runs, [runs, draws, p] by stream, and return it."""
        energies = np.sum([np.sum(array**2, axis=(1, 2)) for array in noise.values()], axis=0)
        self.read.append((energies, sum(array.shape[1] * array.shape[2] for array in noise.values())))
        return noise

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
        """Not applicable where no privacy is claimed."""
        if self.scheme.law is Law.NONE:
            raise NotApplicable(f"{self.mode} adds no noise and claims no privacy")

    def trials(self, records: Records, parameters: Parameters, count: int, session: Session | None = None) -> Run:
        """Run with the implementation's own randomness; arrays [count, T, p], seeded where seeds are taken."""
        session = session or self.session
        drawn = int(self.rng.integers(1 << 53))  # whether it is used or not, so that the stream is the same
        seed = drawn if self.seeded and self.can(Capability.SEED) else None
        return self.trials_of(session, session.send(records), parameters, count, seed)

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

    def pair(self, first: Records, second: Records) -> HiddenPair:
        """Two neighbours, hidden."""
        return HiddenPair(self.session, first, second, self.rng)

    def pair_trials(self, first: Records, second: Records, parameters: Parameters, count: int) -> tuple[Run, Run]:
        """Trials of two neighbours under hidden names and in random order; arrays [count, T, p]."""
        show = Show.EVERY_ITERATE if self.can(Capability.EVERY_ITERATE) else Show.LAST
        if show is Show.LAST and parameters.iterations > 1:
            raise NotApplicable("needs the capability every-iterate")
        runs = self.pair(first, second).trials(self.mode.algorithm, parameters, count, show=show)
        if show is Show.EVERY_ITERATE:
            return runs
        first_run, second_run = (Run({key: array[:, None] for key, array in run.values.items()}) for run in runs)
        return first_run, second_run

    @property
    def plain(self) -> RegularizerName:
        """A regularizer that with lambda = 0 leaves z = x + y/rho: every one does, `none` is the simplest."""
        offered = self.description.regularizers
        return RegularizerName.NONE if RegularizerName.NONE in offered else offered[0]

    def gaussian(self, *shape: int) -> Floats:
        """Standard normal values for the harness's own use."""
        return self.rng.standard_normal(shape)
