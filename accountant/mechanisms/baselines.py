r"""The ledgers of the algorithms the paper compares with, and of plain mechanisms.

DP-SGD (proximal) is priced exactly like ssADMM. The citations of DP-ADMM (Huang et al. 2019) and ADMM-objP (Wang and
Zhang 2019) follow the paper's Related Work; its Baselines section swaps them (E6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.algorithms import ssadmm, step_sizes
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import (
    Noise,
    Sampling,
    count,
    positive,
    require_without_replacement,
    sampling_rate,
)
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, Step, SubsampledGaussianStep
from accountant.numbers import Bound, Exact, arb_from_fraction, arb_precision

dp_sgd = ssadmm
"""Proximal DP-SGD releases the same noisy batch gradients as Algorithm 1 and costs the same."""


def gaussian_releases(*, noise_multiplier: Exact, releases: int, noise: Noise = Noise.GAUSSIAN) -> Ledger:
    """Return the ledger of plain Gaussian releases with sigma = noise_multiplier times the sensitivity."""
    nu = positive("noise_multiplier", noise_multiplier)
    steps = (GaussianStep(1 / nu**2, count("releases", releases), noise),)
    return Ledger(steps, realisable=steps if noise is Noise.GAUSSIAN else ())


def poisson_sgd(*, sampling_rate: Exact, noise_multiplier: Exact, iterations: int) -> Ledger:
    """Return the ledger of DP-SGD with Poisson batches, add-or-remove-one neighbours, nu = sigma/C."""
    q = positive("sampling_rate", sampling_rate)
    if q > 1:
        raise InvalidQuantityError(f"sampling_rate must lie in (0, 1], got sampling_rate={sampling_rate}")
    nu = positive("noise_multiplier", noise_multiplier)
    return Ledger((PoissonGaussianStep(q, nu, count("iterations", iterations)),))


def dp_admm(
    *,
    records: int,
    eta: Exact | Sequence[Exact],
    rho: Exact,
    clip: Exact,
    sigma: Exact,
    iterations: int,
    parties: int = 2,
) -> Ledger:
    r"""Return the ledger of DP-ADMM: full local gradients, noise on x_i with Delta = 2C eta/(n_i(1+eta rho)).

    One record lives in one party, so the whole costs what the smallest party costs; nothing is amplified.
    """
    n, N, T = count("records", records), count("parties", parties), count("iterations", iterations)
    if n < N:
        raise InvalidQuantityError(f"parties must be at most records, got parties={N}, records={n}")
    r, C, s = positive("rho", rho), positive("clip", clip), positive("sigma", sigma)
    etas = step_sizes(eta, T, T)
    steps: tuple[Step, ...] = tuple(GaussianStep((2 * C / ((n // N) * (r + 1 / step)) / s) ** 2, 1) for step in etas)
    return Ledger(_merged(steps), realisable=_merged(steps))


def _merged(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if len(set(steps)) == 1 and isinstance(steps[0], GaussianStep):
        return (GaussianStep(steps[0].ratio_squared, len(steps), steps[0].noise),)
    return steps


def admm_objp(*, epsilon: Exact | Sequence[Exact], iterations: int) -> Ledger:
    """Return the ledger of ADMM-objP: pure epsilon_k-DP each iteration, *only if it is solved exactly*."""
    T = count("iterations", iterations)
    note = "pure DP only if every subproblem is solved exactly: report the solver's residual beside it"
    if isinstance(epsilon, Sequence) and not isinstance(epsilon, str):
        if len(epsilon) != T:
            raise InvalidQuantityError(f"epsilon must be one value or {T} values, got {len(epsilon)}")
        return Ledger(tuple(PureStep(positive("epsilon", e), 1) for e in epsilon), notes=(note,))
    return Ledger((PureStep(positive("epsilon", epsilon), T),), notes=(note,))


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation:
    """What ADMM-objP needs to spend epsilon_k: use `noise_epsilon.lower` and `ridge.upper`."""

    noise_epsilon: Bound
    ridge: Bound


def objective_perturbation(*, epsilon: Exact, records: int, rho: Exact, curvature: Exact) -> ObjectivePerturbation:
    r"""Return eps' and the extra ridge of Wang and Zhang 2019 for one iteration's budget.

    eps' = eps_k - 2 log(1 + c/(n rho)), c = sup phi'' max||s||^2; if that is not positive, eps' = eps_k/2 with the
    ridge c/(n (e^{eps_k/4} - 1)) - rho. The norm of b is Gamma(p, 2C/eps').
    """
    e, n = positive("epsilon", epsilon), count("records", records)
    r, c = positive("rho", rho), positive("curvature", curvature)
    with arb_precision(256):
        rest = arb_from_fraction(e) - 2 * arb_from_fraction(c / (n * r)).log1p()
        if rest > 0:
            return ObjectivePerturbation(Bound.from_arb(rest), Bound.from_fractions(Fraction(0), Fraction(0)))
        ridge = arb_from_fraction(c) / (n * arb_from_fraction(e / 4).expm1()) - arb_from_fraction(r)
        return ObjectivePerturbation(Bound.from_fractions(e / 2, e / 2), Bound.from_arb(ridge))


def dp_svrg(
    *,
    records: int,
    batch: int,
    epochs: int,
    inner: int,
    sigma_full: Exact,
    sigma_inner: Exact,
    clip: Exact,
    sampling: Sampling = Sampling.WITHOUT_REPLACEMENT,
) -> Ledger:
    r"""Return the ledger of our variant of DP-SVRG (after Wang, Ye and Xu 2017).

    Each epoch: one full gradient, Delta = 2C/n; `inner` corrected batch gradients, Delta = 4C/m.
    """
    require_without_replacement(sampling)
    C, n, m = positive("clip", clip), count("records", records), count("batch", batch)
    q, E = sampling_rate(batch, records), count("epochs", epochs)
    full = GaussianStep((2 * C / n / positive("sigma_full", sigma_full)) ** 2, E)
    nu = positive("sigma_inner", sigma_inner) * m / (4 * C)
    steps = (full, SubsampledGaussianStep(q, nu, E * count("inner", inner)))
    return Ledger(steps, realisable=(full,), notes=("our variant of DP-SVRG, not the authors' own",))
