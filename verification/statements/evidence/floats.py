"""Evidence about the shipped binary64 functions that a solver cannot give: rounding, huge arguments, bit identity."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from reference.arithmetic import digits
from reference.clipping import clipped_slopes
from reference.dataset import Dataset, row_norms
from reference.errors import InvalidParameter
from reference.losses import HuberizedHinge, Logistic
from reference.problem import Problem
from reference.regularizers import MCP, SCAD, NuclearNorm, Unregularized
from reference.rounding import on_grid
from reference.schedules import Constant, PerEpoch
from verification.lemmas.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind

ULP = 2.0**-52
MARGINS = np.array(
    [sign * value for value in (0.0, 1e-300, 1e-9, 0.3, 0.5, 1.0, 1.5, 3.0, 36.0, 700.0, 746.0, 1e6, 1e300, 1.7e308)
     for sign in (1, -1)]
)  # fmt: skip


def losses_at_every_margin() -> Evidence:
    """Value and slope agree with 60 digits to 4 ulp, at margins up to 1.7e308, and slopes stay in [-1, 0]."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - digits, not symbols
        system = digits(400)  # e^-746 and 1e-300 beside 1 need more than 60 digits
        worst = 0.0
        for loss in (Logistic(), HuberizedHinge()):
            slopes = loss.slope(MARGINS)
            if not (np.all(slopes >= -1) and np.all(slopes <= 0)):
                return EvidenceResult.check(False, f"{loss.name}: a slope left [-1, 0]")
            for function in (loss.value, loss.slope):
                exact = function(system.array(MARGINS))
                got = function(MARGINS)
                # One unit in the last place of the exact value, and never less than the least subnormal.
                for mine, true in zip(got, exact, strict=True):
                    unit = abs(true) * system.scalar(ULP) + system.scalar(5e-324)
                    worst = max(worst, float(abs(true - system.scalar(float(mine))) / unit))
        return EvidenceResult.check(worst <= 4, f"{len(MARGINS)} margins, at most {worst:.2f} ulp from the exact value")

    return Evidence("losses against 400 digits", Kind.ENCLOSURE, run)


def slope_is_the_derivative() -> Evidence:
    """(phi(v+h) - phi(v-h))/2h tends to phi'(v): in 60 digits with h = 1e-20 the difference is below 1e-35."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - digits, not symbols
        system = digits(60)
        v = system.array(np.linspace(-30, 30, 241))
        h = system.scalar(1.0) / 10**20
        loss = Logistic()
        central = (loss.value(v + h) - loss.value(v - h)) / (2 * h)
        curvature = (loss.slope(v + h) - loss.slope(v - h)) / (2 * h)
        off = max(abs(a - b) for a, b in zip(central, loss.slope(v), strict=True))
        largest = max(curvature)
        # The error of the central difference is h^2/6 times a third derivative below 0.1: 2e-42; digits leave 1e-39.
        holds = bool(off < 10**-35) and bool(largest <= system.scalar(0.25) + system.scalar(1.0) / 10**35)
        return EvidenceResult.check(holds, "241 margins", tightness=float(largest) * 4)

    return Evidence("logistic slope and curvature", Kind.ATTACK, run)


def curvatures_are_attained() -> Evidence:
    """The steepest rise of phi' between neighbouring margins is the stated curvature, for every h."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64
        step = 2.0**-12
        margins = np.arange(-4.0, 4.0, step)
        reached = 1.0
        for loss in (Logistic(), HuberizedHinge(0.25), HuberizedHinge(0.5), HuberizedHinge(1.0)):
            rises = np.diff(loss.slope(margins)) / step
            share = float(rises.max()) / loss.curvature
            # Two slopes of size at most 1, each rounded: 2 ulp over the step.
            if share > 1 + 4 * ULP / (step * loss.curvature):
                return EvidenceResult.check(False, f"{loss.name}: a rise of {rises.max()}, curvature {loss.curvature}")
            reached = min(reached, share)
        return EvidenceResult.check(reached > 0.999, "4 losses", tightness=reached)

    return Evidence("curvatures are attained", Kind.ATTACK, run)


def gradient_bounds_are_attained() -> Evidence:
    """No record's gradient is longer than the problem says, and one is as long: normalised, as given, and clipped."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64
        reached = 1.0
        for longest, clip in ((0.5, None), (3.0, None), (3.0, 1.0), (0.5, 1.0)):
            data = Dataset.of([[longest, 0.0], [0.0, longest / 4]], [1, -1])
            problem = Problem.of(data, HuberizedHinge(), Unregularized(), rho=1.0, clip=clip)
            lengths = [float(np.linalg.norm(problem.gradient(np.zeros(2), np.array([i])))) for i in range(2)]
            share = max(lengths) / problem.gradient_bound
            if share > 1 + 4 * ULP:
                return EvidenceResult.check(
                    False, f"length {longest}, clip {clip}: {max(lengths)} > {problem.gradient_bound}"
                )
            reached = min(reached, share)
        return EvidenceResult.check(reached > 0.999, "4 problems", tightness=reached)

    return Evidence("gradient bounds are attained", Kind.ATTACK, run)


def clipping_in_bits() -> Evidence:
    """A short gradient keeps its bits; a long one ends within 2 ulp of the bound; nothing overflows."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64
        rng = np.random.default_rng(4)
        slopes = np.concatenate([-rng.random(500), [-1.0, -0.0, -5e-324, -1.0]])
        norms = np.concatenate([10 ** rng.uniform(-300, 300, 500), [0.0, 1e308, 1e308, 1e308]])
        for bound in (1e-8, 1.0, 7.25):
            result = clipped_slopes(slopes, norms, bound)
            short = np.abs(slopes) * norms <= bound
            if not np.array_equal(result[short], slopes[short]):
                return EvidenceResult.check(False, "a gradient that was short enough changed")
            if not np.all(np.abs(result[~short]) * norms[~short] <= bound * (1 + 2 * ULP)):
                return EvidenceResult.check(False, "a clipped gradient is longer than the bound")
        return EvidenceResult.check(True, "3 bounds x 504 records, norms from 1e-300 to 1e308")

    return Evidence("clipping in binary64", Kind.ATTACK, run)


def intercept_before_normalising() -> Evidence:
    """Intercept first: length 1. Normalised first: length sqrt 2, and the bound C = 1 is broken."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64
        rng = np.random.default_rng(5)
        data = Dataset.of(rng.normal(size=(200, 4)) * 10 ** rng.uniform(-8, 8, (200, 1)), np.ones(200))
        right = row_norms(data.with_intercept().normalised().features)
        wrong = row_norms(data.normalised().with_intercept().features)
        # 5 products and sums and two divisions: 16 roundings at most.
        holds = bool(np.all(np.abs(right - 1) <= 16 * ULP)) and bool(np.all(np.abs(wrong - math.sqrt(2)) <= 16 * ULP))
        witness = f"normalise, then add the intercept: longest row {wrong.max():.6f} > 1"
        return EvidenceResult.check(holds, "200 records", witness=witness)

    return Evidence("both orders", Kind.ATTACK, run)


def nuclear_norm_is_proximal() -> Evidence:
    r"""The optimality conditions of the nuclear norm, in 60 digits: sigma_max(w - z) <= t, <w - z, z> = t ||z||_*.

    They say that (w - z)/t is a subgradient at z, so z is the minimiser, and firm nonexpansiveness follows for it from
    the lemma about every convex h.
    """

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - digits, not symbols
        system, rng = digits(60), np.random.default_rng(6)
        tiny = system.scalar(1.0) / 10**45
        for rows, columns in ((2, 3), (3, 2), (2, 2)):
            for lam in (0.0, 0.3, 5.0):
                regularizer = NuclearNorm(lam, rows, columns)
                w = system.array(rng.normal(size=rows * columns))
                rho = system.scalar(0.5)
                z = regularizer.prox(w, rho)
                t = system.scalar(lam) / rho
                rest = w - z
                largest = system.svd(rest.reshape(rows, columns))[1].max()
                alignment = abs(rest @ z - t * NuclearNorm(1.0, rows, columns).value(z))
                if not (bool(largest <= t + tiny) and bool(alignment <= tiny)):
                    return EvidenceResult.check(False, f"{rows} x {columns}, lambda={lam}: not a subgradient")
        return EvidenceResult.check(True, "9 matrices, conditions hold to 45 digits")

    return Evidence("nuclear norm: optimality conditions", Kind.ATTACK, run)


def folded_refused_where_they_jump() -> Evidence:
    """Where a <= 1 + 1/rho (gamma <= 1/rho) the closed form is no minimiser, and the reference refuses."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - binary64
        accepted = []
        for regularizer in (SCAD(1.0, 3.7), MCP(1.0, 3.0)):
            for rho in (0.25, 0.1):
                try:
                    regularizer.prox(np.array([1.0]), rho)
                except InvalidParameter:
                    continue
                accepted.append(f"{regularizer.name} at rho={rho}")
        # MCP at gamma = 3, rho = 0.25 (tau = 4): the formula's own point against a better one.
        w, tau, gamma = 3.2, 4.0, 3.0
        formula = (w - tau) / (1 - tau / gamma)
        cost = {v: min(abs(v), gamma) * (1 - min(abs(v), gamma) / (2 * gamma)) + (v - w) ** 2 / (2 * tau)
                for v in (formula, w, 0.0)}  # fmt: skip
        witness = f"MCP, gamma=3, rho=0.25, lambda=1, w=3.2: the formula costs {cost[formula]:.4f}, z=w {cost[w]:.4f}"
        return EvidenceResult.check(
            not accepted and cost[formula] > min(cost.values()), "refused at rho = 0.25 and 0.1", witness=witness
        )

    return Evidence("SCAD and MCP refused where they jump", Kind.WITNESS, run)


def epochs_of_the_schedule() -> Evidence:
    """eta0/h with h = 1, 2, ... the expected epoch of n/m iterations: checked in rationals at every iteration."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rationals
        for n, m in ((10, 3), (48842, 221), (100, 100), (7, 1), (1000, 999)):
            schedule = PerEpoch(2.0, n, m)
            for k in (*range(60), n // m - 1, n // m, n // m + 1, 10 * n // m, 10 * n // m + 1):
                epoch = 1 + math.floor(Fraction(k * m, n))
                if schedule.step(k) != 2.0 / epoch:
                    return EvidenceResult.check(False, f"n={n}, m={m}, k={k}: {schedule.step(k)} for epoch {epoch}")
        constant = Constant(0.7)
        return EvidenceResult.check(constant.step(0) == constant.step(99) == 0.7, "5 pairs of n and m")

    return Evidence("epochs of the schedule", Kind.ENCLOSURE, run)


def grid_moves_by_half() -> Evidence:
    """on_grid moves a coordinate by at most grid/2 and lands on a multiple, exactly (rationals)."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rationals
        rng, reached = np.random.default_rng(7), 0.0
        for grid in (2.0**-10, 1.0, 2.0**-40):
            values = np.concatenate([rng.normal(size=200), (rng.integers(-50, 50, 50) + 0.5) * grid])
            rounded = on_grid(values, grid)
            step = Fraction(grid)
            for before, after in zip(values, rounded, strict=True):
                moved = abs(Fraction(float(after)) - Fraction(float(before)))
                if moved > step / 2 or Fraction(float(after)) % step:
                    return EvidenceResult.check(False, f"grid {grid}: {before} went to {after}")
                reached = max(reached, float(moved / (step / 2)))
        return EvidenceResult.check(True, "750 values, 3 grids", tightness=reached)

    return Evidence("rounding to the grid", Kind.ENCLOSURE, run)


def pairs_on_the_grid() -> Evidence:
    """Two vectors a distance Delta apart end at most Delta + grid sqrt(p) apart; nearly all of it is reached."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rationals
        reached = 0.0
        for p, grid in itertools.product((1, 4, 16), (1.0, 0.25)):
            # Just on either side of half a grid step: each coordinate moves by almost a whole one.
            low, high = np.full(p, 0.5 * grid - 1e-6 * grid), np.full(p, 0.5 * grid + 1e-6 * grid)
            apart = np.linalg.norm(high - low) + grid * math.sqrt(p)
            ended = np.linalg.norm(on_grid(high, grid) - on_grid(low, grid))
            reached = max(reached, float(ended / apart))
            if ended > apart * (1 + 8 * ULP):
                return EvidenceResult.check(False, f"p={p}, grid={grid}: {ended} > {apart}")
        return EvidenceResult.check(reached > 0.999, "6 pairs", tightness=reached)

    return Evidence("pairs on the grid", Kind.ATTACK, run)
