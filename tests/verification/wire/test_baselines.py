"""The baselines behind the wire: the twin is the reference, parameters that belong elsewhere are refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError

from reference.baselines.dpadmm import party_noise
from reference.baselines.dpsvrg import epochs
from reference.baselines.objp import perturbations
from reference.randomness import Seeded
from reference.schedules import Listed
from verification.served.loopback import Loopback
from verification.served.serve import Values
from verification.served.stepwise import StepwiseBaselines
from verification.served.translate import perturbation_of
from verification.wire import messages as m
from verification.wire.messages import initial_point, parameters_for
from verification.wire.parameters import (
    BASELINES,
    PAPER,
    SCHEMES,
    Algorithm,
    LossName,
    Parameters,
    RegularizerName,
    noised_names,
)
from verification.wire.records import Records

DESCRIPTION = StepwiseBaselines().describe()
RNG = np.random.default_rng(3)
RECORDS = Records(RNG.standard_normal((9, 4)), np.where(RNG.random(9) < 0.5, -1, 1).astype(np.int64))
SEED, RUNS, T, P = 11, 4, 4, 4


def parameters(
    algorithm: Algorithm, regularizer: RegularizerName = RegularizerName.L1, loss: LossName = LossName.HUBER
) -> Parameters:
    return parameters_for(
        DESCRIPTION,
        algorithm,
        P,
        eta=[0.9, 0.4, 0.8, 0.2],
        batch=3,
        sigma=0.7,
        rho=0.5,
        lambda_=0.2,
        loss=loss,
        regularizer=regularizer,
        initial=initial_point(*np.random.default_rng(5).standard_normal((3, P))),
        anchor_sigma=0.3,
        parties=2,
    )


@pytest.mark.parametrize("algorithm", BASELINES)
def test_a_baseline_taken_apart_computes_what_the_reference_computes(algorithm: Algorithm) -> None:
    rng = np.random.default_rng(8)
    whole, parts = Loopback(), StepwiseBaselines()
    for regularizer in RegularizerName:
        for loss in LossName:
            given = parameters(algorithm, regularizer, loss)
            scheme = SCHEMES[algorithm]
            noise = {n: rng.standard_normal(scheme.noise_shape(n, given, P)) for n in noised_names(algorithm, given)}
            batches = None if given.batch is None else np.array([rng.permutation(9)[:3] for _ in range(T)])
            first, second = (side.replay(RECORDS, algorithm, given, noise, batches) for side in (whole, parts))
            assert set(first) == set(second) == {*scheme.iterates, *scheme.also_released}
            for name, array in first.items():
                # two solvers that leave 1e-11 each, over a convexity of 0.5, through four iterations
                close = 1e-12 if scheme.clips else 1e-9
                np.testing.assert_allclose(array, second[name], rtol=0, atol=close)


def drawn(algorithm: Algorithm, given: Parameters, run: int) -> Values:
    """What the reference's own shells draw for one run of a seed."""
    source = Seeded(SEED, run)
    match algorithm:
        case Algorithm.DPSGD:
            return {"gradient": np.array(list(source.noise(P, 0.7, T)))}
        case Algorithm.DPADMM:
            return {"x": np.array(list(party_noise(source, [0.7, 0.7], P, T)))}
        case Algorithm.OBJP:
            scale = perturbation_of(given, 9).scale
            return {"objective": np.array(list(perturbations(source, P, scale, T)))}
        case Algorithm.DPSVRG:
            etas = Listed(tuple(given.eta))
            kinds = {"records": 9, "dimension": P, "batch": 3, "count": 2, "inner": 2}
            drawn_epochs = list(epochs(source, schedule=etas, anchor_sigma=0.3, sigma=0.7, **kinds))
            gradient = np.array([gamma for epoch in drawn_epochs for gamma in epoch.noise])
            return {"anchor": np.array([epoch.anchor_noise for epoch in drawn_epochs]), "gradient": gradient}
        case _:
            return {}


@pytest.mark.parametrize("algorithm", BASELINES)
def test_trials_see_the_draws_of_the_reference_run_by_run(algorithm: Algorithm) -> None:
    given = parameters(algorithm)
    trials = Loopback().trials(RECORDS, algorithm, given, RUNS, SEED)
    for run in range(RUNS):
        batches = None if given.batch is None else np.array(list(Seeded(SEED, run).batches(9, 3, T)))
        one = Loopback().replay(RECORDS, algorithm, given, drawn(algorithm, given, run), batches)
        for name, array in one.items():
            np.testing.assert_allclose(trials[name][run], array, rtol=0, atol=1e-9)


def test_uneven_parties_with_a_multiplier_have_noise_of_their_own_size() -> None:
    records = Records(np.zeros((7, 2)), np.ones(7, dtype=np.int64))
    given = parameters_for(DESCRIPTION, Algorithm.DPADMM, 2, eta=[0.5], noise_multiplier=3.0, parties=3)
    x = Loopback().trials(records, Algorithm.DPADMM, given, 20_000, 1)["x"]
    expected = [3.0 * 2 * 0.5 / (size * 1.5) for size in (3, 2, 2)]
    assert x[:, 0].std(axis=(0, 2)) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("algorithm", "changes", "message"),
    [
        (Algorithm.DPSGD, {"batch": None}, "batch belongs to dpsgd, dpsvrg, sadmm, ssadmm"),
        (Algorithm.DPSGD, {"parties": 2}, "parties belongs to dpadmm"),
        (Algorithm.DPADMM, {"parties": None}, "parties belongs to dpadmm"),
        (Algorithm.DPADMM, {"batch": 3}, "batch belongs to"),
        (Algorithm.DPSVRG, {"anchor_sigma": None}, "anchor_sigma belongs to dpsvrg"),
        (Algorithm.DPSGD, {"anchor_sigma": 1.0}, "anchor_sigma belongs to dpsvrg"),
        (Algorithm.DPSVRG, {"inner": None}, "inner belongs to dpsvrg"),
        (Algorithm.DPSVRG, {"inner": 3}, "multiple of inner=3"),
        (Algorithm.OBJP, {"epsilon": None, "sigma": 1.0}, "epsilon belongs to objp"),
        (Algorithm.OBJP, {"sigma": 1.0}, "exactly one of sigma"),
        (Algorithm.OBJP, {"clip": 1.0, "normalise": None}, "true gradients"),
        (Algorithm.SADMM, {"sigma": 0.5}, "adds no noise"),
        (Algorithm.ADMM, {"clip": 1.0, "normalise": None}, "true gradients"),
        (Algorithm.SSADMM, {"epsilon": 1.0, "sigma": None}, "epsilon belongs to objp"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(algorithm: Algorithm, changes: dict[str, object], message: str) -> None:
    fields = parameters(algorithm).model_dump(by_alias=True, exclude_none=True) | changes
    with pytest.raises(ValidationError, match=message):
        m.TrialsRequest.model_validate(
            {"id": 1, "data": "D", "algorithm": algorithm, "parameters": fields, "count": 1, "show": "last"}
        )


def test_an_inner_problem_cannot_be_offered_without_normalising() -> None:
    fields = Loopback((Algorithm.OBJP,)).describe().model_dump(mode="json") | {"capabilities": ["trials", "clip"]}
    with pytest.raises(ValidationError, match="objp needs the capability normalise"):
        m.StartResult.model_validate(fields)


def test_the_loopback_serves_what_it_is_told_to() -> None:
    assert Loopback().describe().algorithms == list(PAPER)
    assert Loopback((Algorithm.OBJP,)).describe().released == {Algorithm.OBJP: ["x", "z", "y"]}
    assert Loopback((Algorithm.DPSVRG,)).describe().released == {Algorithm.DPSVRG: ["x", "full_gradient"]}
    command = [sys.executable, "-m", "verification.served.loopback", "dpsdg"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "known are ssadmm, mpadmm, dpsgd" in done.stderr
