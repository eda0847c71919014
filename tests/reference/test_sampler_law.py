"""The exact law of the discrete Gaussian sampler, by walking its coin tree: nothing is drawn.

Each layer is walked with the layer below replaced by a script, so that the probability of every path is known exactly:
a coin of rational probability; e^{-gamma} from such coins; the discrete Laplace from those; the Gaussian from that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from reference import discrete_gaussian as sampler


class Restarted(Exception):
    """The sampler began another trial."""


def no_draw(n: int) -> int:
    raise AssertionError(f"a draw below {n} that the script does not foresee")


def drawing(values: list[int]) -> sampler.RandomBelow:
    """Draws these values, which must be possible, and no more."""
    left = iter(values)

    def below(n: int) -> int:
        value = next(left)
        assert 0 <= value < n
        return value

    return below


def scripted(answers: Iterator[bool], asked: list[Fraction]) -> Callable[[Fraction, sampler.RandomBelow], bool]:
    """A coin that notes what it is asked and answers from a script; asked once more, a new trial has begun."""

    def coin(probability: Fraction, below: sampler.RandomBelow) -> bool:
        try:
            answer = next(answers)
        except StopIteration as over:
            raise Restarted from over
        asked.append(probability)
        return answer

    return coin


def test_a_coin_has_exactly_its_probability() -> None:
    for probability in {Fraction(n, d) for d in range(1, 12) for n in range(d + 1)}:
        sides = probability.denominator
        hits = [sampler.bernoulli(probability, drawing([draw])) for draw in range(sides)]
        assert Fraction(sum(hits), sides) == probability


def exponential_probability(gamma: Fraction, monkeypatch: pytest.MonkeyPatch, depth: int) -> tuple[Fraction, Fraction]:
    """The mass of the paths that end in True with at most so many coins, and the mass of all longer paths."""
    true, left = Fraction(0), Fraction(1)
    for heads in range(depth):
        asked: list[Fraction] = []
        monkeypatch.setattr(sampler, "bernoulli", scripted(iter([True] * heads + [False]), asked))
        ended = sampler.bernoulli_exp(gamma, no_draw)
        assert len(asked) == heads + 1
        true += left * (1 - asked[-1]) * ended
        left *= asked[-1]
    return true, left


@pytest.mark.parametrize("gamma", [Fraction(k, 7) for k in range(8)])
def test_the_exponential_coin_is_exact(gamma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    true, left = exponential_probability(gamma, monkeypatch, 30)
    # e^{-gamma} lies between two partial sums of its series, by far closer than what is left.
    partial = list(itertools.accumulate((-gamma) ** k / math.factorial(k) for k in range(40)))
    assert min(partial[-2:]) - left <= true <= max(partial[-2:])
    assert left < Fraction(1, 10**30)


@pytest.mark.parametrize("gamma", [Fraction(5, 4), Fraction(2), Fraction(10, 3)])
def test_a_large_exponent_is_a_product_of_coins(gamma: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """True exactly where every one of coins e^{-g}, g <= 1, whose exponents sum to gamma, is true."""
    for heads in range(6):
        asked: list[Fraction] = []
        monkeypatch.setattr(sampler, "_bernoulli_exp_below_one", scripted(iter([True] * heads + [False]), asked))
        result = sampler.bernoulli_exp(gamma, no_draw)
        assert all(0 <= part <= 1 for part in asked)
        assert result == (len(asked) <= heads)
        assert not result or sum(asked) == gamma


@pytest.mark.parametrize("scale", [1, 2, 3, 5])
def test_every_integer_has_one_path_of_the_laplace_sampler(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: dict[int, Fraction] = {}
    for u, v, negative in itertools.product(range(scale), range(6), (False, True)):
        exponents: list[Fraction] = []
        signs: list[Fraction] = []
        monkeypatch.setattr(sampler, "bernoulli_exp", scripted(iter([True] * (v + 1) + [False]), exponents))
        monkeypatch.setattr(sampler, "bernoulli", scripted(iter([negative]), signs))
        try:
            y = sampler.discrete_laplace(scale, drawing([u, 0]))
        except Restarted:
            assert (u, v, negative) == (0, 0, True)  # minus zero alone is drawn again
            continue
        assert signs == [Fraction(1, 2)]
        assert y not in reached
        # The path costs e^{-(u/scale + v)} times what is the same for every path; its last coin is the failure.
        reached[y] = sum(exponents[:-1], Fraction(0))
        assert exponents[-1] == 1
    assert reached == {y: Fraction(abs(y), scale) for y in range(-6 * scale + 1, 6 * scale)}


@pytest.mark.parametrize("scale", [2, 3])
def test_a_remainder_that_is_refused_begins_again(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "bernoulli_exp", scripted(iter([False]), []))
    with pytest.raises(Restarted):
        sampler.discrete_laplace(scale, lambda _n: 1)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(100), Fraction(12345, 7)])
def test_the_accepted_integers_have_the_gaussian_law(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """-log P(y) = |y|/scale + gamma(y) must be y^2/(2 variance) + a constant: exactly, for every y."""
    constants: set[Fraction] = set()
    for y in range(-200, 201):
        scales: list[int] = []

        def laplace(scale: int, below: sampler.RandomBelow, y: int = y, scales: list[int] = scales) -> int:
            scales.append(scale)
            return y

        asked: list[Fraction] = []
        monkeypatch.setattr(sampler, "discrete_laplace", laplace)
        monkeypatch.setattr(sampler, "bernoulli_exp", scripted(iter([True]), asked))
        assert sampler.discrete_gaussian(variance, no_draw) == y
        [gamma], [scale] = asked, scales
        assert gamma >= 0
        constants.add(Fraction(abs(y), scale) + gamma - Fraction(y * y) / (2 * variance))
    assert len(constants) == 1
