r"""The ledgers of the paper's two algorithms: which releases they make, at which sensitivity.

[CL20] Algorithm 1 (ssADMM): each iteration releases a noisy batch gradient; everything after is post-processing.
[CL20] Algorithm 2 (mpADMM): each epoch releases noisy x, z and y computed from the whole data.
All sensitivities are for replaced records: Delta(g) = 2C/m, Delta(x) = 2C/(n (rho + 1/eta)) (E1 corrected).
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import (
    Noise,
    Sampling,
    count,
    positive,
    require_without_replacement,
    sampling_rate,
)
from accountant.mechanisms.steps import GaussianStep, Step, SubsampledGaussianStep
from accountant.numbers import Exact, shown


class Release(enum.Enum):
    """What Algorithm 2 makes public: noisy x, z and y, or noisy x alone with z and y computed from it (P)."""

    ALL = "all"
    PRIMAL = "primal"


class Accounting(enum.Enum):
    """How x, z and y of one epoch are priced: three releases as printed, or one joint release (J)."""

    SEPARATE = "separate"
    JOINT = "joint"


class Sensitivity(enum.Enum):
    """Which Delta(x): the corrected 2C eta/(n(1+eta rho)), or the printed 2C/(n(1+eta rho)) (E1, E2)."""

    CORRECTED = "corrected"
    PRINTED = "printed"


@dataclass(frozen=True, slots=True)
class Proximal:
    """Lipschitz constant of the proximal map of the regularizer: 1 where it is convex (firmly nonexpansive)."""

    lipschitz: Fraction = Fraction(1)

    @classmethod
    def scad(cls, a: Exact, rho: Exact) -> Proximal:
        """Return L = (a-1)/(a-1-tau), tau = 1/rho; refused where the map jumps (E11)."""
        shape, tau = positive("a", a), 1 / positive("rho", rho)
        if shape <= 1 + tau:
            raise InvalidQuantityError(
                f"SCAD needs a > 1 + 1/rho = {shown(1 + tau)} for its proximal map to be Lipschitz, got a={a}; "
                "release='primal' needs no such constant"
            )
        return cls((shape - 1) / (shape - 1 - tau))

    @classmethod
    def mcp(cls, gamma: Exact, rho: Exact) -> Proximal:
        """Return L = gamma/(gamma-tau), tau = 1/rho; refused where the map jumps (E11)."""
        shape, tau = positive("gamma", gamma), 1 / positive("rho", rho)
        if shape <= tau:
            raise InvalidQuantityError(
                f"MCP needs gamma > 1/rho = {shown(tau)} for its proximal map to be Lipschitz, got gamma={gamma}; "
                "release='primal' needs no such constant"
            )
        return cls(shape / (shape - tau))

    def joint_factor(self, rho: Fraction) -> Fraction:
        r"""Return joint^2 / Delta(x)^2 (E11); with L = 1 it is the 1 + max(1, rho^2) of every convex regularizer."""
        L = self.lipschitz
        return 1 + max(rho**2, L**2 + rho**2 * (L - 1) ** 2)

    def separate_factor(self, rho: Fraction) -> Fraction:
        r"""Return (Delta(x)^2 + Delta(z)^2 + Delta(y)^2) / Delta(x)^2."""
        L = self.lipschitz
        return 1 + L**2 + (rho * max(Fraction(1), L - 1)) ** 2


def ssadmm(
    *,
    records: int,
    batch: int,
    iterations: int,
    noise_multiplier: Exact | None = None,
    sigma: Exact | None = None,
    clip: Exact | None = None,
    sampling: Sampling = Sampling.WITHOUT_REPLACEMENT,
    noise: Noise = Noise.GAUSSIAN,
) -> Ledger:
    r"""Return the ledger of Algorithm 1 (and of proximal DP-SGD): nu = sigma m/(2C), or given directly.

    Phases with other batches or noise are added: `ssadmm(...) + ssadmm(...)`.
    """
    require_without_replacement(sampling)
    q, T = sampling_rate(batch, records), count("iterations", iterations)
    nu = gradient_noise_multiplier(batch, noise_multiplier, sigma, clip)
    steps = (SubsampledGaussianStep(q, nu, T, noise),)
    return Ledger(steps, realisable=steps if noise is Noise.GAUSSIAN else ())


def gradient_noise_multiplier(
    batch: int, noise_multiplier: Exact | None, sigma: Exact | None, clip: Exact | None
) -> Fraction:
    """Return nu, given directly or as sigma m/(2C); exactly one of the two ways must be used."""
    if noise_multiplier is not None and sigma is None and clip is None:
        return positive("noise_multiplier", noise_multiplier)
    if noise_multiplier is None and sigma is not None and clip is not None:
        return positive("sigma", sigma) * count("batch", batch) / (2 * positive("clip", clip))
    raise InvalidQuantityError(
        "give either noise_multiplier, or both sigma and clip, "
        f"got noise_multiplier={noise_multiplier}, sigma={sigma}, clip={clip}"
    )


def mpadmm(
    *,
    records: int,
    eta: Exact | Sequence[Exact],
    rho: Exact,
    clip: Exact,
    sigma: Exact,
    epochs: int,
    release: Release = Release.ALL,
    sensitivity: Sensitivity = Sensitivity.CORRECTED,
    accounting: Accounting | None = None,
    proximal: Proximal | None = None,
    noise: Noise = Noise.GAUSSIAN,
) -> Ledger:
    r"""Return the ledger of Algorithm 2.

    `accounting` is joint by default, and separate for the printed sensitivities, as the paper has it. Printed
    sensitivities use eta^{k+1} (E2), so a varying `eta` then needs epochs + 1 values; where one of them is smaller
    than the truth the ledger is not `sound` and carries the corrected steps.
    """
    n, T = count("records", records), count("epochs", epochs)
    r, C, s = positive("rho", rho), positive("clip", clip), positive("sigma", sigma)
    proximal = proximal or Proximal()
    if accounting is None:
        accounting = Accounting.SEPARATE if sensitivity is Sensitivity.PRINTED else Accounting.JOINT
    etas = step_sizes(eta, T, T + (sensitivity is Sensitivity.PRINTED))
    true = [(2 * C / (n * (r + 1 / step)) / s) ** 2 for step in etas[:T]]
    factor = _release_factor(release, accounting, proximal, r)
    attained = (1 + max(Fraction(1), r**2)) if proximal.lipschitz == 1 and release is Release.ALL else Fraction(1)
    realisable = _grouped([attained * x for x in true], noise) if noise is Noise.GAUSSIAN else ()
    corrected = _grouped([factor * x for x in true], noise)
    if sensitivity is Sensitivity.CORRECTED:
        return Ledger(corrected, realisable)
    printed = [(2 * C / (n * (1 + step * r)) / s) ** 2 for step in etas[1:]]
    steps = _grouped([factor * x for x in printed], noise)
    if all(claimed >= truth for claimed, truth in zip(printed, true, strict=True)):
        return Ledger(steps, realisable, notes=("printed sensitivities (E1): valid here, looser than the truth",))
    worst = max(truth / claimed for claimed, truth in zip(printed, true, strict=True))
    return Ledger(
        steps,
        realisable,
        corrected,
        notes=(f"printed sensitivities (E1) are violated here: the RDP is up to {shown(worst)} times larger",),
    )


def step_sizes(eta: Exact | Sequence[Exact], epochs: int, needed: int) -> list[Fraction]:
    """Return eta^0, eta^1, ... exactly; a single value is a constant schedule."""
    if isinstance(eta, Sequence) and not isinstance(eta, str):
        if len(eta) not in {epochs, needed} or len(eta) < needed:
            raise InvalidQuantityError(f"eta must be one value or {needed} values for {epochs} epochs, got {len(eta)}")
        return [positive("eta", step) for step in eta]
    return [positive("eta", eta)] * needed


def _release_factor(release: Release, accounting: Accounting, proximal: Proximal, rho: Fraction) -> Fraction:
    if release is Release.PRIMAL:
        return Fraction(1)
    if accounting is Accounting.JOINT:
        return proximal.joint_factor(rho)
    return proximal.separate_factor(rho)


def _grouped(ratios: list[Fraction], noise: Noise) -> tuple[Step, ...]:
    """Return one step per run of equal (Delta/sigma)^2."""
    return tuple(GaussianStep(ratio, sum(1 for _ in repeats), noise) for ratio, repeats in itertools.groupby(ratios))
