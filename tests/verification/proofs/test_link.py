"""Coq and Python on the same rationals: equal as shipped, and a change of either side alone is found."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reference.arithmetic import Scalar, Vector
from reference.regularizers import MCP
from reference.updates import update_x, update_y
from tests.verification.proofs.folders import change, needs_coq, part_of_the_project
from verification.proofs.link import SEED, compare
from verification.proofs.link_cases import CASES

NEEDED = ("Vectors", "Algorithm", "Rationals")


@needs_coq
@pytest.mark.slow
def test_a_few_random_rationals_agree() -> None:
    link = compare(each=3, seed=SEED + 1)
    assert link.agrees, link.summary()
    assert link.compared == 3 * len(CASES)


def wrong_x(g: Vector, x: Vector, z: Vector, y: Vector, *, rho: Scalar, eta: Scalar) -> Vector:
    """What the printed bound would be right for."""
    return update_x(g, x, z, y, rho=rho, eta=eta) / eta


def wrong_y(y: Vector, x: Vector, z: Vector, *, rho: Scalar) -> Vector:
    return update_y(y, z, x, rho=rho)


def wrong_mcp(self: MCP, w: Vector, rho: Scalar) -> Vector:
    return w


@needs_coq
@pytest.mark.slow
def test_a_change_of_python_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference.updates.update_x", wrong_x)
    monkeypatch.setattr("reference.updates.update_y", wrong_y)
    monkeypatch.setattr(MCP, "prox", wrong_mcp)
    link = compare(each=10)
    assert not link.agrees
    assert {"update_x", "update_y", "prox_mcp"} <= {fault.partition(":")[0] for fault in link.faults}
    assert not any(fault.startswith(("soft_threshold", "prox_scad", "huber")) for fault in link.faults)


COQ_MUTANTS = {
    "update_y": ("y + rho * (x - z)", "y + rho * (x - z) / 2"),
    "prox_scad": ("let shift := a * lam * tau in", "let shift := lam * tau in"),
    "huber_slope": ("minimum (maximum (1 + h - margin) 0) (2 * h) / (2 * h)", "maximum (1 + h - margin) 0 / (2 * h)"),
}


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", COQ_MUTANTS)
def test_a_change_of_coq_alone_is_found(name: str, tmp_path: Path) -> None:
    sources = part_of_the_project(tmp_path / "proofs", NEEDED)
    change(sources / "Algorithm.v", *COQ_MUTANTS[name])
    link = compare(sources, each=10)
    assert not link.agrees
    assert name in {fault.partition(":")[0] for fault in link.faults}


@pytest.mark.parametrize("name", ["prox_scad", "prox_mcp", "prox_l1", "huber_slope", "clipped_slope"])
def test_the_random_inputs_reach_every_branch(name: str) -> None:
    generator = Random(SEED)
    values = [CASES[name](generator).python() for _ in range(30)]
    assert len({tuple(value) for value in values}) > 5
    if name.startswith("prox"):
        assert [0] in values
    if name == "huber_slope":
        assert [0] in values
        assert [-1] in values


@needs_coq
def test_a_file_that_coq_refuses_is_no_agreement(tmp_path: Path) -> None:
    sources = part_of_the_project(tmp_path / "proofs", NEEDED)
    change(sources / "Algorithm.v", "Section Formulas.", "Section Formulas. Nonsense.")
    link = compare(sources, each=1)
    assert not link.agrees
    assert "Nonsense" in link.summary() or "Error" in link.summary()
