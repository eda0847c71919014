"""Coq and Python on the same rationals: equal as shipped, and a change of either side alone is found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import reference.dataset
import reference.mpadmm
import reference.problem
import reference.ssadmm
from reference.arithmetic import Indices, Matrix, Scalar, Vector, number_system
from reference.problem import Problem, State
from reference.regularizers import MCP, GroupL1
from reference.rounding import on_grid
from reference.updates import update_x, update_y, update_z
from tests.verification.coq.folders import change, needs_coq, part_of_the_project
from verification.coq.link import CASES, SEED, LinkCase, compare, differences, drawn, in_coq, inputs
from verification.coq.table import FOLDER

NEEDED = ("Vectors", "Algorithm", "Rationals")


@needs_coq
@pytest.mark.slow
def test_a_few_random_rationals_agree() -> None:
    link = compare(each=3, seed=SEED + 1)
    assert link.agrees, link.summary()
    assert link.compared == sum(inputs(name, 3) for name in CASES)


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
    link = compare(each=5)
    assert not link.agrees
    assert {"update_x", "update_y", "prox_mcp"} <= {fault.partition(":")[0] for fault in link.faults}
    assert not any(fault.startswith(("soft_threshold", "prox_scad", "huber")) for fault in link.faults)


GRADIENT = Problem.gradient
SSADMM = reference.ssadmm.ssadmm
GROUP = GroupL1.prox
ROW_NORMS = reference.dataset.row_norms


def mean_over_all_records(self: Problem, x: Vector, batch: Indices | None = None) -> Vector:
    g = GRADIENT(self, x, batch)
    return g if batch is None else g * len(batch) / self.records


def clip_after_the_mean(self: Problem, x: Vector, batch: Indices | None = None) -> Vector:
    g = GRADIENT(replace(self, clip=None), x, batch)
    size = number_system(g).sum(number_system(g).absolute(g))[()]
    return g if self.clip is None or size <= self.clip else g * (self.clip / size)


def noise_times_zero(
    problem: Problem,
    initial: State,
    *,
    step_sizes: Iterable[Scalar],
    batches: Iterable[Indices],
    noise: Iterable[Vector],
    grid: float | None = None,
) -> Iterator[State]:
    silent = (0 * gamma for gamma in noise)
    return SSADMM(problem, initial, step_sizes=step_sizes, batches=batches, noise=silent, grid=grid)


def doubled_groups(self: GroupL1, w: Vector, rho: Scalar) -> Vector:
    return GROUP(self, w, rho / 2)


def grid_ignored(value: Vector, grid: float | None) -> Vector:
    return value


def halved_norms(features: Matrix) -> Vector:
    return ROW_NORMS(features) / 2


def z_from_the_clean_x(
    problem: Problem, old: State, eta: Scalar, gamma: reference.mpadmm.ModelNoise, grid: float | None
) -> State:
    rho = problem.rho
    clean = update_x(problem.gradient(old.x), old.x, old.z, old.y, rho=rho, eta=eta)
    z = update_z(clean, old.y, rho=rho, regularizer=problem.regularizer)
    x = on_grid(clean, grid) + gamma.x
    return State(x, z, update_y(old.y, x, z, rho=rho))


SABOTAGES: dict[str, tuple[object, str, object, set[str]]] = {
    "noise times 0": (reference.ssadmm, "ssadmm", noise_times_zero, {"ssadmm"}),
    "batch mean over n": (Problem, "gradient", mean_over_all_records, {"ssadmm", "record_gradient"}),
    "clip after the mean": (
        *(Problem, "gradient", clip_after_the_mean),
        {"ssadmm", "mpadmm_all", "mpadmm_primal", "record_gradient"},
    ),
    "groups doubled": (GroupL1, "prox", doubled_groups, {"prox_group", "ssadmm", "mpadmm_all", "mpadmm_primal"}),
    "grid ignored by ssADMM": (reference.ssadmm, "on_grid", grid_ignored, {"ssadmm"}),
    "grid ignored by mpADMM": (reference.mpadmm, "on_grid", grid_ignored, {"mpadmm_all", "mpadmm_primal"}),
    "norms halved": (reference.problem, "row_norms", halved_norms, {"signed_record"}),
    "z from the clean x": (reference.mpadmm, "_epoch_primal", z_from_the_clean_x, {"mpadmm_primal"}),
}


@pytest.fixture(scope="module")
def compared() -> tuple[list[LinkCase], list[list[Fraction]]]:
    cases = drawn(6, SEED)
    return cases, in_coq(FOLDER, cases)


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotaged_reference_is_found(
    name: str, compared: tuple[list[LinkCase], list[list[Fraction]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, attribute, wrong, found_in = SABOTAGES[name]
    monkeypatch.setattr(owner, attribute, wrong)
    link = differences(*compared)
    assert {fault.partition(":")[0] for fault in link.faults} == found_in


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
