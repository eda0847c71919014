"""Statements about privacy accounting: the paper's lemmas and theorems, and what is better than them."""

from __future__ import annotations

from verification.lemmas import algorithms, gradients, update_steps
from verification.lemmas import convergence as rate
from verification.statements.evidence import (
    adversary,
    attacks,
    closed_ends,
    convergence,
    printed,
    profiles,
    renyi,
    silences,
)
from verification.statements.evidence.proofs import proof
from verification.statements.model import Statement, Status
from verification.statements.texts import theory

STATEMENTS = (
    Statement(
        "LEMMA-1",
        "The Gaussian mechanism has Renyi divergence at most alpha Delta^2/(2 sigma^2), equal at distance Delta.",
        "[CL20] Lemma 1",
        Status.HOLDS,
        (renyi.gaussian_divergence(),),
    ),
    Statement(
        "LEMMA-2",
        "On batches without replacement the printed sum bounds the Renyi divergence at every integer alpha >= 2.",
        "[CL20] Lemma 2",
        Status.HOLDS,
        (renyi.lemma2_dominates(), renyi.capped_by_unamplified()),
    ),
    Statement(
        "LEMMA-3",
        "Renyi divergences of adaptive releases add at each order.",
        "[CL20] Lemma 3, cited as Lemma 4",
        Status.HOLDS,
        (renyi.adaptive_composition(), silences.ledgers_add()),
    ),
    Statement(
        "PROPOSITION-1",
        "(alpha, eps)-RDP implies (eps + log(1/delta)/(alpha-1), delta)-DP; that of Canonne et al. is never worse.",
        "[CL20] Proposition 1",
        Status.HOLDS,
        (renyi.conversions_hold(), renyi.proposition1_is_tight()),
    ),
    Statement(
        "THEOREM-1",
        "Algorithm 1 costs the sum over iterations of the subsampled Gaussian's Renyi divergence at 2C/m.",
        "[CL20] Theorem 1",
        Status.HOLDS,
        (
            proof(algorithms.post_processing, gradients.one_term_changes, gradients.lengths),
            silences.ledgers_add(),
            attacks.priced(),
        ),
    ),
    Statement(
        "THEOREM-2",
        "f(mean x^0..x^{t-1}) + h(mean z^1..z^t) + beta ||mean(x) - mean(z)|| - F* is O(1/sqrt t) at fixed sigma.",
        "[CL20] Theorem 2 and appendix, corrected by E8 to E10, E13 to E17",
        Status.HOLDS,
        (
            proof(
                rate.one_iteration, rate.subgradients, gradients.batch_mean_is_unbiased, silences.noise_is_orthogonal
            ),
            convergence.pathwise(),
        ),
    ),
    Statement(
        "THEOREM-3",
        "Algorithm 2 costs the sum over epochs of alpha Delta^2/(2 sigma^2) for the printed Delta of x, z and y.",
        "[CL20] Theorem 3",
        Status.REFUTED,
        (printed.refuted("x"), silences.printed_epsilon_is_too_small(), proof(update_steps.primal)),
        truth="true with the corrected sensitivities (SENS-X, SENS-Z, SENS-Y), and cheaper with JOINT or P",
    ),
    Statement(
        "P",
        "Releasing noisy x alone, z and y computed from it, costs Delta(x)^2, not (1+max(1,rho^2)) times it.",
        "better than [CL20] Algorithm 2, line 9",
        Status.PROVED,
        (proof(algorithms.post_processing), silences.primal_release_is_cheaper()),
    ),
    Statement(
        "G",
        "T adaptive Gaussian releases have exactly the profile of one, with mu^2 the sum of Delta_k^2/sigma^2.",
        "better than [CL20] Theorem 3",
        Status.HOLDS,
        (profiles.gaussian_profile_is_exact(),),
    ),
    Statement(
        "D",
        "H(y) = q H_G(log(1+(y-1)/q)) for y >= 1, reflected below 1, dominates every ssADMM step; a pair attains it.",
        "better than [CL20] Lemma 2",
        Status.HOLDS,
        (profiles.profile_dominates(),),
    ),
    Statement(
        "LEADER",
        "T adaptive steps on fixed-size batches cost at most what the leader, composed singly or in blocks, costs.",
        "better than [CL20] Theorem 1 and than D; docs/reference/adversary.md",
        Status.HOLDS,
        (adversary.certificate_holds(), adversary.incomplete_certificates_fail(), adversary.adaptive_attacks()),
    ),
    Statement(
        "ADAPTIVE",
        "Steps whose vectors follow the outputs attain the adaptive lower end, more than a fixed pair of data does.",
        "better than the lower end of L; docs/reference/adversary.md, Theorem 4",
        Status.HOLDS,
        (adversary.attained_between(), adversary.attained_by_choosing()),
    ),
    Statement(
        "R",
        "The moments of that profile, at any real alpha > 1, are a tight Renyi bound, never above Lemma 2.",
        "better than [CL20] Lemma 2",
        Status.HOLDS,
        (profiles.moments_match_the_profile(), renyi.lemma2_dominates()),
    ),
    Statement(
        "L",
        "Composing the profile numerically encloses epsilon between a realisable lower and a certified upper end.",
        "better than [CL20] Theorem 1",
        Status.HOLDS,
        (profiles.composed_between(),),
    ),
    Statement(
        "TOLD-DRAWS",
        "delta(eps) <= P[K > k] + delta_G(eps; k mu^2), K the number of draws: who is told the draws knows more.",
        "better than L where noise hides hardly anything; docs/reference/accounting.md",
        Status.HOLDS,
        (closed_ends.told_draws_cost_no_less(),),
    ),
    Statement(
        "LOSS-LEVELS",
        "Phases that reach losses a_i with probability p_i attain sum a_i - t if (1 - e^-t) product p_i >= delta.",
        "better than the lower end of L for many steps or little noise; docs/reference/accounting.md",
        Status.HOLDS,
        (closed_ends.losses_reach_no_more(),),
    ),
    Statement(
        "WBK27",
        "Theorem 27 of the source of Lemma 2 lies between the exact moment and Lemma 2.",
        "Wang, Balle and Kasiviswanathan, the source of [CL20] Lemma 2",
        Status.HOLDS,
        (renyi.lemma2_dominates(),),
    ),
    Statement(
        "CAP",
        "No subsampled bound is reported above the bound without subsampling.",
        "better than [CL20] Lemma 2",
        Status.HOLDS,
        (renyi.capped_by_unamplified(),),
    ),
    *theory.STATEMENTS,
)
