"""Statements about what the paper compares itself with: DP-SGD, DP-ADMM, DP-SVRG, ADMM-objP, and ADMM without noise."""

from __future__ import annotations

from verification.lemmas import baselines as lemmas
from verification.lemmas import gradients, update_steps
from verification.statements.evidence import baselines, objective
from verification.statements.evidence.proofs import proof
from verification.statements.model import Statement, Status

_PARTY = "2C eta^k/(n_i(1+eta^k rho))"

STATEMENTS = (
    Statement(
        "DPSGD",
        "A step of DP-SGD releases a batch gradient of sensitivity 2C/m; x follows from it, and moves by eta 2C/m.",
        "[CL20] section 5.2: accounted like Algorithm 1",
        Status.HOLDS,
        (
            proof(lemmas.proximal_steps, lemmas.dpsgd_sees_the_noisy_gradient),
            baselines.dpsgd_bound(),
        ),
    ),
    Statement(
        "DPADMM",
        f"Replacing a record moves its own party's x by at most {_PARTY}, and no other x; z and y follow.",
        "Huang et al. 2019, with n_i the party's own records; one party's composition, no amplification",
        Status.HOLDS,
        (proof(update_steps.primal, lemmas.other_parties_stay), baselines.dpadmm_bound()),
    ),
    Statement(
        "DPADMM-ALL-RECORDS",
        "The noise of a party may be scaled by 2C eta/(n(1+eta rho)), n the number of all records.",
        "a reading of DP-ADMM's sensitivity",
        Status.REFUTED,
        (baselines.all_records_refuted(),),
        truth=f"a party averages over its own records alone: {_PARTY}, larger by the number of parties",
    ),
    Statement(
        "DPADMM-ONE-PARTY",
        "With a single party DP-ADMM reduces to DP-SGD on all records.",
        "[CL20] section 5.4",
        Status.REFUTED,
        (baselines.one_party_is_not_dpsgd(),),
        truth="only where the penalty sits with the parties and the centre averages; step eta/(1+eta rho)",
    ),
    Statement(
        "DPADMM-THRESHOLD",
        "The centre of N equal parties with mean losses thresholds at lambda/(N rho).",
        "a reading of DP-ADMM's consensus step for sums of losses",
        Status.REFUTED,
        (baselines.divided_threshold_refuted(),),
        truth="lambda/rho; lambda/(N rho) solves the problem with lambda/N",
    ),
    Statement(
        "DPSVRG",
        "A full gradient has sensitivity 2C/n, a batch's change of gradient since the anchor 4C/m; both get noise.",
        "our variant of Wang, Ye and Xu 2017",
        Status.HOLDS,
        (proof(gradients.one_term_changes, gradients.lengths), baselines.dpsvrg_bounds()),
    ),
    Statement(
        "DPSVRG-MARGIN",
        "With losses of slopes in [-1, 0] a batch's change of gradient moves by 2C/m at most, half of what is priced.",
        "better than the general bound; the accounting keeps 4C/m",
        Status.HOLDS,
        (proof(lemmas.half_for_margins), baselines.dpsvrg_margin_half()),
    ),
    Statement(
        "OBJP",
        "An exactly solved iteration costs a pure eps_k: eps' for b, 2 log(1+c/(n rho)) (half would do) for Jacobians.",
        "Wang and Zhang 2019, after Chaudhuri et al. 2011",
        Status.HOLDS,
        (objective.density_ratio(), objective.residual_is_reported()),
    ),
    Statement(
        "OBJP-INEXACT",
        "Objective perturbation is as private when its solver stops early.",
        "silently assumed wherever a solver has a tolerance",
        Status.REFUTED,
        (objective.early_stop_refuted(),),
        truth="the proof is about the exact minimiser; the residual is reported beside the statement and bounded",
    ),
    Statement(
        "SADMM-SAMPLING",
        "Drawing batches at random makes stochastic ADMM private to some degree, without noise.",
        "[CL20] compares with it as not private, rightly",
        Status.REFUTED,
        (baselines.sampling_alone_is_not_private(),),
        truth="an output that one data set alone can show appears with probability m/n: no epsilon below delta = m/n",
    ),
)
