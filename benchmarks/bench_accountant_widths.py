r"""How wide the enclosure is where few steps or a small q let single losses decide (T q < 1); the seed is fixed.

`python -m benchmarks.bench_accountant_widths [SETS]` prints the sets above 1.2 and a summary.
"""

from __future__ import annotations

import random
import sys
import time
from fractions import Fraction

from accountant.numbers import fraction_of
from accountant.pld.composition import SubsampledGaussian, compose

SEED, SETS, WIDE = 1, 150, 1.2
Case = tuple[Fraction, Fraction, int, Fraction]


def cases(number: int) -> list[Case]:
    """Return (q, nu, T, delta), the case of ADR 2 first."""
    rng = random.Random(SEED)
    found: list[Case] = [(Fraction("4.6e-10"), Fraction("0.78"), 7, Fraction("3e-10"))]
    while len(found) < number:
        q = Fraction(10 ** rng.uniform(-10, -2)).limit_denominator(10**15)
        nu = Fraction(round(10 ** rng.uniform(-0.5, 1.5) * 1000), 1000)
        steps = max(2, round(10 ** rng.uniform(0.3, 3.5)))
        if steps * q < 1:
            delta = Fraction(float(steps * q) * 10 ** -rng.uniform(0, 12)).limit_denominator(10**28)
            found.append((q, nu, steps, delta))
    return found


def ratio(case: Case) -> float:
    """Return upper over lower end: 1 where both are 0, infinite where only the lower one is."""
    q, nu, steps, delta = case
    bound = compose([SubsampledGaussian(q, nu, steps)], target_delta=delta).epsilon(delta)
    lower, upper = fraction_of(bound.lower), fraction_of(bound.upper)
    if lower == 0:
        return 1.0 if upper == 0 else float("inf")
    return float(upper / lower)


def main() -> None:
    """Print what is wide, and how wide all are."""
    chosen = cases(int(sys.argv[1]) if len(sys.argv) > 1 else SETS)
    started, ratios = time.perf_counter(), []
    for case in chosen:
        ratios.append(ratio(case))
        if ratios[-1] > WIDE:
            q, nu, steps, delta = (float(x) for x in case)
            print(f"q={q:.3g} nu={nu:.3g} T={steps:.0f} delta={delta:.3g}: {ratios[-1]:.3f}")
    ratios.sort()
    print(
        f"{len(ratios)} sets: median {ratios[len(ratios) // 2]:.3f}, ninth decile {ratios[9 * len(ratios) // 10]:.3f}, "
        f"worst {ratios[-1]:.3f}, above {WIDE}: {sum(r > WIDE for r in ratios)}; "
        f"{time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
