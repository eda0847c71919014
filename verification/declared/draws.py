"""The draws of unseeded runs: noise as declared, really added; batches as declared; and the adapter's own runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from accountant.mechanisms.words import Sampling
from verification.declared.bench import Bench, OutOfTimeError
from verification.declared.noise import measured_scale, missing_draws, noise_sightings, shared_draws
from verification.declared.objective import NOT_SOLVED, RESIDUAL, residual
from verification.declared.sampling import malformed, sampling_sightings
from verification.declared.scenes import Scenes
from verification.declared.seen import Witness
from verification.deployment.sighting import Cost, Sighting
from verification.outcome import Finding, Outcome
from verification.wire.arrays import Floats
from verification.wire.declaration import NoiseKind
from verification.wire.declared_session import Recorded
from verification.wire.faults import Fault, ProtocolStep
from verification.wire.messages import Capability

NUMBERS = 4000
"""So many noise values are looked at, of every value if it has as many coordinates as others."""
FEWEST_RUNS, MOST_RUNS = 16, 2000
COMPARED, COORDINATES = 100, 8
"""Unseeded runs of either kind that are compared, and coordinates of each value."""
_ADDED = 1e-9
_DETECTED = 0.95
_FAMILIES = 16  # into which `size_sightings` divides its level, at most, for each value
Sentence = Callable[[dict[str, float]], str]


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
        """[runs, releases, numbers], cut to the shortest run."""
        arrays = [run.values[name].noise for run in self.runs]
        steps = min(len(array) for array in arrays)
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


def noise_check(bench: Bench, collected: Collected, sentence: Sentence, infinite: str, level: Certainty) -> Finding:
    """Whether the noise is really added, and is of the declared kind and scale."""
    lost = _not_added(bench, collected)
    if lost:
        tags = ("cause: noise is not added",)
        return Finding("noise", Outcome.REFUTED, f"{lost}\n{infinite}", witness=lost, tags=tags)
    noise = {value.name: collected.noise(value.name) for value in bench.declaration.noised}
    silent = [name for name, array in noise.items() if not np.any(array)]
    if silent:
        text = f"the noise of {', '.join(silent)} is zero"
        return Finding("noise", Outcome.REFUTED, f"{text}\n{infinite}", witness=text, tags=("cause: noise too small",))
    sightings = _sightings(bench, noise, "recorded")
    finding = judged("noise", sightings, level.share, lambda: _cost(bench, noise, sentence, infinite))
    if finding.outcome is Outcome.STANDS:
        weak = _weak(noise, level) or _hasty(bench, collected)
        if weak:
            return Finding("noise", Outcome.INCONCLUSIVE, weak)
    return finding


def _not_added(bench: Bench, collected: Collected) -> str:
    """Released is not what was there before plus the noise; or not the minimiser."""
    for value in bench.declaration.noised:
        if value.enters == "objective":
            gap = residual(bench, value, collected.data, collected.runs[0], bench.seed())
            if gap > NOT_SOLVED:
                return f"{value.name} does not minimise the objective with its noise: the gradient is {gap:.3g} of it"
            continue
        for number, run in enumerate(collected.runs):
            shown = run.values[value.name]
            gap = float(np.abs(shown.released - shown.before - shown.noise).max(initial=0.0))
            size = 1.0 + max(np.abs(shown.before).max(initial=0.0), np.abs(shown.released).max(initial=0.0))
            if gap > _ADDED * size:
                share = float(np.abs(shown.released - shown.before).max()) / max(np.abs(shown.noise).max(), 1e-300)
                return (
                    f"what is released of {value.name} is not its value plus its noise (run {number + 1}: off by "
                    f"{gap:.4g}; {share:.4g} of the noise arrives)"
                )
    return ""


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


def _sightings(bench: Bench, noise: dict[str, Floats], where: str) -> list[Sighting]:
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


def _cost(bench: Bench, noise: dict[str, Floats], sentence: Sentence, infinite: str) -> str:
    missing = missing_draws(noise)
    if missing:
        return missing
    shared = shared_draws(noise)
    if shared:
        return f"{shared} have the same noise, so their difference has none: {infinite}"
    values = {value.name: value for value in bench.declaration.noised}
    scales = {n: measured_scale(values[n], a, bench.declaration.releases(values[n])) for n, a in noise.items()}
    listed = ", ".join(f"{name} {scale:.4g}" for name, scale in scales.items())
    weights = {name: 1 / scale if scale > 0 else np.inf for name, scale in scales.items()}
    return f"scale of the noise over the declared one: {listed}; {sentence(weights)}"


def _weak(noise: dict[str, Floats], level: Certainty) -> str:
    """Why too little noise was seen for the power that was asked for; empty if it was enough."""
    for name, array in noise.items():
        alpha = level.share / (6 * _FAMILIES * len(noise))
        threshold = stats.chi2.ppf(alpha, array.size)
        if stats.chi2.cdf(level.power**2 * threshold, array.size) < _DETECTED:
            return f"{array.size} values of the noise of {name} are too few to see noise divided by {level.power:g}"
    return ""


def sampling_check(
    bench: Bench, collected: Collected, outside: dict[str, Witness], share: float, sentence: Sentence
) -> Finding:
    """Whether batches are drawn as declared, and used."""
    sampling = bench.declaration.sampling
    name, tags = "sampling", ("cause: batches are not as claimed",)
    unamplified = _without_sampling(sentence)
    if outside:
        value, witness = next(iter(outside.items()))
        text = f"{value} moves with a record that is in no batch; {witness.text}"
        return Finding(name, Outcome.REFUTED, f"{text}\n{unamplified}", witness=text, tags=tags)
    runs = [run.batches for run in collected.runs]
    wrong = malformed(runs, sampling, bench.records)
    if wrong:
        return Finding(name, Outcome.REFUTED, f"{wrong}\n{unamplified}", witness=wrong, tags=tags)
    return judged(name, sampling_sightings(runs, sampling, bench.records, bench.rng), share, lambda: unamplified)


def _without_sampling(sentence: Sentence) -> str:
    """What is left if nothing is gained by drawing."""
    return f"then nothing is gained by drawing batches; with them as declared, {sentence({})}"


def own_runs_check(bench: Bench, sentence: Sentence, infinite: str, share: float) -> Finding:
    """Whether the adapter's own runs are those that it shows from the inside."""
    if not bench.session.can(Capability.TRIALS):
        return Finding("own-runs", Outcome.SKIPPED, "no runs of its own (trials)")
    scenes = Scenes(bench.declaration, bench.records, bench.columns, bench.rng)
    data = bench.send(scenes.data("random", scenes.direction()))
    noise = _first_noise(bench, data)
    if noise:
        sightings = _sightings(bench, noise, "own runs")
        finding = judged("own-runs", sightings, share / 2, lambda: _cost(bench, noise, sentence, infinite))
        if finding.outcome is not Outcome.STANDS:
            return finding
    other = _other_law(bench, data, share / 2)
    if other is not None:
        return other
    compared = _same_as_recorded(bench, data)
    text = f"noise of the first release of {', '.join(noise)} as declared" if noise else "no noise could be isolated"
    return Finding("own-runs", Outcome.STANDS, f"{text}; {compared}", false_alarm=share)


def _first_noise(bench: Bench, data: str) -> dict[str, Floats]:
    """What the first release of every value adds, where its value before the noise is the same in all runs."""
    if bench.declaration.sampling.scheme is not Sampling.ALL:
        return {}
    inside = [bench.record(data) for _ in range(2)]
    known = {}
    for value in bench.declaration.noised:
        before = [run.values[value.name].before[0] for run in inside]
        if value.enters == "value" and value.noise is not NoiseKind.DISCRETE and np.array_equal(before[0], before[1]):
            known[value.name] = before[0]
    if not known:
        return {}
    count = int(
        np.clip(
            -(-round(NUMBERS * bench.effort) // min(max(1, b.size) for b in known.values())), FEWEST_RUNS, MOST_RUNS
        )
    )
    runs = bench.trials(data, count)
    return {
        name: np.array([run[name].reshape(len(run[name]), -1)[:1] - before for run in runs])
        for name, before in known.items()
    }


def _other_law(bench: Bench, data: str, share: float) -> Finding | None:
    """Refute where unseeded runs release other values than unseeded runs from the inside, coordinate by coordinate.

    Kolmogorov and Smirnov's exact test of two samples, of up to `COORDINATES` coordinates of first and last release.
    """
    shown = [bench.record(data) for _ in range(COMPARED)]
    own = bench.trials(data, COMPARED)
    columns = []
    for value in bench.declaration.values:
        for place in (0, -1):
            sides = (
                [run.values[value.name].released[place] for run in shown if len(run.values[value.name].released)],
                [run[value.name].reshape(len(run[value.name]), -1)[place] for run in own if len(run[value.name])],
            )
            if all(side and len({row.shape for row in side}) == 1 for side in sides) and sides[0][0].size:
                columns += _coordinates(value.name, np.array(sides[0]), np.array(sides[1]))
    if not columns:
        return None
    name, first, second = min(columns, key=lambda column: _two_samples(column[1], column[2]))
    p_value = _two_samples(first, second) * len(columns)
    if p_value > share:
        return None
    text = (
        f"{name}: runs of its own release other values than runs from the inside (p = {p_value:.2g}; deviation "
        f"{second.std():.4g} and {first.std():.4g}): what was looked at is not what is run\n"
        "no epsilon can be named for what is run"
    )
    tags = ("cause: runs are not those that are shown",)
    return Finding("own-runs", Outcome.REFUTED, text, p_value=p_value, false_alarm=share, tags=tags)


def _coordinates(name: str, first: Floats, second: Floats) -> list[tuple[str, Floats, Floats]]:
    """Coordinates as they are, and how far they are from the median of both samples: exchangeable as well."""
    width = min(first.shape[1], second.shape[1], COORDINATES)
    found = [(name, first[:, j], second[:, j]) for j in range(width)]
    for j in range(width):
        centre = np.median(np.concatenate([first[:, j], second[:, j]]))
        found.append((f"spread of {name}", np.abs(first[:, j] - centre), np.abs(second[:, j] - centre)))
    return found


def _two_samples(first: Floats, second: Floats) -> float:
    """Ties, as of signs, make the test more careful, never less."""
    return float(stats.ks_2samp(first, second, method="exact").pvalue)


def _same_as_recorded(bench: Bench, data: str) -> str:
    """With one seed both must release the same; a fault where they do not."""
    if not bench.session.can(Capability.SEED):
        return "not compared with runs from the inside: no seed"
    seed = bench.seed()
    own, shown = bench.trials(data, 1, seed=seed)[0], bench.record(data, seed=seed)
    for name, value in shown.values.items():
        array = own[name].reshape(len(own[name]), -1)
        if array.shape != value.released.shape or not np.allclose(array, value.released, rtol=1e-9, atol=1e-12):
            detail = f"with one seed `trials` and `record` release different values of {name}"
            raise bench.session.fault(Fault.CONTRADICTION, ProtocolStep.RECORD, detail)
    return "with one seed the same as runs from the inside"


def draws(
    bench: Bench, sentence: Sentence, infinite: str, level: Certainty, outside: dict[str, Witness]
) -> Iterator[Finding]:
    """The noise, and where records are drawn the batches."""
    collected = collect(bench)
    yield noise_check(bench, collected, sentence, infinite, level)
    if bench.declaration.sampling.scheme is not Sampling.ALL:
        yield sampling_check(bench, collected, outside, level.share, sentence)
