r"""Many steps on finite laws, in exact rationals (statements COMPOSITION, GRID-RECURSION, CERTIFICATE and VILLE)."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

from verification.lemmas.prover import Prover
from verification.statements.evidence.finite_laws import LEVELS, Law, hockey, random_law
from verification.statements.model import Evidence, EvidenceResult, Kind

Pair = tuple[Law, Law]
Profile = Callable[[Fraction], Fraction]
STEPS = 3
ROUNDS = 5


def composed(pair: Pair, rest: Profile, y: Fraction) -> Fraction:
    """The product of a pair's profile with another: c + sum of p f(y q/p), c being what is impossible under q."""
    return sum((p * rest(y * q / p) for p, q in zip(*pair, strict=True) if p), Fraction(0))


def largest(pairs: Sequence[Pair], steps: int) -> Profile:
    """The recursion: (1 - y)_+, then in each step the largest product over the list."""

    @functools.cache
    def profile(y: Fraction) -> Fraction:
        if not steps:
            return max(Fraction(0), 1 - y)
        return max(composed(pair, largest(pairs, steps - 1), y) for pair in pairs)

    return profile


def adaptive(
    pairs: Sequence[Pair], choose: Callable[[int, Fraction], int], steps: int, p: Fraction, q: Fraction
) -> Fraction:
    """H of a mechanism that chooses its next pair from the past: the sum over all transcripts of (p - y q)_+.

    ``p`` and ``q`` are the probabilities of the transcript so far, the second times y.
    """
    if not steps:
        return max(Fraction(0), p - q)
    pair = pairs[choose(steps, q / p if p else Fraction(0))]
    return sum(
        (adaptive(pairs, choose, steps - 1, p * a, q * b) for a, b in zip(*pair, strict=True) if p * a), Fraction(0)
    )


def _pairs(rng: random.Random) -> list[Pair]:
    return [(random_law(rng, 3), random_law(rng, 3)) for _ in range(3)]


def composition() -> Evidence:
    """No adaptive choice from a list of pairs exceeds the recursion over their profiles; the greedy one equals it."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        rng, reached = random.Random(45), 0.0
        for number, y in itertools.product(range(6), LEVELS):
            pairs = _pairs(rng)
            bound = largest(pairs, STEPS)(y)

            def greedy(steps: int, level: Fraction, pairs: Sequence[Pair] = pairs) -> int:
                rest = largest(pairs, steps - 1)
                return max(range(3), key=lambda i: composed(pairs[i], rest, level))

            def any_choice(steps: int, level: Fraction, number: int = number) -> int:
                return hash((steps, level, number)) % 3

            found = [adaptive(pairs, choose, STEPS, Fraction(1), y) for choose in (greedy, any_choice)]
            if max(found) > bound:
                return EvidenceResult.check(False, f"y={y}: {max(found)} above the recursion, {bound}")
            reached = max(reached, float(found[0] / bound)) if bound else reached
        return EvidenceResult.check(reached == 1, f"24 lists, all transcripts of {STEPS} steps", tightness=reached)

    return Evidence("adaptive choices from finite laws", Kind.ENCLOSURE, run)


def chords(nodes: Sequence[Fraction], values: Sequence[Fraction]) -> Profile:
    """The piecewise linear function through the nodes, constant beyond the last."""

    def profile(y: Fraction) -> Fraction:
        for a, b, u, v in zip(nodes, nodes[1:], values, values[1:], strict=False):
            if a <= y <= b:
                return u + (v - u) * (y - a) / (b - a)
        return values[-1]

    return profile


def grid_recursion() -> Evidence:
    """The recursion at grid points, with chords between, is above the exact one at every y, and near it."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        rng, reached = random.Random(46), 0.0
        grid = [Fraction(0), *(Fraction(6, 5) ** k for k in range(-16, 17))]
        for _ in range(2):
            pairs, iterate = _pairs(rng), chords(grid, [max(Fraction(0), 1 - y) for y in grid])
            for _ in range(STEPS):
                iterate = chords(grid, [max(composed(pair, iterate, y) for pair in pairs) for y in grid])
            exact = largest(pairs, STEPS)
            for y in (Fraction(k, 7) for k in range(36)):
                if exact(y) > iterate(y):
                    return EvidenceResult.check(False, f"y={y}: the grid has {iterate(y)}, the truth is {exact(y)}")
                reached = max(reached, float(exact(y) / iterate(y))) if y >= 1 and iterate(y) else reached
        return EvidenceResult.check(True, f"2 lists, {len(grid)} points, {STEPS} steps", tightness=reached)

    return Evidence("the recursion on a grid", Kind.ENCLOSURE, run)


def atoms(
    q: Fraction, nodes: Sequence[Fraction], up: Sequence[Fraction], down: Sequence[Fraction]
) -> list[tuple[Fraction, Fraction]]:
    """The weights and places of the profile q U(w) at 1 + q w and 1 - y + y q D(w) at y = 1/(1 + q w).

    Both sides are continued with their last slope down to 0. Negative weights mean that the arrays are no profile.
    """
    found: list[tuple[Fraction, Fraction]] = []
    slopes = [
        [(b - a) / (v - u) for a, b, u, v in zip(side, side[1:], nodes, nodes[1:], strict=False)] for side in (up, down)
    ]
    for above, (side, slope) in zip((True, False), zip((up, down), slopes, strict=True), strict=True):
        hinges = [(right - left, node) for left, right, node in zip(slope, slope[1:], nodes[1:], strict=False)]
        if slope[-1]:
            hinges.append((-slope[-1], nodes[-1] - side[-1] / slope[-1]))
        places = ((weight, 1 + q * node) for weight, node in hinges)
        found += [(weight * s, s) if above else (weight, 1 / s) for weight, s in places]
    return [*found, (slopes[0][0] + slopes[1][0] + 1 - q * up[0], Fraction(1))]


def certificate() -> Evidence:
    """Arrays read off a pair at nodes make profiles (weights nonnegative, of sum 1) that dominate it at every y."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        rng, reached, nodes = random.Random(47), 0.0, [Fraction(k * k, 4) for k in range(8)]
        for q in (Fraction(1, 10), Fraction(1, 2)) * 8:
            c, a, b = ([x + Fraction(1, 9) for x in random_law(rng, 3)] for _ in range(3))
            p, r = (
                tuple(((1 - q) * x + q * z) / Fraction(4, 3) for x, z in zip(c, side, strict=True)) for side in (a, b)
            )
            up, down = ([hockey(1 + q * u, *pair) / q for u in nodes] for pair in ((p, r), (r, p)))
            if up[0] == 0 or up[-1] or down[-1]:
                continue  # the same law twice, or one that the nodes do not reach to the end of
            profile = atoms(q, nodes, up, down)
            if min(w for w, _ in profile) < 0 or sum(w for w, _ in profile) != 1:
                return EvidenceResult.check(False, f"q={q}: arrays of a pair make no profile: {profile}")
            for y in (Fraction(k, 11) for k in range(1, 40)):
                bound = sum(w * max(Fraction(0), 1 - y / s) for w, s in profile)
                if hockey(y, p, r) > bound:
                    return EvidenceResult.check(
                        False, f"q={q}, y={y}: {hockey(y, p, r)} above the certificate, {bound}"
                    )
                reached = max(reached, float(hockey(y, p, r) / bound)) if bound and y >= 1 else reached
        return EvidenceResult.check(reached > 0, f"pairs at {len(nodes)} nodes, 39 levels each", tightness=reached)

    return Evidence("certificates of finite pairs", Kind.ENCLOSURE, run)


def refutation_probability(
    chances: tuple[Fraction, Fraction], claim: tuple[Fraction, Fraction], share: Fraction, alpha: Fraction
) -> Fraction:
    """The probability that the wealth ever reaches 1/alpha, by counting all games of ``ROUNDS`` rounds.

    A round draws the event under either law, with these chances; ``claim`` is (e^eps, delta); a share of the largest
    stake 1/(e^eps + delta) is bet each time, until the level is reached.
    """
    (p, q), (level, delta) = chances, claim
    stake = share / (level + delta)
    games = {(0, 0): (1 - p) * (1 - q), (0, 1): (1 - p) * q, (1, 0): p * (1 - q), (1, 1): p * q}

    def ever(wealth: Fraction, rounds: int) -> Fraction:
        if wealth * alpha >= 1 or not rounds:
            return Fraction(wealth * alpha >= 1)
        after = ((odds, 1 + stake * (hit - level * other - delta)) for (hit, other), odds in games.items() if odds)
        return sum((odds * ever(wealth * factor, rounds - 1) for odds, factor in after), Fraction(0))

    return ever(Fraction(1), ROUNDS)


def betting() -> Evidence:
    """All games: a true claim is refuted with probability at most alpha, and nearly alpha by staking everything."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        reached, half = 0.0, Fraction(1, 2)
        for p, q, level, share, alpha in itertools.product(
            (half, Fraction(1, 10)),
            (Fraction(0), half),
            (Fraction(1), Fraction(3)),
            (half, Fraction(1)),
            (half, half**4),
        ):
            delta = max(Fraction(0), p - level * q)  # the least delta under which the claim holds for this event
            chance = refutation_probability((p, q), (level, delta), share, alpha)
            if chance > alpha:
                return EvidenceResult.check(False, f"p={p}, q={q}, claim=({level}, {delta}): refuted with {chance}")
            reached = max(reached, float(chance / alpha))
        return EvidenceResult.check(True, f"32 bettors, every game of {ROUNDS} rounds", tightness=reached)

    return Evidence("every game of a few rounds", Kind.ENCLOSURE, run)
