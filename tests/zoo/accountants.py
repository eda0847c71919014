"""Accountants to test the judge with: an honest one, and one for each way to be wrong."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import fraction_of
from verification.accountants.judging import enclosure
from verification.accountants.questions import AccountantQuestion, Quantity, random_questions

SEED = 111
"""Its first four questions need no composition: they are cheap, and of every scheme, quantity and relation."""
SAME: dict[str, dict[str, object]] = {
    "refusing": {"refused": "not offered"},
    "nan": {"value": "nan"},
    "raising": {"error": "ValueError: no"},
    "negative": {"value": -1.0},
    "zero": {"value": 0},
}
KINDS = (*SAME, "dying", "honest", "loose", "middle", "short", "half")


def questions() -> tuple[AccountantQuestion, ...]:
    """What the fakes are asked: those of the seed, and one that needs a short composition."""
    composed = AccountantQuestion(
        "composed",
        Quantity.EPSILON,
        Sampling.WITHOUT_REPLACEMENT,
        Neighbours.REPLACE_ONE,
        100,
        10,
        Fraction(4),
        5,
        Fraction(1, 1000),
    )
    return (*random_questions(4, SEED), composed)


def answer(kind: str, request: dict[str, object], known: dict[str, AccountantQuestion]) -> dict[str, object]:
    """What the fake of this kind answers."""
    if request["ask"] == "describe":
        return {"name": kind, "version": "1"}
    question = known[str(request["id"])]
    if kind in SAME:
        return SAME[kind]
    if kind == "dying" and question.quantity is Quantity.EPSILON:
        sys.exit(3)
    ends = enclosure(question)
    lower, upper = fraction_of(ends.lower), fraction_of(ends.upper)
    values = {
        "honest": upper,
        "loose": upper * Fraction(3, 2),
        "middle": (lower + upper) / 2,
        "short": lower * Fraction(999, 1000),
        "dying": upper,
        # The classic mistake: the noise multiplier of one record added, for one record replaced.
        "half": fraction_of(enclosure(_halved(question)).upper),
    }
    return {"value": str(values[kind])}


def _halved(q: AccountantQuestion) -> AccountantQuestion:
    noise = q.noise * q.sensitivity
    return AccountantQuestion(q.id, q.quantity, q.sampling, q.neighbours, q.records, q.batch, noise, q.steps, q.at)


def main() -> None:
    """Serve."""
    known = {q.id: q for q in questions()}
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(sys.argv[1], json.loads(line), known)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
