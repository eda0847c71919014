"""Parameters on the wire describe the same mechanism as a claim file does."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant import DPSVRG, MpADMM, ObjP, SsADMM, mechanism_from
from accountant.mechanisms.words import Algorithm, Release, Sensitivity, Visibility
from verification.served.loopback import Loopback
from verification.served.translate import anchor_sensitivities, sensitivities
from verification.wire.messages import parameters_for
from verification.wire.parameters import (
    PAPER,
    PRIVATE_BASELINES,
    Parameters,
    RegularizerName,
    RegularizerOptions,
    mechanism_of,
)


def on_the_wire(algorithm: Algorithm, **changes: object) -> Parameters:
    """Parameters whose values are dyadic, so that a claim file can write them exactly."""
    parameters = parameters_for(
        Loopback(tuple(Algorithm)).describe(),
        algorithm,
        2,
        eta=[0.5] * 6,
        batch=4,
        sigma=0.25,
        bound=0.5,
        rho=2.0,
        epsilon=0.125,
        anchor_sigma=0.75,
    )
    return parameters.model_copy(update=changes)


CLAIMED: dict[Algorithm, dict[str, object]] = {
    Algorithm.SSADMM: {"batch": 4, "sigma": "0.25", "clip": "0.5", "eta": "0.5", "rho": 2},
    Algorithm.MPADMM: {"sigma": "0.25", "clip": "0.5", "eta": "0.5", "rho": 2, "release": "all"},
    Algorithm.DPSGD: {"batch": 4, "sigma": "0.25", "clip": "0.5", "eta": "0.5"},
    Algorithm.DPADMM: {"sigma": "0.25", "clip": "0.5", "eta": "0.5", "rho": 2, "parties": 2},
    Algorithm.DPSVRG: {"batch": 4, "sigma": "0.25", "clip": "0.5", "eta": "0.5", "inner": 3, "anchor_sigma": "0.75"},
    Algorithm.OBJP: {"epsilon": "0.125", "normalise": "0.5", "eta": "0.5", "rho": 2},
    Algorithm.SADMM: {"batch": 4, "clip": "0.5", "eta": "0.5", "rho": 2},
    Algorithm.ADMM: {"normalise": "0.5", "eta": "0.5", "rho": 2},
}


@pytest.mark.parametrize("algorithm", Algorithm)
def test_the_wire_and_a_claim_describe_the_same_mechanism(algorithm: Algorithm) -> None:
    claimed = mechanism_from({"algorithm": str(algorithm), "records": 8, "iterations": 6, **CLAIMED[algorithm]})
    assert mechanism_of(algorithm, on_the_wire(algorithm), 8) == claimed


def test_what_the_wire_does_not_say_comes_from_the_caller() -> None:
    varying = on_the_wire(Algorithm.MPADMM, eta=[0.5, 1.0, 2.0, 1.0, 0.5, 4.0])
    printed = mechanism_of(
        Algorithm.MPADMM, varying, 8, sensitivity=Sensitivity.PRINTED, visibility=Visibility.LAST_MODEL
    )
    assert isinstance(printed, MpADMM)
    assert printed.eta == tuple(map(Fraction, (0.5, 1, 2, 1, 0.5, 4, 4)))  # the printed bound also needs eta^T
    assert printed.released is Visibility.LAST_MODEL
    assert not printed.ledger().sound


@pytest.mark.parametrize("algorithm", [a for a in (*PAPER, *PRIVATE_BASELINES) if a is not Algorithm.OBJP])
def test_a_multiplier_means_the_sensitivities_that_the_reference_uses(algorithm: Algorithm) -> None:
    """The ledger of a noise multiplier is that of the sigmas into which the served reference translates it."""
    given = on_the_wire(algorithm, sigma=None, anchor_sigma=None, noise_multiplier=1.5)
    exact = mechanism_of(algorithm, given, 8).ledger()
    spelled = {"noise_multiplier": None, "sigma": 1.5 * float(sensitivities(algorithm, given, 8)[0])}
    if algorithm is Algorithm.DPSVRG:
        spelled["anchor_sigma"] = 1.5 * float(anchor_sensitivities(given, 8)[0])
    rounded = mechanism_of(algorithm, given.model_copy(update=spelled), 8).ledger()
    assert len(exact.steps) == len(rounded.steps)
    for one, other in zip(exact.steps, rounded.steps, strict=True):
        assert one.count == other.count
        assert float(getattr(one, "ratio_squared")) == pytest.approx(float(getattr(other, "ratio_squared")), rel=1e-12)  # noqa: B009


def test_a_penalty_that_moves_z_is_priced_and_one_of_strength_0_is_not() -> None:
    scad = {"regularizer": RegularizerName.SCAD, "options": RegularizerOptions(a=3.5)}
    silent = mechanism_of(Algorithm.MPADMM, on_the_wire(Algorithm.MPADMM, **scad), 8)
    loud = mechanism_of(Algorithm.MPADMM, on_the_wire(Algorithm.MPADMM, lambda_=0.5, **scad), 8)
    alone = mechanism_of(
        Algorithm.MPADMM, on_the_wire(Algorithm.MPADMM, lambda_=0.5, release=Release.PRIMAL, **scad), 8
    )
    mcp = {"regularizer": RegularizerName.MCP, "options": RegularizerOptions(gamma=3.5), "lambda_": 0.5}
    other = mechanism_of(Algorithm.MPADMM, on_the_wire(Algorithm.MPADMM, **mcp), 8)
    assert [m.a for m in (silent, loud, alone, other) if isinstance(m, MpADMM)] == [None, Fraction(7, 2), None, None]
    assert isinstance(other, MpADMM)
    assert other.gamma == Fraction(7, 2)


def test_names_on_the_wire_are_the_mechanisms_names() -> None:
    assert {SsADMM.algorithm, MpADMM.algorithm, DPSVRG.algorithm, ObjP.algorithm} <= set(Algorithm)
