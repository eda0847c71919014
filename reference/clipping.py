"""Clipping each record's gradient to norm C: the alternative to normalising the records."""

from __future__ import annotations

from reference.arithmetic import Scalar, Vector, number_system


def clipped_slopes(slopes: Vector, norms: Vector, bound: Scalar) -> Vector:
    """Shrink each record's slope so that its gradient ``slope * label * features`` is no longer than the bound.

    *Formal guarantee:* |result| * norm <= bound for every record, to rounding; statement CLIP.

    ======================  =====================================
    record                  result
    ======================  =====================================
    norm = 0                the slope (its gradient is 0 anyway)
    |slope| norm <= bound   the slope, bit for bit
    |slope| norm > bound    sign(slope) * bound/norm
    ======================  =====================================

    NaN never gets here: :class:`reference.dataset.Dataset` refuses it.
    """
    system = number_system(slopes)
    size = system.absolute(slopes)
    # Compared and divided through `norm`, not through the product's own size: slope * norm may underflow.
    too_long = system.greater(size * norms, bound)
    allowed = bound / system.where(too_long, norms, 1.0)
    return system.where(too_long, system.where(system.greater(slopes, 0.0), allowed, -allowed), slopes)
