"""Neighbours of a declared algorithm: the search finds pairs that no list has, prints the smallest witness, and asks
equality and proportionality only of what repeats."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.verification.declared import test_mechanisms
from tests.verification.declared.inprocess import InProcess, declared_implementation, findings
from tests.zoo.declared import strangers
from verification.declared.comparison import RELATIVE, Comparison, search_neighbours
from verification.outcome import Finding, Outcome
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

SIZE = (3, 2)
WITNESS = re.compile(
    r"smallest witness: (\w+) records?, (\w+) columns?: record \d+ = .*moves by ([\d.]+), declared is ([\d.]+)"
)
LARGER = (
    "clipped at the median",
    "features scaled by the largest",
    "large gradients left out",
    "intercept after normalising",
    "intercept first, after normalising",
)
"""What was not found at two or three records: it needs many other records, or rare ones."""


def clipped(data: Records, w: Floats) -> Floats:
    """The mean gradient of the logistic loss, clipped as a whole to l1 norm 1."""
    signed = data.features * data.labels[:, None]
    mean = np.mean(-signed / (1.0 + np.exp(np.clip(signed @ w, -700.0, 700.0)))[:, None], axis=0)
    short: Floats = mean * min(1.0, 1.0 / max(float(np.abs(mean).sum()), 1e-300))
    return short


def seen(*, carries: bool, seed: int, effort: float = 1.0) -> Comparison:
    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"name": "x", "noise": "laplace", "scale": 2.0, "sensitivity": 2.0, "norm": "l1"}
        bound = {"kind": "clip", "radius": 1.0}
        return {"neighbours": "replace-one", "bound": bound, "iterations": 3, "values": [value]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        x, last = np.zeros(2), np.zeros(2)
        for _ in range(3):
            gradient = clipped(data, x)
            x = run.release("x", x + (last if carries else 0.0) - gradient, run.laplace(2, 2.0))
            last = gradient

    session = InProcess("carries", declare, run)
    found = Comparison()
    search_neighbours(declared_implementation(session, {}, size=SIZE, seed=seed, effort=effort), found)
    return found


def test_state_that_is_carried_on_is_found() -> None:
    """A clipped gradient that is carried on without noise and subtracted: no list has the pair, climbing finds it."""
    assert max(seen(carries=True, seed=seed, effort=0.4).sensitivity["x"].size for seed in (1, 2)) > 1.1


@pytest.mark.slow
def test_without_it_nothing_moves_too_far() -> None:
    assert seen(carries=False, seed=1).sensitivity["x"].size <= 1 + RELATIVE


# -- the smallest witness -----------------------------------------------------------------------------------------


def refuted(case: str) -> Finding:
    """The sensitivity finding of a wrong mechanism, or of a wrong stranger."""
    if case in strangers.WRONG:
        stranger = strangers.WRONG[case]
        session = InProcess("stranger", stranger.declare, stranger.run)
        found = findings(session, {}, epsilon="100", delta="1e-5", seed=11, effort=0.3)
        return next(finding for finding in found if finding.name == "sensitivity")
    name, _, mistake = case.partition(": ")
    return test_mechanisms.judge(name, mistake)[0]["sensitivity"]


def moving_too_far() -> list[object]:
    quick = ("dual_admm: half the sensitivity", "coordinates clipped")
    cases = [": ".join(key) for key, check in test_mechanisms.WRONG.items() if check == "sensitivity"]
    cases += [
        name
        for name, stranger in strangers.WRONG.items()
        if stranger.found_by == "sensitivity" and name != "discrete noise beside its grid"  # moves off its grid
    ]
    return [pytest.param(case, marks=() if case in quick else pytest.mark.slow) for case in cases]


@pytest.mark.slow
@pytest.mark.parametrize("case", moving_too_far())
def test_a_sensitivity_that_is_exceeded_has_its_smallest_witness_printed(case: str) -> None:
    finding = refuted(case)
    assert finding.outcome is Outcome.REFUTED
    found = WITNESS.search(finding.detail)
    assert found is not None, finding.detail
    assert "smallest witness: " in finding.witness
    moved, declared = float(found[3]), float(found[4])
    assert moved > declared
    if case not in LARGER:
        assert found[1] in ("two", "three"), finding.witness


# -- only what repeats is compared ----------------------------------------------------------------------------------


def counted(noise: Callable[[Records, np.random.Generator], float], *, seeded: bool, kind: str) -> InProcess:
    """A count of positive labels, released once with noise of its own."""

    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"name": "count", "noise": kind, "scale": 4.0, "sensitivity": 1.0, "norm": "l2"}
        grid = {"grid": 1.0} if kind == "discrete-gaussian" else {}
        return {"neighbours": "replace-one", "bound": {"kind": "none"}, "values": [{**value, **grid}]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        rng = np.random.default_rng(run.seed if seeded else None)
        before = np.array([np.sum(data.labels > 0)], dtype=np.float64)
        run.release("count", before, np.array([noise(data, rng)]))

    return InProcess("count", declare, run, seeded=seeded)


def judged(session: InProcess) -> dict[str, Finding]:
    found = findings(session, {}, epsilon="2", delta="1e-5", seed=5, size=(12, 2), effort=0.05)
    return {finding.name: finding for finding in found}


@pytest.mark.parametrize("seeded", [True, False])
def test_one_number_of_noise_without_a_seed_is_not_taken_for_two_scales(*, seeded: bool) -> None:
    found = judged(counted(lambda _, rng: 4.0 * rng.standard_normal(), seeded=seeded, kind="gaussian"))
    assert {finding.outcome for finding in found.values()} == {Outcome.STANDS}, found
    assert ("its scale was not compared" in found["data-independence"].detail) is not seeded


def test_noise_that_is_seeded_by_the_data_as_well_is_not_taken_for_two_scales() -> None:
    """The factor between two neighbours is another one under every seed."""

    def noise(data: Records, rng: np.random.Generator) -> float:
        key = int(1000.0 * np.abs(data.features).sum()) % (1 << 31)
        return 4.0 * float(np.random.default_rng([key, int(rng.integers(1 << 31))]).standard_normal())

    found = judged(counted(noise, seeded=True, kind="gaussian"))
    assert found["data-independence"].outcome is Outcome.STANDS, found


def test_noise_that_is_zero_by_chance_is_not_taken_for_missing() -> None:
    """Rounded to whole numbers, a tenth of all noise is 0."""
    found = judged(counted(lambda _, rng: float(np.rint(4.0 * rng.standard_normal())), seeded=False, kind="gaussian"))
    assert found["data-independence"].outcome is Outcome.STANDS, found


@pytest.mark.parametrize("seeded", [True, False])
def test_noise_that_some_data_never_get_is_refuted(*, seeded: bool) -> None:
    def noise(data: Records, rng: np.random.Generator) -> float:
        return 4.0 * float(rng.standard_normal()) if data.labels[0] > 0 else 0.0

    found = judged(counted(noise, seeded=seeded, kind="gaussian"))
    assert found["data-independence"].outcome is Outcome.REFUTED, found


def test_a_scale_of_one_number_that_depends_on_a_record_is_refuted() -> None:
    def noise(data: Records, rng: np.random.Generator) -> float:
        return 4.0 * float(rng.standard_normal()) * (1.0 if data.labels[0] > 0 else 3.0)

    found = judged(counted(noise, seeded=True, kind="gaussian"))
    assert found["data-independence"].outcome is Outcome.REFUTED, found
    assert "by a factor of 3" in found["data-independence"].detail


@pytest.mark.parametrize("seeded", [True, False])
def test_single_precision_is_not_accused_by_the_search(*, seeded: bool) -> None:
    """Everything is computed in single precision, from released values that are as large as 1,000."""

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> dict[str, object]:
        value = {"name": "x", "noise": "gaussian", "scale": 0.5, "sensitivity": 2.0 / records, "norm": "l2"}
        bound = {"kind": "clip", "radius": 1.0}
        return {"neighbours": "replace-one", "bound": bound, "iterations": 3, "values": [value]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        features, labels = data.features.astype(np.float32), data.labels.astype(np.float32)
        x, average = np.zeros(features.shape[1], np.float32), np.zeros(features.shape[1], np.float32)
        for _ in range(3):
            margins = np.clip(labels * (features @ x), -80.0, 80.0)
            rows = -(labels / (1.0 + np.exp(margins)))[:, None] * features
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            gradient = (rows * np.minimum(1.0, 1.0 / np.maximum(lengths, np.float32(1e-30)))).mean(axis=0)
            before = (x + average - gradient).astype(np.float32)
            noise = run.gaussian(len(x), 0.5).astype(np.float32)
            released = run.release(
                "x", before.astype(np.float64), noise.astype(np.float64), (before + noise).astype(np.float64)
            )
            x = released.astype(np.float32)
            average = (0.5 * average + 0.5 * x).astype(np.float32)

    session = InProcess("single", declare, run, seeded=seeded)
    found = findings(session, {}, epsilon="5", delta="1e-5", seed=3, size=(12, 3), effort=0.2)
    for finding in found:
        if finding.name in ("sensitivity", "post-processing", "data-independence"):
            assert finding.outcome is Outcome.STANDS, finding
