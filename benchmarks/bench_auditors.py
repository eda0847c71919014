"""The auditors side by side: how tight, how many samples, how fast, and how often they accuse the innocent.

    python -m benchmarks.bench_auditors [--quick] [--check] [--out DIR]

One-dimensional mechanisms, delta = 1e-5, confidence 95 %; every auditor is given the same scores.

1. Ratio: bound / truth on the Gaussian mechanism of epsilon 1 and 4; median over seeds. Above 1 is a false statement.
2. Samples: the least size (a side) at which noise / sqrt 2 and noise / 2 are caught in at least half of the seeds, by
   bisection on a geometric grid up to 100,000; the claim is the Gaussian of epsilon 1. Fixed-size audits do not peek.
   The e-process against the curve stops by itself: its figure is the median time of refutation, with one design for
   the whole budget.
3. CPU seconds of a bound: the least over seeds; nothing that an earlier call remembered is reused.
4. False alarms: audits of true claims. More than 5 % is wrong. A count that an auditor of 5 % reaches with probability
   below 1e-3 is marked !, and then its samples stand in parentheses: who always accuses is always early.

``--check`` fails when one of *ours* is marked or its median ratio is above 1. Auditors that are not installed are left
out and named. dp-auditorium is not compared: the package registry does not have it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from audits.curves import ApproximateCurve, GaussianCurve
from audits.eprocess.confidence import tail_band
from audits.eprocess.curve_test import refuted_after
from audits.eprocess.scores import GaussianScores, SampledScores
from benchmarks.auditing_peers import ALPHA, AUDITORS, CURVE, DELTA, Auditor, Case, require_number
from benchmarks.estimators import LaplaceCurve, UnsupportedClaim, gaussian_family, laplace_family, pure_family
from verification.wire.arrays import Floats

LARGEST = 100_000
GRID = tuple(int(size) for size in np.unique(np.rint(np.geomspace(100, LARGEST, 31)).astype(np.int64)))
DIVISORS = (("noise / sqrt 2", 2.0**0.5), ("noise / 2", 2.0))
SURELY_WRONG = 1e-3


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    ratio_seeds: int
    power_seeds: int
    repetitions: int
    size: int


FULL = Effort(ratio_seeds=5, power_seeds=11, repetitions=500, size=2000)
QUICK = Effort(ratio_seeds=3, power_seeds=7, repetitions=200, size=1000)


@dataclass(slots=True)
class Row:
    """What was measured of one auditor; a missing figure was refused by the auditor."""

    name: str
    ours: bool
    note: str
    ratio: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)
    samples: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    false_alarms: dict[str, int] = field(default_factory=dict)
    repetitions: int = 0

    def wrong_on(self, case: str) -> bool:
        """Whether so many false alarms have probability below SURELY_WRONG for an auditor that keeps its word."""
        count = self.false_alarms.get(case, 0)
        return bool(binom.sf(count - 1, self.repetitions, ALPHA) < SURELY_WRONG)

    @property
    def keeps_its_word(self) -> bool:
        """Whether nothing measured contradicts the stated confidence."""
        return not any(map(self.wrong_on, self.false_alarms)) and all(value <= 1.0 for value in self.ratio.values())


def gaussian(mu: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw the scores of the Gaussian mechanism."""
    return rng.normal(mu, 1.0, count), rng.normal(0.0, 1.0, count)


def laplace(epsilon: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw the scores of the Laplace mechanism."""
    return rng.laplace(epsilon, 1.0, count), rng.laplace(0.0, 1.0, count)


def silent(_: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw scores that do not depend on the record."""
    return rng.normal(0.0, 1.0, count), rng.normal(0.0, 1.0, count)


def gaussian_case(epsilon: float) -> Case:
    """Return the Gaussian mechanism that costs exactly ``epsilon`` at DELTA."""
    mu = float(brentq(lambda m: float(GaussianCurve(m).delta(np.array([epsilon]))[0]) - DELTA, 1e-3, 10.0))
    return Case(
        f"Gaussian, eps {epsilon:g}", GaussianCurve(mu), epsilon, mu, gaussian_family(), GaussianScores(), gaussian
    )


def true_claims() -> list[Case]:
    """Return mechanisms beside claims that they obey: exactly, except the one that shows nothing."""
    exact = LaplaceCurve(1.0)
    return [
        gaussian_case(1.0),
        gaussian_case(4.0),
        Case("Laplace, eps 1", exact, exact.epsilon_at(DELTA), 1.0, laplace_family(), SampledScores(laplace), laplace),
        Case(
            "no leak, claim eps 0.05", ApproximateCurve(0.05), 0.05, 0.05, pure_family(), SampledScores(laplace), silent
        ),
    ]


def measure_ratio(row: Row, auditor: Auditor, case: Case, seed: int) -> None:
    """Add one bound / truth, and the CPU seconds that it took."""
    first, second = case.sample(case.strength, LARGEST, np.random.default_rng([1, seed]))
    tail_band.cache_clear()  # what an earlier call remembered would flatter us
    start = time.process_time()
    bound = require_number(auditor.name, auditor.bound(case, first, second))
    spent = time.process_time() - start
    row.ratios.setdefault(case.name, []).append(bound / case.epsilon)
    row.ratio[case.name] = float(np.median(row.ratios[case.name]))
    row.seconds[case.name] = min(spent, row.seconds.get(case.name, float("inf")))


def streams(case: Case, divisor: float, seeds: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield the scores of a mechanism with too little noise, one stream a seed."""
    for seed in range(seeds):
        yield case.sample(case.strength * divisor, LARGEST, np.random.default_rng([2, seed]))


def samples_needed(auditor: Auditor, case: Case, divisor: float, seeds: int) -> float:
    """Return the least size of GRID at which at least half of the seeds are caught; infinity if there is none."""

    def caught(size: int) -> bool:
        hits = [auditor.refutes(case, first[:size], second[:size]) for first, second in streams(case, divisor, seeds)]
        return 2 * sum(hits) >= seeds

    low, high = -1, len(GRID)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if caught(GRID[middle]) else (middle, high)
    return float(GRID[high]) if high < len(GRID) else float("inf")


def median_stop(case: Case, divisor: float, seeds: int) -> float:
    """Return the median time at which the e-process against the curve refutes, one design for the largest budget."""
    test = CURVE.test(case, LARGEST)
    return float(
        np.median([refuted_after(test.log_wealth(case.claim, *pair), ALPHA) for pair in streams(case, divisor, seeds)])
    )


def false_alarms(auditor: Auditor, case: Case, repetitions: int, size: int) -> int | None:
    """Return how often a true claim is refuted; None if the auditor refuses to judge it."""
    count = 0
    for repetition in range(repetitions):
        first, second = case.sample(case.strength, size, np.random.default_rng([3, repetition]))
        try:
            count += auditor.refutes(case, first, second)
        except UnsupportedClaim:
            return None
    return count


def measure(auditors: list[Auditor], effort: Effort) -> list[Row]:
    """Measure everything; seeds outside, auditors inside, so that a busy machine disturbs all of them alike."""
    rows = [Row(a.name, a.package == "audits", a.note, repetitions=effort.repetitions) for a in auditors]
    for case in (gaussian_case(1.0), gaussian_case(4.0)):
        for seed in range(effort.ratio_seeds):
            for row, auditor in zip(rows, auditors, strict=True):
                measure_ratio(row, auditor, case, seed)
    claims, claimed = true_claims(), gaussian_case(1.0)
    for row, auditor in zip(rows, auditors, strict=True):
        print(f"{auditor.name}: samples, false alarms", file=sys.stderr, flush=True)
        for name, divisor in DIVISORS:
            stops = auditor.refutes == CURVE.refutes
            row.samples[name] = (
                median_stop(claimed, divisor, effort.power_seeds)
                if stops
                else samples_needed(auditor, claimed, divisor, effort.power_seeds)
            )
        for case in claims:
            count = false_alarms(auditor, case, effort.repetitions, effort.size)
            if count is not None:
                row.false_alarms[case.name] = count
    return rows


def markdown(rows: list[Row]) -> str:
    """Return the table for people."""
    ratios, alarms = list(rows[0].ratio), list(rows[0].false_alarms)
    names = [
        "auditor",
        *(f"ratio: {name}" for name in ratios),
        *(f"samples: {name}" for name, _ in DIVISORS),
        *(f"CPU s: {name}" for name in ratios),
        *(f"false alarms: {name}" for name in alarms),
        "note",
    ]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        cells = [
            row.name,
            *(f"{row.ratio[name]:.2f}{' !' if row.ratio[name] > 1.0 else ''}" for name in ratios),
            *(_samples_cell(row, name) for name, _ in DIVISORS),
            *(f"{row.seconds[name]:.3f}" for name in ratios),
            *(_alarm_cell(row, name) for name in alarms),
            row.note,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _samples_cell(row: Row, name: str) -> str:
    needed = row.samples[name]
    text = f"{needed:,.0f}" if np.isfinite(needed) else f"> {LARGEST:,}"
    return text if row.keeps_its_word else f"({text})"


def _alarm_cell(row: Row, name: str) -> str:
    if name not in row.false_alarms:
        return "refused"
    return f"{row.false_alarms[name]} of {row.repetitions}{' !' if row.wrong_on(name) else ''}"


def main() -> int:
    """Measure, print the table, write JSON, and say whether ours keep their word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer seeds and repetitions")
    parser.add_argument("--check", action="store_true", help="exit 1 when one of ours does not keep its word")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="where auditors.json goes")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    rows = measure([auditor for auditor in AUDITORS if auditor.installed], effort)
    missing = [auditor.name for auditor in AUDITORS if not auditor.installed]
    options.out.mkdir(parents=True, exist_ok=True)
    written = [
        asdict(row) | {"samples": {k: v if np.isfinite(v) else None for k, v in row.samples.items()}} for row in rows
    ]
    results = {
        "delta": DELTA,
        "alpha": ALPHA,
        "largest": LARGEST,
        "effort": asdict(effort),
        "rows": written,
        "not installed": missing,
    }
    (options.out / "auditors.json").write_text(json.dumps(results, indent=1, allow_nan=False))
    print(markdown(rows))
    print(f"\nfalse alarms: {effort.repetitions} audits of {effort.size} samples a side; ! is wrong beyond chance")
    for name in missing:
        print(f"not installed: {name}")
    return int(options.check and not all(row.keeps_its_word for row in rows if row.ours))


if __name__ == "__main__":
    sys.exit(main())
