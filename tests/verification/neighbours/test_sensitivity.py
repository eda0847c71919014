"""The search for the worst neighbours: tight, never above the bound, on the reference and over the wire."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings, target

from reference.arithmetic import Vector
from verification.neighbours.families import WorstCase, clipped, far_enough, hinge, saturated
from verification.neighbours.neighbours import Neighbours
from verification.neighbours.sensitivity import Replay, StepSetting, observe, reference_replay, search_worst
from verification.statements.evidence.optimiser import BOTH_ENDS, HUGE, MPADMM, SSADMM
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, LossName, Parameters, RegularizerName
from verification.wire.records import Records
from verification.wire.session import Session

NEARLY_ALL = 0.999
REFERENCE = reference_replay()
CONVEX = [
    RegularizerName.NONE,
    RegularizerName.L1,
    RegularizerName.ELASTIC_NET,
    RegularizerName.GROUP_L1,
    RegularizerName.NUCLEAR,
]


@pytest.mark.parametrize("eta", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("records", [1, 5, 40])
def test_saturated_logistic_data_attain_the_gradient_and_primal_bounds(records: int, eta: float) -> None:
    for name, setting in (("gradient", replace(SSADMM, eta=eta)), ("x", replace(MPADMM, eta=eta))):
        pair = saturated(records, far=far_enough([eta], setting.rho))
        observed = observe(REFERENCE, pair, setting)
        assert observed[name].ratio >= NEARLY_ALL
        assert not any(value.exceeded for value in observed.values())


@pytest.mark.parametrize("setting", BOTH_ENDS, ids=["all into z", "all into y"])
def test_the_joint_bound_is_attained_at_both_ends(setting: StepSetting) -> None:
    pair = saturated(5, far=far_enough([setting.eta], setting.rho))
    observed = observe(REFERENCE, pair, setting)
    assert observed["joint"].ratio >= NEARLY_ALL
    assert not observed["joint"].exceeded


@pytest.mark.parametrize("make", [hinge, clipped])
def test_hinge_and_clipped_pairs_attain_it_from_zero(make: object) -> None:
    assert callable(make)
    observed = observe(REFERENCE, make(5), replace(SSADMM, loss=LossName.HUBER))
    assert observed["gradient"].ratio >= 1 - 1e-12


def test_from_zero_normalised_logistic_data_show_only_half() -> None:
    pair = saturated(5, far=1.0)
    at_zero = replace(pair, x=0 * pair.x, z=0 * pair.z)
    assert 0.49 < observe(REFERENCE, at_zero, SSADMM)["gradient"].ratio < 0.51


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x", "gradient"])
def test_the_search_finds_the_worst_case_by_itself(name: str) -> None:
    setting = SSADMM if name == "gradient" else MPADMM
    found = search_worst(REFERENCE, name, saturated(3, far=1.0), setting, starts=2, rounds=30)
    assert found.best.ratio >= NEARLY_ALL
    assert found.exceeded == ()


def test_far_enough_keeps_the_pair_saturated_over_a_hundred_steps() -> None:
    eta, rho, steps = 4.0, 0.5, 100
    pair = saturated(5, far=far_enough([eta] * steps, rho))
    setting = replace(SSADMM, eta=eta, rho=rho)
    parameters = setting.parameters(pair, steps=steps)
    batches = [list(range(5))] * steps
    run = REFERENCE(pair.second, Algorithm.SSADMM, parameters, {"gradient": np.zeros((steps, 2))}, batches)
    margins = run["x"] @ pair.first.features.T
    assert margins.max() < -40


vectors = st.lists(st.floats(-3, 3), min_size=2, max_size=2)


@settings(max_examples=80)
@given(
    regularizer=st.sampled_from(CONVEX),
    loss=st.sampled_from(list(LossName)),
    rows=st.lists(vectors, min_size=3, max_size=3),
    start=st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6),
    exponents=st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-6, 3)),
    clip=st.booleans(),
)
def test_no_example_exceeds_any_bound(
    *,
    regularizer: RegularizerName,
    loss: LossName,
    rows: list[list[float]],
    start: list[float],
    exponents: tuple[float, float, float],
    clip: bool,
) -> None:
    rho, eta, lam = (10.0**e for e in exponents)
    features = np.array(rows)
    second = Records(features, np.array([1, 1, -1]))
    first = second.replace(0, -features[1], 1)
    x, z, y = np.array(start).reshape(3, 2)
    both = Neighbours(first, second)
    pair = WorstCase(both, x, z, y, loss, clip=1.0 if clip else None, normalise=None if clip else 1.0)
    setting = StepSetting(Algorithm.MPADMM, loss, regularizer, lam=lam, rho=rho, eta=eta)
    observed = observe(REFERENCE, pair, setting)
    target(observed["joint"].ratio, label="joint")
    assert [name for name, value in observed.items() if value.exceeded] == []


def broken(wrong: str) -> Replay:
    """The reference with one thing wrong in how far neighbours move."""

    def replay(
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Mapping[str, Floats],
        batches: Sequence[Sequence[int]] | None,
    ) -> Mapping[str, Floats]:
        right = dict(REFERENCE(records, algorithm, parameters, noise, batches))
        return {**right, wrong: 1.01 * right[wrong]}

    return replay


def exceeded(replay: Replay, setting: StepSetting) -> set[str]:
    """The bounds that some constructed pair of neighbours exceeds."""
    pairs = [saturated(5, far=far_enough([setting.eta], setting.rho)), hinge(5), clipped(5)]
    return {name for pair in pairs for name, seen in observe(replay, pair, setting).items() if seen.exceeded}


@pytest.mark.parametrize("wrong", ["x", "z", "y"])
def test_an_implementation_that_moves_one_percent_too_far_is_caught(wrong: str) -> None:
    setting = BOTH_ENDS[1] if wrong == "y" else MPADMM
    assert wrong in exceeded(broken(wrong), setting)


def test_an_implementation_without_the_step_size_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_eta(g: Vector, x: Vector, z: Vector, y: Vector, *, rho: float, eta: float) -> Vector:
        return (-g - y + rho * z + x / eta) / (1 / eta)

    monkeypatch.setattr("reference.mpadmm.update_x", without_eta)
    assert "x" in exceeded(reference_replay(), MPADMM)


def test_the_same_measurements_come_over_the_wire() -> None:
    setting = replace(MPADMM, lam=HUGE, rho=2.0)
    pair = saturated(5, far=far_enough([setting.eta], setting.rho))
    with Session([sys.executable, "-m", "verification.served.loopback"]) as session:
        replay: Replay = lambda records, *rest: session.replay(session.send(records), *rest).values  # noqa: E731 - typed
        over = observe(replay, pair, setting)
    assert over == observe(REFERENCE, pair, setting)
