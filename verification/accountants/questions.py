r"""What accountants are asked: epsilon, delta or Renyi epsilon of a mechanism, under a stated neighbouring relation.

Every record contributes a vector of norm at most 1, noise of standard deviation `noise` is added to the sum over the
batch, and this is repeated `steps` times. So replacing a record moves the sum by at most 2, adding or removing one by
at most 1: an accountant that is told the relation must know the difference.

The golden questions are those of the accounting vectors, put in these words; the reported ones are what users of public
accountants stumbled over, with the issue; the random ones are drawn from a seed.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files

from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import exact

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
    for vector in json.loads(files("accountant.vectors").joinpath("accounting.json").read_bytes())["vectors"]:
        for question in _asked(vector["kind"], vector["inputs"]):
            found.setdefault(question)
    return tuple(_numbered("golden", found))


REPORTED = (
    # small delta: microsoft/prv_accountant#17
    ("epsilon", "poisson", 750_000, 250, "4", 10_000, ("1e-10", "1.1e-18", "1.13e-18", "1e-30", "1e-100")),
    # large epsilon: microsoft/prv_accountant#36 and #42, meta-pytorch/opacus#601 and #604
    ("epsilon", "poisson", 5, 1, "1", 500, ("1e-5",)),
    ("epsilon", "poisson", 1000, 100, "0.4", 100, ("1e-5", "1e-8")),
    ("epsilon", "poisson", 100, 50, "0.3", 50, ("1e-5",)),
    ("delta", "poisson", 1000, 100, "0.4", 100, ("60", "150")),
    # a rate of 1, or next to it: meta-pytorch/opacus#74 and #813
    ("epsilon", "poisson", 1000, 999, "5", 30, ("1e-6",)),
    ("epsilon", "poisson", 1000, 1000, "5", 30, ("1e-6",)),
    ("epsilon", "without-replacement", 1000, 1000, "10", 30, ("1e-6",)),
    ("epsilon", "without-replacement", 1000, 999, "10", 30, ("1e-6",)),
    # an epsilon of 0, or below: meta-pytorch/opacus#585 and #844
    ("epsilon", "poisson", 100_000, 10, "50", 1, ("1e-3", "1e-5", "1e-9")),
    ("epsilon", "without-replacement", 100_000, 10, "100", 1, ("1e-3", "1e-9")),
    ("delta", "poisson", 1000, 10, "1", 100, ("0", "1e-9")),
    ("delta", "all", 1000, 1000, "10", 1, ("0", "1e-9", "5")),
    ("delta", "without-replacement", 1000, 10, "2", 100, ("0", "1e-9")),
    # a Renyi epsilon taken for 0, orders next to 1: tensorflow/privacy#166
    ("renyi", "poisson", 20_000, 21, "1", 1, ("1.00000001", "1.1", "300")),
    ("renyi", "without-replacement", 20_000, 21, "2", 1, ("1.00000001", "1.1", "300")),
)
"""What is asked, sampling, records, batch, noise, steps, and the values of delta, epsilon or alpha."""


def reported_questions() -> tuple[AccountantQuestion, ...]:
    """Return questions of the kinds that users of public accountants reported."""
    asked = (
        AccountantQuestion(
            "",
            Quantity(quantity),
            Sampling(sampling),
            Neighbours.REPLACE_ONE if sampling == "without-replacement" else Neighbours.ADD_OR_REMOVE,
            records,
            batch,
            Fraction(noise),
            steps,
            Fraction(at),
        )
        for quantity, sampling, records, batch, noise, steps, values in REPORTED
        for at in values
    )
    return tuple(_numbered("reported", asked))


def random_questions(count: int, seed: int) -> tuple[AccountantQuestion, ...]:
    """Draw questions over the usual range of parameters; the same seed draws the same."""
    draw = random.Random(seed)
    return tuple(_numbered("random", (_drawn(draw) for _ in range(count))))


def _numbered(source: str, questions: Iterable[AccountantQuestion]) -> Iterator[AccountantQuestion]:
    for number, q in enumerate(questions, start=1):
        yield dataclasses.replace(q, id=f"{source}-{number:03d}-{q.sampling}-{q.quantity}")


def _asked(kind: str, inputs: dict[str, str]) -> Iterator[AccountantQuestion]:
    numbers = {name: exact(name, text) for name, text in inputs.items()}
    if kind == "gaussian":
        yield from _gaussian(numbers)
        return
    rate = numbers["sampling_rate"]
    if rate.denominator > MOST_RECORDS:
        return
    poisson = kind == "poisson"
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
