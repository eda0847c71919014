"""How to look inside each algorithm: what its iterates say about the gradients, batches and noise behind them.

`base` says what there is to know; one file a kind of iteration; `INSIDE` has one entry an algorithm.
"""

from __future__ import annotations

from verification.conformance.inside.admm import GradientPerturbed, ModelPerturbed
from verification.conformance.inside.base import Inside
from verification.conformance.inside.parties import Parties
from verification.conformance.inside.proximal import InsideProximal
from verification.conformance.inside.solved import InsideSolved
from verification.conformance.inside.svrg import InsideSvrg
from verification.wire.parameters import Algorithm

__all__ = ["INSIDE", "Inside"]

INSIDE: dict[Algorithm, Inside] = {
    Algorithm.SSADMM: GradientPerturbed(Algorithm.SSADMM),
    Algorithm.MPADMM: ModelPerturbed(Algorithm.MPADMM),
    Algorithm.DPSGD: InsideProximal(Algorithm.DPSGD),
    Algorithm.DPADMM: Parties(Algorithm.DPADMM),
    Algorithm.DPSVRG: InsideSvrg(Algorithm.DPSVRG),
    Algorithm.OBJP: InsideSolved(Algorithm.OBJP),
    Algorithm.SADMM: GradientPerturbed(Algorithm.SADMM),
    Algorithm.ADMM: InsideSolved(Algorithm.ADMM),
}
