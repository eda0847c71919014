"""Defaults by n, p and the target: what is given stays, the rest has the reach of the table; models are sparse."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from accountant.mechanisms.words import Algorithm
from dpadmm import MpADMMClassifier, SsADMMClassifier
from dpadmm.defaults import Given, ProblemSize, Setting, reach_at, setting, signal, typical_noise
from dpadmm.training import SCHEDULES, without_noise
from experiments.defaults import with_reach
from experiments.synthetic import simulate
from reference.dataset import Dataset

TARGET = ("1", "1e-6")
SIZE = ProblemSize(10_000, 100, 21)
FALLS = SCHEDULES["per-epoch"](1.0, 10_000, 100)
EITHER = [Algorithm.SSADMM, Algorithm.MPADMM]


def reach(chosen: Setting, steps: Callable[[int], float]) -> float:
    return math.fsum(1 / (chosen.rho + 1 / (chosen.eta * steps(k))) for k in range(chosen.iterations))


def test_more_records_and_more_epsilon_reach_further_and_more_features_less() -> None:
    for algorithm in EITHER:
        reaches = [reach_at(algorithm, r) for r in (1, 30, 100, 300, 1000, 1e4, 1e6)]
        assert reaches == sorted(reaches)
        assert reaches[0] < reaches[-1]
    assert signal(SIZE, "2", "1e-6") > signal(SIZE, *TARGET)
    assert signal(ProblemSize(20_000, 100, 21), *TARGET) == pytest.approx(2 * signal(SIZE, *TARGET))
    assert signal(ProblemSize(10_000, 100, 84), *TARGET) == pytest.approx(signal(SIZE, *TARGET) / 2)


def test_the_run_has_the_reach_of_the_table_whatever_else_is_given() -> None:
    wanted = 21 * reach_at(Algorithm.SSADMM, signal(SIZE, *TARGET))
    for given in (Given(FALLS), Given(FALLS, iterations=300), Given(FALLS, rho=0.01)):
        chosen = setting(Algorithm.SSADMM, SIZE, given, TARGET)
        assert reach(chosen, FALLS.step) == pytest.approx(wanted, rel=1e-6)
    assert with_reach(Algorithm.SSADMM, SIZE, wanted).eta == pytest.approx(
        setting(Algorithm.SSADMM, SIZE, Given(FALLS), TARGET).eta
    )


def test_what_is_given_is_used() -> None:
    given = Given(FALLS, iterations=7, eta=0.3, rho=0.2)
    assert setting(Algorithm.SSADMM, SIZE, given, TARGET) == Setting(7, 0.3, 0.2)
    assert setting(Algorithm.SSADMM, SIZE, given, None) == Setting(7, 0.3, 0.2)


def test_steps_scale_with_the_clipping_bound() -> None:
    """Records C times as long need a model 1/C times as long: steps 1/C^2, so that steps times gradients fit."""
    one, three = (
        setting(Algorithm.SSADMM, ProblemSize(10_000, 100, 21, bound=bound), Given(FALLS), TARGET)
        for bound in (1.0, 3.0)
    )
    assert three.eta == pytest.approx(one.eta / 9)
    assert three.rho == pytest.approx(one.rho * 9)


def test_penalties_that_are_not_convex_get_a_rho_that_they_allow() -> None:
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    for name in ("scad", "mcp"):
        assert SsADMMClassifier(sigma=0.1, regularizer=name).fit(X, y).rho_ > 0.3


def test_the_noise_of_a_run_without_gradients_is_what_is_said() -> None:
    """Four standard errors of a mean of squares over 2,000 coefficients (seeded)."""
    rng, T = np.random.default_rng(1), 50
    chosen, schedule = Setting(T, 2.0, 0.5), SCHEDULES["per-epoch"](2.0, 100, 10)
    walk = np.zeros(2000)
    for k in range(T):
        walk = (0.5 * walk + walk / schedule.step(k) - rng.normal(size=2000) * 0.3) / (0.5 + 1 / schedule.step(k))
    said = typical_noise(Algorithm.SSADMM, chosen, schedule, 0.3)
    assert abs(float(np.mean(walk**2)) / said**2 - 1) < 4 * math.sqrt(2 / 2000)
    assert typical_noise(Algorithm.MPADMM, chosen, schedule, 0.3) == pytest.approx(0.3 * math.sqrt(T))


def test_small_coefficients_become_zero_and_the_intercept_stays() -> None:
    model = np.array([0.01, 0.01, -0.2, 0.5, -3.0])
    np.testing.assert_array_equal(without_noise(model, 0.5, keep_first=True), [0.01, 0.0, 0.0, 0.5, -3.0])
    np.testing.assert_array_equal(without_noise(model, 0.5, keep_first=False), [0.0, 0.0, 0.0, 0.5, -3.0])


@pytest.mark.parametrize("classifier", [SsADMMClassifier, MpADMMClassifier])
def test_the_default_model_is_sparse_and_learns(classifier: type[SsADMMClassifier] | type[MpADMMClassifier]) -> None:
    data = simulate(1, 12_000, 50)
    model = classifier(epsilon=1, delta=1e-6, random_state=0).fit(data.features[:10_000], data.labels[:10_000])
    zeros = int((model.coef_ == 0).sum())
    assert zeros >= 10  # 40 of 50 are
    assert model.score(data.features[10_000:], data.labels[10_000:]) > 0.85
    dense = clone_with(model, regularizer="none").fit(data.features[:1000], data.labels[:1000])
    assert not (dense.coef_ == 0).any()


def clone_with(model: SsADMMClassifier | MpADMMClassifier, **changed: object) -> SsADMMClassifier | MpADMMClassifier:
    changed_model: SsADMMClassifier | MpADMMClassifier = clone(model).set_params(**changed)
    return changed_model


def test_sparse_input_gives_the_same_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4)) * (rng.random((100, 4)) < 0.3)
    y = np.arange(100) % 2
    model = SsADMMClassifier(sigma=0.1, iterations=5, random_state=0)
    dense, sparse = model.fit(X, y).coef_, model.fit(scipy.sparse.csr_matrix(X), y).coef_
    np.testing.assert_array_equal(dense, sparse)
    np.testing.assert_array_equal(model.predict(X), model.predict(scipy.sparse.csc_array(X)))


def test_weights_are_refused_with_the_reason() -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="sample_weight is not supported: a record of weight w moves"):
        SsADMMClassifier(sigma=1.0).fit(X, y, sample_weight=np.ones(4))
    with pytest.raises(TypeError, match="fit takes X and y, got groups as well"):
        SsADMMClassifier(sigma=1.0).fit(X, y, groups=1)


def test_verbose_reports_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    MpADMMClassifier(sigma=1.0, iterations=30, verbose=True).fit(X, y)
    assert capsys.readouterr().err.startswith("MpADMMClassifier: 30 iterations in ")
    MpADMMClassifier(sigma=1.0, iterations=30).fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::dpadmm.estimators.NotCoveredWarning")  # seeded on purpose, nothing is released
def test_defaults_learn_adult(adult_parts: tuple[Dataset, Dataset]) -> None:
    """The defaults, chosen on simulated data, against settings tuned on Adult itself (for this test only)."""
    training, test = adult_parts

    def accuracy(model: SsADMMClassifier | MpADMMClassifier) -> float:
        scores = [
            clone_with(model, random_state=seed)
            .fit(training.features, training.labels)
            .score(test.features, test.labels)
            for seed in range(2)
        ]
        return float(np.mean(scores))

    tuned = max(
        accuracy(SsADMMClassifier(epsilon=1, delta=1e-6, eta=eta, rho=0.25, iterations=899, output="last"))
        for eta in (4.0, 16.0)
    )
    assert accuracy(SsADMMClassifier(epsilon=1, delta=1e-6)) > tuned - 0.005
    assert accuracy(MpADMMClassifier(epsilon=1, delta=1e-6)) > 0.84
