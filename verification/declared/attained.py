r"""What neighbours that were run give away at least: the lower end of the price of a declaration.

*Exactly*, of a first release: with the declared noise its distance says what epsilon is attained (`attained_ratio`).

*By runs*, of all releases of all values together, however later values follow earlier ones:

- No records are drawn. A run of the first data set releases o; the second, given o, shows what it would have released
  before its noise. So the privacy loss L(o) = log p(o)/p'(o) is known, and an (epsilon, delta) claim says that
  E[(1 - e^{epsilon - L})_+] <= delta. That is the mean of numbers in [0, 1]: it is refuted by a product of bets on
  them, which exceeds 1/level with probability at most level (Ville). Noise that is larger than declared by a factor c
  makes L smaller, by c^2 (Gaussian) or c: the loss is divided by an upper confidence limit of c.
- Records are drawn. The likelihoods are mixtures over batches, so L is only a score: both data sets are run, an event
  is chosen by one half of the runs and counted in the other (Clopper and Pearson). Nothing is assumed about noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import special, stats

from accountant import AccountantError
from accountant.mechanisms.declaration import declared_ledger
from accountant.mechanisms.words import Sampling
from verification.declared.comparison import Comparison
from verification.declared.draws import least_scale, over_scale
from verification.declared.implementation import (
    ROUNDINGS,
    DeclaredImplementation,
    OutOfTimeError,
    largest,
    unit,
)
from verification.declared.inside import is_sum
from verification.declared.price import schedule, stated
from verification.declared.two_scales import Leakage
from verification.neighbours.families import StartingPoint, held_batches, history, second_batches
from verification.neighbours.neighbours import Neighbours
from verification.reading.context import Undecided
from verification.statistics.tails import counted_epsilon
from verification.statistics.test import Aspect, Cause, Test
from verification.wire.arrays import Floats
from verification.wire.declaration import PURE, DeclaredValue, NoiseKind
from verification.wire.faults import AdapterFault
from verification.wire.session import Recorded

CANDIDATES = 48
"""So many pairs of neighbours are looked at, to run the one that should give away most."""
RUNS, FEWEST = 1000, 200
"""Runs whose loss is known, at full effort, and at least."""
COUNTED, STAGES = (400, 1200, 3600), 3
"""Runs of either data set that are counted: more where fewer do not show it."""
_ATTAINED = 1 - 1e-6  # of a distance between neighbours that was computed in binary64
_BETS = 24
_COPIES = 3  # of the record in a batch, at most, in a score
_HALVINGS = 50


def attained_ratio(declared: DeclaredImplementation, seen: Comparison, *, pure: bool) -> float:
    """The largest distance over the scale of the noise, of a first release: it depends on no earlier one.

    Only of the one value that has noise (another's release may come first), if it does not depend on the randomness.
    """
    if len(declared.declaration.noised) != 1 or not seen.fixed_start:
        return 0.0
    kinds = PURE if pure else (NoiseKind.GAUSSIAN,)
    found = [
        seen.first_release.get(v.name, 0.0) / schedule(v.scale, declared.declaration.releases(v))[0]
        for v in declared.declaration.noised
        if v.noise in kinds and v.enters == "value"
    ]
    return max([0.0, *found]) * _ATTAINED


def attained_by_runs(declared: DeclaredImplementation, seen: Comparison, level: float) -> tuple[Leakage, str]:
    """An epsilon that runs attain, wrong with probability `level` at most, and the pair; 0 if nothing was shown."""
    drawn = declared.declaration.sampling.kind is not Sampling.ALL
    # draws of its own, so that what is asked after it is the same whether it is asked or not
    declared = replace(declared, rng=declared.rng.spawn(1)[0])
    try:
        pair = _strongest(declared, seen, drawn=drawn)
        if pair is None:
            return Leakage(0.0, "no neighbours could be run"), ""
        return (_counted if drawn else _by_losses)(declared, pair, level), pair.text()
    except (AdapterFault, OutOfTimeError):
        return Leakage(0.0, "there was no time to run neighbours, or no run succeeded"), ""


def promises_kept(declared: DeclaredImplementation, seen: Comparison | None) -> list[Test]:
    """Whether Renyi, concentrated or Gaussian privacy holds as it is claimed; undecided where neither end decides."""
    ratio = 0.0 if seen is None else attained_ratio(declared, seen, pure=False)
    try:
        ledger = declared_ledger(stated(declared.declaration, declared.records, {}))
    except AccountantError as error:
        raise Undecided(f"nothing could be certified: {error}") from None
    found = [promise.compared(ledger, Fraction(ratio) ** 2) for promise in declared.promises]
    if False not in (holds for holds, _ in found) and (open_ends := [text for holds, text in found if holds is None]):
        raise Undecided("; ".join(open_ends))
    return [Test.exact("notions", Aspect.RELEASED, bool(holds), text, Cause.PRICE) for holds, text in found]


# -- which neighbours -------------------------------------------------------------------------------------------------


def _strongest(declared: DeclaredImplementation, seen: Comparison, *, drawn: bool) -> Neighbours | None:
    """The pair whose values lie furthest apart over the noise, after what a run of its own releases."""
    pairs = [pair for pair, _ in declared.families.all()]
    if drawn:  # where the others are equal, what is computed from a batch depends on the changed record alone
        pairs = [p for p in pairs if (p.others.features == p.others.features[:1]).all()]
    pairs = [pairs[i] for i in declared.rng.permutation(len(pairs))[:CANDIDATES]]
    known = [witness.attack.neighbours for witness in seen.sensitivity.values() if witness.attack and not drawn]
    best, found = 0.0, None
    for pair in known + pairs:
        try:
            sides = _Sides.of(declared, pair)
            size = sides.apart(sides.run(0))
        except AdapterFault:
            continue
        if size > best:
            best, found = size, pair
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """Both data sets of a pair, and the batches that leave the changed record out and hold it (or none)."""

    declared: DeclaredImplementation
    pair: Neighbours
    names: tuple[str, str]
    without: list[list[int]] | None
    inside: list[list[int]] | None

    @classmethod
    def of(cls, declared: DeclaredImplementation, pair: Neighbours) -> _Sides:
        names = declared.send_both(pair)
        sampling, steps = declared.declaration.sampling, declared.declaration.iterations
        without = held_batches(sampling, pair, steps, declared.rng, inside=False)
        if without is None:
            return cls(declared, pair, names, None, held_batches(sampling, pair, steps, declared.rng, inside=True))
        kept = 0 if sampling.kind is Sampling.POISSON else 1
        return cls(declared, pair, names, without, [sorted([*batch[kept:], pair.position]) for batch in without])

    def run(self, side: int) -> Recorded:
        """A run as in production."""
        return self.declared.record(self.names[side])

    def given(self, side: int, own: Recorded, batches: list[list[int]] | None) -> Recorded:
        """The run of a side with these values released, and these batches of the first."""
        released = history(StartingPoint.OWN, own, self.declared.declaration, np.zeros(1), self.declared.rng)
        if side:
            batches = second_batches(batches, self.pair, self.declared.declaration.sampling.kind)
        return self.declared.record(self.names[side], outputs=released, batches=batches)

    def apart(self, own: Recorded) -> float:
        """About the mean loss of a run."""
        first, second = (self.given(side, own, self.inside) for side in (0, 1))
        total = 0.0
        for value in self.declared.declaration.noised:
            a, b = (run.values[value.name].before for run in (first, second))
            steps = min(len(a), len(b))
            if a.shape[1] == b.shape[1]:
                lengths = _lengths(value, _over(self.declared, value, a[:steps] - b[:steps]))
                total += float(np.sum(lengths**2 / 2 / (1 + lengths * (value.noise in PURE))))
        return total


def _over(declared: DeclaredImplementation, value: DeclaredValue, rows: Floats) -> Floats:
    """The releases of one run over their noise."""
    found: Floats = over_scale(value, rows[None], declared.declaration.releases(value))[0]
    return found


def _lengths(value: DeclaredValue, rows: Floats) -> Floats:
    return np.asarray(np.linalg.norm(rows, 1 if value.noise is NoiseKind.LAPLACE else 2, axis=-1), dtype=np.float64)


def _energy(value: DeclaredValue, rows: Floats) -> Floats:
    """Minus the logarithm of the density of the noise, of each release, but for a constant."""
    lengths = _lengths(value, rows)
    halves: Floats = lengths**2 / 2
    return lengths if value.noise in PURE else halves


# -- no records are drawn: the loss is known ---------------------------------------------------------------------------


def _by_losses(declared: DeclaredImplementation, pair: Neighbours, level: float) -> Leakage:
    """The bound by bets on the losses of runs of the first data set."""
    sides, delta = _Sides.of(declared, pair), float(declared.pricing.delta)
    runs: list[Recorded] = []
    losses: list[float] = []
    best = 0.0
    try:
        while len(runs) < max(FEWEST, round(RUNS * declared.effort)):
            own = sides.run(0)
            loss = _loss(declared, own, sides.given(1, own, None)) if _repeats(own, sides.given(0, own, None)) else None
            if loss is None:
                return Leakage(0.0, "what is released is not value plus noise, or the value is random in other ways")
            runs.append(own)
            losses.append(loss)
            if len(runs) >= FEWEST and len(runs) % (FEWEST // 4) == 0:
                best = betting_epsilon(np.array(losses) / _larger_noise(declared, runs, level / 2), delta, level / 2)
                if best > declared.pricing.epsilon:
                    break
    except OutOfTimeError:
        if len(runs) < FEWEST:
            raise
    return Leakage(
        best, f"by the privacy losses of {len(runs)} runs under noise of the declared law (confidence 1 - {level:.2g})"
    )


def _repeats(own: Recorded, again: Recorded) -> bool:
    """Whether with the same released values the values before the noise are the same: nothing else is random."""
    for name, shown in own.values.items():
        a, b = shown.before, again.values[name].before
        close = ROUNDINGS * unit({}, own) * largest(shown)
        if a.shape != b.shape or not np.allclose(a, b, rtol=0.0, atol=close):
            return False
    return True


def _loss(declared: DeclaredImplementation, own: Recorded, other: Recorded) -> float | None:
    """The privacy loss of what a run released, rounded down; None where it is not value plus noise."""
    total, rounding = 0.0, ROUNDINGS * unit({}, own)
    for value in declared.declaration.noised:
        shown, there = own.values[value.name], other.values[value.name]
        steps = min(len(shown.before), len(there.before), len(shown.noise))
        if shown.before.shape[1] != there.before.shape[1]:
            return None
        noise, moved = shown.noise[:steps], there.before[:steps]
        if value.enters == "objective":
            noise, moved = -shown.before[:steps], -moved
        elif is_sum(own, value):
            moved = shown.released[:steps] - moved
        else:
            return None
        noise, moved = _over(declared, value, noise), _over(declared, value, moved)
        least = least_scale(value, declared.declaration.releases(value))
        error = rounding * largest(shown) * noise.shape[1] / least
        slope = 1.0 if value.noise in PURE else _lengths(value, noise) + _lengths(value, moved) + error
        total += float(np.sum(_energy(value, moved) - _energy(value, noise) - slope * error))
        total -= (value.jacobian or 0.0) * steps
    return total


def _larger_noise(declared: DeclaredImplementation, runs: list[Recorded], level: float) -> float:
    """What losses are divided by: the limit of how much larger the noise is than declared, squared where Gaussian."""
    most = 1.0
    for value in declared.declaration.noised:
        sizes = np.concatenate([_energy(value, _over(declared, value, run.values[value.name].noise)) for run in runs])
        numbers = sum(run.values[value.name].noise.size for run in runs)
        if numbers:
            # -log density of Gaussian numbers is half a chi^2, of pure noise a Gamma variable
            least = stats.gamma.ppf(
                level / len(declared.declaration.noised), numbers / (1 if value.noise in PURE else 2)
            )
            most = max(most, float(sizes.sum() / least))
    return most


def betting_epsilon(losses: Floats, delta: float, level: float) -> float:
    """The largest epsilon that the losses refute at delta; a smaller one is refuted as well."""
    if delta == 0.0:
        return max(0.0, float(losses.max(initial=0.0)))
    bets = 0.5 / delta * 2.0 ** -np.arange(_BETS)

    def refuted(epsilon: float) -> bool:
        seen = np.maximum(-np.expm1(epsilon - np.maximum(losses, epsilon)), 0.0)
        won = np.log1p(bets[:, None] * (seen[None] - delta)).sum(axis=1)
        return bool(special.logsumexp(won) - math.log(_BETS) > -math.log(level))

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, float(losses.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


# -- records are drawn: both neighbours are run, and an event is counted -----------------------------------------------


def _counted(declared: DeclaredImplementation, pair: Neighbours, level: float) -> Leakage:
    sides, delta = _Sides.of(declared, pair), float(declared.pricing.delta)
    if sides.without is None:
        return Leakage(0.0, "no batch leaves the changed record out")
    best, runs = 0.0, 0
    try:
        for stage in COUNTED:
            runs = max(COUNTED[0], round(stage * min(1.0, declared.effort * 4)))
            scores = [np.array(list(_scores(sides, side, runs))) for side in (0, 1)]
            half = runs // 2
            chosen, counted = ((s[0][part], s[1][part]) for s in [scores] for part in (slice(half), slice(half, None)))
            best = max(best, counted_epsilon(chosen, counted, delta, level / STAGES))
            if best > declared.pricing.epsilon or runs < stage:
                break
    except OutOfTimeError:
        pass
    return Leakage(best, f"by counting in {runs // 2} runs of each (confidence 1 - {level:.2g})")


def _scores(sides: _Sides, side: int, runs: int) -> Iterator[float]:
    """About the privacy loss of runs of one side, from their released values alone."""
    for _ in range(runs):
        own = sides.run(side)
        shown = (sides.given(0, own, sides.without), *(sides.given(s, own, sides.inside) for s in (0, 1)))
        yield sum(_score(sides.declared, value, own, shown) for value in sides.declared.declaration.noised)


def _score(declared: DeclaredImplementation, value: DeclaredValue, own: Recorded, shown: tuple[Recorded, ...]) -> float:
    released = own.values[value.name].released
    before = [run.values[value.name].before for run in shown]
    steps = min(len(released), *(len(rows) for rows in before))
    if not steps or len({rows.shape[1] for rows in (released, *before)}) > 1:
        return 0.0
    nothing, first, second = (_over(declared, value, (released - rows)[:steps]) for rows in before)
    chances = _chances(declared, value)
    logs = [
        special.logsumexp(
            [-_energy(value, nothing + c * (one - nothing)) for c in range(len(chances))], axis=0, b=chances[:, None]
        )
        for one in (first, second)
    ]
    return float(np.sum(logs[0] - logs[1]))


def _chances(declared: DeclaredImplementation, value: DeclaredValue) -> Floats:
    """How probable it is that the record is in a batch so many times."""
    sampling, n = declared.declaration.sampling, declared.records
    if value.uses == "all":
        return np.array([0.0, 1.0])
    if sampling.kind is Sampling.WITH_REPLACEMENT:
        found: Floats = stats.binom.pmf(np.arange(_COPIES + 1), sampling.batch or 1, 1 / n)
        return found
    share = sampling.rate or min(1.0, (sampling.batch or 1) / n)
    return np.array([1.0 - share, share])
