"""Closed ends for little noise and many steps: sound against the lattice, and close to one another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accountant.cramer_bound import close_levels_of
from accountant.pld.composition import compose
from accountant.profiles import without_lattice
from accountant.profiles.one_step import SubsampledGaussian
from accountant.profiles.pure import pure_epsilon
from accountant.profiles.without_lattice import attained_level, levels_of, revealed_epsilon

DELTAS = (Fraction(1, 10), Fraction(1, 10**5), Fraction(1, 10**30))


def drawn_steps(seed: int, noise: tuple[float, float]) -> list[SubsampledGaussian]:
    """One to three phases at random."""
    chance = np.random.default_rng(seed)
    return [
        SubsampledGaussian(
            Fraction(int(chance.integers(1, 1000)), 1000),
            Fraction(float(np.exp(chance.uniform(*np.log(noise))))),
            int(np.exp(chance.uniform(0, 8))),
        )
        for _ in range(chance.integers(1, 4))
    ]


@pytest.mark.parametrize(
    "seed", [seed if seed < 4 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(12)]
)
@pytest.mark.parametrize("delta", DELTAS)
def test_neither_end_is_on_the_wrong_side_of_the_lattice(seed: int, delta: Fraction) -> None:
    steps = drawn_steps(seed, (0.2, 3.0))
    composed = compose(steps)
    upper, lower = composed._dominating_epsilon(delta), composed.attained_epsilon(delta)
    level = attained_level(close_levels_of(steps, delta), delta)
    told = revealed_epsilon(steps, delta)
    assert level <= upper
    assert told is None or told >= lower


@pytest.mark.parametrize("delta", DELTAS[1:])
@pytest.mark.parametrize("rate", [Fraction(1, 200), Fraction(1, 3)])
@pytest.mark.parametrize("noise", [Fraction(1, 10**3), Fraction(1, 10**30)])
def test_where_noise_hides_nothing_the_ends_meet(delta: Fraction, rate: Fraction, noise: Fraction) -> None:
    steps = [SubsampledGaussian(rate, noise, 10**5)]
    told, level = revealed_epsilon(steps, delta), attained_level(levels_of(steps), delta)
    assert told is not None
    assert level <= told <= Fraction(21, 20) * level


@pytest.mark.parametrize("number", ["seldom_more", "often_as_many"])
def test_a_wrong_number_of_draws_is_seen(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above must catch: three draws too few from above, three too many from below."""
    steps, delta = [SubsampledGaussian(Fraction(1, 1000), Fraction(1, 10**9), 1000)], Fraction(1, 10**6)
    module, by = (without_lattice, -3) if number == "seldom_more" else (without_lattice, 3)
    honest = getattr(module, number)
    monkeypatch.setattr(module, number, lambda *given: honest(*given) + by)
    told, level = revealed_epsilon(steps, delta), attained_level(levels_of(steps), delta)
    assert told is not None
    assert level > told


@pytest.mark.parametrize(("rate", "noise", "count"), [("1/100", "1", 10**6), ("1/10", "4", 10**5), ("1/2", "1/2", 500)])
def test_tilted_levels_come_close_to_what_the_lattice_attains(rate: str, noise: str, count: int) -> None:
    steps, delta = [SubsampledGaussian(Fraction(rate), Fraction(noise), count)], Fraction(1, 10**6)
    best = compose(steps).attained_epsilon(delta)
    assert Fraction(2, 3) * best <= attained_level(close_levels_of(steps, delta), delta) <= best * Fraction(1001, 1000)


@pytest.mark.parametrize(("epsilon", "count"), [("1/10", 8983), ("2", 10), ("1/1000", 10**4)])
def test_levels_of_randomised_response_stay_below_what_it_attains(epsilon: str, count: int) -> None:
    delta, pure = Fraction(1, 10**8), [(Fraction(epsilon), count)]
    exact = pure_epsilon(pure, delta).most.fraction()
    assert Fraction(1, 2) * exact <= attained_level(levels_of([], pure), delta) <= exact


def test_releases_of_all_kinds_add_up() -> None:
    delta = Fraction(1, 10**9)
    everything = SubsampledGaussian(Fraction(1), Fraction(1, 1000), 4)
    drawn = SubsampledGaussian(Fraction(1, 2), Fraction(1, 1000), 100)
    apart = [
        attained_level(levels_of([everything]), delta),
        attained_level(levels_of([drawn]), delta),
        attained_level(levels_of([], [(Fraction(1000), 1000)]), delta),
    ]
    together = attained_level(levels_of([everything, drawn], [(Fraction(1000), 1000)]), delta)
    assert Fraction(9, 10) * sum(apart) < together <= sum(apart)
