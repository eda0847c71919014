"""The draws of unseeded runs from the inside: noise as declared, really added; batches as declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from accountant.mechanisms.words import Sampling
from verification.declared.added import not_added
from verification.declared.bench import Bench, OutOfTimeError
from verification.declared.cost import cost_of_noise
from verification.declared.noise import noise_sightings
from verification.declared.objective import RESIDUAL, residual
from verification.declared.promise import Pricing
from verification.declared.sampling import malformed, repeated, sampling_sightings
from verification.declared.scenes import Scenes
from verification.declared.seen import Witness
from verification.deployment.sighting import Cost, Sighting
from verification.outcome import Finding, Outcome
from verification.wire.arrays import Floats
from verification.wire.declared_session import Recorded

NUMBERS = 4000
"""So many noise values are looked at, of every value if it has as many coordinates as others."""
FEWEST_RUNS, MOST_RUNS = 16, 2000
_DETECTED = 0.95
_FAMILIES = 16  # into which `size_sightings` divides its level, at most, for each value


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure a refutation must be, and what must have been detectable."""

    share: float
    power: float


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """Unseeded runs, in turn on data sets of different kinds; `data` is that of the first."""

    data: str
    runs: list[Recorded]

    def noise(self, name: str) -> Floats:
        """[runs, releases, numbers], cut to the shortest run; none where a run has no release or another shape."""
        arrays = [run.values[name].noise for run in self.runs]
        steps = min(len(array) for array in arrays)
        if not steps or len({array.shape[1:] for array in arrays}) > 1:
            return np.zeros((len(arrays), 0, 0))
        return np.array([array[:steps] for array in arrays])


def collect(bench: Bench) -> Collected:
    """As many unseeded runs as the tests need."""
    scenes = Scenes(bench.declaration, bench.records, bench.columns, bench.rng)
    names = [bench.send(points) for points in scenes.different()]
    data = names[0]
    first = bench.record(data)
    fewest = min(max(1, first.values[value.name].noise.size) for value in bench.declaration.noised)
    count = int(np.clip(-(-round(NUMBERS * bench.effort) // fewest), FEWEST_RUNS, MOST_RUNS))
    runs = [first]
    try:
        while len(runs) < count:
            runs.append(bench.record(names[len(runs) % len(names)]))
    except OutOfTimeError:
        if len(runs) < FEWEST_RUNS:
            raise
    return Collected(data, runs)


def noise_check(bench: Bench, collected: Collected, pricing: Pricing, level: Certainty) -> Finding:
    """Whether the noise is really added, and is of the declared kind and scale."""
    noise = {value.name: collected.noise(value.name) for value in bench.declaration.noised}
    missing = [name for name, array in noise.items() if not array.size]
    if missing:
        text = f"runs release {', '.join(missing)} not at all, or in different shapes: their noise cannot be compared"
        return Finding("noise", Outcome.INCONCLUSIVE, text)
    infinite = pricing.promise.infinite()
    lost, note = not_added(bench, collected.data, collected.runs)
    if lost:
        tags = ("cause: noise is not added",)
        return Finding("noise", Outcome.REFUTED, f"{lost}\n{infinite}", witness=lost, tags=tags)
    silent = [name for name, array in noise.items() if not np.any(array)]
    if silent:
        text = f"the noise of {', '.join(silent)} is zero"
        return Finding("noise", Outcome.REFUTED, f"{text}\n{infinite}", witness=text, tags=("cause: noise too small",))
    sightings = tested(bench, noise, "recorded")
    finding = judged("noise", sightings, level.share, lambda: cost_of_noise(pricing, noise))
    if finding.outcome is Outcome.STANDS:
        weak = _weak(noise, level) or _hasty(bench, collected)
        if weak:
            return Finding("noise", Outcome.INCONCLUSIVE, weak)
        if note:
            return replace(finding, detail=f"{finding.detail}; {note}")
    return finding


def _hasty(bench: Bench, collected: Collected) -> str:
    """Which objective is solved too roughly: its price is that of the exact minimiser, and nobody's of what is near."""
    for value in bench.declaration.noised:
        if value.enters == "objective":
            gap = residual(bench, value, collected.data, collected.runs[0], bench.seed())
            if gap > RESIDUAL:
                return (
                    f"{value.name} minimises the objective with its noise only roughly (the gradient is {gap:.3g} of "
                    f"the noise, at most {RESIDUAL:g} is needed); the price is that of the exact minimiser"
                )
    return ""


def tested(bench: Bench, noise: dict[str, Floats], where: str) -> list[Sighting]:
    """All tests of the noise of some values."""
    values = {value.name: value for value in bench.declaration.noised if value.name in noise}
    counts = {name: bench.declaration.releases(value) for name, value in values.items()}
    return noise_sightings(where, noise, values, counts, bench.rng)


def judged(name: str, sightings: list[Sighting], share: float, cost: Callable[[], str]) -> Finding:
    """The least likely sighting against the share of false alarms; a difference that costs nothing deviates."""
    level = share / max(1, len(sightings))
    against = [s for s in sightings if s.cost is Cost.PRIVACY and not s.p_value > level]
    differs = [s for s in sightings if s.cost is Cost.NOTHING and not s.p_value > level]
    chosen = against or differs
    if not chosen:
        text = "; ".join(s.detail for s in sightings[:1]) or "nothing was drawn"
        return Finding(
            name, Outcome.STANDS, text, p_value=min((s.p_value for s in sightings), default=1.0), false_alarm=share
        )
    first = min(chosen, key=lambda sighting: sighting.p_value)
    lines = [f"{s.name}: {s.detail} (p = {s.p_value:.2g})" for s in chosen]
    if against:
        lines.append(cost())
    return Finding(
        name,
        Outcome.REFUTED if against else Outcome.DEVIATES,
        "\n".join(lines),
        p_value=first.p_value,
        false_alarm=share,
        tags=(f"cause: {first.cause}",),
    )


def _weak(noise: dict[str, Floats], level: Certainty) -> str:
    """Why too little noise was seen for the power that was asked for; empty if it was enough."""
    for name, array in noise.items():
        alpha = level.share / (6 * _FAMILIES * len(noise))
        threshold = stats.chi2.ppf(alpha, array.size)
        if stats.chi2.cdf(level.power**2 * threshold, array.size) < _DETECTED:
            return f"{array.size} values of the noise of {name} are too few to see noise divided by {level.power:g}"
    return ""


def sampling_check(
    bench: Bench, collected: Collected, outside: dict[str, Witness], share: float, pricing: Pricing
) -> Finding:
    """Whether batches are drawn as declared, and used."""
    sampling = bench.declaration.sampling
    name, tags = "sampling", ("cause: batches are not as claimed",)
    if outside:
        value, witness = next(iter(outside.items()))
        text = f"{value} moves with a record that is in no batch; {witness.text}"
        return Finding(name, Outcome.REFUTED, f"{text}\n{pricing.unamplified()}", witness=text, tags=tags)
    runs = [run.batches for run in collected.runs]
    wrong = malformed(runs, sampling, bench.records)
    if wrong:
        copied = sampling.kind is Sampling.WITHOUT_REPLACEMENT and repeated(runs)
        cost = pricing.with_replacement() if copied else pricing.unamplified()
        return Finding(name, Outcome.REFUTED, f"{wrong}\n{cost}", witness=wrong, tags=tags)
    return judged(name, sampling_sightings(runs, sampling, bench.records, bench.rng), share, pricing.unamplified)


def draws(bench: Bench, pricing: Pricing, level: Certainty, outside: dict[str, Witness]) -> Iterator[Finding]:
    """The noise, and where records are drawn the batches."""
    collected = collect(bench)
    yield noise_check(bench, collected, pricing, level)
    if bench.declaration.sampling.kind is not Sampling.ALL:
        yield sampling_check(bench, collected, outside, level.share, pricing)
