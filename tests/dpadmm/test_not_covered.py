"""A fit warns where its callers read the records outside of its guarantee, and only there."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler

from dpadmm import NotCoveredWarning, SsADMMClassifier
from reference.errors import InvalidParameter
from tools import notebook

X = np.random.default_rng(0).normal(size=(200, 3))
y = np.where(X[:, 0] > 0, 1, -1)
MODEL = SsADMMClassifier(epsilon="1", delta="1e-6", iterations=5)


def test_fitted_preprocessing_is_named() -> None:
    with pytest.warns(NotCoveredWarning) as warned:
        make_pipeline(StandardScaler(), Normalizer(), SelectKBest(k=2), MODEL).fit(X, y)
    texts = [str(warning.message) for warning in warned]
    assert texts == [
        "the guarantee covers this fit alone: step 'standardscaler' of the pipeline is fitted on the same records",
        "the guarantee covers this fit alone: step 'selectkbest' of the pipeline is fitted on the same records",
    ]


def test_a_search_is_named() -> None:
    with pytest.warns(NotCoveredWarning, match="each fit costs as much again"):
        cross_val_score(MODEL, X, y, cv=2)
    with pytest.warns(NotCoveredWarning, match="each fit costs as much again"):
        GridSearchCV(MODEL, {"eta": [1.0]}, cv=2).fit(X, y)


def test_what_reads_nothing_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MODEL.fit(X, y)
        make_pipeline(FunctionTransformer(), Normalizer(), "passthrough", MODEL).fit(X, y)
        # there is no guarantee that could be misunderstood
        make_pipeline(StandardScaler(), SsADMMClassifier(sigma=0.1, iterations=5, random_state=1)).fit(X, y)


def test_the_guarantee_is_readable_and_says_what_it_does_not_cover() -> None:
    text = str(MODEL.fit(X, y).guarantee())
    first, *rest = text.splitlines()
    assert first.startswith("epsilon <= 0.99")
    assert "delta = 1e-6, one record replaced (certified, method " in first
    assert len(first) < 120
    assert all(line.startswith("  not covered: ") for line in rest)
    for word in ("preprocessing", "grid search", "repeated fits", "PrivacyBudget"):
        assert any(word in line for line in rest)


CLASSES = np.arange(200) % 3
MANY = [
    pytest.param(lambda m: BaggingClassifier(m, n_estimators=3), y, id="bagging"),
    pytest.param(lambda m: CalibratedClassifierCV(m, cv=2), y, id="calibration"),
    pytest.param(OneVsRestClassifier, CLASSES, id="one-vs-rest"),
    pytest.param(OneVsOneClassifier, CLASSES, id="one-vs-one"),
    pytest.param(lambda m: RFE(m, n_features_to_select=1), y, id="feature elimination"),
    pytest.param(lambda m: StackingClassifier([("a", m)], cv=2), y, id="stacking"),
    pytest.param(lambda m: VotingClassifier([("a", m), ("b", m)]), y, id="voting"),
    pytest.param(lambda m: TunedThresholdClassifierCV(m, cv=2), y, id="threshold"),
]


@pytest.mark.parametrize(("wrap", "labels"), MANY)
def test_whatever_fits_several_clones_is_warned_of(
    wrap: Callable[[SsADMMClassifier], BaseEstimator], labels: NDArray[np.int64]
) -> None:
    model = SsADMMClassifier(epsilon="1", delta="1e-6", iterations=2, fit_intercept=False)
    with pytest.warns(NotCoveredWarning, match="each fit costs as much again"):
        wrap(model).fit(X, labels)


def test_one_clone_and_fixed_categories_are_not_warned_of() -> None:
    data = np.column_stack([np.arange(200) % 2, X[:, 0]])
    columns = ColumnTransformer([("kind", OneHotEncoder(categories=[[0, 1]]), [0])], remainder="passthrough")
    learned = ColumnTransformer([("kind", OneHotEncoder(), [0])], remainder="passthrough")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(SsADMMClassifier(epsilon="1", iterations=2)).fit(X, y)
    with pytest.warns(NotCoveredWarning, match="columntransformer"):
        make_pipeline(learned, SsADMMClassifier(epsilon="1", iterations=2)).fit(data, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(columns, SsADMMClassifier(epsilon="1", iterations=2)).fit(data, y)


def test_no_epsilon_is_assumed() -> None:
    with pytest.raises(InvalidParameter, match="epsilon is needed"):
        SsADMMClassifier(iterations=2).fit(X, y)


def test_the_notebook_shows_what_its_cells_give() -> None:
    assert notebook.main(["--check"]) == 0
    assert "epsilon &lt;= 1, delta = 1e-6" in notebook.PAGE.read_text("utf-8")


def test_a_notebook_shows_the_guarantee() -> None:
    html = SsADMMClassifier(epsilon="1", iterations=2).fit(X, y).guarantee()._repr_html_()
    assert html.startswith("<b>epsilon &lt;= ")
    assert "<li>not covered:" in html
