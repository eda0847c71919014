"""Non-convex regularizers where no noise is enough: their proximal map jumps, and nothing may be released from it."""

from __future__ import annotations

import numpy as np

from verification.conformance.check import MPADMM_ALL, Check, Family, NotApplicable, Observation
from verification.conformance.context import Context
from verification.conformance.observe import noiseless
from verification.wire.faults import AdapterRefusal
from verification.wire.parameters import RegularizerName, RegularizerOptions
from verification.wire.records import Records

_RHO = 0.25  # 1/rho = 4: SCAD needs a > 5, MCP gamma > 4; the customary 3.7 and 3 fall short
_JUMPING = {RegularizerName.SCAD: RegularizerOptions(a=3.7), RegularizerName.MCP: RegularizerOptions(gamma=3.0)}


def _refused(context: Context) -> Observation:
    offered = [name for name in context.description.regularizers if name in _JUMPING]
    if not offered:
        raise NotApplicable("no non-convex regularizer is offered")
    records = Records(np.eye(4), np.ones(4, dtype=np.int64))
    for regularizer in offered:
        options = _JUMPING[regularizer]
        admissible = context.parameters(
            4, eta=[1.0], batch=4, sigma=1.0, rho=_RHO, lambda_=0.1, regularizer=regularizer
        )
        parameters = admissible.model_copy(update={"options": options})
        try:
            noiseless(context, records, parameters, may_refuse=True)
        except AdapterRefusal:
            continue
        shape = options.a if options.a is not None else options.gamma
        return Observation.exact(
            False, f"{regularizer} of shape {shape} was accepted at rho {_RHO:g}: its proximal map jumps there"
        )
    return Observation.exact(True, f"{' and '.join(offered)} are refused where their proximal map jumps")


CHECKS = (
    Check(
        "refuses-jumping-prox",
        Family.SENSITIVITY,
        "SCAD or MCP inside mpADMM with a shape at which z has no sensitivity bound at all",
        ("E11",),
        _refused,
        statistical=False,
        modes=(MPADMM_ALL,),
    ),
)
