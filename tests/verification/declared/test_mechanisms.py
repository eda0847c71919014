"""Seven mechanisms that no algorithm of the reference resembles: honest ones stand, wrong ones are refuted."""

from __future__ import annotations

import functools
import secrets
from fractions import Fraction
from types import ModuleType

import pytest

from accountant import decimal_string
from tests.verification.declared.inprocess import EXAMPLES, example, findings, named_epsilon
from tests.zoo.declared.wrong import wrong
from verification.declared.price import price
from verification.outcome import Finding, Outcome
from verification.wire.declaration import OpaqueParameters
from verification.wire.session import DeclaredAlgorithm

SIZE = (24, 3)
SEED = 7
MECHANISMS: dict[str, tuple[OpaqueParameters, str, str]] = {
    "dual_admm": ({"iterations": 4, "sigma": 0.5, "rho": 1.0, "lambda": 0.01}, "2", "1e-5"),
    "objective_perturbation": ({"scale": 4.0, "ridge": 0.1}, "0.7", "0"),
    "output_perturbation": ({"scale": 1.5, "ridge": 0.5}, "0.2", "0"),
    "two_parties": ({"iterations": 3, "sigma": 0.4, "eta": 0.5, "rho": 1.0, "clip": 1.0}, "2", "1e-5"),
    "squared_loss": (
        {"iterations": 3, "batch": 6, "sigma": 0.5, "eta": 0.5, "rho": 1.0, "ridge": 0.1, "clip": 1.0},
        "4",
        "1e-5",
    ),
    "poisson_sgd": ({"iterations": 3, "rate": 0.25, "records": 24, "sigma": 0.4, "eta": 0.5, "clip": 1.0}, "2", "1e-5"),
    "laplace_gradient": ({"iterations": 3, "scale": 0.5, "eta": 0.5, "clip": 1.0}, "0.5000001", "0"),
}
"""Parameters, and a claim that holds."""
WRONG: dict[tuple[str, str], str] = {
    ("dual_admm", "half the sensitivity"): "sensitivity",
    ("dual_admm", "model without noise"): "post-processing",
    ("dual_admm", "no noise"): "noise",
    ("dual_admm", "data-dependent stopping"): "data-independence",
    ("objective_perturbation", "half the sensitivity"): "sensitivity",
    ("objective_perturbation", "noise subtracted again"): "noise",
    ("objective_perturbation", "data-dependent scale"): "data-independence",
    ("output_perturbation", "sum for mean"): "sensitivity",
    ("output_perturbation", "data-dependent scale"): "data-independence",
    ("two_parties", "one draw for all"): "noise",
    ("two_parties", "data-dependent penalty"): "data-independence",
    ("two_parties", "half the sensitivity"): "sensitivity",
    ("squared_loss", "variance as deviation"): "noise",
    ("squared_loss", "model without noise"): "post-processing",
    ("poisson_sgd", "sum for mean"): "sensitivity",
    ("poisson_sgd", "noise subtracted again"): "noise",
    ("laplace_gradient", "variance as deviation"): "noise",
    ("laplace_gradient", "no noise"): "noise",
    ("laplace_gradient", "data-dependent stopping"): "data-independence",
}
"""What each mistake is found by."""
QUICK = {("dual_admm", ""), ("laplace_gradient", ""), ("laplace_gradient", "no noise")}


@functools.cache
def module(name: str) -> ModuleType:
    return example(name)


def judge(name: str, mistake: str) -> tuple[dict[str, Finding], float]:
    """The findings and the claim: for a wrong one just what its declaration costs."""
    parameters, epsilon, delta = MECHANISMS[name]
    session = wrong(name, module(name), mistake)
    if mistake:
        declaration = session.declare(DeclaredAlgorithm(name, parameters), *SIZE)
        epsilon = decimal_string(price(declaration, SIZE[0], Fraction(delta)) * Fraction(10001, 10000), 8, "up")
    # a part of the pairs is tried: the same ones for what is wrong, and more of them where one record must be found
    seed = SEED if mistake else secrets.randbits(64)
    effort = 0.5 if WRONG.get((name, mistake)) == "sensitivity" else 0.12
    found = findings(session, parameters, epsilon=epsilon, delta=delta, seed=seed, size=SIZE, effort=effort)
    return {finding.name: finding for finding in found}, float(epsilon)


def _marked(cases: list[tuple[str, str]]) -> list[object]:
    return [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in cases]


@pytest.mark.parametrize(("name", "_mistake"), _marked([(name, "") for name in MECHANISMS]))
def test_an_honest_one_stands(name: str, _mistake: str) -> None:
    found, _ = judge(name, "")
    assert {finding.outcome for finding in found.values()} == {Outcome.STANDS}, found
    assert {"account", "sensitivity", "post-processing", "data-independence", "noise", "own-runs"} <= set(found)


@pytest.mark.parametrize(("name", "mistake"), _marked(list(WRONG)))
def test_a_wrong_one_is_refuted_with_its_epsilon(name: str, mistake: str) -> None:
    found, claimed = judge(name, mistake)
    finding = found[WRONG[name, mistake]]
    assert finding.outcome is Outcome.REFUTED, finding
    assert named_epsilon(finding.detail) > claimed, finding.detail


def test_every_mechanism_is_short_and_has_two_wrong_versions() -> None:
    for name in MECHANISMS:
        assert len((EXAMPLES / f"{name}.py").read_text("utf-8").splitlines()) <= 80, name
        assert sum(key[0] == name for key in WRONG) >= 2, name
