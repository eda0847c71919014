"""Where the paper is wrong or silent: E1 to E19. ``statement`` is the paper's, ``truth`` is what is right."""

from __future__ import annotations

from dataclasses import dataclass, replace

from verification.smt import algorithms, blocks, updates
from verification.smt.prover import Prover
from verification.statements.evidence import accounting, convergence, optimiser
from verification.statements.model import (
    Evidence,
    EvidenceResult,
    Kind,
    Model,
    Statement,
    Status,
    coordinatewise,
    counterexample,
    proved,
)


@dataclass(frozen=True, slots=True)
class Wording:
    """An erratum about the text alone: nothing that could be run would notice a change of the program."""

    id: str
    statement: str
    place: str
    truth: str


def _strict_order_refuted() -> Evidence:
    def run(prover: Prover) -> EvidenceResult:
        hypotheses, strict = blocks.strict_order()
        model = counterexample(prover, hypotheses, strict)
        if isinstance(model, EvidenceResult):
            return model
        return EvidenceResult.check(True, "equality happens", witness=_shown(model))

    return Evidence("equality in the order", Kind.WITNESS, run)


def _shown(model: Model) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(model.items()))


def _integer_orders_only() -> Evidence:
    """alpha = 2 is left out by "alpha > 2", and Lemma 2 holds there."""
    exact = accounting.lemma2_dominates

    def run(prover: Prover) -> EvidenceResult:
        return replace(exact.run(prover), witness="alpha = 2: the printed sum bounds the exact moment there as well")

    return Evidence("Lemma 2 at alpha = 2", Kind.WITNESS, run)


STATEMENTS = (
    Statement(
        "E1",
        "mpADMM: Delta(x) <= 2C/(n(1+eta rho)), and from it Delta(z) and Delta(y).",
        "[CL20] section 4.2, equations for the sensitivities",
        Status.REFUTED,
        (
            optimiser.refuted("x"),
            optimiser.refuted("z"),
            optimiser.refuted("y"),
            proved(updates.primal, updates.printed_for_small_steps),
        ),
        truth="1/(rho+1/eta) = eta/(1+eta rho): a factor eta is missing. Proved for eta <= 1, violated for eta > 1",
    ),
    Statement(
        "E2",
        "The sensitivities after epoch k contain eta^{k+1}.",
        "[CL20] section 4.2",
        Status.REFUTED,
        (optimiser.later_step_refuted(),),
        truth="the update from k to k+1 uses eta^k",
    ),
    Statement(
        "E3",
        "u precedes v means |u_i| < |v_i| for every i, and soft-thresholded differences precede the differences.",
        "[CL20] section 4.2",
        Status.REFUTED,
        (_strict_order_refuted(), proved(blocks.contraction)),
        truth="|u_i| <= |v_i|: equality happens at t = 0 and where both lie beyond the threshold",
    ),
    Statement(
        "E4",
        "Lemma 2 is stated for alpha > 2.",
        "[CL20] Lemma 2",
        Status.REFUTED,
        (_integer_orders_only(), accounting.chords_dominate),
        truth="it holds at integers alpha >= 2; between integers the chord of (alpha-1) eps(alpha) is a bound",
    ),
    Statement(
        "E8",
        "Theorem 2 is about the output of Algorithm 1.",
        "[CL20] Theorem 2",
        Status.REFUTED,
        (convergence.last_iterate_is_not_bounded, convergence.pathwise),
        truth="it bounds f(mean x) + h(mean z) + beta ||mean x - mean z||; F(mean x) follows for beta >= lambda sqrt p "
        "only, and the last iterate, which Algorithm 1 returns, carries no theorem",
    ),
    Statement(
        "E9",
        "The bound holds with rho/2 times the squared distance of y^0 to y*.",
        "[CL20] appendix",
        Status.REFUTED,
        (convergence.printed_dual_distance, proved(updates.one_iteration)),
        truth="it is the distance of z^0 to x*; with constant steps ||x^0 - x*|| replaces d_X; no domain is bounded",
    ),
    Statement(
        "E10",
        "The averages are (1/k) times sums over i = 1..k-1.",
        "[CL20] appendix",
        Status.REFUTED,
        (convergence.printed_averages, convergence.averages_of_the_right_iterates, convergence.pathwise),
        truth="f at the mean of x^0..x^{t-1}, h at the mean of z^1..z^t, residual mean(x^1..x^t) - mean(z^1..z^t)",
    ),
    Statement(
        "E11",
        "Regularizers other than L1 need nothing else in Algorithm 2 (the paper is silent).",
        "[CL20] section 4.2",
        Status.REFUTED,
        (
            optimiser.folded_exceeds_convex_bound,
            optimiser.folded_refused_where_they_jump,
            proved(blocks.stretches, blocks.folded_minimisers, blocks.odd, blocks.even, blocks.folded_joint),
            coordinatewise,
        ),
        truth="SCAD and MCP stretch by L = (a-1)/(a-1-tau) and gamma/(gamma-tau): Delta(z) <= L Delta(x), "
        "Delta(y) <= rho max(1,L-1) Delta(x), joint^2 = (1+max(rho^2, L^2+rho^2(L-1)^2)) Delta(x)^2; "
        "where a <= 1+tau or gamma <= tau the map jumps and is refused",
    ),
    Statement(
        "E12",
        "Scaling features by their own minimum and maximum is preprocessing like any other.",
        "[CL20] section 5.3 and 5.4",
        Status.REFUTED,
        (convergence.scaling_reads_the_data,),
        truth="it reads all data outside the budget, as does tuning on the data; use fixed public bounds",
    ),
    Statement(
        "E13",
        "eta^k proportional to 1/sqrt k, from k = 0.",
        "[CL20] Theorem 2",
        Status.REFUTED,
        (convergence.first_step_size,),
        truth="infinite at k = 0; take c/sqrt(k+1), whose sum over 0..t-1 is the printed one over 1..t",
    ),
    Statement(
        "E14",
        "The dual term is beta^2/(2 rho t).",
        "[CL20] appendix",
        Status.REFUTED,
        (convergence.printed_dual_term, proved(updates.one_iteration)),
        truth="(beta + ||y^0||)^2/(2 rho t); the maximum over y is taken pathwise, before the expectation",
    ),
    Statement(
        "E15",
        "F(w) = (-y, y, x - z).",
        "[CL20] appendix",
        Status.REFUTED,
        (convergence.sign_of_the_operator,),
        truth="for this Lagrangian (y, -y, z - x); harmless after the maximum over y if y^0 = 0",
    ),
    Statement(
        "E16",
        "E||g + gamma||^2 <= C^2 + p sigma^2 although delta_{k+1} omits the noise and a product of norms is used.",
        "[CL20] appendix",
        Status.PROVED,
        (proved(algorithms.noise_is_orthogonal),),
        truth="E<g, gamma> = 0 because the noise is centred; the result stands",
    ),
    Statement(
        "E18",
        "A mini-batch is sampled (how is not said), and Theorems 1 and 3 name no epsilon.",
        "[CL20] Algorithm 1, line 4",
        Status.REFUTED,
        (convergence.sampling_schemes,),
        truth="without replacement, fresh in every iteration; composition must be adaptive",
    ),
)

WORDING = (
    Wording(
        "E5",
        "The privacy loss is the ratio of probabilities, in [-eps, eps] for pure DP.",
        "[CL20] section 3.2",
        "the privacy loss is the logarithm of the ratio",
    ),
    Wording(
        "E6",
        "The baselines are DP-ADMM of Wang and Zhang and ADMM-objP of Huang et al.",
        "[CL20] section 5.2",
        "DP-ADMM is of Huang et al. 2019, ADMM-objP of Wang and Zhang 2019, as sections 2 and 4.1 say",
    ),
    Wording(
        "E7",
        "Composition is Lemma 4.",
        "[CL20] proofs of Theorems 1 and 3",
        "it is the third lemma; there is no fourth",
    ),
    Wording(
        "E17",
        "Algorithm 1 converges at the rate O(1/sqrt t).",
        "[CL20] Theorem 2",
        "at fixed sigma; at fixed (eps, delta) sigma^2 grows like t and the bound does not vanish",
    ),
    Wording(
        "E19",
        "grad f(x, B_k); y^k + rho(x - z); d_s in B and in B'; ||x_i|| <= 1.",
        "[CL20] equations (13) and (14), proof of Theorem 1, section 5.3",
        "grad f(x^k, B_k); y^k + rho(x^{k+1} - z^{k+1}); d'_s in B'; ||s_i|| <= 1",
    ),
)
"""Listed in docs/evidence/errata.md; `dpadmm verify` does not run them."""
