r"""Statements SAMPLER, DRAWS and EPOCHS: from words to noise and batches, on every path, by scripts in place of chance.

Each layer of the sampler is walked with the layer below replaced by a script, so that the probability of every path is
known exactly: a coin of rational probability; e^{-gamma} from such coins; the discrete Laplace from those; the discrete
Gaussian from that. The shells around it are given words, and must return what the formulas make of these very words.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import FunctionType, SimpleNamespace
from typing import TypeVar, cast

import numpy as np
from flint import arb

from accountant import SsADMM
from accountant.mechanisms.steps import GaussianStep
from accountant.mechanisms.words import Sampling
from accountant.numbers import arb_precision
from reference import discrete_gaussian as sampler
from reference.arithmetic import Indices, Vector
from reference.dataset import Dataset
from reference.losses import HuberizedHinge
from reference.mpadmm import Release
from reference.problem import Problem
from reference.randomness import BATCHES, NOISE, Entropy, Seeded, in_order, model_noise
from reference.regularizers import Unregularized
from reference.words import PHILOX_WORDS, PhiloxWords, SystemWords, Words, subsets
from verification.statements.model import Evidence, EvidenceResult, Kind, without_solvers


class Unlike(Exception):
    """What was drawn is not what the formula says."""


class Restarted(Unlike):
    """The sampler asked for more than its script: it began another trial."""


Function = TypeVar("Function", bound=Callable[..., object])


def with_names(function: Function, **names: object) -> Function:
    """The function with other things behind some of the names that it uses; nothing else in the process changes."""
    own = cast(FunctionType, function)
    changed = FunctionType(own.__code__, {**own.__globals__, **names}, own.__name__, own.__defaults__, own.__closure__)
    return cast(Function, changed)


def require(holds: bool, text: str) -> None:
    """End a walk that found something else."""
    if not holds:
        raise Unlike(text)


def walked(name: str, unit: str, *walks: Callable[[], int]) -> Evidence:
    """Evidence that walks end; each returns how many paths it took."""

    @without_solvers(name, Kind.ENCLOSURE)
    def evidence() -> EvidenceResult:
        try:
            size = sum(walk() for walk in walks)
        except Unlike as found:
            return EvidenceResult.check(False, str(found))
        return EvidenceResult.check(True, f"{size} {unit}", size=size)

    return evidence


# -- the sampler of exact noise -----------------------------------------------------------------------------------

DEPTH = 30
"""Coins in a row after which e^{-gamma} is left to 1/30!."""
FAR = 200
"""Integers up to which the law is compared, and steps so wide that they reach ten standard deviations and more."""
VARIANCES = (*map(Fraction, ("1/3", "1", "7/2", "9/2", "30", "100", "12345/7", "3000000001/3")), Fraction(2**80))


def _never(n: int) -> int:
    raise Unlike(f"a draw below {n} that no formula has")


def _drawing(values: Iterable[int]) -> sampler.RandomBelow:
    """Draws these values, which must be possible, and no more."""
    left = iter(values)

    def below(n: int) -> int:
        value = next(left, None)
        if value is None or not 0 <= value < n:
            raise Restarted(f"a draw below {n} that the formula has not")
        return value

    return below


Coin = Callable[[Fraction, sampler.RandomBelow], bool]


def _coin(answers: Sequence[bool], asked: list[Fraction]) -> Coin:
    """A coin that notes what it is asked and answers from a script."""

    def coin(probability: Fraction, below: sampler.RandomBelow) -> bool:  # noqa: ARG001 - nothing is drawn
        if len(asked) == len(answers):
            raise Restarted("another trial")
        asked.append(probability)
        return answers[len(asked) - 1]

    return coin


def _coins() -> int:
    """True with exactly the probability that was asked for."""
    paths = 0
    for probability in {Fraction(n, d) for d in range(1, 12) for n in range(d + 1)}:
        sides = probability.denominator
        hits = sum(sampler.bernoulli(probability, _drawing([draw])) for draw in range(sides))
        require(Fraction(hits, sides) == probability, f"a coin of {probability} falls {hits} times of {sides}")
        paths += sides
    return paths


def _exponential_coins() -> int:
    """e^{-gamma} for gamma <= 1 lies between the masses of the paths that end in True, and those not ended."""
    below_one = cast(Coin, vars(sampler)["_bernoulli_exp_below_one"])
    for gamma in (Fraction(k, 7) for k in range(8)):
        true, left = Fraction(0), Fraction(1)
        for heads in range(DEPTH):
            asked: list[Fraction] = []
            ended = with_names(below_one, bernoulli=_coin([True] * heads + [False], asked))(gamma, _never)
            require(len(asked) == heads + 1, f"gamma = {gamma}: {len(asked)} coins for {heads} heads")
            true += left * (1 - asked[-1]) * ended
            left *= asked[-1]
        # e^{-gamma} lies between two partial sums of its series, by far closer than what is left.
        partial = list(itertools.accumulate((-gamma) ** k / math.factorial(k) for k in range(DEPTH + 10)))
        holds = min(partial[-2:]) - left <= true <= max(partial[-2:]) and left < Fraction(1, 10**DEPTH)
        require(holds, f"e^-{gamma} is drawn with probability {float(true)}")
    for gamma in map(Fraction, ("0", "3/7", "1", "5/4", "2", "10/3")):
        for heads in range(6):
            parts: list[Fraction] = []
            coin = _coin([True] * heads + [False], parts)
            result = with_names(sampler.bernoulli_exp, _bernoulli_exp_below_one=coin)(gamma, _never)
            product = all(0 <= part <= 1 for part in parts) and (not result or sum(parts) == gamma)
            require(product and result == (len(parts) <= heads), f"e^-{gamma} is a product of coins for {parts}")
    return 8 * DEPTH + 36


def _laplaces() -> int:
    """Every integer has one path, which costs e^{-|y|/scale} times what is the same for every path."""
    paths = 0
    for scale in (1, 2, 3, 5):
        reached: dict[int, Fraction] = {}
        for u, v, negative in itertools.product(range(scale), range(6), (False, True)):
            exponents: list[Fraction] = []
            signs: list[Fraction] = []
            coins = _coin([True] * (v + 1) + [False], exponents)
            laplace = with_names(sampler.discrete_laplace, bernoulli_exp=coins, bernoulli=_coin([negative], signs))
            paths += 1
            try:
                y = laplace(scale, _drawing([u]))
            except Restarted:
                require((u, v, negative) == (0, 0, True), f"scale {scale}: {(u, v, negative)} is drawn again")
                continue
            require(signs == [Fraction(1, 2)] and y not in reached, f"scale {scale}: {y} on two paths, or no sign")
            # The last coin is the failure that ends v.
            reached[y] = sum(exponents[:-1], Fraction(0))
            require(exponents[-1] == 1, f"scale {scale}: v ends with {exponents[-1]}")
        wanted = {y: Fraction(abs(y), scale) for y in range(-6 * scale + 1, 6 * scale)}
        require(reached == wanted, f"scale {scale}: another law than e^(-|y|/{scale})")
        try:
            with_names(sampler.discrete_laplace, bernoulli_exp=_coin([False], []))(scale, _drawing([0]))
        except Restarted:
            continue
        raise Unlike(f"scale {scale}: a remainder that was refused is drawn")
    return paths


def _gaussians() -> int:
    """-log P(y) = |y|/scale + gamma(y) is y^2/(2 variance) and a constant, at every y; what is refused begins again."""
    for variance in VARIANCES:
        constants: set[Fraction] = set()
        for y in {y * apart for y in range(-FAR, FAR + 1) for apart in (1, 1 + math.isqrt(int(variance)) // 16)}:
            scales: list[int] = []
            drawn = iter((y + 1, y))

            def laplace(
                scale: int,
                below: sampler.RandomBelow,  # noqa: ARG001 - nothing is drawn
                scales: list[int] = scales,
                drawn: Iterator[int] = drawn,
            ) -> int:
                scales.append(scale)
                return next(drawn)

            asked: list[Fraction] = []
            gaussian = with_names(
                sampler.discrete_gaussian, discrete_laplace=laplace, bernoulli_exp=_coin([False, True], asked)
            )
            result = gaussian(variance, _never)
            require(result == y and len(asked) == len(scales) == 2, f"variance {variance}: {result} is drawn for {y}")
            require(min(asked) >= 0 and scales[0] == scales[1], f"variance {variance}: a coin above 1 at {y}")
            constants.add(Fraction(abs(y), scales[1]) + asked[1] - Fraction(y * y) / (2 * variance))
        require(len(constants) == 1, f"variance {variance}: not the law e^(-y^2/(2 variance))")
    return len(VARIANCES) * (2 * FAR + 1)


sampler_has_its_law = walked("the law of exact noise", "paths", _coins, _exponential_coins, _laplaces, _gaussians)
"""The exact law of the discrete Gaussian sampler, layer by layer: nothing is drawn, nothing is rounded."""


# -- from words to noise and batches ------------------------------------------------------------------------------


@dataclass(slots=True)
class KnownWords:
    """Words from a seed, written down; a few may be told beforehand."""

    told: list[int] = field(default_factory=list)
    source: random.Random = field(default_factory=lambda: random.Random(2004))
    handed: list[int] = field(default_factory=list)

    def words(self, count: int) -> Words:
        """The next words: those told first."""
        fresh = [self.told.pop(0) if self.told else self.source.getrandbits(64) for _ in range(count)]
        self.handed += fresh
        return np.array(fresh, dtype=np.uint64)


def _floyd(words: Sequence[int], records: int) -> list[int]:
    """Floyd's subset: step i takes t below n-m+i+1, or n-m+i itself if t was taken before."""
    chosen: list[int] = []
    for top, word in enumerate(words, records - len(words)):
        t = word % (top + 1)
        chosen.append(top if t in chosen else t)
    return chosen


def _off(drawn: Vector, words: Sequence[int], sigma: float) -> float:
    """How far a vector is from sigma times Box and Muller's normals of the words, over sigma, certainly."""
    half, worst = len(words) // 2, 0.0
    with arb_precision(100):
        for i, entry in enumerate(drawn):
            u, v = (arb(words[i % half + offset] >> 11) / 2**53 for offset in (0, half))
            turn = (2 * arb.pi() * v).cos() if i < half else (2 * arb.pi() * v).sin()
            exact = sigma * (-2 * (1 - u).log()).sqrt() * turn
            worst = max(worst, float(abs(arb(float(entry)) - exact).abs_upper()) / sigma)
    return worst


NEAR = 1e-13
"""Far above the rounding of a dozen operations on numbers of size 10, far below any noise left out."""


def _normals() -> int:
    """Noise in binary64, of releases and of seeds: no word serves twice, and every one is used."""
    looked = 0
    for dimension, sigma, iterations in ((5, 0.75, 70), (2, 3.0, 3), (1, 1e-3, 2)):
        width = dimension + dimension % 2
        tape = KnownWords()
        drawn = {"a release": (list(Entropy(tape).noise(dimension, sigma, iterations)), tape.handed)}
        per_run = -(-iterations * width // PHILOX_WORDS) * PHILOX_WORDS
        stream = [int(word) for word in PhiloxWords.at(7, NOISE).words(3 * per_run)]
        for r in range(3):
            mine = list(Seeded(7, r).noise(dimension, sigma, iterations))
            drawn[f"run {r}"] = mine, stream[r * per_run :][: iterations * width]
        for name, (vectors, words) in drawn.items():
            require(len(words) == iterations * width, f"{name}: {len(words)} words for {iterations} vectors")
            for k, vector in enumerate(vectors):
                off = _off(vector, words[k * width : (k + 1) * width], sigma)
                require(len(vector) == dimension and off <= NEAR, f"{name}: noise {k} is {off:.2g} sigma off its words")
            looked += len(vectors)
    both = np.concatenate([PhiloxWords.at(7, purpose).words(64) for purpose in (BATCHES, NOISE)])
    require(len(set(both.tolist())) == len(both), "batches and noise share words")
    return looked


SUBSETS = (1, 1), (2, 1), (2, 2), (3, 2), (4, 3), (5, 2), (5, 4), (6, 3), (7, 1), (7, 4)
"""Records and batch, small enough for all words."""


def _subsets() -> int:
    """Batches are Floyd's, of words without modulo bias; over all words every subset is equally likely."""
    looked = 0
    for n, m in SUBSETS:
        every = list(itertools.product(*(range(top + 1) for top in range(n - m, n))))
        counts = Counter(frozenset(_floyd(words, n)) for words in every)
        require(set(counts.values()) == {len(every) // math.comb(n, m)}, f"{m} of {n}: not uniform")
        rows = np.array(every, dtype=np.uint64)
        for name, drawn in (
            ("together", subsets(rows.copy(), n)),
            ("alone", [subsets(row[None], n)[0] for row in rows]),
        ):
            same = all(sorted(mine) == sorted(_floyd(words, n)) for mine, words in zip(drawn, every, strict=True))
            require(same, f"{m} of {n}, {name}: not the subsets of the words")
        looked += len(every)
    for n, m in (*SUBSETS, (1000, 37), (97, 97)):
        tape = KnownWords()
        batches = [sorted(batch.tolist()) for batch in Entropy(tape).batches(n, m, 70)]
        used = [sorted(_floyd(tape.handed[k * m : (k + 1) * m], n)) for k in range(70)]
        require(batches == used, f"{m} of {n}: batches that are not of their words")
        biased = KnownWords(
            [2**64 - 1] * m + [5 * k for k in range(m)]
        )  # 2^64 - 1 is above the last multiple of 3, 5, 6, 7
        last = [word if 2**64 % (n - m + i + 1) else 2**64 - 1 for i, word in enumerate(5 * k for k in range(m))]
        [batch] = Entropy(biased).batches(n, m, 1)
        require(sorted(batch.tolist()) == sorted(_floyd(last, n)), f"{m} of {n}: a biased word is used")
    return looked


def _system() -> int:
    """The system's words are those of its entropy, and exact noise asks the system as well."""
    read = with_names(SystemWords.words, os=SimpleNamespace(urandom=lambda count: bytes(k % 251 for k in range(count))))
    words = [int(word) for word in read(SystemWords(), 40)]
    wanted = bytes(k % 251 for k in range(320))
    require(np.array(words, dtype=np.uint64).tobytes() == wanted, "the words are not the system's bytes")
    require(isinstance(Entropy().source, SystemWords), "a release does not draw from the system")
    require(sampler.ExactEntropy(1.0).below is secrets.randbelow, "exact noise does not draw from the system")
    asked: list[tuple[int, ...]] = []

    class Other:
        def batches(self, *given: int) -> Iterator[Indices]:
            asked.append(given)
            return iter(())

        shuffled = batches

    for method in (sampler.ExactEntropy.batches, sampler.ExactEntropy.shuffled):
        list(with_names(method, Entropy=Other)(sampler.ExactEntropy(1.0), 9, 4, 3))
    require(asked == [(9, 4, 3)] * 2, "batches beside exact noise are not those of a release")
    return len(words)


words_are_drawn_once = walked("noise and batches of known words", "vectors and batches", _normals, _subsets, _system)
"""Noise and batches of releases and of seeds, from words that are known."""


def _exact_noise() -> int:
    """Multiples of the grid by the sampler at variance (sigma/grid)^2, each from draws of its own."""
    looked = 0
    for grid, sigma, dimension, iterations in ((2.0**-10, 0.0123, 3, 5), (1.0, 4.5, 1, 7), (0.25, 0.125, 4, 2)):
        shell = sampler.ExactEntropy(grid, random.Random(looked).randrange)
        below, variance = random.Random(looked).randrange, (Fraction(sigma) / Fraction(grid)) ** 2
        for vector in shell.noise(dimension, sigma, iterations):
            integers = [sampler.discrete_gaussian(variance, below) for _ in range(dimension)]
            same = [Fraction(entry) for entry in vector] == [y * Fraction(grid) for y in integers]
            require(same, f"grid {grid}, sigma {sigma}: {vector} for the integers {integers}")
            looked += dimension
    silent = np.array(list(sampler.ExactEntropy(1.0, _never).noise(2, 0.0, 3)))
    require(silent.shape == (3, 2) and not silent.any(), "without noise something is drawn")
    return looked


@dataclass(slots=True)
class Numbered:
    """Noise whose entries are 0, 1, 2, ...: each can be told from every other."""

    asked: list[tuple[float, ...]] = field(default_factory=list)

    def batches(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """The first records, one further in each iteration."""
        return (np.arange(k, k + size) % records for k in range(iterations))

    def shuffled(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """As batches, from the last record down."""
        return (records - 1 - batch for batch in self.batches(records, size, iterations))

    def noise(self, dimension: int, sigma: float, iterations: int) -> Iterator[Vector]:
        """The next numbers."""
        self.asked.append((dimension, sigma, iterations))
        return iter(np.arange(float(dimension * iterations)).reshape(iterations, dimension))


def _three_parts() -> int:
    """The noise of x, z and y of an epoch are three parts of one vector that share no entry."""
    for release, parts in ((Release.ALL, 3), (Release.PRIMAL, 1)):
        source = Numbered()
        for k, gamma in enumerate(model_noise(source, 4, 2.5, 5, release)):
            shown = [part for part in (gamma.x, gamma.z, gamma.y) if part is not None]
            wanted = np.arange(4.0 * parts * k, 4.0 * parts * (k + 1)).reshape(parts, 4)
            require(np.array_equal(shown, wanted), f"release {release.value}: epoch {k} has the noise {shown}")
        require(source.asked == [(4 * parts, 2.5, 5)], f"release {release.value} asks for {source.asked}")
    return 10


exact_noise_is_on_its_grid = walked("exact noise and its parts", "values", _exact_noise, _three_parts)
"""Exact noise is grid times integers of the sampler; x, z and y get parts of their own."""


# -- batches by epochs --------------------------------------------------------------------------------------------


def _moved(problems: Sequence[Problem], batch: Indices, size: int) -> float:
    """How far one record moves the mean gradient of a batch, over 2C/m."""
    mine, theirs = (problem.gradient(np.zeros(1), batch) for problem in problems)
    return float(abs(mine - theirs)[0]) * size / 2


@functools.cache
def _pairs(records: int) -> list[list[Problem]]:
    """Records that are all alike, and the same with one turned round: each of them."""
    data = Dataset.of(np.ones((records, 1)), np.ones(records))
    both = ([data, data.replace(i, [-1.0], 1)] for i in range(records))
    return [[Problem.of(each, HuberizedHinge(), Unregularized(), rho=1.0) for each in pair] for pair in both]


def _visited(records: int, size: int, iterations: int, batches: Sequence[Indices]) -> float:
    """The squared moves of a run, summed; the record that differs is the one that moves it most."""
    require([len(batch) for batch in batches] == [size] * iterations, f"{size} of {records}: {batches}")
    return max(sum(_moved(pair, batch, size) ** 2 for batch in batches) for pair in _pairs(records))


def _every_order() -> int:
    """Whatever the orders of the epochs are, a record moves E releases; as many are priced, and each order is drawn."""
    looked = 0
    for records, size, epochs in ((4, 2, 2), (3, 1, 2), (4, 1, 1), (5, 2, 1)):
        each = records // size
        for iterations in range(each * (epochs - 1) + 1, each * epochs + 1):
            name, worst = f"{iterations} batches of {size} of {records}", 0.0
            for orders in itertools.product(itertools.permutations(range(records)), repeat=epochs):
                ranks = [order.index(i) for order in orders for i in range(records)]
                drawn = list(Entropy(KnownWords(ranks)).shuffled(records, size, iterations))
                wanted = [orders[k // each][k % each * size :][:size] for k in range(iterations)]
                require([tuple(batch) for batch in drawn] == wanted, f"{name}: {drawn} of the orders {orders}")
                if orders[0] <= orders[-1]:  # the rest visit no record more often: epochs are alike
                    worst = max(worst, _visited(records, size, iterations, drawn))
                looked += 1
            kept = _visited(records, size, iterations, list(in_order(records, size, iterations)))
            for sampling, found in ((Sampling.SHUFFLE, worst), (Sampling.FIXED_ORDER, kept)):
                run = SsADMM(records=records, batch=size, iterations=iterations, noise_multiplier=1, sampling=sampling)
                priced = sum(
                    step.ratio_squared * step.count for step in run.ledger().steps if isinstance(step, GaussianStep)
                )
                require(found == priced == epochs, f"{name}, {sampling}: {found} releases move, {priced} are priced")
    return looked


epochs_hold_a_record_once = walked("every order of a few records", "orders", _every_order)
"""Every order of a few records: what is drawn, how often a record moves it, and what is priced."""
