"""The golden vectors of the exact adversary: consistent, near each other, and found again."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from accountant.errors import CertificateError
from tools.adversary_vectors import DATA, SETS, require_agreement, vector

VECTORS = json.loads(DATA.read_text("utf-8"))["vectors"]


def test_the_ends_are_ordered_and_within_one_per_cent() -> None:
    inputs = [(v["sampling_rate"], v["noise_multiplier"], v["count"], v["delta"]) for v in VECTORS]
    assert inputs == list(SETS)
    for entry in VECTORS:
        lower, upper = Fraction(entry["lower"]), Fraction(entry["upper"])
        assert lower <= upper <= lower * Fraction(101, 100)


def test_another_end_or_another_step_is_noticed() -> None:
    with pytest.raises(CertificateError, match="upper"):
        require_agreement({**VECTORS[0], "upper": VECTORS[0]["lower"]}, VECTORS[0])
    with pytest.raises(CertificateError, match="count"):
        require_agreement({**VECTORS[0], "count": 1}, VECTORS[0])


@pytest.mark.slow
def test_a_vector_is_found_again() -> None:
    require_agreement(VECTORS[3], vector(*SETS[3]))
