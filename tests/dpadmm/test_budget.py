"""Several fits share one budget; it is sound, tight enough to be of use, and refuses to overspend."""

from __future__ import annotations

import contextlib
import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import accountant
from accountant import AccountantError, Gaussian, SsADMM
from accountant.mechanisms.ledger import Ledger
from dpadmm import MpADMMClassifier, PrivacyBudget, SsADMMClassifier
from dpadmm.budget import BudgetExceeded, divergence
from reference.errors import InvalidParameter

X = np.random.default_rng(0).normal(size=(300, 3))
y = np.where(X[:, 0] > 0, 1, -1)


def test_what_is_admitted_never_costs_more_than_the_budget() -> None:
    """Sound: the exact composition of all that was admitted (fixed in advance, so it is exact) stays below epsilon."""
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    runs = []
    for noise in (30, 40, 25, 20, 18):
        runs.append(Gaussian(noise_multiplier=noise, iterations=4))
        budget.charge(runs[-1])
    with pytest.raises(BudgetExceeded, match=r"of the budget \(epsilon = 1, delta = 1e-06\), of which .* % is left"):
        budget.charge(Gaussian(noise_multiplier=6, iterations=4))
    steps = tuple(step for run in runs for step in run.ledger().steps)
    exact = accountant.epsilon(Ledger(steps), "1e-6").epsilon
    assert exact.upper < 1
    assert accountant.float_up(exact.upper) <= budget.spent <= 1
    assert budget.fits == len(runs)


def test_one_fit_can_use_most_of_the_budget() -> None:
    """Tight: a single Gaussian release of 0.9 of the budget's mu is admitted."""
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    least = accountant.calibrate_noise(lambda noise: Gaussian(noise_multiplier=noise), epsilon=1, delta="1e-6").value
    budget.charge(Gaussian(noise_multiplier=Fraction(least) * 10 / 9))
    assert budget.remaining < 0.2


def test_the_charge_is_above_the_true_divergence() -> None:
    """alpha/(2 nu^2) for a Gaussian, exactly; sampling never costs more than every record would."""
    assert divergence(Gaussian(noise_multiplier=5), 7) == pytest.approx(7 / 50, rel=1e-5)
    assert divergence(Gaussian(noise_multiplier=5), 7) >= Fraction(7, 50)
    sampled = SsADMM(records=1000, batch=32, noise_multiplier=5, iterations=10)
    assert 0 < divergence(sampled, 7) < 10 * Fraction(7, 50)


@pytest.mark.parametrize("classifier", [SsADMMClassifier, MpADMMClassifier])
def test_fits_spend_until_nothing_is_left(classifier: type[SsADMMClassifier] | type[MpADMMClassifier]) -> None:
    budget = PrivacyBudget(epsilon=1.0, delta=1e-6)
    model = classifier(epsilon="0.5", delta="1e-6", iterations=10, budget=budget)
    before = clone(model).fit(X, y)
    assert 0 < budget.spent <= 1
    assert 0 < budget.remaining < 1
    for _ in range(6):
        with contextlib.suppress(BudgetExceeded):
            clone(model).fit(X, y)
    fits = budget.fits
    assert 1 <= fits <= 5
    with pytest.raises(BudgetExceeded, match=rf"{classifier.__name__} would cost"):
        before.fit(X, y)
    assert budget.fits == fits, "a fit that is refused costs nothing"


def test_a_search_stays_within_the_budget() -> None:
    budget = PrivacyBudget(epsilon=2, delta="1e-6")
    search = GridSearchCV(
        SsADMMClassifier(epsilon="0.3", delta="1e-6", iterations=5, budget=budget),
        {"eta": [1.0, 2.0]},
        cv=2,
        error_score="raise",
    )
    search.fit(X, y)
    assert budget.fits == 5  # two folds of two candidates, and the refit
    assert budget.spent <= 2


def test_there_is_one_of_it() -> None:
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    assert copy.deepcopy(budget) is copy.copy(budget) is clone(budget) is budget
    with pytest.raises(TypeError, match="another process would be spent twice"):
        pickle.dumps(budget)


def test_it_is_for_private_fits_only() -> None:
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    for parameters in ({"epsilon": 1, "random_state": 3}, {"sigma": 0.0}):
        model = SsADMMClassifier(iterations=5, budget=budget).set_params(**parameters)
        with pytest.raises(InvalidParameter, match="a budget is for private fits"):
            model.fit(X, y)
    assert budget.fits == 0


def test_it_says_how_much_is_left() -> None:
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    assert repr(budget) == "<PrivacyBudget epsilon=1 delta=1e-06: 0 fits, epsilon 0 spent, 100 % left>"


@pytest.mark.parametrize(("epsilon", "delta"), [(0, "1e-6"), (-1, "1e-6"), (1, 0), (1, 1), ("nan", "1e-6")])
def test_a_budget_that_is_none_is_refused(epsilon: str | int, delta: str | int) -> None:
    with pytest.raises(AccountantError):
        PrivacyBudget(epsilon=epsilon, delta=delta)
