r"""How fast could W1 be without numpy? A prototype for timing: `python -m benchmarks.flint_composition`.

The composition of 2,210 steps in flint's exact integers: cell masses of one tilted step from balls, eleven squarings of
a polynomial with a thousand coefficients, every second one on a lattice of half as many points. It is run twice, once
for either end. What is missing (tilt, windows, rounding to a side, bounds of what is cut off, the search for epsilon)
would only add to its time, and nothing is certified. `benchmarks.bench_sizes w1` sets it beside what is loaded anyway.
"""

from __future__ import annotations

import math
from typing import Final

import flint
from flint import arb, fmpz_poly

RATE: Final = 221 / 48842
MU: Final = 1 / 4
TILT: Final = 80.0
SQUARINGS: Final = 11
POINTS: Final = 1000
BITS: Final = 62


def masses() -> list[int]:
    """Return about the tilted masses of one step's losses in cells of equal size, as integers."""
    spacing = 14 * RATE * math.sqrt(math.expm1(MU * MU)) / POINTS
    q, mu, root = arb(RATE), arb(MU), arb(2).sqrt()
    found, before = [], arb(0)
    for number in range(POINTS + 1):
        loss = arb((number - POINTS // 2) * spacing)
        ratio = loss.expm1() / q
        z = (ratio.log1p() if ratio > -1 else arb(-10)) / mu + mu / 2
        below = ((1 - q) * (-z / root).erfc() + q * ((mu - z) / root).erfc()) / 2
        found.append(float((below - before) * (TILT * loss).exp()))
        before = below
    total = sum(found)
    return [int(mass / total * 2**BITS) for mass in found]


def composed(weights: list[int]) -> list[int]:
    """Return about the measure of 2^11 steps, window and lattice growing with its deviation."""
    for turn in range(SQUARINGS):
        product = fmpz_poly(weights) ** 2
        kept = POINTS * (1 + turn % 2)
        window = [int(c) for c in product.coeffs()][max(len(weights) - kept // 2, 0) :][:kept]
        if turn % 2:
            even, odd = window[::2], window[1::2]
            window = [e + (o + p) // 2 for e, o, p in zip(even, odd, [0, *odd], strict=False)]
        weights = [weight >> BITS for weight in window]
    return weights


if __name__ == "__main__":
    flint.ctx.prec = 80
    for _ in ("upper", "lower"):
        print(sum(composed(masses())) / 2**BITS)
