"""Kept answers are found again by a machine that rounds a little differently, and by no other request."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verification.wire.test_wire import DESCRIPTION
from verification.wire.arrays import Floats, WireArray, as_lists, pack
from verification.wire.messages import DataRequest, ReplayRequest, parameters_for
from verification.wire.parameters import Algorithm
from verification.wire.tape import Tape

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


def digest(features: Floats, name: str = "D00000000000a", *, packed: bool = True) -> str:
    array = features.reshape(1, -1)
    sent = pack(array) if packed else as_lists(array)
    return Tape().digest(DataRequest(id=1, name=name, features=sent, labels=[1]))


@given(NUMBERS.filter(any), st.booleans())
def test_the_last_bit_of_a_number_makes_no_other_request(numbers: list[float], packed: bool) -> None:
    """Numbers on the border between two multiples of 2^-20 apart, which nobody computes: they are moved off it."""
    array = np.array(numbers)
    unit = np.ldexp(1.0, int(np.frexp(np.abs(array).max())[1]) - 20)
    array = np.round(array / unit) * unit
    for other in (np.nextafter(array, np.inf), np.nextafter(array, -np.inf)):
        assert digest(other, packed=packed) == digest(array, packed=packed)


@given(NUMBERS, st.integers(0, 11))
def test_a_number_that_differs_by_a_thousandth_of_the_largest_is_another_request(
    numbers: list[float], index: int
) -> None:
    array = np.array(numbers)
    other = array.copy()
    other[index % len(array)] += np.abs(array).max() * 1e-3 or 1.0
    assert digest(other) != digest(array)


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.0, 1.0), (1.0, np.nan), (np.inf, -np.inf), (np.nan, np.inf), (1e-310, 0.0), (1.0, 2.0), (1e300, 1e-300)],
)
def test_different_numbers_alone_are_different_requests(one: float, other: float) -> None:
    assert digest(np.array([one])) != digest(np.array([other]))


def test_whole_numbers_are_exact() -> None:
    """Another record in a batch is another request, however large its number."""
    chosen = parameters_for(DESCRIPTION, Algorithm.SSADMM, 1, eta=[1.0], batch=1, sigma=1.0)

    def replayed(record: int) -> str:
        given_noise: dict[str, WireArray] = {"gradient": [[0.0]]}
        return Tape().digest(
            ReplayRequest(
                id=1, data="D", algorithm=Algorithm.SSADMM, parameters=chosen, batches=[[record]], noise=given_noise
            )
        )

    assert replayed(5_000_000) != replayed(5_000_001)


def test_kept_evidence_is_confirmed_with_another_way_to_multiply_matrices() -> None:
    """OpenBLAS chooses its routines by the processor; this one rounds as an old processor does."""
    program = (
        "import pathlib\nfrom audits.gate.examine import examine\n"
        "assert all(e.confirmed for e in examine(pathlib.Path('tests/data/board/diffprivlib-norm')))"
    )
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=300)
