"""Errata where the paper is silent or loose: E5, E12, E16, E18, and what the printed sensitivities cost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import z3

from accountant import MpADMM, Release, Sensitivity, SsADMM
from accountant.errors import UnsupportedSchemeError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep
from accountant.mechanisms.words import Sampling
from accountant.numbers import arb_precision
from accountant.renyi.moments import Subsampling, ledger_log_moment
from reference.dataset import Dataset, min_max_bounds
from reference.losses import HuberizedHinge
from reference.problem import Problem
from reference.regularizers import Unregularized
from verification.lemmas.obligation import Obligation
from verification.lemmas.prover import Prover
from verification.lemmas.terms import square
from verification.statements.model import Evidence, EvidenceResult, Kind


def ratio_is_not_the_loss() -> Evidence:
    """E5: randomised response is 1-DP; its ratio leaves [-1, 1], the ratio's logarithm does not."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - arithmetic
        truth = math.e / (1 + math.e)
        ratios = [truth / (1 - truth), (1 - truth) / truth]
        losses = [math.log(ratio) for ratio in ratios]
        witness = f"randomised response at epsilon = 1: ratio {ratios[0]:.4f} > 1, log ratio {losses[0]:.4f}"
        return EvidenceResult.check(max(ratios) > 1 and max(losses) <= 1 + 1e-15, "both outcomes", witness=witness)

    return Evidence("randomised response", Kind.WITNESS, run)


def scaling_reads_the_data() -> Evidence:
    """E12: with the data's own minimum and maximum, one record changes the features of all others."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64
        n = 100
        usual = Dataset.of(np.full((n, 1), 1.0), np.ones(n)).replace(1, [0.0], 1)
        other = usual.replace(0, [1000.0], 1)
        gradients = []
        for data in (usual, other):
            scaled = data.scaled(*min_max_bounds(data))
            problem = Problem.of(scaled, HuberizedHinge(), Unregularized(), rho=1.0)
            gradients.append(problem.gradient(np.zeros(1)))
        moved = abs(float(gradients[0][0] - gradients[1][0]))
        fixed = [
            Problem.of(data.scaled(0.0, 1000.0), HuberizedHinge(), Unregularized(), rho=1.0).gradient(np.zeros(1))
            for data in (usual, other)
        ]
        public = abs(float(fixed[0][0] - fixed[1][0]))
        witness = f"n = 100, one record: the mean gradient moves by {moved:.3f}, claimed 2C/n = {2 / n}"
        return EvidenceResult.check(
            moved > 2 / n >= public, f"with public bounds it moves by {public:.4f}", witness=witness
        )

    return Evidence("min-max scaling", Kind.WITNESS, run)


def sampling_schemes() -> Evidence:
    """E18: a record drawn twice counts twice, 4C/m; the accountant refuses every scheme without a proof."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64
        data = Dataset.of([[1.0], [1.0], [1.0]], [1, 1, 1])
        other = data.replace(0, [-1.0], 1)
        twice = np.array([0, 0, 1])
        gradients = [
            Problem.of(d, HuberizedHinge(), Unregularized(), rho=1.0).gradient(np.zeros(1), twice)
            for d in (data, other)
        ]
        moved = abs(float(gradients[0][0] - gradients[1][0]))
        accepted = []
        for scheme in Sampling:
            try:
                SsADMM(records=100, batch=10, iterations=1, noise_multiplier=1, sampling=scheme).ledger()
                accepted.append(scheme)
            except UnsupportedSchemeError:
                continue
        witness = f"batch (0, 0, 1) of m = 3: the gradient moves by {moved:.4f}, 2C/m is {2 / 3:.4f}"
        holds = set(accepted) == {Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT} and moved > 2 / 3
        return EvidenceResult.check(holds, "schemes without a theorem refused", witness=witness)

    return Evidence("sampling schemes", Kind.WITNESS, run)


def noise_is_orthogonal() -> list[Obligation]:
    """E16: averaged over gamma and -gamma, (g + gamma)^2 is g^2 + gamma^2, and <gamma, v> is 0."""
    g, gamma, v = z3.Reals("g gamma v")
    mean = (square(g + gamma) + square(g - gamma)) / 2
    return [
        Obligation("noise adds its square", (), mean == square(g) + square(gamma), mean == square(g)),
        Obligation("noise has no drift", (), gamma * v + (-gamma) * v == 0, gamma * v == 0),
    ]


def printed_epsilon_is_too_small() -> Evidence:
    """At eta = 4 the printed Renyi cost of Algorithm 2 is a sixteenth of the truth; at eta = 1 they agree."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls
        ratios = {}
        for eta in (1, 4):
            costs = [_renyi(eta, sensitivity) for sensitivity in (Sensitivity.CORRECTED, Sensitivity.PRINTED)]
            ratios[eta] = costs[0] / costs[1]
        witness = f"eta = 4, rho = 1/2: epsilon(alpha) is {ratios[4]} times what is printed"
        return EvidenceResult.check(ratios == {1: 1, 4: 16}, "release x alone, exact rationals", witness=witness)

    return Evidence("printed Renyi cost", Kind.WITNESS, run)


def _renyi(eta: int, sensitivity: Sensitivity) -> Fraction:
    ledger = MpADMM(
        records=100, eta=eta, rho="1/2", clip=1, sigma=1, iterations=3, release=Release.PRIMAL, sensitivity=sensitivity
    ).ledger()
    total = Fraction(0)
    for step in ledger.steps:
        if not isinstance(step, GaussianStep):
            raise TypeError(f"mpADMM's ledger holds Gaussian releases, got {step}")
        total += step.count * step.ratio_squared
    return total


def ledgers_add() -> Evidence:
    """Theorems 1 and 3: the cost of T iterations is T times that of one, and ledgers in sequence add."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls
        one = SsADMM(records=1000, batch=100, iterations=1, noise_multiplier=4).ledger()
        many = SsADMM(records=1000, batch=100, iterations=7, noise_multiplier=4).ledger()
        joined: Ledger = one
        for _ in range(6):
            joined = joined + one
        with arb_precision(128):
            for theorem in Subsampling:
                costs = [ledger_log_moment(ledger, theorem, Fraction(5), 128) for ledger in (one, many, joined)]
                if not (costs[1].overlaps(7 * costs[0]) and costs[2].overlaps(costs[1])):
                    return EvidenceResult.check(False, f"{theorem.value}: {costs}")
        return EvidenceResult.check(True, "7 iterations, every theorem", tightness=1.0)

    return Evidence("ledgers add", Kind.ENCLOSURE, run)


def primal_release_is_cheaper() -> Evidence:
    """Statement P: at rho = 1/2 the joint release costs 2, three separate ones 9/4, x alone 1 (times Delta(x)^2)."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rationals
        costs = {}
        for release in Release:
            ledger = MpADMM(records=100, eta=4, rho="1/2", clip=1, sigma=1, iterations=1, release=release).ledger()
            step = ledger.steps[0]
            costs[release] = step.ratio_squared if isinstance(step, GaussianStep) else Fraction(0)
        ratio = costs[Release.ALL] / costs[Release.PRIMAL]
        return EvidenceResult.check(ratio == 2, f"joint release costs {ratio} times x alone", tightness=1.0)

    return Evidence("cost of the releases", Kind.ENCLOSURE, run)
