"""The privacy cost of private ADMM: certified enclosures of epsilon, at any precision.

1. Say what is run: `SsADMM(...)`, `MpADMM(...)`, a baseline, or a `Ledger` of steps of your own.
2. `epsilon(mechanism, delta)` prices it by every method that is proved for it; `delta_curve` is the whole curve;
   `rdp(mechanism, alpha, digits=50)` is the Renyi epsilon, to any number of digits.
3. `calibrate_noise` and `calibrate_count` go the other way.
4. `certificate(report)` writes the answer down; `recheck` re-derives it by an independent route.

Numbers go in exactly (decimal strings, integers, fractions; never binary floats) and come out as a `Bound`, whose
`upper` alone may support a claim.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountant.calibration import Calibration, calibrate_count, calibrate_noise
    from accountant.certificates.certificate import Certificate, certificate, read_certificate
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
    from accountant.mechanisms.batches import ADMM, DPSGD, DPSVRG, SADMM, SsADMM
    from accountant.mechanisms.full_gradients import DPADMM, MpADMM, Proximal
    from accountant.mechanisms.ledger import Ledger
    from accountant.mechanisms.mechanism import Mechanism
    from accountant.mechanisms.pure import (
        Gaussian,
        Laplace,
        ObjectivePerturbation,
        ObjP,
        Poisson,
        Pure,
        objective_perturbation,
    )
    from accountant.mechanisms.registry import mechanism_from
    from accountant.mechanisms.steps import (
        GaussianStep,
        LaplaceStep,
        PoissonGaussianStep,
        PureStep,
        Step,
        SubsampledGaussianStep,
    )
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
    from accountant.pricing import MethodResult, RenyiPoint, Report, epsilon, methods_for, rdp, renyi_curve


def _homes() -> dict[str, str]:
    """Return the module of each public name: those that the imports above name for type checkers."""
    block = next(node for node in ast.parse(Path(__file__).read_bytes()).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


_HOME = _homes()
"""Where each public name is defined. It is loaded when it is first used: the wire needs a few words and no numerics."""
__all__ = list(_HOME)


if not TYPE_CHECKING:  # a type checker sees the imports above, and refuses other names

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'accountant' has no attribute {name!r}")
        value: object = getattr(importlib.import_module(_HOME[name].replace("accountant", __name__, 1)), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
