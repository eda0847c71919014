"""Typical code that draws its noise itself is observed without a noise function of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.third_party import PEERS, ROOT, environment
from tests.examples.test_third_party import needs
from verification.served.declared import DeclaredRun
from verification.served.observed import observe, watching
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
    with watching(run, {"normal": "mean"}, draw):
        observe(train, POINTS, {}, run)
    ((released, before, noise),) = run.shown("mean")
    assert before is not None
    assert noise is not None
    np.testing.assert_allclose(released, before + noise)
    return before, noise


DRAWS = [legacy, generator, imported, scaled, kept]


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


@pytest.mark.peers
@pytest.mark.parametrize("how", ["in-place", "apart"])
def test_noise_of_torch_is_noticed(how: str) -> None:
    needs("torch")
    command = [str(PEERS / "bin" / "python"), "-m", "tests.zoo.declared.torch_noise", how]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    (before, noise), (_, again) = json.loads(done.stdout)
    np.testing.assert_allclose(before, np.full(3, 1 / 3))
    assert np.any(noise)
    assert noise == again
