"""Noise in an objective: curvature is compared far from zero too; what is solved roughly is not refuted, nor passed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, declared_implementation
from verification.declared.implementation import DeclaredImplementation
from verification.declared.inside import determinants, not_added
from verification.declared.questions import Collected, _hasty
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

pytestmark = pytest.mark.slow
RIDGE = 1.0
SIZE = (20, 2)


def objective(intercept_ridge: float | None, *, norm: float = 1.0, tolerance: float = 1e-10) -> DeclaredImplementation:
    """Objective perturbation as in [CMS11]; with an intercept whose ridge is given, or without one."""
    radius = math.hypot(norm, intercept_ridge is not None)
    ridges = np.array([RIDGE, RIDGE] + ([] if intercept_ridge is None else [intercept_ridge]))

    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"name": "model", "noise": "gamma-norm", "scale": 2.0, "sensitivity": 2 * radius, "norm": "l2"}
        value |= {"enters": "objective", "jacobian": 2 * math.log1p(radius**2 / 4 / RIDGE)}
        return {"neighbours": "replace-one", "bound": {"kind": "normalise", "radius": norm}, "values": [value]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        lengths = np.linalg.norm(data.features, axis=1, keepdims=True)
        rows = data.features / np.maximum(lengths / norm, 1.0)
        rows = rows if intercept_ridge is None else np.column_stack([rows, np.ones(len(rows))])
        signed = rows * data.labels[:, None]

        def gradient(w: Floats) -> Floats:
            slopes: Floats = -1.0 / (1.0 + np.exp(np.clip(signed @ w, -700.0, 700.0)))
            total: Floats = signed.T @ slopes + ridges * w
            return total

        def solve(b: Floats) -> Floats:
            w = np.zeros(len(ridges))
            for _ in range(20_000):
                descent = gradient(w) + b
                if np.linalg.norm(descent) <= tolerance * np.linalg.norm(b):
                    break
                w = w - descent / (RIDGE + len(signed) * radius**2 / 4)
            return w

        run.minimise("model", run.gamma_norm(len(ridges), 2.0), solve, gradient)

    session = InProcess("objective", declare, run)
    return declared_implementation(session, {}, size=SIZE, seed=1)


@pytest.mark.parametrize(("intercept_ridge", "norm"), [(None, 1.0), (None, 12.0), (RIDGE, 1.0)])
def test_an_objective_that_is_regularised_everywhere_stands(intercept_ridge: float | None, norm: float) -> None:
    tried = objective(intercept_ridge, norm=norm)
    (value,) = tried.declaration.noised
    witness = determinants(tried, value)
    assert witness is not None
    assert value.jacobian is not None
    assert witness.size <= value.jacobian


def test_an_intercept_without_a_ridge_is_seen_far_from_zero() -> None:
    tried = objective(1e-12)
    (value,) = tried.declaration.noised
    witness = determinants(tried, value)
    assert witness is not None
    assert value.jacobian is not None
    assert witness.size > 2 * value.jacobian
    assert "far along the record" in witness.text


@pytest.mark.parametrize(
    ("tolerance", "rough", "lost"), [(1e-10, False, False), (1e-4, True, False), (0.5, True, True)]
)
def test_what_is_solved_roughly_is_inconclusive_and_what_is_not_solved_refuted(
    tolerance: float, rough: bool, lost: bool
) -> None:
    tried = objective(None, tolerance=tolerance)
    data = tried.send(Records(np.eye(2)[np.arange(20) % 2], np.ones(20)))
    collected = Collected(data, [tried.record(data)])
    assert bool(_hasty(tried, collected)) == rough
    assert bool(not_added(tried, data, collected.runs)[0]) == lost
