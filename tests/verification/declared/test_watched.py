"""Typical code that draws its noise itself is observed without a noise function of its own."""

from __future__ import annotations

import json
import os
import random
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

from benchmarks.third_party import PEERS, ROOT, environment
from tests.examples.test_third_party import needs
from tests.verification.declared.inprocess import InProcess, findings
from verification.outcome import Finding, Outcome
from verification.served.declared import DeclaredRun
from verification.served.observed import WATCHED, Observed, noise, observe, watching
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

POINTS = Records(np.eye(3), np.ones(3))
KEPT = np.random.default_rng(5)
Draw = Callable[[Floats], Floats]


def legacy(mean: Floats) -> Floats:
    return mean + np.random.normal(0.0, 0.5, 3)  # noqa: NPY002 - what the observed code calls


def generator(mean: Floats) -> Floats:
    return mean + np.random.default_rng().normal(0.0, 0.5, 3)


def imported(mean: Floats) -> Floats:
    return mean - default_rng().normal(scale=0.5, size=3)


def scaled(mean: Floats) -> Floats:
    rng = np.random.default_rng()
    for j in range(3):
        mean[j] += 0.0
    mean += 0.5 * rng.normal(size=3)
    return mean


def kept(mean: Floats) -> Floats:
    return mean + KEPT.normal(0.0, 0.5, 3)


def fixed(mean: Floats) -> Floats:
    return mean + np.random.default_rng(7).normal(0.0, 0.5, 3)


def once(draw: Draw, seed: list[int] | None) -> tuple[Floats, Floats]:
    """Before and noise of one run."""

    def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
        return draw(features.mean(axis=0))

    run = DeclaredRun(seed)
    with watching(run, {"normal": "mean", "standard_normal": "mean"}, draw):
        observe(train, POINTS, {}, run)
    ((released, before, noise),) = run.shown("mean")
    assert before is not None
    assert noise is not None
    np.testing.assert_allclose(released, before + noise)
    return before, noise


def reshaped(mean: Floats) -> Floats:
    drawn = np.random.default_rng().normal(0.0, 0.5, (1, 3))
    return mean + drawn.flatten().reshape(3, 1).copy()[:, 0].T


def sliced(mean: Floats) -> Floats:
    return mean + np.concatenate(np.split(np.random.default_rng().normal(0.0, 0.5, 6)[::2], 3)).astype(np.float64)


def summed(mean: Floats) -> Floats:
    rng = np.random.default_rng()
    return mean + (rng.normal(0.0, 0.5, 3) + rng.normal(0.0, 0.5, 3))


def replaced_in_place(mean: Floats) -> Floats:
    noise = np.random.default_rng().normal(0.0, 0.5, 3)
    noise += mean
    return np.asarray(noise + 1.0, dtype=np.float64)


def around(mean: Floats) -> Floats:
    return np.random.default_rng().normal(mean, 0.5)


def old_state(mean: Floats) -> Floats:
    return mean + np.random.RandomState().normal(0.0, 0.5, 3)


def bare(mean: Floats) -> Floats:
    return mean + np.random.Generator(np.random.PCG64(np.random.default_rng().integers(1 << 30))).normal(0.0, 0.5, 3)


def global_state(mean: Floats) -> Floats:
    return mean + np.random.mtrand._rand.normal(0.0, 0.5, 3)


class Trainer:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(3)


TRAINER = Trainer()


def kept_in_an_object(mean: Floats) -> Floats:
    return mean + TRAINER.rng.normal(0.0, 0.5, 3)


def drawn() -> Floats:
    return np.random.default_rng().normal(0.0, 0.5, 3)


def copied(mean: Floats) -> Floats:
    return np.asarray(mean + np.array(np.asarray(drawn()).tolist()))


def listed(mean: Floats) -> Floats:
    return np.asarray(mean + np.array([np.random.default_rng().normal(0.0, 0.5) for _ in range(3)]))


def assigned(mean: Floats) -> Floats:
    buffer = np.zeros(3)
    buffer[:] = drawn()
    return mean + buffer


def assigned_one_by_one(mean: Floats) -> Floats:
    buffer = np.empty_like(mean)
    for j in range(3):
        buffer[j] = np.random.default_rng().normal(0.0, 0.5)
    return mean + buffer


def drawn_into(mean: Floats) -> Floats:
    buffer = np.empty(3)
    np.random.default_rng().standard_normal(out=buffer)
    return mean + 0.5 * buffer


def multiplied(mean: Floats) -> Floats:
    return np.asarray(mean + np.einsum("ij,j->i", np.eye(3), np.eye(3) @ drawn()))


def summed_over_parties(mean: Floats) -> Floats:
    return np.asarray(mean + np.random.default_rng().normal(0.0, 0.5, (4, 3)).sum(axis=0) / 2.0)


def listed_in_a_sum(mean: Floats) -> Floats:
    return np.asarray(np.sum([mean, np.where(True, drawn(), 0.0)], axis=0))


DRAWS = [legacy, generator, imported, scaled, kept, kept_in_an_object, copied, listed, assigned, assigned_one_by_one]
DRAWS += [drawn_into, multiplied, summed_over_parties, listed_in_a_sum]
DRAWS += [reshaped, sliced, summed, replaced_in_place, around, old_state, bare, global_state]


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: str(draw.__name__))
def test_a_draw_that_is_added_is_a_release(draw: Draw) -> None:
    before, first = once(draw, [1])
    np.testing.assert_allclose(before, np.full(3, 1 / 3))
    np.testing.assert_array_equal(first, once(draw, [1])[1])
    unseeded = [once(draw, None)[1] for _ in range(2)]
    assert not np.array_equal(unseeded[0], unseeded[1]), "without a seed every run draws anew, also after a seeded one"
    assert not np.array_equal(first, unseeded[0])


def test_a_fixed_seed_in_the_code_is_not_hidden() -> None:
    np.testing.assert_array_equal(once(fixed, None)[1], once(fixed, None)[1])


def test_seeded_runs_leave_the_global_generator_where_it_was() -> None:
    np.random.seed(3)  # noqa: NPY002 - what the observed code calls
    expected = np.random.normal(size=3)  # noqa: NPY002 - what the observed code calls
    np.random.seed(3)  # noqa: NPY002 - what the observed code calls
    once(legacy, [1])
    np.testing.assert_array_equal(np.random.normal(size=3), expected)  # noqa: NPY002 - what the observed code calls


ARGUMENTS: dict[str, tuple[object, ...]] = {
    "normal": (0.0, 0.5, 3),
    "laplace": (0.0, 0.5, 3),
    "randn": (3,),
    "standard_normal": (3,),
    "multivariate_normal": (np.zeros(3), np.eye(3)),
}


@pytest.mark.parametrize(
    ("kind", "owner"), [(kind, owner) for kind, owners in WATCHED.items() for owner in owners if "torch" not in owner]
)
def test_every_draw_that_is_listed_is_watched(kind: str, owner: str) -> None:
    def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
        source = {"np.random": np.random, "RandomState": np.random.RandomState(3), "Generator": default_rng(3)}[owner]
        return np.asarray(features.mean(axis=0) + getattr(source, kind)(*ARGUMENTS[kind]), dtype=np.float64)

    run = DeclaredRun(None)
    with watching(run, {kind: "mean"}, train):
        observe(train, POINTS, {}, run)
    ((_, before, noise),) = run.shown("mean")
    np.testing.assert_allclose(np.asarray(before), np.full(3, 1 / 3))
    assert np.any(noise)


def test_the_guide_lists_the_draws_that_are_watched() -> None:
    guide = (ROOT / "docs" / "guides" / "declare-an-algorithm.md").read_text(encoding="utf-8")
    rows = [f"| `{kind}` | {', '.join(f'`{owner}`' for owner in owners)} |" for kind, owners in WATCHED.items()]
    assert "\n".join(rows) in guide


def test_an_unknown_draw_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="got gauss"):
        Observed(lambda *_: None, None, None, {"gauss": "mean"})


# -- sources of randomness that are not watched -----------------------------------------------------------------------


def from_random(mean: Floats) -> Floats:
    return mean * (1.0 + random.gauss(0.0, 0.01))


def from_the_system(mean: Floats) -> Floats:
    return mean + 1e-3 * secrets.randbelow(1000)


def from_bytes(mean: Floats) -> Floats:
    return mean + np.frombuffer(os.urandom(3), dtype=np.uint8) / 256


def seeded_by_the_system(mean: Floats) -> Floats:
    np.random.seed(int.from_bytes(os.urandom(4), "big"))  # noqa: NPY002 - what old code calls
    return mean + np.random.default_rng(secrets.randbits(128)).random() + np.random.random()  # noqa: NPY002 - as above


def from_a_shuffle(mean: Floats) -> Floats:
    return mean + 0.0 * default_rng().permutation(3) + np.random.random()  # noqa: NPY002 - what old code calls


def from_a_token(mean: Floats) -> Floats:
    secrets.token_hex(4)  # as for a file name: no output moves
    return mean


@pytest.mark.slow
@pytest.mark.parametrize(
    ("also", "name"),
    [
        (from_random, "random.gauss (test_watched.py:"),
        (from_the_system, "os.urandom (test_watched.py:"),
        (from_bytes, "os.urandom (test_watched.py:"),
        (from_a_shuffle, ""),
        (seeded_by_the_system, ""),
        (from_a_token, ""),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
@pytest.mark.parametrize("seeded", [True, False])
def test_randomness_that_is_not_watched_is_named_where_it_moves_outputs(also: Draw, name: str, seeded: bool) -> None:
    def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
        return also(features.mean(axis=0)) + np.random.default_rng().normal(0.0, 0.5, 3)

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> dict[str, object]:
        value = {"name": "mean", "noise": "gaussian", "scale": 0.5, "norm": "l2", "sensitivity": 12.0 / records}
        return {"neighbours": "replace-one", "bound": {"kind": "domain", "radius": 1.0}, "values": [value]}

    observed = Observed(train, None, None, {"normal": "mean"})
    session = InProcess("observed", declare, observed, seeded=seeded)
    found = {f.name: f for f in findings(session, {}, epsilon="9", delta="1e-5", seed=4)}
    outcomes = {f.outcome for question, f in found.items() if question != "account"}
    if name:
        assert outcomes == {Outcome.SKIPPED}
        assert all(name in f.detail for question, f in found.items() if question != "account")
        assert "@noise" in found["noise"].detail
    else:
        assert outcomes == {Outcome.STANDS}, found


def judged(train: Draw, **declared: object) -> dict[str, Finding]:
    """What the questions find of code that adds normal noise of deviation 0.5 to a mean of records of norm 1."""

    def declare(_parameters: OpaqueParameters, records: int, _columns: int) -> dict[str, object]:
        value = {"name": "mean", "noise": "gaussian", "scale": 0.5, "norm": "l2", "sensitivity": 2.0 / records}
        return {"neighbours": "replace-one", "bound": {"kind": "domain", "radius": 1.0}, "values": [value], **declared}

    observed = Observed(lambda x, *_: train(x.mean(axis=0)), None, None, {"normal": "mean"}, declare)
    session = InProcess("observed", declare, observed)
    return {f.name: f for f in findings(session, {}, epsilon="9", delta="1e-5", seed=4, effort=0.06)}


def by_coordinate(mean: Floats) -> Floats:
    for j in range(3):
        mean[j] += np.random.default_rng().normal(0.0, 0.5)
    return mean


def by_unequal_parts(mean: Floats) -> Floats:
    return np.concatenate([mean[:2] + drawn()[:2], [mean[2] + np.random.default_rng().normal(0.0, 0.5)]])


def one_that_goes_on(mean: Floats) -> Floats:
    """Each coordinate from the released one before it, so that forced values must be met exactly."""
    for j in range(3):
        mean[j] = mean[j] + np.random.default_rng().normal(0.0, 0.5) + (mean[j - 1] if j else 0.0)
    return mean


def three_times(mean: Floats) -> Floats:
    return (mean + drawn()) + 0.0 * (mean + drawn()) + 0.0 * (mean + drawn())


def three_times_by_coordinate(mean: Floats) -> Floats:
    return by_coordinate(mean.copy()) + by_coordinate(mean.copy()) + by_coordinate(mean.copy())


def twice_and_a_half(mean: Floats) -> Floats:
    return np.concatenate([mean + drawn(), mean + drawn(), mean[:2] + drawn()[:2]])


@pytest.mark.slow
@pytest.mark.parametrize("train", [by_coordinate, by_unequal_parts, one_that_goes_on])
def test_parts_of_one_release_are_no_releases_of_their_own(train: Draw) -> None:
    found = judged(train)
    assert {f.outcome for f in found.values()} == {Outcome.STANDS}, found


@pytest.mark.slow
@pytest.mark.parametrize("train", [three_times, three_times_by_coordinate])
def test_three_releases_are_no_parts_of_one(train: Draw) -> None:
    """Together they move by the root of 3 times what is declared of one."""
    finding = judged(train)["sensitivity"]
    assert finding.outcome is Outcome.REFUTED
    assert "mean moves by 1.732 times its declared sensitivity" in finding.detail


def test_one_release_more_than_declared_is_counted() -> None:
    found = judged(three_times, iterations=2)
    assert found["data-independence"].outcome is Outcome.REFUTED
    assert "mean is released 3 times a run, declared are 2" in found["data-independence"].detail


@pytest.mark.parametrize(
    ("train", "declared"), [(twice_and_a_half, {"iterations": 2}), (three_times, {"stopping": "from-released"})]
)
def test_parts_that_cannot_be_told_apart_are_refused_and_nobody_is_accused(
    train: Draw, declared: dict[str, object]
) -> None:
    found = judged(train, **declared)
    assert found["sensitivity"].outcome is Outcome.SKIPPED
    assert "which parts are one release cannot be told" in found["sensitivity"].detail


def as_a_number(mean: Floats) -> Floats:
    return np.array([each + float(np.random.default_rng().normal(0.0, 0.5)) for each in mean])


def on_its_own(mean: Floats) -> Floats:
    total = np.zeros(3)
    for _ in range(3):
        total += drawn()
    return mean + total


def mixed(mean: Floats) -> Floats:
    return np.asarray(np.stack([mean, drawn()]).sum(axis=0))


def inverse(mean: Floats) -> Floats:
    return mean - np.log(np.random.default_rng().uniform(0.0, 1.0, 3))


def from_scipy(mean: Floats) -> Floats:
    return mean + stats.norm.rvs(scale=0.5, size=3)


@pytest.mark.parametrize(
    ("train", "told"),
    [
        (as_a_number, "No longer followed after: float (test_watched.py:"),
        (on_its_own, "added to nothing but zero in 3 runs"),
        (mixed, "No longer followed after: stack (test_watched.py:"),
        (inverse, "Drawn, but not watched: Generator.uniform (test_watched.py:"),
        (from_scipy, "Drawn, but not watched: rv_generic.rvs (test_watched.py:"),
    ],
)
def test_noise_that_is_not_followed_is_named_with_its_line_and_nobody_is_accused(train: Draw, told: str) -> None:
    found = judged(train)
    assert {f.outcome for name, f in found.items() if name != "account"} == {Outcome.SKIPPED}
    assert told in found["sensitivity"].detail


def test_noise_of_a_decorated_function_may_come_from_anywhere() -> None:
    @noise("mean")
    def draw() -> Floats:
        return np.array([random.gauss(0.0, 0.5) for _ in range(3)])

    observed = Observed(lambda features, *_: features.mean(axis=0) + draw(), None, None, {})
    for _ in range(2):
        observed(POINTS, {}, DeclaredRun(None))


def test_a_generator_that_an_object_keeps_is_repeated_without_a_seed() -> None:
    observed = Observed(lambda features, *_: kept_in_an_object(features.mean(axis=0)), None, None, {"normal": "mean"})
    runs = [DeclaredRun(None) for _ in range(2)]
    for run in runs:
        observed(POINTS, {}, run)
    assert not np.array_equal(runs[0].shown("mean")[0][0], runs[1].shown("mean")[0][0])


def test_a_module_of_our_name_beside_the_adapter_clashes_with_nothing(tmp_path: Path) -> None:
    for name in ("dpadmm", "verification", "audits", "accountant", "reference"):
        (tmp_path / f"{name}.py").write_text("WHOSE = 'theirs'\n")
    (tmp_path / "adapter.py").write_text(
        "import dpadmm\nfrom dpadmm_declaring import serve_observed\nimport verification\n"
        "assert dpadmm.WHOSE == verification.WHOSE\n"
        "serve_observed('theirs', lambda *_: {}, lambda *_: None, watch={'normal': 'mean'})\n"
    )
    start = '{"id": 1, "request": "start", "protocol": 1}\n'
    command = [sys.executable, "adapter.py"]
    done = subprocess.run(command, cwd=tmp_path, input=start, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["result"]["declared"] == ["theirs"]


TORCH = [
    "in-place",
    "apart",
    "randn",
    "randn_like",
    "normal_",
    "dropped",
    "alpha",
    "sub",
    "Normal",
    "Laplace",
    "rsample",
]
TORCH += ["cat", "stack", "matmul", "around", "around-law"]


@pytest.mark.peers
@pytest.mark.parametrize("how", TORCH)
def test_noise_of_torch_is_noticed(how: str) -> None:
    needs("torch")
    command = [str(PEERS / "bin" / "python"), "-m", "tests.zoo.declared.torch_noise", how]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    (before, noise), (_, again) = json.loads(done.stdout)
    np.testing.assert_allclose(before, np.full(3, 1 / 3))
    assert np.any(noise)
    assert noise == again
