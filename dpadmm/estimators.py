"""scikit-learn classifiers that take a privacy target: fit, predict, and the certified guarantee afterwards.

>>> model = SsADMMClassifier(epsilon="1", delta="1e-8").fit(X, y)  # doctest: +SKIP
>>> print(model.guarantee())                                       # doctest: +SKIP

What is private is ``coef_`` and ``intercept_`` (and what follows from them), under replacement of one record;
``NOT_COVERED`` lists what is not, and a fit that is part of more warns: only the caller of ``fit`` knows of a step
that read the records before, so the call stack is inspected.
"""

from __future__ import annotations

import contextlib
import functools
import math
import numbers
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import FrameType
from typing import Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _clone_parametrized
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from accountant import Exact
from accountant.mechanisms.words import Algorithm
from accountant.numbers import exact
from dpadmm.budget import PrivacyBudget
from dpadmm.defaults import LAMBDA, Given, ProblemSize, Setting, setting
from dpadmm.privacy import Guarantee, PrivateRun, calibrated, priced
from dpadmm.training import (
    AUTO,
    REGULARIZERS,
    SCHEDULES,
    Shape,
    Training,
    least_rho,
    randomness_for,
    released,
    run,
)
from reference.arithmetic import Matrix, Vector
from reference.dataset import Dataset
from reference.errors import InvalidParameter, require_count, require_positive
from reference.losses import LOSSES, Logistic
from reference.mpadmm import Release
from reference.outputs import Finished, Output
from reference.problem import Problem
from reference.regularizers import Regularizer

NOT_COVERED = (
    "preprocessing that was fitted on the same records (scalers, encoders, selection of features)",
    "hyper-parameters chosen on the same records (grid search, cross-validation)",
    "repeated fits: each costs as much again; PrivacyBudget adds them up and refuses to overspend",
    "classes_, and the numbers of records and features, which count as public",
)
VALIDATION = "sklearn.model_selection._validation"


class NotCoveredWarning(UserWarning):
    """A private fit is part of something that reads the records outside of its guarantee."""


def reasons(*, repeated_fits: bool = True) -> list[str]:
    """Why the guarantee of a fit that is running now does not cover all that its callers do with the records.

    ``repeated_fits``: whether further fits on the same records count; a budget covers them.
    """
    found: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Pipeline) and frame.f_code.co_name == "fit":
            fitted = [name for name, step in owner.steps[:-1] if _reads_records(step)]
            found += [f"step {name!r} of the pipeline is fitted on the same records" for name in fitted]
        searched = frame.f_globals.get("__name__") == VALIDATION and frame.f_code.co_name == "_fit_and_score"
        if searched and repeated_fits:
            found.append("cross-validation or a search fits many models, and each fit costs as much again")
        frame = frame.f_back
    return list(dict.fromkeys(found))


@dataclass(slots=True)
class _Family:
    """An estimator and its clones: how many clones were fitted, and whether the estimator itself had a seed."""

    seeded: bool
    fits: int = 0


_FAMILIES: weakref.WeakKeyDictionary[object, _Family] = weakref.WeakKeyDictionary()
_CLONES: weakref.WeakSet[object] = weakref.WeakSet()


def adopt(clone: object, of: object) -> None:
    """Remember whose clone it is; a clone of a clone is of the same family."""
    _FAMILIES[clone] = _FAMILIES.setdefault(of, _Family(getattr(of, "random_state", None) is not None))
    _CLONES.add(clone)


def repeated(estimator: object) -> list[str]:
    """A reason where a clone is fitted after another clone of its family, in this process.

    Some meta-estimators give each clone a seed; where the estimator itself had none, the warning is still due.
    """
    family = _FAMILIES.get(estimator)
    if family is None or family.seeded or estimator not in _CLONES:
        return []
    family.fits += 1
    if family.fits == 1:
        return []
    return [f"this is fit {family.fits} of clones of one estimator, and each fit costs as much again"]


def _reads_records(step: object) -> bool:
    """Whether fitting a step learns something from the records; a stateless one says so in its tags."""
    if step is None or isinstance(step, str):  # "passthrough"
        return False
    if isinstance(step, ColumnTransformer):
        return any(_reads_records(each[1]) for each in step.transformers)
    if isinstance(step, Pipeline):
        return any(_reads_records(each) for _, each in step.steps)
    if isinstance(step, FeatureUnion):
        return any(_reads_records(each) for _, each in step.transformer_list)
    if not isinstance(getattr(step, "categories", "auto"), str):  # an encoder of fixed categories
        counts = (getattr(step, name, None) for name in ("min_frequency", "max_categories"))
        return any(count is not None for count in counts)
    tags = getattr(step, "__sklearn_tags__", None)
    return bool(tags().requires_fit) if tags is not None else True


# Many fits ask for the same noise: folds, repeats, grid searches.
_calibrated = functools.lru_cache(maxsize=256)(calibrated)
_priced = functools.lru_cache(maxsize=256)(priced)


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
    rho: float | None
    eta: float | None
    schedule: str
    iterations: int | None
    clip: float | None
    fit_intercept: bool
    output: str
    shape: Shape | None
    budget: PrivacyBudget | None
    verbose: bool | int
    random_state: int | np.random.RandomState | None
    release: str = Release.PRIMAL.value

    def fit(self, X: Records, y: ArrayLike, **refused: object) -> Self:
        """Train on records X with two classes y; refuses anything that the guarantee would not cover."""
        refuse(refused)
        with without_contents(X, y):
            features, targets = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
        check_classification_targets(targets)
        self.classes_, codes = np.unique(targets, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(targets)}."
            )
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes, got one class: {self.classes_[0]}")
        target = self._target()
        data = self._prepared(dense(features), np.where(codes == 1, 1.0, -1.0))
        chosen = self._setting(data, target)
        problem = Problem.of(data, LOSSES[self.loss], self._penalty(), rho=chosen.rho, clip=self.clip)
        training = self._training(problem.records, chosen)
        self.mechanism_ = self._mechanism(training, problem)
        self.calibrated_ = None if target is None else _calibrated(self.mechanism_, *target)
        self.sigma_ = float(self.sigma or 0.0) if self.calibrated_ is None else self.calibrated_.sigma
        self._pay()
        finished = self._run(training, problem)
        model = self._released(finished, training, chosen)
        self.coef_ = model[None, 1:] if self.fit_intercept else model[None, :]
        self.intercept_ = model[:1] if self.fit_intercept else np.zeros(1)
        self.n_iter_, self.eta_, self.rho_ = finished.iterations, chosen.eta, chosen.rho
        return self

    def _keep(self, given: Mapping[str, object]) -> None:
        """Store the parameters of ``__init__`` as scikit-learn wants them: unchanged, each under its own name."""
        for name in type(self)._get_param_names():
            setattr(self, name, given[name])

    def __sklearn_clone__(self) -> Self:
        """A clone that knows its family, so that repeated fits are noticed whoever asks for them."""
        made: Self = _clone_parametrized(self)
        adopt(made, self)
        return made

    def guarantee(self, delta: Target | None = None) -> Guarantee:
        """The certified (epsilon, delta) of the fitted model, and what it does not cover.

        Refuses where a seed or no noise leaves none.
        """
        check_is_fitted(self)
        if self.random_state is not None or not self.sigma_:
            raise InvalidParameter(
                f"there is no guarantee: anyone who knows random_state={self.random_state!r} can remove the noise"
                if self.sigma_
                else "there is no guarantee: sigma=0 adds no noise"
            )
        wanted, found = exactly(self.delta if delta is None else delta), self.calibrated_
        # pricing anew has an error of its own, by which the answer could exceed the target that was met
        if found is None or (found.sigma, found.delta) != (self.sigma_, exact("delta", wanted)):
            found = _priced(self.mechanism_, self.sigma_, wanted)
        return replace(found, not_covered=NOT_COVERED)

    def decision_function(self, X: Records) -> Vector:
        """The margin of the second class, from records prepared as in training."""
        check_is_fitted(self)
        with without_contents(X):
            features = dense(validate_data(self, X, dtype=np.float64, reset=False, accept_sparse="csr"))
        prepared = self._prepared(features, np.ones(len(features))).features
        margins: Vector = prepared @ (
            np.concatenate([self.intercept_, self.coef_[0]]) if self.fit_intercept else self.coef_[0]
        )
        return margins

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_proba(self, X: Records) -> Matrix:
        """The logistic model's probabilities of both classes; the huberized SVM has none."""
        second = 1 + Logistic().slope(self.decision_function(X))
        return np.column_stack([1 - second, second])

    def predict(self, X: Records) -> NDArray[np.generic]:
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
        tags.input_tags.sparse = True
        return tags

    def _batch(self, records: int) -> int:
        return records

    @property
    def _release(self) -> Release:
        return Release(self._known("release", [release.value for release in Release]))

    def _prepared(self, features: Matrix, labels: Vector) -> Dataset:
        data = Dataset.of(features, labels)
        data = data.with_intercept() if self.fit_intercept else data
        # Without clipping, records of length 1 bound their gradients.
        return data if self.clip is not None else data.normalised()

    def _penalty(self) -> Regularizer:
        return REGULARIZERS[self._known("regularizer", REGULARIZERS)](self.lam, self.shape or Shape())

    def _setting(self, data: Dataset, target: tuple[Exact, Exact] | None) -> Setting:
        """What is given, and the rest by n, p and the target."""
        self._known("loss", LOSSES)
        batch = self._batch(data.records)
        require_count("batch", batch, at_most=data.records)
        if self.iterations is not None:
            require_count("iterations", self.iterations)
        for name, value in (("rho", self.rho), ("eta", self.eta), ("clip", self.clip)):
            if value is not None:
                require_positive(name, value)
        size = ProblemSize(
            data.records, batch, data.dimension, self.clip or 1.0, least_rho(self.regularizer, self.shape)
        )
        falls = SCHEDULES[self._known("schedule", SCHEDULES)](1.0, data.records, batch)
        return setting(self._algorithm, size, Given(falls, self.iterations, self.eta, self.rho), target)

    def _training(self, records: int, chosen: Setting) -> Training:
        batch = self._batch(records)
        schedule = SCHEDULES[self.schedule](chosen.eta, records, batch)
        return Training(self._algorithm, schedule, chosen.iterations, batch, self._release)

    def _pay(self) -> None:
        """Charge the budget, and warn of what neither it nor the guarantee covers; nothing is private with a seed."""
        if self.budget is not None:
            if not isinstance(self.budget, PrivacyBudget):
                raise InvalidParameter(f"budget must be a PrivacyBudget or None, got budget={self.budget!r}")
            if self.random_state is not None or not self.sigma_:
                raise InvalidParameter(
                    f"a budget is for private fits: give no random_state and noise, got "
                    f"random_state={self.random_state!r}, sigma={self.sigma_!r}"
                )
            self.budget.charge(self.mechanism_.mechanism(Fraction(self.sigma_)), type(self).__name__)
        if self.sigma_:
            again = repeated(self) if self.budget is None else []
            found = reasons(repeated_fits=self.budget is None) if self.random_state is None else []
            for reason in found or again:
                warnings.warn(f"the guarantee covers this fit alone: {reason}", NotCoveredWarning, stacklevel=3)

    def _run(self, training: Training, problem: Problem) -> Finished:
        randomness = randomness_for(self._seed(), None)
        if not self.verbose:
            return run(training, problem, self.sigma_, randomness)
        with reported(type(self).__name__, training.iterations) as tick:
            return run(training, problem, self.sigma_, randomness, lambda _state: tick())

    def _released(self, finished: Finished, training: Training, chosen: Setting) -> Vector:
        """The model that is released; all of it follows from private iterates and public numbers."""
        output = self._known("output", [AUTO, *(kind.value for kind in Output)])
        return released(
            finished,
            training,
            chosen,
            output=output,
            regularizer=self.regularizer,
            sigma=self.sigma_,
            intercept=self.fit_intercept,
        )

    def _mechanism(self, training: Training, problem: Problem) -> PrivateRun:
        bound = self.clip if self.clip is not None else problem.loss.steepest
        return PrivateRun(training, problem.records, problem.dimension, float(problem.rho), bound, problem.regularizer)

    def _target(self) -> tuple[Exact, Exact] | None:
        """(epsilon, delta), unless the noise itself was given."""
        if self.sigma is None:
            if self.epsilon is None:
                raise InvalidParameter(
                    f"epsilon is needed, the privacy that you promise: {type(self).__name__}(epsilon=1.0, delta=1e-8), "
                    "or sigma, the noise itself; got neither"
                )
            return exactly(self.epsilon), exactly(self.delta)
        if self.epsilon is not None:
            raise InvalidParameter(
                f"give epsilon or sigma, not both: one is a target and the other the noise itself, "
                f"got epsilon={self.epsilon!r} and sigma={self.sigma!r}"
            )
        return None

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
    epsilon, delta : the target, one record replaced; text is taken exactly. One of epsilon and sigma is needed.
    sigma : the noise itself, instead of epsilon.
    loss : "logistic" or "huber".
    regularizer, lam, shape : "none", "l1", "elastic-net", "group-l1", "nuclear", "scad" or "mcp"; its weight; the rest.
    rho, eta : penalty and first step size; None chooses by n, p and the target (``dpadmm.defaults``).
    schedule : how steps fall: "constant", "per-epoch" or "inverse-sqrt".
    batch, iterations : records per iteration (None: root of n, rounded up); number of iterations (None: 5 epochs).
    clip : clip each record's gradient to this norm; None divides each record by its own norm instead.
    fit_intercept : a column of ones, before the norm is taken.
    output : "last", "average", "sparse" (z) or "auto": for penalties that select, z without the coefficients that are
        smaller than half the standard deviation that the noise alone gives them; else the last x.
    budget : a PrivacyBudget that this fit is charged to, shared with others.
    verbose : report progress on standard error, every two seconds.
    random_state : None for release. A number repeats a run, and anyone who knows it can remove the noise.
    """

    _algorithm = Algorithm.SSADMM
    batch: int | None

    def __init__(
        self,
        *,
        epsilon: Target | None = None,
        delta: Target = 1e-8,
        sigma: float | None = None,
        loss: str = "logistic",
        regularizer: str = "l1",
        lam: float = LAMBDA,
        shape: Shape | None = None,
        rho: float | None = None,
        eta: float | None = None,
        schedule: str = "per-epoch",
        batch: int | None = None,
        iterations: int | None = None,
        clip: float | None = None,
        fit_intercept: bool = True,
        output: str = AUTO,
        budget: PrivacyBudget | None = None,
        verbose: bool | int = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self._keep(locals())

    def _batch(self, records: int) -> int:
        return math.isqrt(records - 1) + 1 if self.batch is None else self.batch


class MpADMMClassifier(_PrivateClassifier):
    """Noise on the model after each epoch. [CL20] Algorithm 2.

    Parameters
    ----------
    epsilon, delta : the target, one record replaced; text is taken exactly. One of epsilon and sigma is needed.
    sigma : the noise itself, instead of epsilon.
    loss : "logistic" or "huber".
    regularizer, lam, shape : "none", "l1", "elastic-net", "group-l1", "nuclear", "scad" or "mcp"; its weight; the rest.
    rho, eta : penalty and first step size; None chooses by n, p and the target (``dpadmm.defaults``).
    schedule : how steps fall: "constant", "per-epoch" or "inverse-sqrt".
    iterations : how many epochs (None: 20 to 400, by n, p and the target).
    release : "primal" perturbs x alone, which costs less; "all" perturbs x, z and y as the paper does.
    clip : clip each record's gradient to this norm; None divides each record by its own norm instead.
    fit_intercept : a column of ones, before the norm is taken.
    output : "last", "average", "sparse" (z) or "auto": for penalties that select, z without the coefficients that are
        smaller than half the standard deviation that the noise alone gives them; else the last x.
    budget : a PrivacyBudget that this fit is charged to, shared with others.
    verbose : report progress on standard error, every two seconds.
    random_state : None for release. A number repeats a run, and anyone who knows it can remove the noise.
    """

    _algorithm = Algorithm.MPADMM

    def __init__(
        self,
        *,
        epsilon: Target | None = None,
        delta: Target = 1e-8,
        sigma: float | None = None,
        loss: str = "logistic",
        regularizer: str = "l1",
        lam: float = LAMBDA,
        shape: Shape | None = None,
        rho: float | None = None,
        eta: float | None = None,
        schedule: str = "constant",
        release: str = "primal",
        iterations: int | None = None,
        clip: float | None = None,
        fit_intercept: bool = True,
        output: str = AUTO,
        budget: PrivacyBudget | None = None,
        verbose: bool | int = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self._keep(locals())


Target = Exact | float
Sparse = scipy.sparse.csr_matrix | scipy.sparse.csr_array | scipy.sparse.csc_matrix | scipy.sparse.csc_array
Records = ArrayLike | Sparse


def exactly(value: Target) -> Exact:
    """A target as it was written: 0.1 means one tenth, not the nearest binary fraction."""
    return repr(value) if isinstance(value, float) else value


def dense(features: Matrix | Sparse) -> Matrix:
    """The rows of a matrix that may be sparse; every row of a batch is used as a whole."""
    if isinstance(features, np.ndarray):
        return features
    return np.asarray(features.toarray(), dtype=np.float64)


@contextlib.contextmanager
def without_contents(features: Records, labels: ArrayLike = ()) -> Iterator[None]:
    """Let scikit-learn validate records, whose messages would quote them: what is wrong is said by place or shape."""
    try:
        yield
    except ValueError:
        reason = _wrong_records(features) or _complex(labels)
        if reason:
            raise ValueError(reason) from None
        raise  # shapes, NaN, infinities, kinds of labels: said without contents


def _wrong_records(features: Records) -> str:
    """Why records cannot be used, in those cases in which scikit-learn or numpy would quote them; else empty."""
    if scipy.sparse.issparse(features):
        return ""
    try:
        array = np.asarray(features)
    except ValueError:  # rows of different lengths
        return ""
    if array.ndim < 2:
        return (
            f"Expected 2D array of records and features, got shape {array.shape}. Reshape your data: "
            "array.reshape(-1, 1) if it has a single feature, array.reshape(1, -1) if it is a single record"
        )
    return _complex(array) or (_text(array) if array.dtype.kind in "OSU" else "")


def _complex(given: ArrayLike) -> str:
    kind = np.asarray(given).dtype
    return f"Complex data not supported, got an array of dtype {kind}" if kind.kind == "c" else ""


def _text(array: NDArray[np.generic]) -> str:
    """Where the first cell is that is no number."""
    for (row, *rest), cell in np.ndenumerate(array):
        try:
            float(cell)
        except ValueError:
            return f"X must hold numbers, got text in record {row}, feature {rest[0]} (counted from 0)"
        except TypeError:
            return ""
    return ""


def refuse(parameters: dict[str, object]) -> None:
    """Refuse what ``fit`` was given beyond X and y, with the reason."""
    if parameters.get("sample_weight") is not None:
        raise ValueError(
            "sample_weight is not supported: a record of weight w moves a gradient w times as far, so the noise would "
            "have to grow with the largest weight; give no sample_weight"
        )
    unknown = sorted(set(parameters) - {"sample_weight"})
    if unknown:
        raise TypeError(f"fit takes X and y, got {', '.join(unknown)} as well")


SECONDS = 2.0


@contextlib.contextmanager
def reported(name: str, steps: int) -> Iterator[Callable[[], None]]:
    """A function to call after each step; it reports when two seconds have passed, and at the end."""
    began = shown = time.monotonic()
    done = 0

    def tick() -> None:
        nonlocal done, shown
        done += 1
        if time.monotonic() - shown > SECONDS:
            shown = time.monotonic()
            left = (shown - began) * (steps - done) / done
            sys.stderr.write(f"{name}: {done:,} of {steps:,} iterations, about {left:.0f} s left\n")

    yield tick
    sys.stderr.write(f"{name}: {done:,} iterations in {time.monotonic() - began:.1f} s\n")
