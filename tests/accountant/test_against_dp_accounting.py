"""Random ledgers of Poisson, Gaussian and Laplace steps beside dp-accounting's privacy loss distributions.

Theirs are estimates with a one-sided discretisation, ours enclosures: theirs must not be below our lower end, nor below
our upper end by more than 0.1 %.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from accountant import GaussianStep, Laplace, Ledger, Neighbours, Poisson, epsilon
from accountant.numbers import fraction_of

pytestmark = pytest.mark.peers
INTERVAL = 1e-4
LEDGERS = 200


def _drawn(draw: random.Random, pld: object) -> tuple[Ledger, object]:
    ledger: Ledger | None = None
    theirs: object = None
    for kind in draw.sample(["poisson", "gaussian", "laplace"], draw.choice([1, 1, 2, 3])):
        count = int(10 ** draw.uniform(0, 2 if kind == "laplace" else 2.7))
        if kind == "poisson":
            rate, noise = round(10 ** draw.uniform(-3, -0.2), 4), round(10 ** draw.uniform(-0.15, 0.8), 2)
            ours = Poisson(sampling_rate=str(rate), noise_multiplier=str(noise), iterations=count).ledger()
            one = pld.from_gaussian_mechanism(  # type: ignore[attr-defined]  # no stubs
                noise, sampling_prob=rate, value_discretization_interval=INTERVAL
            )
        elif kind == "gaussian":
            noise = round(10 ** draw.uniform(0.3, 1.5), 2)
            steps = (GaussianStep(1 / Fraction(str(noise)) ** 2, count, neighbours=Neighbours.ADD_OR_REMOVE),)
            ours = Ledger(steps, steps)
            one = pld.from_gaussian_mechanism(noise, value_discretization_interval=INTERVAL)  # type: ignore[attr-defined]
        else:
            noise = round(10 ** draw.uniform(0.3, 1.8), 2)
            ours = Laplace(noise_multiplier=str(noise), iterations=count, neighbours="add-or-remove").ledger()
            one = pld.from_laplace_mechanism(noise, value_discretization_interval=INTERVAL)  # type: ignore[attr-defined]
        composed = one.self_compose(count)
        ledger = ours if ledger is None else ledger + ours
        theirs = composed if theirs is None else theirs.compose(composed)  # type: ignore[attr-defined]  # no stubs
    assert ledger is not None
    return ledger, theirs


@pytest.mark.parametrize("seed", range(LEDGERS))
def test_no_peer_is_tighter_by_more_than_a_tenth_of_a_per_cent(seed: int) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    draw = random.Random(f"peer {seed}")
    ledger, theirs = _drawn(draw, pld)
    delta = 10.0 ** -draw.choice([4, 5, 6, 8])
    found: float = theirs.get_epsilon_for_delta(delta)  # type: ignore[attr-defined]  # no stubs
    report = epsilon(ledger, Fraction(delta))
    assert float(fraction_of(report.epsilon.upper)) <= found * 1.001 + 1e-9
    assert found >= float(fraction_of(report.epsilon.lower)) * (1 - 1e-9)
