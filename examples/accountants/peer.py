"""Public accountants behind dpadmm's wire: ``dpadmm vectors accountant -- python3 peer.py NAME``.

NAME is a key of PEERS. Each is called as its own documentation says, with the noise multiplier that it defines; nothing
is corrected on its behalf. What a library does not offer is refused, never replaced by something else. It needs the
library that NAME names and nothing of dpadmm; fsrdp is no package: put the folder of its `fs_rdp_bounds.py`
(github.com/star-ailab/FSRDP) on PYTHONPATH.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction

Question = dict[str, object]


def number(question: Question, name: str) -> float:
    """A real of the question as the nearest binary64."""
    return float(Fraction(str(question[name])))


def whole(question: Question, name: str) -> int:
    """An integer of the question."""
    return int(str(question[name]))


def dp_accounting(question: Question, kind: str) -> float:
    """dp-accounting: GaussianDpEvent's noise multiplier is the noise over the largest norm of a contribution."""
    import dp_accounting as dp  # noqa: PLC0415
    from dp_accounting import pld, rdp  # noqa: PLC0415

    relation = {
        "replace-one": dp.NeighboringRelation.REPLACE_ONE,
        "add-or-remove": dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    }[str(question["neighbours"])]
    event = dp.GaussianDpEvent(number(question, "noise"))
    records, batch = whole(question, "records"), whole(question, "batch")
    if question["sampling"] == "without-replacement":
        event = dp.SampledWithoutReplacementDpEvent(records, batch, event)
    elif question["sampling"] == "poisson":
        event = dp.PoissonSampledDpEvent(batch / records, event)
    if kind == "rdp":
        orders = [number(question, "alpha")] if question["ask"] == "renyi" else None
        accountant = rdp.RdpAccountant(orders, relation)
    else:
        accountant = pld.PLDAccountant(relation)
    try:
        accountant.compose(event, whole(question, "steps"))
    except dp.UnsupportedEventError as reason:
        raise NotImplementedError(str(reason)) from reason
    if question["ask"] == "epsilon":
        return float(accountant.get_epsilon(number(question, "delta")))
    if question["ask"] == "delta":
        return float(accountant.get_delta(number(question, "epsilon")))
    if kind == "pld":
        raise NotImplementedError("a privacy loss distribution answers no Renyi epsilon")
    return float(accountant._rdp[0])


def autodp(question: Question) -> float:
    """autodp: sigma over the sensitivity, which its user has to know; fixed size by its improved bound."""
    from autodp import rdp_acct, rdp_bank  # noqa: PLC0415

    if question["ask"] == "delta":
        raise NotImplementedError("asked for epsilon and Renyi epsilon only")
    fixed, steps = question["sampling"] == "without-replacement", whole(question, "steps")
    sensitivity = 2 if question["neighbours"] == "replace-one" else 1
    sigma = number(question, "noise") / sensitivity
    rate = whole(question, "batch") / whole(question, "records")

    def gaussian(order: float) -> float:
        return float(rdp_bank.RDP_gaussian({"sigma": sigma}, order))

    accountant = rdp_acct.anaRDPacct()
    if question["sampling"] == "all":
        accountant.compose_mechanism(gaussian, coeff=steps)
    elif fixed:
        accountant.compose_subsampled_mechanism(gaussian, rate, coeff=steps, improved_bound_flag=True)
    else:
        accountant.compose_poisson_subsampled_mechanisms(gaussian, rate, coeff=steps)
    if question["ask"] == "renyi":
        return float(accountant.get_rdp([number(question, "alpha")])[0])
    return float(accountant.get_eps(number(question, "delta")))


def jax_privacy(question: Question, kind: str) -> float:
    """jax-privacy: the training accountant of DP-SGD; its noise multiplier is the noise over the clipping norm."""
    from jax_privacy import accounting  # noqa: PLC0415

    if question["ask"] != "epsilon" or question["sampling"] == "all":
        raise NotImplementedError("asked for the epsilon of sampled training only")
    sampling = accounting.SamplingMethod
    parameters = accounting.DpParams(
        noise_multipliers=number(question, "noise"),
        num_samples=whole(question, "records"),
        delta=number(question, "delta"),
        batch_size=whole(question, "batch"),
        sampling_method=sampling.FIXED_BATCH_SIZE
        if question["sampling"] == "without-replacement"
        else sampling.POISSON,
    )
    config = accounting.RdpAccountantConfig() if kind == "rdp" else accounting.PldAccountantConfig()
    accountant = accounting.DpsgdTrainingAccountant(dp_accountant_config=config)
    return float(accountant.compute_epsilon(whole(question, "steps"), parameters))


def opacus_rdp(question: Question) -> float:
    """opacus: Poisson sampling, one record added or removed; nothing else is offered."""
    from opacus.accountants.analysis import rdp  # noqa: PLC0415

    if (
        question["neighbours"] != "add-or-remove"
        or question["sampling"] == "without-replacement"
        or question["ask"] == "delta"
    ):
        raise NotImplementedError("Poisson sampling and one record added or removed, epsilon and Renyi epsilon only")
    rate = 1.0 if question["sampling"] == "all" else whole(question, "batch") / whole(question, "records")
    orders = [1 + x / 10.0 for x in range(1, 100)] + list(range(12, 64))
    if question["ask"] == "renyi":
        orders = [number(question, "alpha")]
    curve = rdp.compute_rdp(
        q=rate, noise_multiplier=number(question, "noise"), steps=whole(question, "steps"), orders=orders
    )
    if question["ask"] == "renyi":
        return float(curve[0])
    return float(rdp.get_privacy_spent(orders=orders, rdp=curve, delta=number(question, "delta"))[0])


def opacus_prv(question: Question) -> float:
    """opacus: privacy random variables, what its PrivacyEngine uses by default; it returns the upper end."""
    from opacus.accountants import PRVAccountant  # noqa: PLC0415

    if question["neighbours"] != "add-or-remove" or question["sampling"] == "without-replacement":
        raise NotImplementedError("Poisson sampling and one record added or removed only")
    if question["ask"] != "epsilon":
        raise NotImplementedError("epsilon only")
    rate = whole(question, "batch") / whole(question, "records")
    accountant = PRVAccountant()
    accountant.history = [(number(question, "noise"), rate, whole(question, "steps"))]
    return float(accountant.get_epsilon(number(question, "delta")))


def prv_accountant(question: Question) -> float:
    """Microsoft's prv_accountant: the upper end, at the errors that its README and find_noise_multiplier take."""
    from prv_accountant import GaussianMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant  # noqa: PLC0415

    if question["ask"] == "renyi" or question["sampling"] == "without-replacement":
        raise NotImplementedError("epsilon and delta, Gaussian noise and Poisson sampling only")
    if question["sampling"] == "all":
        sensitivity = 2 if question["neighbours"] == "replace-one" else 1
        step = GaussianMechanism(number(question, "noise") / sensitivity)
    else:
        rate = whole(question, "batch") / whole(question, "records")
        step = PoissonSubsampledGaussianMechanism(rate, number(question, "noise"))
    steps, delta = whole(question, "steps"), number(question, "delta") if question["ask"] == "epsilon" else 1e-7
    accountant = PRVAccountant(prvs=[step], max_self_compositions=[steps], eps_error=0.1, delta_error=delta / 1000)
    if question["ask"] == "epsilon":
        return float(accountant.compute_epsilon(delta, [steps])[2])
    return float(accountant.compute_delta(number(question, "epsilon"), [steps])[2])


def pld_accounting(question: Question) -> float:
    """PLD_accounting: subsampling of a privacy loss distribution by its dual."""
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415
    from PLD_accounting import subsample_pld  # noqa: PLC0415

    if question["ask"] == "renyi" or question["sampling"] == "without-replacement":
        raise NotImplementedError("epsilon and delta, Gaussian noise and Poisson sampling only")
    sensitivity = 2 if question["neighbours"] == "replace-one" else 1
    one = pld.from_gaussian_mechanism(number(question, "noise"), sensitivity)
    if question["sampling"] == "poisson":
        rate = whole(question, "batch") / whole(question, "records")
        one = subsample_pld(pld=one, sampling_probability=rate)
    composed = one.self_compose(whole(question, "steps"))
    if question["ask"] == "epsilon":
        return float(composed.get_epsilon_for_delta(number(question, "delta")))
    return float(composed.get_delta_for_epsilon(number(question, "epsilon")))


def fsrdp(question: Question) -> float:
    """FSRDP: Theorem 3.4 of its paper with m = 4, its orders and its conversion, as in its CIFAR example."""
    import fs_rdp_bounds  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    if question["sampling"] != "without-replacement" or question["ask"] == "delta":
        raise NotImplementedError("batches of fixed size, epsilon and Renyi epsilon only")
    rate, sigma = whole(question, "batch") / whole(question, "records"), number(question, "noise")
    steps = whole(question, "steps")
    if question["ask"] == "renyi":
        return steps * float(fs_rdp_bounds.FSwoR_RDP_ro(number(question, "alpha"), sigma, 4, rate))
    orders = np.array([1 + x / 10.0 for x in range(1, 100)] + list(range(12, 64)))
    curve = np.array([steps * fs_rdp_bounds.FSwoR_RDP_ro(order, sigma, 4, rate) for order in orders])
    converted = curve - (np.log(number(question, "delta")) + np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
    return float(np.nanmin(converted))


PEERS: dict[str, tuple[str, Callable[[Question], float]]] = {
    "dp-accounting-rdp": ("dp-accounting", lambda question: dp_accounting(question, "rdp")),
    "dp-accounting-pld": ("dp-accounting", lambda question: dp_accounting(question, "pld")),
    "autodp": ("autodp", autodp),
    "jax-privacy": ("jax-privacy", lambda question: jax_privacy(question, "rdp")),
    "jax-privacy-pld": ("jax-privacy", lambda question: jax_privacy(question, "pld")),
    "opacus-rdp": ("opacus", opacus_rdp),
    "opacus-prv": ("opacus", opacus_prv),
    "prv-accountant": ("prv-accountant", prv_accountant),
    "pld-accounting": ("PLD-accounting", pld_accounting),
    "fsrdp": ("", fsrdp),
}


def answer(question: Question, name: str) -> dict[str, str]:
    """The answer to one question."""
    package, peer = PEERS[name]
    if question["ask"] == "describe":
        return {"name": name, "version": importlib.metadata.version(package) if package else "799f7b7"}
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
            warnings.simplefilter("ignore")
            return {"value": repr(peer(question))}
    except NotImplementedError as reason:
        return {"refused": str(reason)}
    except Exception as error:  # what a user of the library sees
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def main() -> int:
    """Serve one peer until stdin ends."""
    if len(sys.argv) != 2 or sys.argv[1] not in PEERS:
        print(f"usage: peer.py {{{','.join(PEERS)}}}", file=sys.stderr)
        return 2
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), sys.argv[1])), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
