r"""The baselines of the paper: [CL20] section 5.2.

==========================  ============================================================================
:mod:`.dpsgd`               proximal DP-SGD; sensitivity 2C/m, amplified by subsampling like ssADMM
:mod:`.dpadmm`              DP-ADMM of Huang et al. 2019, any number of parties; 2C eta/(n_i (1 + eta rho))
:mod:`.objp`                ADMM-objP of Wang and Zhang 2019; pure privacy *if* each solve is exact
:mod:`.dpsvrg`              our variant of Wang, Ye and Xu 2017; 2C/n an epoch and 4C/m a step
:mod:`.nonprivate`          stochastic and batch ADMM without noise, and how far from optimal a model is
==========================  ============================================================================

Statements DPSGD, DPADMM, DPSVRG, OBJP, OBJP-INEXACT and SADMM-SAMPLING say what each costs, and what it does not.

Every algorithm is a deterministic core: step sizes, batches and noise are inputs, iterates are yielded, as in
:mod:`reference.ssadmm`. (E6: section 5.2 of the paper has the citations of DP-ADMM and ADMM-objP swapped.)
"""
