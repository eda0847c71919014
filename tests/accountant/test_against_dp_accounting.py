"""Random ledgers of Poisson, Gaussian and Laplace steps beside dp-accounting's PLD and Microsoft's prv_accountant.

Theirs are computed in binary64 with a one-sided discretisation, ours are enclosures: theirs must not be below our lower
end by more than rounding, nor below our upper end by more than 0.1 %. Needs `make setup-peers` and pytest in it.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from fractions import Fraction

import pytest

from accountant import GaussianStep, Laplace, Ledger, Neighbours, Poisson, epsilon
from accountant.numbers import fraction_of

pytestmark = pytest.mark.peers
INTERVAL = 1e-4
LEDGERS = 200
ROUNDING = 1e-6
"""Of their binary64: of 256 Gaussian steps dp-accounting finds 2e-8 less than the closed form."""
Phase = tuple[str, float, float, int]


def _phases(draw: random.Random) -> list[Phase]:
    """Return kind, rate, noise and count of each phase."""
    found: list[Phase] = []
    for kind in draw.sample(["poisson", "gaussian", "laplace"], draw.choice([1, 1, 2, 3])):
        count = int(10 ** draw.uniform(0, 2 if kind == "laplace" else 2.7))
        rate = round(10 ** draw.uniform(-3, -0.2), 4) if kind == "poisson" else 1.0
        exponents = {"poisson": (-0.15, 0.8), "gaussian": (0.3, 1.5), "laplace": (0.3, 1.8)}[kind]
        found.append((kind, rate, round(10 ** draw.uniform(*exponents), 2), count))
    return found


def _ledger(phases: list[Phase]) -> Ledger:
    ledgers = []
    for kind, rate, noise, count in phases:
        if kind == "poisson":
            one = Poisson(sampling_rate=str(rate), noise_multiplier=str(noise), iterations=count).ledger()
        elif kind == "gaussian":
            steps = (GaussianStep(1 / Fraction(str(noise)) ** 2, count, neighbours=Neighbours.ADD_OR_REMOVE),)
            one = Ledger(steps, steps)
        else:
            one = Laplace(noise_multiplier=str(noise), iterations=count, neighbours="add-or-remove").ledger()
        ledgers.append(one)
    return sum(ledgers[1:], ledgers[0])


def _pld(phases: list[Phase], delta: float) -> float:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    total = None
    for kind, rate, noise, count in phases:
        if kind == "laplace":
            one = pld.from_laplace_mechanism(noise, value_discretization_interval=INTERVAL)
        else:
            one = pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=INTERVAL)
        composed = one.self_compose(count)
        total = composed if total is None else total.compose(composed)
    assert total is not None
    return float(total.get_epsilon_for_delta(delta))


def _prv(phases: list[Phase], delta: float) -> float:
    prv = pytest.importorskip("prv_accountant")
    counts, steps = [count for *_, count in phases], []
    for kind, rate, noise, _ in phases:
        plain = prv.GaussianMechanism if kind == "gaussian" else prv.LaplaceMechanism
        steps.append(prv.PoissonSubsampledGaussianMechanism(rate, noise) if kind == "poisson" else plain(noise))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            accountant = prv.PRVAccountant(
                prvs=steps,
                max_self_compositions=counts,
                eps_error=0.1,
                delta_error=delta / 1000,
            )
            return float(accountant.compute_epsilon(delta, counts)[2])
        except (RuntimeError, ValueError, OverflowError, MemoryError) as reason:
            pytest.skip(f"prv_accountant does not answer: {reason}")


@pytest.mark.parametrize("seed", range(LEDGERS))
@pytest.mark.parametrize("peer", [_pld, _prv])
def test_no_peer_is_tighter_by_more_than_a_tenth_of_a_per_cent(
    peer: Callable[[list[Phase], float], float], seed: int
) -> None:
    draw = random.Random(f"peer {seed}")
    phases = _phases(draw)
    delta = 10.0 ** -draw.choice([4, 5, 6, 8])
    found = peer(phases, delta)
    report = epsilon(_ledger(phases), Fraction(delta))
    assert float(fraction_of(report.epsilon.upper)) <= found * 1.001 + 1e-9
    assert found >= float(fraction_of(report.epsilon.lower)) * (1 - ROUNDING)
