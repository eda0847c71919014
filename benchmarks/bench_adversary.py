r"""How close the exact adversary comes to a realisable pair, on random sets.

`python -m benchmarks.bench_adversary [NUMBER [SEED]] [--contour] [--complete] [--jobs J]`: q is drawn from 1e-4 to 1/2,
nu from 0.7 to 16, T from 10 to 1e6, delta from 1e-4 to 1e-15, each uniformly on a logarithmic scale. `--small` draws
nu from 0.3 to 0.7 instead (20 sets of seed 2027). Each set becomes a line of `benchmarks/adversary_sets.jsonl`; sets
that are there already are not computed again, so a run may be interrupted. `--contour` also integrates delta of the
forward pair at the adversary's epsilon along a contour, in balls: more than the set's delta would be a false end.
`--complete` computes what an adaptive adversary attains where the ends are more than one per cent apart, and what
`account` answers where the adversary takes longer than it is given by default. `python -m benchmarks.adversary_page`
writes docs/evidence/adversary.md from the file. Times are processor time.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from accountant.certificates.contour_route import composed_delta
from accountant.certificates.integer_route import ExactPair
from accountant.errors import CannotCertifyError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import arb_from_fraction, fraction_of
from accountant.pld.adversary import nodes
from accountant.pld.adversary.adaptive_lower import adaptive_epsilon_lower
from accountant.pld.adversary.method import Run, adversary_epsilon
from accountant.pld.adversary.search import certificate_for
from accountant.pld.composition import compose
from accountant.pricing import STANDARD_SECONDS, WORTH_SAYING, epsilon
from accountant.profiles.one_step import SubsampledGaussian

RECORD: Final = Path(__file__).with_name("adversary_sets.jsonl")
NUMBER: Final = 100
SEED: Final = 2026
FRESH_SEED: Final = 2028
"""Its sets were drawn when the method was done: no setting was chosen on them."""
WIDE: Final = 1.01
SMALL_NUMBER: Final = 20
SMALL_SEED: Final = 2027
"""The sets with little noise have a seed of their own."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One random set, both certified ends of epsilon, the symmetrised profile's upper end, and seconds."""

    seed: int
    index: int
    q: str
    nu: str
    steps: int
    delta: str
    lower: float
    adversary: float | None
    profile: float
    seconds: float
    how: str
    contour: str
    adaptive: float | None = None
    """Where a ratio is above `WIDE`: what an adaptive adversary attains, below which no accountant may answer."""

    limited: float | None = None
    """Where the adversary takes longer than `STANDARD_SECONDS`: the answer without options."""

    @property
    def by_default(self) -> float:
        """Return the ratio of what `account` answers without options: within its seconds, where 1 % may be gained."""
        profile = self.ratios[1]
        if 1 - 1 / profile < WORTH_SAYING:
            return profile
        return min(self.ratios) if self.limited is None else _ratio(self.limited, self.lower)

    @property
    def over_attained(self) -> float:
        """Return the smaller upper end over the best certified lower end."""
        return min(self.ratios) * self.lower / max(self.lower, self.adaptive or 0.0)

    @property
    def ratios(self) -> tuple[float, float]:
        """Return adversary and profile over the lower end; a refusal is infinite."""
        return _ratio(math.inf if self.adversary is None else self.adversary, self.lower), _ratio(
            self.profile, self.lower
        )


def _ratio(upper: float, lower: float) -> float:
    """Return upper over lower: 1 where both are 0, infinite where only the lower one is."""
    if lower == 0:
        return 1.0 if upper == 0 else math.inf
    return upper / lower


def _between(generator: random.Random, low: float, high: float) -> float:
    return math.exp(generator.uniform(math.log(low), math.log(high)))


def _random_set(generator: random.Random, noise: tuple[float, float]) -> tuple[SubsampledGaussian, Fraction]:
    q = Fraction(_between(generator, 1e-4, 0.5)).limit_denominator(10**6)
    nu = Fraction(_between(generator, *noise)).limit_denominator(1000)
    count = round(_between(generator, 10, 1e6))
    return SubsampledGaussian(q, nu, count), Fraction(_between(generator, 1e-15, 1e-4)).limit_denominator(10**18)


def random_sets(number: int, seed: int) -> list[tuple[SubsampledGaussian, Fraction]]:
    """Return the sets of a seed, the same ones every time."""
    generator = random.Random(seed)
    noise = (0.3, 0.7) if seed == SMALL_SEED else (0.7, 16.0)
    return [_random_set(generator, noise) for _ in range(number)]


def measured(seed: int, index: int, step: SubsampledGaussian, delta: Fraction, *, contour: bool) -> Measured:
    """Price one set by both methods, the adversary with a certificate made anew."""
    bound = compose([step], target_delta=delta).epsilon(delta)
    upper: Fraction | None = None
    for remembered in (certificate_for, nodes._coefficients, nodes._ahead):
        remembered.cache_clear()
    started = time.process_time()
    try:
        upper, found = adversary_epsilon(Run((step,)), delta)
        how = found.describe()
    except CannotCertifyError as reason:
        how = f"refused: {reason}"
    seconds = time.process_time() - started
    return Measured(
        seed=seed,
        index=index,
        q=str(step.sampling_rate),
        nu=str(step.noise_multiplier),
        steps=step.count,
        delta=str(delta),
        lower=float(fraction_of(bound.lower)),
        adversary=None if upper is None else float(upper),
        profile=float(fraction_of(bound.upper)),
        seconds=round(seconds, 3),
        how=how,
        contour="" if upper is None or not contour else _contour(step, upper, delta),
    )


def _contour(step: SubsampledGaussian, upper: Fraction, delta: Fraction) -> str:
    """Say whether the forward pair's delta at the adversary's epsilon is at most delta, by a contour integral."""
    try:
        found = composed_delta([step], ExactPair.MIXTURE_FIRST, upper, delta)
    except CannotCertifyError as reason:
        return f"undecided: {reason}"
    if found > arb_from_fraction(delta):
        return "FALSE END"
    return "below" if found <= arb_from_fraction(delta) else "undecided: the ball contains delta"


def completed(entry: Measured) -> Measured:
    """Return the set with its adaptive lower end, where it is wide, and its default answer, where that takes long."""
    step, delta = SubsampledGaussian(Fraction(entry.q), Fraction(entry.nu), entry.steps), Fraction(entry.delta)
    if min(entry.ratios) > WIDE and entry.adaptive is None:
        entry = replace(entry, adaptive=float(adaptive_epsilon_lower(step, delta)))
    if entry.seconds > STANDARD_SECONDS and entry.limited is None:
        drawn = (SubsampledGaussianStep(step.sampling_rate, step.noise_multiplier, step.count),)
        answer = epsilon(Ledger(drawn, drawn), delta, effort="standard").epsilon
        entry = replace(entry, limited=float(fraction_of(answer.upper)))
    return entry


def recorded() -> list[Measured]:
    """Return what the file holds."""
    if not RECORD.exists():
        return []
    return [Measured(**json.loads(line)) for line in RECORD.read_text("utf-8").splitlines()]


def _record(entry: Measured) -> None:
    """Write a set in the place of what the file holds of it."""
    kept = [known for known in recorded() if (known.seed, known.index) != (entry.seed, entry.index)]
    lines = [json.dumps(asdict(known)) + "\n" for known in [*kept, entry]]
    RECORD.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    """Measure what is missing and print how many ratios are at most 1.02."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--small", action="store_true", help="nu from 0.3 to 0.7")
    parser.add_argument("--contour", action="store_true")
    parser.add_argument("--complete", action="store_true", help="adaptive lower ends, default answers")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    asked.number = asked.number or (SMALL_NUMBER if asked.small else NUMBER)
    asked.seed = asked.seed or (SMALL_SEED if asked.small else SEED)
    known = {entry.index: entry for entry in recorded() if entry.seed == asked.seed}
    with ProcessPoolExecutor(asked.jobs) as pool:
        waiting = [
            pool.submit(measured, asked.seed, index, step, delta, contour=asked.contour)
            for index, (step, delta) in enumerate(random_sets(asked.number, asked.seed))
            if index not in known
        ]
        for done in as_completed(waiting):
            entry = done.result()
            known[entry.index] = entry
            _record(entry)
            print(f"{entry.index}: adversary {entry.ratios[0]:.4f}, profile {entry.ratios[1]:.4f}", flush=True)
    if asked.complete:
        for entry in known.values():
            if (whole := completed(entry)) != entry:
                _record(whole)
    ratios = [min(known[index].ratios) for index in range(asked.number)]
    print(f"ratio at most 1.02 in {sum(ratio <= 1.02 for ratio in ratios)} of {asked.number}; worst {max(ratios):.4f}")


if __name__ == "__main__":
    main()
