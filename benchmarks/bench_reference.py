"""The reference against the bare numpy calls it cannot do without, and many runs at once against one by one.

    python -m benchmarks.bench_reference [--check] [--out DIR]

1. One ssADMM iteration at m = 221, p = 124, n = 48,842, batches fresh, so that the gather misses the cache as it does
   in earnest. Bare: draw the batch, draw the noise, gather, multiply twice; nothing else.
2. 10,000 runs of n = 100, p = 8, m = 10, T = 20 through reference/vectorised.py, one by one (a sample, scaled up), and
   against drawing their batches and noise alone.

Every time is CPU time, the minimum of interleaved rounds in one process; what counts are the ratios.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.timing import interleaved
from reference.dataset import Dataset
from reference.losses import Logistic
from reference.outputs import finish
from reference.problem import Problem, State
from reference.randomness import Seeded, seeded_batches, seeded_noise
from reference.regularizers import L1
from reference.schedules import Constant, steps
from reference.ssadmm import ssadmm
from reference.vectorised import Show, ssadmm_many

RUNS, SAMPLE = 10_000, 200
ITERATIONS = 200


@dataclass(frozen=True, slots=True)
class Ratio:
    """What was measured, and what was promised."""

    name: str
    value: float
    promised: str
    holds: bool


def problem(records: int, dimension: int) -> Problem:
    """Random rows of length 1: what is timed does not depend on their values."""
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(records) < 0.5, -1, 1)
    return Problem.of(
        Dataset.of(rng.normal(size=(records, dimension)), labels).normalised(), Logistic(), L1(1e-3), rho=0.25
    )


def single(p: Problem, *, batch: int, iterations: int, run: int = 0) -> object:
    """One seeded run, its states thrown away."""
    start, draws = State.zero(p.dimension), Seeded(1, run)
    states = ssadmm(
        p,
        start,
        step_sizes=steps(Constant(0.5), iterations),
        batches=draws.batches(p.records, batch, iterations),
        noise=draws.noise(p.dimension, 0.5, iterations),
    )
    return finish(start, states)


def bare(p: Problem, *, batch: int, iterations: int) -> None:
    """What no implementation can leave out, with the very same draws."""
    draws = Seeded(1)
    batches = draws.batches(p.records, batch, iterations)
    noise = draws.noise(p.dimension, 0.5, iterations)
    x = np.zeros(p.dimension)
    for chosen, _ in zip(batches, noise, strict=True):
        rows = p.signed.take(chosen, axis=0)
        margins = rows @ x
        margins @ rows


def bare_numpy(p: Problem, *, batch: int, iterations: int) -> None:
    """The same with numpy's own generator instead of counter-based draws."""
    rng = np.random.default_rng(1)
    x = np.zeros(p.dimension)
    for _ in range(iterations):
        chosen = rng.choice(p.records, batch, replace=False, shuffle=False)
        rng.standard_normal(p.dimension)
        rows = p.signed.take(chosen, axis=0)
        margins = rows @ x
        margins @ rows


def iteration_ratios() -> list[Ratio]:
    """One iteration of the paper's Adult experiment."""
    p = problem(48_842, 124)
    ours, least, generator = interleaved(
        [
            lambda: single(p, batch=221, iterations=ITERATIONS),
            lambda: bare(p, batch=221, iterations=ITERATIONS),
            lambda: bare_numpy(p, batch=221, iterations=ITERATIONS),
        ],
        rounds=15,
    )
    print(f"iteration: {ours / ITERATIONS * 1e6:.1f} us; bare {least / ITERATIONS * 1e6:.1f} us, ", end="")
    print(f"with numpy's generator {generator / ITERATIONS * 1e6:.1f} us")
    return [
        Ratio("one iteration / bare calls", ours / least, "<= 2", ours <= 2 * least),
        Ratio("one iteration / bare calls, numpy's generator", ours / generator, "nothing", True),
    ]


def many_ratios() -> list[Ratio]:
    """Ten thousand small runs."""
    p = problem(100, 8)
    start = State.zero(8)

    def many(show: Show) -> Callable[[], object]:
        return lambda: ssadmm_many(
            p,
            start,
            schedule=Constant(0.5),
            batch=10,
            sigma=0.5,
            iterations=20,
            seed=1,
            runs=range(RUNS),
            show=show,
        )

    def draws(block: int) -> None:
        for first in range(0, RUNS, block):
            runs = range(first, min(first + block, RUNS))
            seeded_batches(1, runs, 100, 10, 20)
            seeded_noise(1, runs, 8, 0.5, 20)

    every, last, sample, whole, blocks = interleaved(
        [
            many(Show.EVERY_ITERATE),
            many(Show.LAST),
            lambda: [single(p, batch=10, iterations=20, run=run) for run in range(SAMPLE)],
            lambda: draws(RUNS),
            lambda: draws(1024),
        ],
        rounds=15,
    )
    one_by_one = sample * RUNS / SAMPLE
    print(f"{RUNS} runs: every iterate {every * 1e3:.0f} ms, the last {last * 1e3:.0f} ms; one by one ", end="")
    print(f"{one_by_one:.2f} s; draws alone {whole * 1e3:.0f} ms, in blocks of the cache's size {blocks * 1e3:.0f} ms")
    return [
        Ratio("one by one / many, every iterate", one_by_one / every, ">= 50", one_by_one >= 50 * every),
        Ratio("one by one / many, the last iterate", one_by_one / last, "nothing", True),
        Ratio("many, every iterate / draws alone", every / whole, "<= 2", every <= 2 * whole),
        Ratio("many, every iterate / draws in blocks", every / blocks, "nothing", True),
    ]


def main() -> int:
    """Measure, print, and say whether the promises hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 if a promise does not hold")
    parser.add_argument("--out", type=Path, help="also write reference.json to this directory")
    options = parser.parse_args()
    ratios = iteration_ratios() + many_ratios()
    for ratio in ratios:
        print(f"{'ok  ' if ratio.holds else 'MISS'} {ratio.name}: {ratio.value:.2f} (promised {ratio.promised})")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "reference.json").write_text(json.dumps([asdict(ratio) for ratio in ratios], indent=2))
    return int(options.check and not all(ratio.holds for ratio in ratios))


if __name__ == "__main__":
    sys.exit(main())
