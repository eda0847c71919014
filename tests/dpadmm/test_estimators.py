r"""scikit-learn's own checks, and what they do not ask: the guarantee, the noise, the refusals.

Every check of scikit-learn's passes. Two of them hold in a weaker form, which the estimators say in their tags:

* ``poor_score``: no score is demanded on the checks' few dozen records. Noise that hides one of 30 records hides the
  signal as well; :func:`test_with_little_noise_the_score_is_good` demands the score where it can be had.
* ``non_deterministic`` without ``random_state``: ``check_pipeline_consistency`` compares two fits, which must differ
  when nobody may repeat the noise. It runs, and passes, with a ``random_state``.
"""

from __future__ import annotations

import importlib
import math
import re
import sys
import traceback
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpadmm
from accountant import AccountantError, pricing
from dpadmm import MpADMMClassifier, SsADMMClassifier
from dpadmm.privacy import priced
from dpadmm.training import Shape
from reference.arithmetic import Matrix
from reference.errors import InvalidParameter, RefusedByReference

EITHER = [SsADMMClassifier, MpADMMClassifier]
Classifier = type[SsADMMClassifier] | type[MpADMMClassifier]


@pytest.mark.filterwarnings("ignore::dpadmm.NotCoveredWarning")  # the checks fit many clones
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [
        SsADMMClassifier(sigma=0.1, iterations=20),
        MpADMMClassifier(sigma=0.1, iterations=20),
        SsADMMClassifier(sigma=0.1, iterations=20, random_state=0),
        MpADMMClassifier(sigma=0.1, iterations=20, random_state=0, release="all"),
        SsADMMClassifier(epsilon=1, iterations=5),  # calibrated
        MpADMMClassifier(epsilon=1, iterations=5, clip=1.0, loss="huber"),
    ]
)
def test_scikit_learns_checks(estimator: object, check: Callable[[object], None]) -> None:
    check(estimator)


def separable(records: int = 400) -> tuple[Matrix, np.ndarray[tuple[int], np.dtype[np.str_]]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(records, 4))
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] > 0.2, "yes", "no")


@pytest.mark.parametrize("classifier", EITHER)
@pytest.mark.parametrize("clip", [None, 1.0])
@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_with_little_noise_the_score_is_good(classifier: Classifier, loss: str, clip: float | None) -> None:
    X, y = separable()
    model = classifier(sigma=0.01, loss=loss, clip=clip, iterations=200, schedule="constant", random_state=0)
    assert cross_val_score(model, X, y, cv=3).min() > 0.9


@pytest.mark.parametrize("classifier", EITHER)
def test_the_guarantee_meets_the_target(classifier: Classifier) -> None:
    X, y = separable()
    model = classifier(epsilon="2", delta="1e-6", iterations=10).fit(X, y)
    found = model.guarantee()
    assert 1.9 < found.epsilon <= 2
    assert found.sigma == model.sigma_ > 0
    # Less noise would have cost more than the target: the calibration is tight.
    assert priced(model.mechanism_, 0.98 * model.sigma_, "1e-6").epsilon > 2
    # A weaker delta buys a smaller epsilon.
    assert model.guarantee("1e-3").epsilon < found.epsilon


@pytest.mark.standard_effort
def test_the_guarantee_is_by_the_exact_adversary_where_that_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "STANDARD_SECONDS", 600.0)  # whatever the load of the machine
    model = SsADMMClassifier(sigma=0.1, batch=40, iterations=60).fit(*separable())
    assert model.guarantee("1e-6").method == "adversary"


@pytest.mark.parametrize("classifier", EITHER)
def test_no_guarantee_is_reported_where_there_is_none(classifier: Classifier) -> None:
    X, y = separable(60)
    with pytest.raises(InvalidParameter, match="random_state=3 can remove the noise"):
        classifier(sigma=1.0, iterations=5, random_state=3).fit(X, y).guarantee()
    with pytest.raises(InvalidParameter, match="sigma=0 adds no noise"):
        classifier(sigma=0.0, iterations=5).fit(X, y).guarantee()


@pytest.mark.parametrize("classifier", EITHER)
def test_two_fits_differ_unless_they_share_a_seed(classifier: Classifier) -> None:
    X, y = separable(60)
    free = [classifier(sigma=0.1, iterations=5).fit(X, y).coef_.tolist() for _ in range(2)]
    assert free[0] != free[1]
    seeded = [classifier(sigma=0.1, iterations=5, random_state=4).fit(X, y).coef_.tolist() for _ in range(2)]
    assert seeded[0] == seeded[1]
    state = [
        classifier(sigma=0.1, iterations=5, random_state=np.random.RandomState(4)).fit(X, y).coef_.tolist()
        for _ in range(2)
    ]
    assert state[0] == state[1] != seeded[0]


def test_probabilities_are_the_logistic_models_and_the_svm_has_none() -> None:
    X, y = separable(60)
    model = SsADMMClassifier(sigma=0.1, iterations=20, random_state=0).fit(X, y)
    expected = [1 / (1 + math.exp(-margin)) for margin in model.decision_function(X)]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-13)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-15)
    assert not hasattr(SsADMMClassifier(loss="huber"), "predict_proba")


@pytest.mark.parametrize("classifier", EITHER)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": -1.0}, "sigma must be finite and >= 0, got sigma=-1.0"),
        ({"sigma": 0.1, "rho": 0.0}, "rho must be finite and > 0, got rho=0.0"),
        ({"sigma": 0.1, "eta": -1.0}, "eta must be finite and > 0, got eta=-1.0"),
        ({"sigma": 0.1, "iterations": 0}, "iterations must be an integer >= 1, got iterations=0"),
        ({"sigma": 0.1, "clip": 0.0}, "clip must be finite and > 0, got clip=0.0"),
        ({"sigma": 0.1, "loss": "hinge"}, "loss must be one of logistic, huber, got loss='hinge'"),
        ({"sigma": 0.1, "regularizer": "l0"}, "regularizer must be one of none, l1, .* got regularizer='l0'"),
        ({"sigma": 0.1, "schedule": "x"}, "schedule must be one of .* got schedule='x'"),
        ({"sigma": 0.1, "random_state": -1}, "seed must be an integer >= 0, got seed=-1"),
        ({"sigma": 0.1, "epsilon": 1.0}, "give epsilon or sigma, not both.* got epsilon=1.0 and sigma=0.1"),
        ({"sigma": 0.1, "output": "best"}, "output must be one of auto, last, average, sparse, got output='best'"),
    ],
)
def test_bad_parameters_are_refused_by_name(
    classifier: Classifier, parameters: dict[str, object], message: str
) -> None:
    X, y = separable(20)
    model = classifier(iterations=5).set_params(**parameters)
    with pytest.raises(RefusedByReference, match=message):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("target", "message"),
    [({"epsilon": 0}, "epsilon must be finite and > 0"), ({"delta": 1}, "delta must lie strictly between 0 and 1")],
)
def test_targets_that_are_none_are_refused(target: dict[str, object], message: str) -> None:
    X, y = separable(20)
    with pytest.raises(AccountantError, match=message):
        SsADMMClassifier(epsilon=1, iterations=5).set_params(**target).fit(X, y)


def test_what_only_one_of_them_has() -> None:
    X, y = separable(20)
    with pytest.raises(InvalidParameter, match="batch must be at most 20, got batch=21"):
        SsADMMClassifier(sigma=0.1, iterations=5, batch=21).fit(X, y)
    with pytest.raises(InvalidParameter, match="release must be one of all, primal, got release='none'"):
        MpADMMClassifier(sigma=0.1, iterations=5, release="none").fit(X, y)


def test_regularizers_take_their_shapes_and_models_come_out_sparse() -> None:
    X, y = separable()
    model = SsADMMClassifier(
        sigma=0.0, regularizer="group-l1", lam=0.1, shape=Shape(groups=((3, 4), (1, 2))), output="sparse"
    )
    assert clone(model).get_params()["shape"] == model.shape
    fitted = model.fit(X, y)
    assert fitted.coef_[0, 2:].tolist() == [0.0, 0.0]
    assert fitted.coef_[0, 0] > 0.5


def test_two_targets_written_alike_are_the_same() -> None:
    X, y = separable(60)
    sigmas = {
        MpADMMClassifier(epsilon=e, delta=d, iterations=5).fit(X, y).sigma_ for e, d in ((0.1, 1e-6), ("0.1", "1e-6"))
    }
    assert len(sigmas) == 1


def test_public_names_are_imported_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = importlib.reload(dpadmm)
    assert fresh.SsADMMClassifier is SsADMMClassifier
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        fresh.Nothing  # noqa: B018 - the access is the test
    monkeypatch.delitem(sys.modules, "dpadmm.estimators")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(ImportError, match=r"needs scikit-learn: pip install 'dpadmm\[sklearn\]'"):
        fresh.MpADMMClassifier  # noqa: B018 - the access is the test


SECRET = 7195712.5
LEAKY: dict[str, tuple[ArrayLike, str]] = {
    "one dimension": (np.full(40, SECRET), "shape (40,)"),
    "a number": (np.float64(SECRET), "shape ()"),
    "complex": (np.full((40, 2), SECRET * 1j), "complex128"),
    "text": (np.array([[1.0, 2.0]] * 39 + [[1.0, f"x{SECRET}"]], dtype=object), "record 39, feature 1"),
    "text alone": (np.full((40, 2), f"x{SECRET}"), "record 0, feature 0"),
    "bytes": (np.full((40, 2), f"x{SECRET}".encode()), "record 0, feature 0"),
    "lists": ([["1.0", f"x{SECRET}"]] * 40, "record 0, feature 1"),
    "infinite": (np.array([[SECRET, np.inf]] * 40), "infinity"),
    "rows of different lengths": ([[SECRET, 1.0]] * 39 + [[SECRET]], "inhomogeneous"),
}


@pytest.mark.parametrize("kind", LEAKY)
def test_no_message_quotes_a_record(kind: str) -> None:
    """scikit-learn's own messages do: they print arrays, and the text that is no number."""
    records, says = LEAKY[kind]
    y = np.array([-1, 1] * 20)
    fitted = SsADMMClassifier(sigma=1.0, iterations=2).fit(np.ones((40, 2)), y)
    for call in (lambda: SsADMMClassifier(sigma=1.0).fit(records, y), lambda: fitted.predict(records)):
        with pytest.raises(ValueError, match=re.escape(says)) as raised:
            call()
        assert str(SECRET) not in "".join(traceback.format_exception(raised.value))


def test_complex_labels_are_not_quoted() -> None:
    with pytest.raises(ValueError, match="Complex data not supported") as raised:
        SsADMMClassifier(sigma=1.0).fit(np.ones((4, 2)), np.full(4, SECRET * 1j))
    assert str(SECRET) not in str(raised.value)


def test_a_budget_that_is_none_is_refused() -> None:
    X, y = separable()
    with pytest.raises(InvalidParameter, match="budget must be a PrivacyBudget or None, got budget=3"):
        SsADMMClassifier(epsilon=1, delta=1e-6, budget=3).fit(X, y)  # type: ignore[arg-type]  # what is refused
