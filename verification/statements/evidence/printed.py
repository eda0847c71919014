"""E1: the printed sensitivities of mpADMM. The solver invents data sets, the float reference runs them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import z3

from reference.dataset import Dataset
from reference.losses import HuberizedHinge
from reference.mpadmm import ModelNoise, mpadmm
from reference.problem import Problem, State
from reference.regularizers import L1
from verification.lemmas.algorithms import RECORDS, later_step_size, printed_bounds
from verification.lemmas.prover import Prover
from verification.lemmas.terms import parameter
from verification.statements.evidence.proofs import counterexample
from verification.statements.model import Evidence, EvidenceResult, Kind

ETA, RHO = Fraction(4), Fraction(1, 2)
ROUNDING = 1e-9
"""Far above the rounding of a dozen operations on numbers of size 1, far below the violations sought."""


@dataclass(frozen=True, slots=True)
class Invented:
    """A pair of data sets with one feature, and where they start, as binary64 numbers."""

    kept: float
    mine: float
    theirs: float
    start: tuple[float, float, float]
    lam: float
    C: float
    eta: float
    rho: float

    @classmethod
    def from_model(cls, model: dict[str, Fraction]) -> Invented:
        """Unknowns that the solver left open are free: 0 will do."""

        def value(name: str) -> float:
            return float(model.get(name, Fraction(0)))

        start = (value("x0"), value("z0"), value("y0"))
        scalars = (value("lambda"), value("C"), value("eta"), value("rho"))
        return cls(value("kept"), value("s"), value("s_"), start, *scalars)

    def after_one_epoch(self, record: float) -> State:
        """One epoch of the float reference without noise."""
        data = Dataset.of([[record], [self.kept]], [1, 1])
        problem = Problem.of(data, HuberizedHinge(), L1(self.lam), rho=self.rho)
        initial = State(*(np.array([value]) for value in self.start))
        zero = np.zeros(1)
        return next(mpadmm(problem, initial, step_sizes=[self.eta], noise=[ModelNoise(zero, zero, zero)]))

    def moved(self, name: str) -> float:
        """How far apart the two data sets push x, z or y."""
        one, two = (getattr(self.after_one_epoch(record), name) for record in (self.mine, self.theirs))
        return abs(float(one[0] - two[0]))

    def __str__(self) -> str:
        """The two data sets and everything else that is needed to repeat it."""
        x, z, y = self.start
        return (
            f"D = {{({self.mine:g}, +1), ({self.kept:g}, +1)}}, D' = {{({self.theirs:g}, +1), ({self.kept:g}, +1)}}, "
            f"C = {self.C:g}, huberized hinge, L1 with lambda = {self.lam:g}, rho = {self.rho:g}, eta = {self.eta:g}, "
            f"x0 = {x:g}, z0 = {z:g}, y0 = {y:g}"
        )


def refuted(name: str) -> Evidence:
    """The printed bound on x, z or y is exceeded by more than rounding; at eta = 4 by a factor of 3.9 or more."""

    def run(prover: Prover) -> EvidenceResult:
        hypotheses, _ = printed_bounds()[name]
        violated = printed_bounds(factor=z3.Q(39, 10))[name][1]
        chosen = (parameter("eta") == z3.Q(ETA.numerator, 1), parameter("rho") == z3.Q(1, 2), parameter("C") == 1)
        model = counterexample(prover, (*hypotheses, *chosen), violated)
        if isinstance(model, EvidenceResult):
            return model
        invented = Invented.from_model(model)
        scale = invented.rho if name == "y" else 1.0
        printed = scale * 2 * invented.C / (RECORDS * (1 + invented.eta * invented.rho))
        moved = invented.moved(name)
        witness = f"{invented}: |d{name}| = {moved:.6g}, printed bound {printed:.6g}"
        return EvidenceResult.check(
            moved > printed * (1 + ROUNDING), f"exceeded {moved / printed:.4g} times", witness=witness
        )

    return Evidence(f"a pair of data sets that violates the printed {name} bound", Kind.WITNESS, run)


def later_step_refuted() -> Evidence:
    """With eta^{k+1} even the corrected bound is exceeded, wherever steps shrink. Statement E2."""

    def run(prover: Prover) -> EvidenceResult:
        hypotheses, bound = later_step_size()
        later = z3.Q(1, 2)
        chosen = (
            parameter("eta") == 1,
            parameter("eta_next") == later,
            parameter("rho") == z3.Q(1, 2),
            parameter("C") == 1,
        )
        model = counterexample(prover, (*hypotheses, *chosen), bound)
        if isinstance(model, EvidenceResult):
            return model
        invented = Invented.from_model(model)
        following = float(model["eta_next"])
        claimed = 2 * invented.C * following / (RECORDS * (1 + following * invented.rho))
        moved = invented.moved("x")
        witness = f"{invented}, eta^1 = {following:g}: |dx| = {moved:.6g}, bound with eta^1 {claimed:.6g}"
        return EvidenceResult.check(
            moved > claimed * (1 + ROUNDING), f"exceeded {moved / claimed:.4g} times", witness=witness
        )

    return Evidence("a shrinking schedule that violates the bound with eta^{k+1}", Kind.WITNESS, run)
