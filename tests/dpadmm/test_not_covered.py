"""A fit warns where its callers read the records outside of its guarantee, and only there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from dpadmm import NotCoveredWarning, SsADMMClassifier

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
