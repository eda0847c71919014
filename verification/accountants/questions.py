r"""What accountants are asked: epsilon, delta or Renyi epsilon of a mechanism, under a stated neighbouring relation.

Every record contributes a vector of norm at most 1, noise of standard deviation `noise` is added to the sum over the
batch, and this is repeated `steps` times. So replacing a record moves the sum by at most 2, adding or removing one by
at most 1: an accountant that is told the relation must know the difference.

The golden questions are those of the accounting vectors, put in these words; the random ones are drawn from a seed.
"""

from __future__ import annotations

import enum
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import exact
from accountant.vectors.sets import ParameterSet, parameter_sets

MOST_RECORDS = 10**9
"""Rates that need more records than this are no question about a data set."""
_MOST_STEPS_TRIED = 1000
SAMPLINGS = (Sampling.ALL, Sampling.WITHOUT_REPLACEMENT, Sampling.POISSON)
"""Those that are asked about."""


class Quantity(enum.StrEnum):
    """What is asked for."""

    EPSILON = "epsilon"
    DELTA = "delta"
    RENYI = "renyi"


@dataclass(frozen=True, slots=True)
class AccountantQuestion:
    """One question; `at` is delta for epsilon, epsilon for delta, alpha for the Renyi epsilon."""

    id: str
    quantity: Quantity
    sampling: Sampling
    neighbours: Neighbours
    records: int
    batch: int
    noise: Fraction
    steps: int
    at: Fraction

    @property
    def rate(self) -> Fraction:
        """The probability that a record takes part in a step."""
        return Fraction(self.batch, self.records)

    @property
    def sensitivity(self) -> int:
        """How far the sum of a batch moves, in units of the largest contribution."""
        return 2 if self.neighbours is Neighbours.REPLACE_ONE else 1

    @property
    def noise_multiplier(self) -> Fraction:
        """The noise over the sensitivity of the neighbouring relation."""
        return self.noise / self.sensitivity


def golden_questions() -> tuple[AccountantQuestion, ...]:
    """Return the accounting vectors' sets as questions, each once."""
    found: dict[AccountantQuestion, None] = {}
    for parameters in parameter_sets():
        for question in _asked(parameters):
            found.setdefault(question)
    return tuple(_numbered("golden", found))


def random_questions(count: int, seed: int) -> tuple[AccountantQuestion, ...]:
    """Draw questions over the usual range of parameters; the same seed draws the same."""
    draw = random.Random(seed)
    return tuple(_numbered("random", (_drawn(draw) for _ in range(count))))


def _numbered(
    source: str, questions: Iterator[AccountantQuestion] | dict[AccountantQuestion, None]
) -> Iterator[AccountantQuestion]:
    for number, q in enumerate(questions, start=1):
        name = f"{source}-{number:03d}-{q.sampling}-{q.quantity}"
        yield AccountantQuestion(name, q.quantity, q.sampling, q.neighbours, q.records, q.batch, q.noise, q.steps, q.at)


def _asked(parameters: ParameterSet) -> Iterator[AccountantQuestion]:
    numbers = {name: exact(name, text) for name, text in parameters.inputs.items()}
    if parameters.kind == "gaussian":
        yield from _gaussian(numbers)
        return
    rate = numbers["sampling_rate"]
    if rate.denominator > MOST_RECORDS:
        return
    poisson = parameters.kind == "poisson"
    sampling = Sampling.POISSON if poisson else Sampling.WITHOUT_REPLACEMENT
    neighbours = Neighbours.ADD_OR_REMOVE if poisson else Neighbours.REPLACE_ONE
    noise = numbers["noise_multiplier"] * (1 if poisson else 2)
    steps = int(numbers.get("count", Fraction(1)))
    asked = {Quantity.RENYI: "alpha", Quantity.EPSILON: "delta", Quantity.DELTA: "epsilon"}
    for quantity, name in asked.items():
        if name in numbers:
            yield AccountantQuestion(
                "", quantity, sampling, neighbours, rate.denominator, rate.numerator, noise, steps, numbers[name]
            )


def _gaussian(numbers: dict[str, Fraction]) -> Iterator[AccountantQuestion]:
    """Ask under both relations; mu^2 = steps (sensitivity/noise)^2, with the fewest steps for a rational noise."""
    for steps in range(1, _MOST_STEPS_TRIED):
        square = steps / numbers["mu_squared"]
        root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        if root**2 == square:
            break
    else:
        return
    for neighbours, sensitivity in ((Neighbours.REPLACE_ONE, 2), (Neighbours.ADD_OR_REMOVE, 1)):
        for quantity, name in ((Quantity.EPSILON, "delta"), (Quantity.DELTA, "epsilon")):
            yield AccountantQuestion(
                "", quantity, Sampling.ALL, neighbours, 1000, 1000, sensitivity * root, steps, numbers[name]
            )


def _drawn(draw: random.Random) -> AccountantQuestion:
    sampling = draw.choice(SAMPLINGS)
    neighbours = {Sampling.WITHOUT_REPLACEMENT: Neighbours.REPLACE_ONE, Sampling.POISSON: Neighbours.ADD_OR_REMOVE}.get(
        sampling, draw.choice((Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE))
    )
    records = round(10 ** draw.uniform(2, 5))
    batch = records if sampling is Sampling.ALL else max(1, round(records * 10 ** draw.uniform(-3, -0.3)))
    noise = Fraction(round(1000 * 10 ** draw.uniform(-0.2, 1.3)), 1000)
    steps = round(10 ** draw.uniform(0, 4 if sampling is not Sampling.ALL else 2))
    quantity = draw.choice(list(Quantity))
    at = {
        Quantity.EPSILON: Fraction(1, 10 ** draw.randint(3, 12)),
        Quantity.DELTA: Fraction(round(100 * 10 ** draw.uniform(-1, 0.7)), 100),
        Quantity.RENYI: Fraction(draw.choice((2, 3, 5, 8, 16, 32, 64))),
    }[quantity]
    return AccountantQuestion("", quantity, sampling, neighbours, records, batch, noise, steps, at)
