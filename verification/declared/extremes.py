"""Too few large values, and values that occur again and again: noise that was cut off.

Cut-off noise hides nothing near its ends: what lies beyond them shows which of two neighbours it was.
"""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from verification.deployment.sighting import Aspect, Sighting, TailFamily, union
from verification.wire.arrays import Floats
from verification.wire.declaration import DeclaredValue, NoiseKind

THRESHOLDS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
_COARSEST = 2.0**-20
"""No single number of noise drawn in single precision, over its scale, is more likely than this: its values lie at
least 2^-24 of their size apart up to 16 times the scale, and no density here exceeds 1."""
_FEWEST = 4


def light_tails(where: str, noise: dict[str, Floats]) -> Sighting:
    """Whether fewer values than declared are large; standard normal if all is well, and larger noise has more."""
    families = []
    for name, array in noise.items():
        sizes = np.abs(array).ravel()
        for threshold in THRESHOLDS:
            count, chance = int(np.sum(sizes > threshold)), 2 * float(stats.norm.sf(threshold))
            tail = np.array([float(stats.binom.cdf(count, sizes.size, chance))])
            families.append(TailFamily(f"{name}: {count} of {sizes.size} beyond {threshold:g} deviations", tail))
    p_value, at = union(families)
    return Sighting(f"noise-tails {where}", Aspect.NOISE, p_value, f"least likely: {at}", cause="noise is cut off")


def atoms(where: str, noise: dict[str, Floats], values: dict[str, DeclaredValue]) -> Sighting:
    """Whether one size of noise occurs again and again, which continuous noise does not, even in single precision."""
    families = []
    for name, array in noise.items():
        if values[name].noise is NoiseKind.DISCRETE or not array.size:
            continue
        sizes, counts = np.unique(np.abs(array), return_counts=True)
        most = int(counts.max())
        # of n numbers, some c are equal with probability at most binom(n, c) times (the likeliest number)^(c - 1)
        ways = special.gammaln(array.size + 1) - special.gammaln(most + 1) - special.gammaln(array.size - most + 1)
        chance = min(1.0, float(np.exp(min(0.0, ways + (most - 1) * np.log(2 * _COARSEST)))))
        label = f"{name}: the size {sizes[counts.argmax()]:.6g} occurs {most} times"
        families.append(TailFamily(label, np.array([chance if most >= _FEWEST else 1.0])))
    p_value, at = union(families)
    return Sighting(f"noise-atoms {where}", Aspect.NOISE, p_value, f"least likely: {at}", cause="noise is cut off")
