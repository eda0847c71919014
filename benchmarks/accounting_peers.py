"""The peers' accountants behind one signature: epsilon for batches of m of n without replacement, T times.

`nu` is the noise over the replace-one sensitivity. Peers that know only Poisson sampling are asked with q = m/n and are
marked so: their figure is for another mechanism and another neighbouring relation.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass

Priced = Callable[[int, int, float, int, float], float]


@dataclass(frozen=True, slots=True)
class Peer:
    """One accountant that can be installed today."""

    name: str
    package: str
    scheme: str
    epsilon: Priced

    @property
    def installed(self) -> bool:
        """Whether its package is here."""
        return importlib.util.find_spec(self.package) is not None


def dp_accounting_rdp(n: int, m: int, nu: float, steps: int, delta: float) -> float:
    """dp-accounting, Renyi, default orders, replace one, without replacement."""
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_event.SampledWithoutReplacementDpEvent(n, m, dp_event.GaussianDpEvent(nu)), steps)
    return float(accountant.get_epsilon(delta))


def dp_accounting_pld(n: int, m: int, nu: float, steps: int, delta: float) -> float:
    """dp-accounting, privacy loss distributions, Poisson."""
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(dp_event.PoissonSampledDpEvent(m / n, dp_event.GaussianDpEvent(nu)), steps)
    return float(accountant.get_epsilon(delta))


def autodp_subsampled(n: int, m: int, nu: float, steps: int, delta: float) -> float:
    """autodp's general bound for batches without replacement (Lemma 2 of the paper)."""
    from autodp import rdp_acct, rdp_bank

    accountant = rdp_acct.anaRDPacct()
    accountant.compose_subsampled_mechanism(
        lambda order: rdp_bank.RDP_gaussian({"sigma": nu}, order), m / n, coeff=steps
    )
    return float(accountant.get_eps(delta))


def autodp_improved(n: int, m: int, nu: float, steps: int, delta: float) -> float:
    """autodp's improved bound (Theorem 27 of its source)."""
    from autodp import rdp_acct, rdp_bank

    accountant = rdp_acct.anaRDPacct()
    accountant.compose_subsampled_mechanism(
        lambda order: rdp_bank.RDP_gaussian({"sigma": nu}, order), m / n, coeff=steps, improved_bound_flag=True
    )
    return float(accountant.get_eps(delta))


def jax_privacy_fixed(n: int, m: int, nu: float, steps: int, delta: float) -> float:
    """jax-privacy, fixed batch size, Renyi; its noise multiplier is over the clipping norm, half our sensitivity."""
    from jax_privacy import accounting

    parameters = accounting.DpParams(
        noise_multipliers=2 * nu,
        num_samples=n,
        delta=delta,
        batch_size=m,
        sampling_method=accounting.SamplingMethod.FIXED_BATCH_SIZE,
    )
    accountant = accounting.DpsgdTrainingAccountant(dp_accountant_config=accounting.RdpAccountantConfig())
    return float(accountant.compute_epsilon(steps, parameters))


def opacus_rdp(n: int, m: int, nu: float, steps: int, delta: float) -> float:
    """opacus, Renyi, Poisson."""
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(nu, m / n, steps)]
    return float(accountant.get_epsilon(delta))


def opacus_prv(n: int, m: int, nu: float, steps: int, delta: float) -> float:
    """opacus, privacy random variables, Poisson."""
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(nu, m / n, steps)]
    return float(accountant.get_epsilon(delta))


WITHOUT_REPLACEMENT, POISSON = "without replacement", "Poisson"

PEERS = (
    Peer("dp-accounting RDP", "dp_accounting", WITHOUT_REPLACEMENT, dp_accounting_rdp),
    Peer("autodp", "autodp", WITHOUT_REPLACEMENT, autodp_subsampled),
    Peer("autodp improved", "autodp", WITHOUT_REPLACEMENT, autodp_improved),
    Peer("jax-privacy RDP", "jax_privacy", WITHOUT_REPLACEMENT, jax_privacy_fixed),
    Peer("dp-accounting PLD", "dp_accounting", POISSON, dp_accounting_pld),
    Peer("opacus RDP", "opacus", POISSON, opacus_rdp),
    Peer("opacus PRV", "opacus", POISSON, opacus_prv),
)


def asked(peer: Peer, n: int, m: int, nu: float, steps: int, delta: float) -> str:  # noqa: PLR0917 - Priced's order
    """The peer's answer as text; an exception is an answer too."""
    if not peer.installed:
        return "not installed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f"{peer.epsilon(n, m, nu, steps, delta):.6g}"
    except Exception as error:  # whatever a peer raises is what its user sees
        return f"{type(error).__name__}"
