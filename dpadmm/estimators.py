"""scikit-learn classifiers that take a privacy target: fit, predict, and the certified guarantee afterwards.

>>> model = SsADMMClassifier(epsilon="1", delta="1e-8").fit(X, y)  # doctest: +SKIP
>>> model.guarantee().epsilon, model.sigma_                        # doctest: +SKIP

What is private is ``coef_`` and ``intercept_`` (and what follows from them), under replacement of one record. Not
covered: choosing hyper-parameters by looking at the same data, ``classes_``, the numbers of records and features.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from accountant import Exact
from accountant.mechanisms.words import Algorithm
from dpadmm.privacy import Guarantee, PrivateRun, calibrated, priced
from dpadmm.training import REGULARIZERS, SCHEDULES, Shape, Training, randomness_for, run
from reference.dataset import Dataset
from reference.errors import InvalidParameter, require_count
from reference.losses import LOSSES, Logistic
from reference.mpadmm import Release
from reference.outputs import Output
from reference.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from reference.arithmetic import Matrix, Vector

Target = Exact | float

# Many fits ask for the same noise: folds, repeats, grid searches.
_calibrated = functools.lru_cache(maxsize=256)(calibrated)
_priced = functools.lru_cache(maxsize=256)(priced)


def _exactly(value: Target) -> Exact:
    """A target as it was written: 0.1 means one tenth, not the nearest binary fraction."""
    return repr(value) if isinstance(value, float) else value


def _has_probabilities(classifier: _PrivateClassifier) -> bool:
    return classifier.loss == "logistic"


class _PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What both classifiers share; every parameter is described there."""

    _algorithm: Algorithm

    epsilon: Target | None
    delta: Target
    sigma: float | None
    loss: str
    regularizer: str
    lam: float
    rho: float
    eta: float
    schedule: str
    iterations: int
    clip: float | None
    fit_intercept: bool
    output: str
    shape: Shape | None
    random_state: int | np.random.RandomState | None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on records X with two classes y; refuses anything that the guarantee would not cover."""
        features, targets = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(targets)
        self.classes_, codes = np.unique(targets, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(targets)}."
            )
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes, got one class: {self.classes_[0]!r}")
        problem = Problem.of(
            self._prepared(features, np.where(codes == 1, 1.0, -1.0)),
            LOSSES[self._known("loss", LOSSES)],
            REGULARIZERS[self._known("regularizer", REGULARIZERS)](self.lam, self.shape or Shape()),
            rho=self.rho,
            clip=self.clip,
        )
        training = self._training(problem.records)
        self.mechanism_ = self._mechanism(training, problem)
        target = self._target()
        self.sigma_ = float(self.sigma or 0.0) if target is None else _calibrated(self.mechanism_, *target).sigma
        finished = run(training, problem, self.sigma_, randomness_for(self._seed(), None))
        model = finished.model(Output(self.output))
        self.coef_ = model[None, 1:] if self.fit_intercept else model[None, :]
        self.intercept_ = model[:1] if self.fit_intercept else np.zeros(1)
        self.n_iter_ = finished.iterations
        return self

    def guarantee(self, delta: Target | None = None) -> Guarantee:
        """The certified (epsilon, delta) of the fitted model; refuses where a seed or no noise leaves none."""
        check_is_fitted(self)
        if self.random_state is not None or not self.sigma_:
            raise InvalidParameter(
                f"there is no guarantee: random_state={self.random_state!r} repeats the noise for whoever knows it"
                if self.sigma_
                else "there is no guarantee: sigma=0 hides nothing"
            )
        return _priced(self.mechanism_, self.sigma_, _exactly(self.delta if delta is None else delta))

    def decision_function(self, X: ArrayLike) -> Vector:
        """The margin of the second class, from records prepared as in training."""
        check_is_fitted(self)
        features = validate_data(self, X, dtype=np.float64, reset=False)
        prepared = self._prepared(features, np.ones(len(features))).features
        margins: Vector = prepared @ (
            np.concatenate([self.intercept_, self.coef_[0]]) if self.fit_intercept else self.coef_[0]
        )
        return margins

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_proba(self, X: ArrayLike) -> Matrix:
        """The logistic model's probabilities of both classes; the huberized SVM has none."""
        second = 1 + Logistic().slope(self.decision_function(X))
        return np.column_stack([1 - second, second])

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """The class of each record."""
        second = self.decision_function(X) > 0
        predicted: NDArray[np.generic] = self.classes_[second.astype(int)]
        return predicted

    def __sklearn_tags__(self) -> object:
        """Two classes only, and noise: scores on few records are poor by design."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        tags.non_deterministic = self.random_state is None
        return tags

    def _batch(self, records: int) -> int:
        return records

    @property
    def _release(self) -> Release:
        return Release.PRIMAL

    def _prepared(self, features: Matrix, labels: Vector) -> Dataset:
        data = Dataset.of(features, labels)
        data = data.with_intercept() if self.fit_intercept else data
        # Without clipping, records of length 1 bound their gradients.
        return data if self.clip is not None else data.normalised()

    def _training(self, records: int) -> Training:
        batch = self._batch(records)
        require_count("batch", batch, at_most=records)
        schedule = SCHEDULES[self._known("schedule", SCHEDULES)](self.eta, records, batch)
        return Training(self._algorithm, schedule, self.iterations, batch, self._release)

    def _mechanism(self, training: Training, problem: Problem) -> PrivateRun:
        bound = self.clip if self.clip is not None else problem.loss.steepest
        return PrivateRun(training, problem.records, problem.dimension, self.rho, bound, problem.regularizer)

    def _target(self) -> tuple[Exact, Exact] | None:
        """(epsilon, delta), unless the noise itself was given."""
        if self.sigma is not None:
            return None
        if self.epsilon is None:
            raise InvalidParameter("epsilon and sigma are both None: give a target or the noise itself")
        return _exactly(self.epsilon), _exactly(self.delta)

    def _seed(self) -> int | None:
        if self.random_state is None:
            return None
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _known(self, name: str, known: Iterable[str]) -> str:
        value = getattr(self, name)
        if value not in set(known):
            raise InvalidParameter(f"{name} must be one of {', '.join(known)}, got {name}={value!r}")
        return str(value)


class SsADMMClassifier(_PrivateClassifier):
    """Noise on the gradients of random batches. [CL20] Algorithm 1.

    Parameters
    ----------
    epsilon, delta : the target, one record replaced; numbers as text are taken exactly.
    sigma : the noise itself, instead of a target.
    loss : "logistic" or "huber".
    regularizer, lam, shape : "none", "l1", "elastic-net", "group-l1", "nuclear", "scad" or "mcp"; its weight; the rest.
    rho, eta, schedule : penalty, first step size, "constant", "per-epoch" or "inverse-sqrt".
    batch, iterations : records an iteration (None: the root of n, rounded up), and how many iterations.
    clip : clip each record's gradient to this norm; None divides each record by its own norm instead.
    fit_intercept : a column of ones, before the norm is taken.
    output : "last", "average" or "sparse".
    random_state : None for release. A number repeats a run, and whoever knows it can remove the noise.
    """

    _algorithm = Algorithm.SSADMM

    def __init__(
        self,
        *,
        epsilon: Target | None = 1.0,
        delta: Target = 1e-8,
        sigma: float | None = None,
        loss: str = "logistic",
        regularizer: str = "l1",
        lam: float = 1e-3,
        shape: Shape | None = None,
        rho: float = 0.25,
        eta: float = 1.0,
        schedule: str = "per-epoch",
        batch: int | None = None,
        iterations: int = 200,
        clip: float | None = None,
        fit_intercept: bool = True,
        output: str = "last",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.sigma = sigma
        self.loss = loss
        self.regularizer = regularizer
        self.lam = lam
        self.shape = shape
        self.rho = rho
        self.eta = eta
        self.schedule = schedule
        self.batch = batch
        self.iterations = iterations
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.output = output
        self.random_state = random_state

    def _batch(self, records: int) -> int:
        return math.isqrt(records - 1) + 1 if self.batch is None else self.batch


class MpADMMClassifier(_PrivateClassifier):
    """Noise on the model after each epoch. [CL20] Algorithm 2.

    Parameters
    ----------
    epsilon, delta : the target, one record replaced; numbers as text are taken exactly.
    sigma : the noise itself, instead of a target.
    loss : "logistic" or "huber".
    regularizer, lam, shape : "none", "l1", "elastic-net", "group-l1", "nuclear", "scad" or "mcp"; its weight; the rest.
    rho, eta, schedule : penalty, first step size, "constant", "per-epoch" or "inverse-sqrt".
    iterations : how many epochs.
    release : "primal" perturbs x alone, which costs less; "all" perturbs x, z and y as the paper does.
    clip : clip each record's gradient to this norm; None divides each record by its own norm instead.
    fit_intercept : a column of ones, before the norm is taken.
    output : "last", "average" or "sparse".
    random_state : None for release. A number repeats a run, and whoever knows it can remove the noise.
    """

    _algorithm = Algorithm.MPADMM

    def __init__(
        self,
        *,
        epsilon: Target | None = 1.0,
        delta: Target = 1e-8,
        sigma: float | None = None,
        loss: str = "logistic",
        regularizer: str = "l1",
        lam: float = 1e-3,
        shape: Shape | None = None,
        rho: float = 0.5,
        eta: float = 1.0,
        schedule: str = "constant",
        release: str = "primal",
        iterations: int = 50,
        clip: float | None = None,
        fit_intercept: bool = True,
        output: str = "last",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.sigma = sigma
        self.loss = loss
        self.regularizer = regularizer
        self.lam = lam
        self.shape = shape
        self.rho = rho
        self.eta = eta
        self.schedule = schedule
        self.release = release
        self.iterations = iterations
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.output = output
        self.random_state = random_state

    @property
    def _release(self) -> Release:
        return Release(self._known("release", [release.value for release in Release]))
