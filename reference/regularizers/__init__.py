r"""Regularizers ``lambda h``: value, proximal map, and Lipschitz constant of the map.

``prox(w, rho)`` is the minimiser over z of ``lambda h(z) + (rho/2) ||z - w||^2``, the z update of ADMM at
``w = x + y/rho``. The last axis is the model; leading axes, if any, are independent runs.

For every convex h the map is firmly nonexpansive (statement PROX-FIRM), so what it releases is no more sensitive than
what it was given. SCAD and MCP are not convex and stretch by ``lipschitz(rho)`` (E11).
"""

from reference.regularizers.base import Regularizer
from reference.regularizers.folded import MCP, SCAD
from reference.regularizers.matrix import NuclearNorm
from reference.regularizers.separable import L1, ElasticNet, GroupL1, Unregularized, soft_threshold

__all__ = [
    "L1",
    "MCP",
    "SCAD",
    "ElasticNet",
    "GroupL1",
    "NuclearNorm",
    "Regularizer",
    "Unregularized",
    "soft_threshold",
]
