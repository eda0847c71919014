"""What private ADMM costs: certified enclosures of epsilon, at any precision.

1. Build a ledger: `ssadmm`, `mpadmm`, a baseline, or steps of your own.
2. `epsilon(ledger, delta)` prices it by every method that is proved for it; `delta_curve(ledger)` is the whole curve.
3. `calibrate_noise` and `calibrate_count` go the other way.
4. `certificate(report)` writes the answer down; `recheck` re-derives it by an independent route.

Numbers go in exactly (decimal strings, integers, fractions; never binary floats) and come out as a `Bound`, whose
`upper` alone may support a claim.
"""

from accountant.calibration import Calibration, calibrate_count, calibrate_noise
from accountant.certificates.certificate import Certificate, certificate, read_certificate
from accountant.certificates.recheck import recheck
from accountant.delta_curve import DeltaCurve, delta_curve
from accountant.errors import (
    AccountantError,
    BinaryFloatError,
    CannotCertifyError,
    CertificateError,
    InvalidQuantityError,
    UnsupportedSchemeError,
)
from accountant.mechanisms.algorithms import Accounting, Proximal, Release, Sensitivity, mpadmm, ssadmm
from accountant.mechanisms.baselines import (
    ObjectivePerturbation,
    admm_objp,
    dp_admm,
    dp_sgd,
    dp_svrg,
    gaussian_releases,
    objective_perturbation,
    poisson_sgd,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import Neighbours, Noise, Sampling
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, Step, SubsampledGaussianStep
from accountant.numbers import Bound, Exact, decimal_string, exact, exact_binary64, float_down, float_up
from accountant.pricing import MethodResult, Report, epsilon, methods_for

__all__ = [
    "AccountantError",
    "Accounting",
    "BinaryFloatError",
    "Bound",
    "Calibration",
    "CannotCertifyError",
    "Certificate",
    "CertificateError",
    "DeltaCurve",
    "Exact",
    "GaussianStep",
    "InvalidQuantityError",
    "Ledger",
    "MethodResult",
    "Neighbours",
    "Noise",
    "ObjectivePerturbation",
    "PoissonGaussianStep",
    "Proximal",
    "PureStep",
    "Release",
    "Report",
    "Sampling",
    "Sensitivity",
    "Step",
    "SubsampledGaussianStep",
    "UnsupportedSchemeError",
    "admm_objp",
    "calibrate_count",
    "calibrate_noise",
    "certificate",
    "decimal_string",
    "delta_curve",
    "dp_admm",
    "dp_sgd",
    "dp_svrg",
    "epsilon",
    "exact",
    "exact_binary64",
    "float_down",
    "float_up",
    "gaussian_releases",
    "methods_for",
    "mpadmm",
    "objective_perturbation",
    "poisson_sgd",
    "read_certificate",
    "recheck",
    "ssadmm",
]
