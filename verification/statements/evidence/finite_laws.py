r"""The theory of one step on finite laws, in exact rationals (statements HOCKEY-STICK, TESTS, SUBSAMPLING, TRIPLES).

Coq proves these for every integral. Here the same inequalities are counted out on laws with a handful of outcomes,
which shows that they say what the program computes, and that they are attained.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

from verification.lemmas.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind

Law = tuple[Fraction, ...]
LEVELS = (Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(4))
ROUNDS = 60


def hockey(y: Fraction, p: Law, q: Law) -> Fraction:
    """H_y(p||q), the sum of (p - y q)_+."""
    return sum((max(Fraction(0), a - y * b) for a, b in zip(p, q, strict=True)), Fraction(0))


def random_law(rng: random.Random, size: int) -> Law:
    """A law on ``size`` outcomes, some of which may be impossible."""
    counts = [rng.randint(0, 6) for _ in range(size)]
    counts[rng.randrange(size)] += 1
    return tuple(Fraction(count, sum(counts)) for count in counts)


def mixture(weights: Sequence[Fraction], laws: Sequence[Law]) -> Law:
    """The law that draws one of the laws first."""
    return tuple(
        sum((w * value for w, value in zip(weights, column, strict=True)), Fraction(0))
        for column in zip(*laws, strict=True)
    )


def divergence_laws() -> Evidence:
    """H is jointly convex, falls under every stochastic matrix, and is reversed by 1 - y + y H_{1/y}."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        rng = random.Random(41)
        for y in LEVELS * ROUNDS:
            weights, p, q = random_law(rng, 3), *([random_law(rng, 4) for _ in range(3)] for _ in range(2))
            mixed, apart = (
                hockey(y, mixture(weights, p), mixture(weights, q)),
                [hockey(y, *pair) for pair in zip(p, q, strict=True)],
            )
            matrix = [random_law(rng, 3) for _ in range(4)]
            processed = hockey(y, mixture(p[0], matrix), mixture(q[0], matrix))
            faults = (
                mixed > sum(w * h for w, h in zip(weights, apart, strict=True)),
                processed > apart[0],
                apart[0] != 1 - y + y * hockey(1 / y, q[0], p[0]),
            )
            if any(faults):
                return EvidenceResult.check(False, f"y={y}: convexity, post-processing or reversal fails: {faults}")
        return EvidenceResult.check(True, f"{len(LEVELS) * ROUNDS} random laws, exactly")

    return Evidence("divergences of finite laws", Kind.ENCLOSURE, run)


def best_test() -> Evidence:
    """Over all subsets S of the outcomes, the largest P(S) - y Q(S) is H_y, exactly."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        rng = random.Random(42)
        for y in LEVELS * ROUNDS:
            p, q = random_law(rng, 4), random_law(rng, 4)
            tests = itertools.product((0, 1), repeat=4)
            best = max(sum(phi * (a - y * b) for phi, a, b in zip(test, p, q, strict=True)) for test in tests)
            if best != hockey(y, p, q):
                return EvidenceResult.check(False, f"y={y}: the best test has {best}, H is {hockey(y, p, q)}")
        return EvidenceResult.check(True, f"all tests of {len(LEVELS) * ROUNDS} pairs of laws", tightness=1.0)

    return Evidence("all tests of finite laws", Kind.ENCLOSURE, run)


def on_batches(records: Sequence[int], m: int, mechanism: Callable[[tuple[int, ...]], Law]) -> Law:
    """The law of a mechanism that is given a uniform subset of ``m`` records, by counting all of them."""
    batches = list(itertools.combinations(records, m))
    return mixture([Fraction(1, len(batches))] * len(batches), [mechanism(tuple(sorted(batch))) for batch in batches])


def amplified(q: Fraction, y: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """What a rate q makes of (y, delta)."""
    return 1 + q * (y - 1), q * delta


def worst_amplification(rule: Callable[[Fraction, Fraction, Fraction], tuple[Fraction, Fraction]]) -> float:
    """The largest H over its bound by the rule, for mechanisms on random records and one that attains it."""
    rng, reached = random.Random(43), 0.0
    for n, m in ((3, 1), (4, 2), (4, 3), (3, 3)):
        for number in range(12):
            laws = {batch: random_law(rng, 3) for batch in itertools.combinations_with_replacement(range(3), m)}
            if number == 0:  # one record is told apart, and nothing else
                laws = {batch: (Fraction(0 in batch), Fraction(0 not in batch), Fraction(0)) for batch in laws}
            others = [rng.randrange(1, 3) for _ in range(n - 1)]
            first, second = (on_batches((record, *others), m, laws.__getitem__) for record in (0, 1))
            for y in LEVELS[1:]:
                neighbours = (
                    hockey(y, laws[tuple(sorted((*rest, a)))], laws[tuple(sorted((*rest, b)))])
                    for rest in itertools.combinations_with_replacement(range(3), m - 1)
                    for a, b in itertools.product(range(3), repeat=2)
                )
                level, bound = rule(Fraction(m, n), y, max(neighbours))
                if bound:
                    reached = max(reached, float(hockey(level, first, second) / bound))
    return reached


def amplification() -> Evidence:
    """Every batch is counted: delta becomes q delta at 1 + q (y - 1), and a mechanism attains it."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        reached = worst_amplification(amplified)
        return EvidenceResult.check(reached == 1, "48 mechanisms, every batch counted", tightness=reached)

    return Evidence("every batch of finite mechanisms", Kind.ENCLOSURE, run)


def triples() -> Evidence:
    """A noisy sum over a batch, on a cycle of 7 points: at most the worst triple, equal where the others agree."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - counted exactly
        rng, reached, ball = random.Random(44), 0.0, (0, 1, 2)
        for number, (n, m) in enumerate(((3, 1), (4, 2), (4, 3)) * 8):
            noise, rate = random_law(rng, 7), Fraction(m, n)

            def shifted(batch: tuple[int, ...], noise: Law = noise) -> Law:
                return tuple(noise[(x - sum(batch)) % 7] for x in range(7))

            others = [rng.choice(ball)] * (n - 1) if number % 2 else [rng.choice(ball) for _ in range(n - 1)]
            for y, (s, t) in itertools.product(LEVELS, itertools.permutations(ball, 2)):
                step = hockey(y, *(on_batches((record, *others), m, shifted) for record in (s, t)))
                pairs = ([mixture((1 - rate, rate), (shifted((c,)), shifted((a,)))) for a in (s, t)] for c in ball)
                worst = max(hockey(y, *pair) for pair in pairs)
                if step > worst:
                    return EvidenceResult.check(False, f"n={n}, m={m}, y={y}: {step} above the worst triple, {worst}")
                reached = max(reached, float(step / worst)) if worst else reached
        return EvidenceResult.check(True, "24 noises on batches, every batch and triple counted", tightness=reached)

    return Evidence("triples on a cycle", Kind.ENCLOSURE, run)
