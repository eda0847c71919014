r"""How close the exact adversary comes to a realisable pair, on random sets.

`python -m benchmarks.bench_adversary [NUMBER [SEED]]`: q is drawn from 1e-4 to 1/2, nu from 0.7 to 16, T from 10 to
1e6, delta from 1e-4 to 1e-15, each uniformly on a logarithmic scale. A line gives the lower end, the ratio to it of
the adversary's upper end and of the symmetrised profile's, and the time of a first answer and of one with the
certificate at hand.
"""

from __future__ import annotations

import math
import random
import sys
import time
from fractions import Fraction

from accountant.errors import CannotCertifyError
from accountant.numbers import fraction_of
from accountant.pld.adversary.method import adversary_epsilon
from accountant.pld.composition import compose
from accountant.profiles.one_step import SubsampledGaussian

_NUMBER = 100
_SEED = 2026


def _between(generator: random.Random, low: float, high: float) -> float:
    return math.exp(generator.uniform(math.log(low), math.log(high)))


def _random_set(generator: random.Random) -> tuple[SubsampledGaussian, Fraction]:
    q = Fraction(_between(generator, 1e-4, 0.5)).limit_denominator(10**6)
    nu = Fraction(_between(generator, 0.7, 16)).limit_denominator(1000)
    count = round(_between(generator, 10, 1e6))
    return SubsampledGaussian(q, nu, count), Fraction(_between(generator, 1e-15, 1e-4)).limit_denominator(10**18)


def _line(step: SubsampledGaussian, delta: Fraction) -> float:
    """Print one set and return the best certified ratio."""
    q, nu = float(step.sampling_rate), float(step.noise_multiplier)
    name = f"q={q:.3g} nu={nu:.3g} T={step.count} delta={float(delta):.2g}"
    bound = compose([step], target_delta=delta).epsilon(delta)
    lower, symmetrised = float(fraction_of(bound.lower)), float(fraction_of(bound.upper))
    started = time.perf_counter()
    try:
        upper = float(adversary_epsilon(step, delta)[0])
        first = time.perf_counter() - started
        adversary_epsilon(step, delta)
        again = time.perf_counter() - started - first
    except CannotCertifyError as reason:
        print(f"{name}: profile {_ratio(symmetrised, lower):.4f}, adversary refused: {reason}", flush=True)
        return _ratio(symmetrised, lower)
    ratios = _ratio(upper, lower), _ratio(symmetrised, lower)
    print(f"{name}: lower {lower:.6g}, adversary {ratios[0]:.4f}, profile {ratios[1]:.4f},", end=" ")
    print(f"{first:.1f} s, again {again:.1f} s", flush=True)
    return min(ratios)


def _ratio(upper: float, lower: float) -> float:
    """Return upper over lower: 1 where both are 0, infinite where only the lower one is."""
    if lower == 0:
        return 1.0 if upper == 0 else math.inf
    return upper / lower


def main() -> None:
    """Print a line for each set and how many ratios are at most 1.02."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else _NUMBER
    generator = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else _SEED)
    ratios = [_line(*_random_set(generator)) for _ in range(number)]
    print(f"ratio at most 1.02 in {sum(ratio <= 1.02 for ratio in ratios)} of {number}; worst {max(ratios):.4f}")


if __name__ == "__main__":
    main()
