"""Statements about sensitivity: the gradient's, and those of x, z, y, printed and corrected."""

from __future__ import annotations

from verification.lemmas import gradients, reduction, update_steps
from verification.statements.evidence import attacks, floats, printed
from verification.statements.evidence.proofs import coordinatewise, proof
from verification.statements.model import Statement, Status

_CORRECTED = "2C eta^k/(n(1+eta^k rho))"

STATEMENTS = (
    Statement(
        "SENS-GRADIENT",
        "Replacing one record of a batch of m moves the mean gradient by at most 2C/m.",
        "[CL20] proof of Theorem 1",
        Status.PROVED,
        (
            proof(gradients.one_term_changes, gradients.lengths),
            floats.gradient_bounds_are_attained(),
            attacks.attained("gradient", attacks.SSADMM),
            attacks.searched("gradient", attacks.SSADMM),
        ),
    ),
    Statement(
        "SENS-X",
        f"One epoch moves x by at most Delta(x) = {_CORRECTED}, and by exactly eta/(1+eta rho) times the gradient.",
        "[CL20] section 4.2, corrected",
        Status.PROVED,
        (
            proof(update_steps.primal, reduction.sums),
            coordinatewise(),
            attacks.attained("x", attacks.MPADMM),
            attacks.searched("x", attacks.MPADMM),
        ),
    ),
    Statement(
        "SENS-Z",
        "z moves no more than x, coordinate by coordinate and in the same direction, for every convex regularizer.",
        "[CL20] section 4.2",
        Status.PROVED,
        (proof(update_steps.copy, reduction.sums), coordinatewise(), attacks.attained("z", attacks.MPADMM)),
    ),
    Statement(
        "SENS-Y",
        "y moves at most rho times as far as x.",
        "[CL20] section 4.2",
        Status.PROVED,
        (proof(update_steps.dual, reduction.sums), coordinatewise(), attacks.attained("y", attacks.BOTH_ENDS[1])),
    ),
    Statement(
        "SENS-X-PRINTED",
        "Delta(x) <= 2C/(n(1+eta rho)) for every eta.",
        "[CL20] section 4.2",
        Status.REFUTED,
        (printed.refuted("x"),),
        truth=f"Delta(x) <= {_CORRECTED}; what is printed is valid for eta <= 1 and violated for eta > 1",
    ),
    Statement(
        "SENS-Z-PRINTED",
        "Delta(z) <= 2C/(n(1+eta rho)) for every eta.",
        "[CL20] section 4.2",
        Status.REFUTED,
        (printed.refuted("z"),),
        truth=f"Delta(z) <= {_CORRECTED}",
    ),
    Statement(
        "SENS-Y-PRINTED",
        "Delta(y) <= 2 rho C/(n(1+eta rho)) for every eta.",
        "[CL20] section 4.2",
        Status.REFUTED,
        (printed.refuted("y"),),
        truth=f"Delta(y) <= rho {_CORRECTED}",
    ),
    Statement(
        "SENS-PRINTED-SMALL-STEP",
        "For eta <= 1 the printed Delta(x) <= 2C/(n(1+eta rho)) holds, and with it those of z and y.",
        "[CL20] section 4.2",
        Status.PROVED,
        (proof(update_steps.printed_for_small_steps, update_steps.dual),),
    ),
    Statement(
        "JOINT",
        "One epoch moves (x, z, y) jointly by at most sqrt(1+max(1,rho^2)) Delta(x), attained at both ends.",
        "better than [CL20] Theorem 3, which adds the three squares: 2 + rho^2",
        Status.PROVED,
        (
            proof(update_steps.joint, reduction.sums),
            attacks.attained("joint", *attacks.BOTH_ENDS),
            attacks.priced(),
        ),
        aliases=("J",),
    ),
)
