"""The adapter's own runs: whether they are those that it shows from the inside."""

from __future__ import annotations

import numpy as np
from scipy import stats

from accountant.mechanisms.words import Sampling
from verification.declared.added import is_sum
from verification.declared.bench import Bench
from verification.declared.checks import FEWEST_RUNS, MOST_RUNS, NUMBERS, answer, tested
from verification.declared.promise import Pricing
from verification.neighbours.families import Domain, Families, Others
from verification.questions.question import Answer
from verification.reading.context import NotApplicable
from verification.statistics.test import Aspect, Cause, Test
from verification.wire.arrays import Floats
from verification.wire.declaration import NoiseKind
from verification.wire.declared_session import Recorded, rows
from verification.wire.faults import Fault, ProtocolStep
from verification.wire.messages import Capability

COMPARED, COORDINATES = 100, 8
"""Unseeded runs of either kind that are compared, and coordinates of each value."""


def own_runs_check(bench: Bench, pricing: Pricing) -> Answer:
    """Whether the adapter's own runs are those that it shows from the inside."""
    if not bench.session.can(Capability.TRIALS):
        raise NotApplicable("no runs of its own (trials)")
    families = Families(Domain.of(bench.declaration, bench.records, bench.columns), bench.rng)
    data = bench.send(families.data(Others.RANDOM, families.direction()))
    shown = [bench.record(data) for _ in range(COMPARED)]
    noise = _first_noise(bench, data, shown)
    tests = tested(bench, noise, pricing) if noise else []
    compared = _same_as_recorded(bench, data)
    text = f"noise of the first release of {', '.join(noise)} as declared" if noise else "no noise could be isolated"
    return answer(bench, [_other_law(bench, data, shown, f"{text}; {compared}"), *tests], (Aspect.NOISE,))


def _first_noise(bench: Bench, data: str, shown: list[Recorded]) -> dict[str, Floats]:
    """What the first release of every value adds, where its value before the noise is the same in all runs.

    Not of values that are rounded or clamped after their noise: there the difference is no noise.
    """
    if bench.declaration.sampling.kind is not Sampling.ALL:
        return {}
    known = {}
    for value in bench.declaration.noised:
        before = [run.values[value.name].before[:1] for run in shown]
        same = all(each.size for each in before) and all(np.array_equal(before[0], other) for other in before)
        added = value.enters == "value" and value.noise is not NoiseKind.DISCRETE
        if added and same and all(is_sum(run, value) for run in shown):
            known[value.name] = before[0][0]
    if not known:
        return {}
    count = int(
        np.clip(
            -(-round(NUMBERS * bench.effort) // min(max(1, b.size) for b in known.values())), FEWEST_RUNS, MOST_RUNS
        )
    )
    runs = bench.trials(data, count)
    for name, before in known.items():
        other = next((run[name] for run in runs if not len(run[name]) or run[name][0].size != before.size), None)
        if other is not None:
            detail = f"every run from the inside releases {name} of {before.size} numbers, one of its own {other.shape}"
            raise bench.session.fault(Fault.CONTRADICTION, ProtocolStep.TRIALS, detail)
    return {name: np.array([rows(run[name])[:1] - before for run in runs]) for name, before in known.items()}


def _other_law(bench: Bench, data: str, shown: list[Recorded], fine: str) -> Test:
    """Whether unseeded runs release other values than unseeded runs from the inside, coordinate by coordinate.

    Kolmogorov and Smirnov's exact test of two samples, of up to `COORDINATES` coordinates of first and last release.
    """
    own = bench.trials(data, COMPARED)
    columns = []
    for value in bench.declaration.values:
        for place in (0, -1):
            sides = (
                [run.values[value.name].released[place] for run in shown if len(run.values[value.name].released)],
                [rows(run[value.name])[place] for run in own if len(run[value.name])],
            )
            if all(side and len({row.shape for row in side}) == 1 for side in sides) and sides[0][0].size:
                columns += _coordinates(value.name, np.array(sides[0]), np.array(sides[1]))
    if not columns:
        return Test("own-runs", Aspect.NOISE, 1.0, fine, Cause.NOT_AS_SHOWN)
    tails = [_two_samples(first, second) for _, first, second in columns]
    name, first, second = columns[int(np.argmin(tails))]
    p_value = min(1.0, min(tails) * len(columns))
    text = (
        f"{fine}; least alike: {name} (deviation {second.std():.4g} in runs of its own, {first.std():.4g} in runs from "
        "the inside)"
    )
    return Test("own-runs", Aspect.NOISE, p_value, text, Cause.NOT_AS_SHOWN, price=_no_epsilon)


def _no_epsilon() -> str:
    return "what was looked at is not what is run: no epsilon can be named for what is run"


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
        array = rows(own[name])
        if not len(array) and not len(value.released):
            continue
        if array.shape != value.released.shape or not np.allclose(array, value.released, rtol=1e-9, atol=1e-12):
            detail = f"with one seed `trials` and `record` release different values of {name}"
            raise bench.session.fault(Fault.CONTRADICTION, ProtocolStep.RECORD, detail)
    return "with one seed the same as runs from the inside"
