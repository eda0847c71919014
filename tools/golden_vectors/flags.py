"""What each flag of a vector means: the class of bug that it detects, and its effect."""

from __future__ import annotations

from verification.vectors.model import Flag


def _flag(bug: str, effect: str) -> Flag:
    return Flag(bug=bug, effect=effect)


FLAGS: dict[str, Flag] = {
    "plain": _flag("a wrong sign, factor or argument in an update", "wrong iterates"),
    "old-dual": _flag("the z update uses the new y, or the x update a y of another iteration", "wrong iterates"),
    "step-index": _flag("eta^{k+1} in place of eta^k (erratum E2)", "another sensitivity than was accounted for"),
    "step-size": _flag("eta missing in the step eta/(1+eta rho) (erratum E1)", "sensitivity wrong by a factor eta"),
    "threshold": _flag("threshold lambda, lambda eta or lambda rho in place of lambda/rho", "wrong sparsity"),
    "at-threshold": _flag("a jump, or the wrong case, where a threshold is met exactly", "sensitivity without a bound"),
    "batch-mean": _flag("the sum over the batch, or division by n", "sensitivity wrong by a factor m or m/n"),
    "clipping": _flag("the mean is clipped, or features for gradients", "one record moves the mean by more than 2C/m"),
    "normalising": _flag("rows normalised with the wrong norm or to the wrong length", "C is exceeded"),
    "intercept": _flag("the ones column is last, or comes after normalising", "C is exceeded by up to sqrt 2"),
    "zero-row": _flag("division by a row's length of 0", "NaN is released"),
    "huge-row": _flag("the square of a feature overflows", "the record is not clipped, or NaN is released"),
    "tiny-row": _flag("the square of a feature underflows", "the length is taken for 0 and the record not bounded"),
    "saturated": _flag("overflow or cancellation in the loss at large margins", "NaN, or gradients lost"),
    "initial": _flag("a start other than 0 is ignored", "an audit that moves the start sees half the sensitivity"),
    "noise-order": _flag("noise of x, z and y exchanged or misplaced", "something leaves without noise"),
    "release": _flag("release primal computes z and y from x before its noise", "z and y reveal x without noise"),
    "huber-knees": _flag("the wrong case at margins 1-h and 1+h", "a slope outside [-1, 0]"),
    "labels": _flag("labels ignored, or used twice", "gradients of the wrong sign"),
    "precision": _flag("single precision, or decimals cut short", "wrong digits; noise in fewer bits than assumed"),
    "subnormal": _flag("subnormal numbers flushed to zero", "zeros where noise should be"),
    "scale": _flag("rho, eta, lambda or C fixed at a usual value, or used at the wrong power", "wrong iterates"),
    "elastic-net": _flag("the L1 share exchanged with the ridge share, or the ridge not scaled", "wrong iterates"),
    "folded": _flag("a region of SCAD or MCP wrong", "sensitivity larger than L Delta(x)"),
    "groups": _flag("norm over the wrong coordinates; a free coordinate penalised", "wrong iterates"),
    "matrix": _flag("column-major reading, or a threshold on entries", "wrong iterates"),
    "refused": _flag("bad input is accepted", "a claim about a mechanism that cannot carry it"),
    "non-finite": _flag("NaN or infinity is accepted", "NaN spreads to the model, and to whoever gets it"),
    "jump": _flag("a proximal map that jumps is accepted (erratum E11)", "no sensitivity bound exists"),
    "proximal-step": _flag("the proximal step has threshold lambda or lambda/rho, not lambda eta", "wrong sparsity"),
    "party-mean": _flag("the sum, or the plain mean of parties of unequal size", "records of small parties count more"),
    "control-variate": _flag("the anchor of another epoch, or the correction's sign", "wrong iterates"),
    "anchor-noise": _flag("the full gradient is used without its noise", "a full gradient leaves without noise"),
    "objective": _flag("b not divided by n, the ridge missing, or the old iterate in the solve", "another epsilon"),
}
