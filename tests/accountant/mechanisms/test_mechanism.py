"""A mechanism is checked when it is made, never changes, and is the same whoever describes it."""

from __future__ import annotations

import dataclasses
import pickle
from fractions import Fraction

import pytest

import accountant
from accountant import (
    ADMM,
    DPADMM,
    DPSVRG,
    SADMM,
    GaussianStep,
    InvalidQuantityError,
    Mechanism,
    MpADMM,
    NotPrivateError,
    Release,
    Sensitivity,
    SsADMM,
    SubsampledGaussianStep,
    UnsupportedSchemeError,
    Visibility,
    delta_curve,
    epsilon,
    mechanism_from,
)
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.registry import MECHANISMS, PRIVATE

EVERYTHING: dict[str, object] = {
    "records": 12,
    "iterations": 6,
    "batch": 3,
    "sampling": "without-replacement",
    "clip": "1/2",
    "sigma": "2",
    "eta": "4",
    "rho": "1/3",
    "release": "primal",
    "parties": 3,
    "inner": 2,
    "anchor_sigma": "1/5",
    "epsilon": "0.1",
    "sampling_rate": "1/4",
}
"""Values for the fields that some mechanism needs, no two alike."""


def described(algorithm: str, **changes: object) -> dict[str, object]:
    """Ordinary parameters of an algorithm."""
    given = EVERYTHING | {"algorithm": algorithm} | changes
    if algorithm in {"gaussian", "poisson", "laplace"}:
        given |= {"noise_multiplier": "7/2"}
    known = {"algorithm", *fields_of(MECHANISMS[algorithm]), *changes}
    return {name: value for name, value in given.items() if name in known}


@pytest.mark.parametrize("algorithm", MECHANISMS)
def test_a_mechanism_is_exact_immutable_and_equal_to_one_described_alike(algorithm: str) -> None:
    one, other = mechanism_from(described(algorithm)), mechanism_from(described(algorithm))
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.replace(one, name="mine").title == "mine"
    assert one.title == one.algorithm == algorithm
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "another"
    for name in fields_of(type(one)):
        assert not isinstance(getattr(one, name), float)


@pytest.mark.parametrize("algorithm", MECHANISMS)
def test_every_field_says_what_it_is(algorithm: str) -> None:
    for name, field in fields_of(MECHANISMS[algorithm]).items():
        assert field.name == name
        assert field.explain.endswith(".")


@pytest.mark.parametrize("algorithm", MECHANISMS)
def test_what_is_missing_is_named(algorithm: str) -> None:
    for name, field in fields_of(MECHANISMS[algorithm]).items():
        given = described(algorithm)
        given.pop(name, None)
        if field.required:
            with pytest.raises(InvalidQuantityError, match=f"{algorithm} also needs {name}"):
                mechanism_from(given)
        elif field.stated:
            with pytest.raises(InvalidQuantityError, match=f"{algorithm} also needs {name}"):
                mechanism_from(given, everything=True)


@pytest.mark.parametrize("algorithm", MECHANISMS)
def test_fields_of_others_and_misspellings_are_refused_by_name(algorithm: str) -> None:
    own = fields_of(MECHANISMS[algorithm])
    for name in {name for kind in MECHANISMS.values() for name in fields_of(kind)} - set(own):
        with pytest.raises(InvalidQuantityError, match=rf"{name} belongs to .*, not to {algorithm}"):
            mechanism_from(described(algorithm, **{name: "1"}))
    with pytest.raises(InvalidQuantityError, match="iteratoins: unknown key; did you mean 'iterations'"):
        mechanism_from(described(algorithm, iteratoins=3))


def test_what_names_no_algorithm_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="algorithm is needed"):
        mechanism_from({"mechanism": "ssadmm"})
    with pytest.raises(InvalidQuantityError, match="algorithm must be one of"):
        mechanism_from({"algorithm": "ssadmn"})


@pytest.mark.parametrize(
    ("algorithm", "change", "message"),
    [
        ("ssadmm", {"sigma": 0.1}, "sigma must be exact"),
        ("ssadmm", {"sigma": "-1"}, "sigma must be finite and > 0, got sigma=-1"),
        ("ssadmm", {"sigma": None}, "give either noise_multiplier, or sigma"),
        ("ssadmm", {"noise_multiplier": 2}, "give either noise_multiplier, or sigma"),
        ("ssadmm", {"clip": None}, "give either noise_multiplier, or sigma"),
        ("ssadmm", {"normalise": 1}, "give clip or normalise, not both"),
        ("ssadmm", {"batch": 13}, "batch must be at most records"),
        ("ssadmm", {"records": True}, "records must be a whole number"),
        ("ssadmm", {"released": "one-step"}, "released must be every-iterate or last-model"),
        ("ssadmm", {"noise": "laplace"}, "noise must be one of gaussian, discrete"),
        ("ssadmm", {"name": 3}, "name must be text"),
        ("mpadmm", {"eta": ["1", "2"]}, "eta must be one value or 6 values"),
        ("mpadmm", {"eta": []}, "eta must be one number or one an iteration"),
        ("mpadmm", {"a": 9, "gamma": 9}, "one of a, gamma and lipschitz"),
        ("mpadmm", {"sigma": None, "noise_multiplier": 2, "sensitivity": "printed"}, "needs sigma"),
        ("dpadmm", {"parties": 13}, "parties must be at most records"),
        ("dpsvrg", {"inner": 4}, "multiple of inner=4"),
        ("dpsvrg", {"anchor_sigma": None}, "sigma and anchor_sigma belong together"),
        ("dpsvrg", {"sigma": None, "noise_multiplier": 2}, "sigma and anchor_sigma belong together"),
        ("objp", {"epsilon": ["1", "2"]}, "epsilon must be one value or 6 values"),
        ("poisson", {"sampling_rate": 2}, r"sampling_rate must lie in \(0, 1\]"),
        ("sadmm", {"batch": 13}, "batch must be at most records"),
    ],
)
def test_what_contradicts_itself_is_refused(algorithm: str, change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidQuantityError, match=message):
        mechanism_from(described(algorithm, **change))


@pytest.mark.parametrize(
    ("algorithm", "sampling"),
    [
        *((algorithm, sampling) for algorithm in ("ssadmm", "dpsgd", "dpsvrg") for sampling in ("poisson", "all")),
        ("dpsvrg", "shuffle"),
        ("dpsvrg", "fixed-order"),
        ("dpsvrg", "with-replacement"),
    ],
)
def test_other_batches_than_the_theorems_are_for_are_refused(algorithm: str, sampling: str) -> None:
    with pytest.raises(UnsupportedSchemeError, match="without-replacement"):
        mechanism_from(described(algorithm, sampling=sampling))


@pytest.mark.parametrize("kind", [SADMM, ADMM])
def test_what_adds_no_noise_has_no_price(kind: type[Mechanism]) -> None:
    mechanism = mechanism_from(described(kind.algorithm))
    assert not mechanism.private
    with pytest.raises(NotPrivateError, match="adds no noise"):
        epsilon(mechanism, "1e-6")


def test_a_noise_multiplier_is_sigma_over_the_sensitivity() -> None:
    """mpADMM's refers to the joint sensitivity of what is released; DP-SVRG's to each of its two."""
    nu = Fraction(7, 2)
    for release in Release:
        by_multiplier = MpADMM(records=10, iterations=4, eta=2, rho="1/3", noise_multiplier=nu, release=release)
        assert by_multiplier.ledger().steps == (GaussianStep(1 / nu**2, 4),)
    parties = DPADMM(records=10, iterations=4, eta=["1", "2", "3", "4"], rho=2, noise_multiplier=nu, parties=3)
    assert parties.ledger().steps == (GaussianStep(1 / nu**2, 4),)
    both = DPSVRG(records=10, iterations=4, batch=3, inner=2, noise_multiplier=nu).ledger()
    assert both.steps == (GaussianStep(1 / nu**2, 2), SubsampledGaussianStep(Fraction(3, 10), nu, 4))
    known = SsADMM(records=10, iterations=4, batch=3, noise_multiplier=nu, normalise="1/2")
    assert known.spread() == nu * 2 * Fraction(1, 2) / 3
    assert SsADMM(records=10, iterations=4, batch=3, sigma=known.spread(), clip="1/2").ledger() == known.ledger()


def test_shapes_of_nonconvex_regularizers_price_z_and_y_and_not_x() -> None:
    def cost(**more: str) -> Fraction:
        mechanism = mechanism_from(described("mpadmm", release="all", rho="3", **more))
        (step,) = mechanism.ledger().steps
        assert isinstance(step, GaussianStep)
        return step.ratio_squared

    convex = cost()
    assert cost(lipschitz="1") == convex
    assert cost(a="3.7") == cost(lipschitz=str(Fraction("2.7") / (Fraction("2.7") - Fraction(1, 3)))) > convex / 2
    assert cost(gamma="2") == cost(lipschitz="6/5")
    with pytest.raises(InvalidQuantityError, match="release='primal'"):
        cost(a="1.2")
    assert not mechanism_from(described("mpadmm", a="1.2")).ledger().corrected  # x alone is released


def test_prices_and_curves_take_a_mechanism_or_its_ledger() -> None:
    mechanism = SsADMM(records=100, batch=10, noise_multiplier=4, iterations=3)
    assert epsilon(mechanism, "1e-6") == epsilon(mechanism.ledger(), "1e-6")
    assert accountant.methods_for(mechanism) == accountant.methods_for(mechanism.ledger())
    assert delta_curve(mechanism)(1) == delta_curve(mechanism.ledger())(1)
    found = accountant.calibrate_noise(
        lambda nu: dataclasses.replace(mechanism, noise_multiplier=nu), epsilon=1, delta="1e-6", digits=2
    )
    assert found.ledger == dataclasses.replace(mechanism, noise_multiplier=found.value).ledger()


def test_defaults_are_the_ones_that_are_documented() -> None:
    mechanism = MpADMM(records=10, iterations=4, eta=2, rho=1, sigma=1, clip=1)
    assert (mechanism.release, mechanism.sensitivity) == (Release.ALL, Sensitivity.CORRECTED)
    assert mechanism.released is Visibility.EVERY_ITERATE
    assert DPADMM(records=10, iterations=4, eta=2, rho=1, sigma=1, clip=1).parties == 2


def test_every_public_name_of_the_accountant_can_be_had() -> None:
    for name in accountant.__all__:
        assert getattr(accountant, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'ssadmm'"):
        _ = accountant.ssadmm  # type: ignore[attr-defined]  # an earlier version's


def test_the_names_of_the_private_mechanisms_are_known_without_loading_them() -> None:
    assert [name for name, kind in MECHANISMS.items() if kind.private] == list(PRIVATE)
    assert all(kind.algorithm == name for name, kind in MECHANISMS.items())
    with pytest.raises(KeyError):
        MECHANISMS["nothing"]
