"""Statements about losses, clipping, preprocessing, proximal maps and updates."""

from __future__ import annotations

from verification.lemmas import loss_slopes, proximal, reduction, thresholds, update_steps
from verification.statements.evidence import floats
from verification.statements.evidence.proofs import coordinatewise, proof
from verification.statements.model import Statement, Status

STATEMENTS = (
    Statement(
        "LOSS-LOGISTIC",
        "The logistic loss has slope in [-1, 0] and curvature at most 1/4, exactly to 4 ulp at every finite margin.",
        "[CL20] equation (9)",
        Status.PROVED,
        (proof(loss_slopes.logistic), floats.losses_at_every_margin(), floats.slope_is_the_derivative()),
    ),
    Statement(
        "LOSS-HUBER",
        "The huberized hinge has slope in [-1, 0], its slope is its derivative, and its curvature is at most 1/(2h).",
        "[CL20] section 5.1",
        Status.PROVED,
        (proof(loss_slopes.huber), floats.losses_at_every_margin(), floats.curvatures_are_attained()),
    ),
    Statement(
        "LOSS-HUBER-CASES",
        "The clamped form of the huberized hinge is the paper's function in three cases.",
        "[CL20] section 5.1",
        Status.PROVED,
        (proof(loss_slopes.huber_cases),),
    ),
    Statement(
        "CLIP",
        "A clipped gradient is no longer than the bound; one that was short enough keeps its bits.",
        "[CL20] section 3.3, bounded gradient",
        Status.PROVED,
        (proof(loss_slopes.clip), floats.clipping_in_bits()),
    ),
    Statement(
        "INTERCEPT-ORDER",
        "With the intercept added before normalising every record has length 1; in the other order it has sqrt 2.",
        "[CL20] section 5.3",
        Status.HOLDS,
        (floats.intercept_before_normalising(),),
    ),
    Statement(
        "SOFT-THRESHOLD",
        "The soft threshold contracts, keeps order and sign, and is the paper's function in three cases.",
        "[CL20] equation (17) and the list of cases in section 4.2",
        Status.PROVED,
        (proof(thresholds.contraction), coordinatewise()),
    ),
    Statement(
        "PROX-FIRM",
        "Every convex regularizer's proximal map is the minimiser it is said to be, and firmly nonexpansive.",
        "[CL20] section 4.2, for the soft threshold; here for every convex h",
        Status.PROVED,
        (
            proof(proximal.minimisers, proximal.firm, proximal.any_convex),
            proof(reduction.sums),
            coordinatewise(),
            floats.nuclear_norm_is_proximal(),
        ),
    ),
    Statement(
        "UPDATE-X",
        "The x update is the one minimiser of the approximated augmented Lagrangian.",
        "[CL20] equation (13)",
        Status.PROVED,
        (proof(update_steps.minimiser), coordinatewise()),
    ),
    Statement(
        "SCHEDULES",
        "The step size of iteration k is eta0/h in the h-th expected epoch of n/m iterations, h = 1 from k = 0.",
        "[CL20] section 5.4",
        Status.HOLDS,
        (floats.epochs_of_the_schedule(),),
    ),
    Statement(
        "GRID",
        "Rounding to a grid moves neighbours apart by at most grid sqrt(p) more, and nearly that much can happen.",
        "not in the paper: exact discrete noise",
        Status.HOLDS,
        (floats.grid_moves_by_half(), floats.pairs_on_the_grid()),
    ),
)
