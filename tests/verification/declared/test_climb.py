"""Climbing finds a pair that no list has: a clipped gradient that is carried on without noise and subtracted."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess
from verification.declared.bench import Bench
from verification.declared.climb import climb
from verification.declared.seen import RELATIVE, Seen
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declared_messages import OpaqueParameters
from verification.wire.declared_session import DeclaredQuestion, LabelledPoints

SIZE = (3, 2)
pytestmark = pytest.mark.slow


def clipped(data: LabelledPoints, w: Floats) -> Floats:
    """The mean gradient of the logistic loss, clipped as a whole to l1 norm 1."""
    signed = data.features * data.labels[:, None]
    mean = np.mean(-signed / (1.0 + np.exp(np.clip(signed @ w, -700.0, 700.0)))[:, None], axis=0)
    short: Floats = mean * min(1.0, 1.0 / max(float(np.abs(mean).sum()), 1e-300))
    return short


def seen(*, carries: bool, seed: int) -> Seen:
    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"name": "x", "noise": "laplace", "scale": 2.0, "sensitivity": 2.0, "norm": "l1"}
        bound = {"kind": "clip", "radius": 1.0}
        return {"neighbours": "replace-one", "bound": bound, "iterations": 3, "values": [value]}

    def run(data: LabelledPoints, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x, last = np.zeros(2), np.zeros(2)
        for _ in range(3):
            gradient = clipped(data, x)
            x = run.release("x", x + (last if carries else 0.0) - gradient, run.laplace(2, 2.0))
            last = gradient

    session = InProcess("carries", declare, run)
    question = DeclaredQuestion("carries", {})
    rng = np.random.default_rng(seed)
    bench = Bench(session, question, session.declare(question, *SIZE), *SIZE, rng, time.monotonic() + 600.0)
    found = Seen()
    climb(bench, found)
    return found


def test_state_that_is_carried_on_is_found() -> None:
    assert max(seen(carries=True, seed=seed).sensitivity["x"].size for seed in (1, 2)) > 1.1


def test_without_it_nothing_moves_too_far() -> None:
    assert seen(carries=False, seed=1).sensitivity["x"].size <= 1 + RELATIVE
