"""The privacy cost of private ADMM: certified enclosures of epsilon, at any precision.

1. Say what is run: `SsADMM(...)`, `MpADMM(...)`, a baseline, or a `Ledger` of steps of your own.
2. `epsilon(mechanism, delta)` prices it by every method that is proved for it; `delta_curve` is the whole curve.
3. `calibrate_noise` and `calibrate_count` go the other way.
4. `certificate(report)` writes the answer down; `recheck` re-derives it by an independent route.

Numbers go in exactly (decimal strings, integers, fractions; never binary floats) and come out as a `Bound`, whose
`upper` alone may support a claim.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountant.calibration import Calibration, calibrate_count, calibrate_noise
    from accountant.certificates.certificate import Certificate, certificate
    from accountant.certificates.reading import read_certificate
    from accountant.certificates.recheck import recheck
    from accountant.curve import DeltaCurve, delta_curve
    from accountant.errors import (
        AccountantError,
        BinaryFloatError,
        CannotCertifyError,
        CertificateError,
        InvalidQuantityError,
        NotPrivateError,
        TimeLimitError,
        UnsupportedSchemeError,
    )
    from accountant.limits import time_limit
    from accountant.mechanisms.batches import DPSGD, DPSVRG, SsADMM
    from accountant.mechanisms.full_gradients import DPADMM, MpADMM
    from accountant.mechanisms.ledger import Ledger
    from accountant.mechanisms.mechanism import Mechanism
    from accountant.mechanisms.nonprivate import ADMM, SADMM
    from accountant.mechanisms.objective import ObjectivePerturbation, ObjP, objective_perturbation
    from accountant.mechanisms.plain import Gaussian, Poisson
    from accountant.mechanisms.proximal import Proximal
    from accountant.mechanisms.pure import Laplace, Pure
    from accountant.mechanisms.registry import mechanism_from
    from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, Step, SubsampledGaussianStep
    from accountant.mechanisms.words import (
        Accounting,
        Algorithm,
        Neighbours,
        Noise,
        Release,
        Sampling,
        Sensitivity,
        Visibility,
    )
    from accountant.numbers import Bound, Exact, decimal_string, exact, exact_binary64, float_down, float_up
    from accountant.pricing import MethodResult, Report, epsilon, methods_for
    from accountant.renyi_curve import RenyiPoint, renyi_curve

_HOMES: dict[str, tuple[str, ...]] = {
    "calibration": ("calibrate_count", "calibrate_noise", "Calibration"),
    "certificates.certificate": ("Certificate", "certificate"),
    "certificates.reading": ("read_certificate",),
    "certificates.recheck": ("recheck",),
    "curve": ("delta_curve", "DeltaCurve"),
    "errors": (
        "AccountantError",
        "BinaryFloatError",
        "CannotCertifyError",
        "CertificateError",
        "InvalidQuantityError",
        "NotPrivateError",
        "TimeLimitError",
        "UnsupportedSchemeError",
    ),
    "limits": ("time_limit",),
    "mechanisms.batches": ("DPSGD", "DPSVRG", "SsADMM"),
    "mechanisms.full_gradients": ("DPADMM", "MpADMM"),
    "mechanisms.ledger": ("Ledger",),
    "mechanisms.mechanism": ("Mechanism",),
    "mechanisms.nonprivate": ("ADMM", "SADMM"),
    "mechanisms.objective": ("objective_perturbation", "ObjectivePerturbation", "ObjP"),
    "mechanisms.plain": ("Gaussian", "Poisson"),
    "mechanisms.pure": ("Laplace", "Pure"),
    "mechanisms.proximal": ("Proximal",),
    "mechanisms.registry": ("mechanism_from",),
    "mechanisms.steps": ("GaussianStep", "PoissonGaussianStep", "PureStep", "Step", "SubsampledGaussianStep"),
    "mechanisms.words": (
        "Accounting",
        "Algorithm",
        "Neighbours",
        "Noise",
        "Release",
        "Sampling",
        "Sensitivity",
        "Visibility",
    ),
    "numbers": ("Bound", "decimal_string", "Exact", "exact", "exact_binary64", "float_down", "float_up"),
    "pricing": ("epsilon", "MethodResult", "methods_for", "Report"),
    "renyi_curve": ("renyi_curve", "RenyiPoint"),
}
"""Where each public name is defined. It is loaded when it is first used: the wire needs a few words and no numerics."""
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = list(_HOME)


if not TYPE_CHECKING:  # a type checker sees the imports above, and refuses other names

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'accountant' has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"accountant.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
