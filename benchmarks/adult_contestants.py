"""One contestant of ``bench_adult``, in a process and an environment of its own: reads arrays, prints rows of JSON.

python -m benchmarks.adult_contestants NAME ARRAYS.npz EPSILON DELTA REPEATS
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from reference.dataset import Dataset

Fit = Callable[[int], Callable[[Dataset], float]]
"""From a seed to a model's accuracy on records."""
GRID = (1.0, 4.0, 16.0, 64.0)
EPOCHS = 5


@dataclass(frozen=True, slots=True)
class Target:
    """(epsilon, delta) as decimals."""

    epsilon: str
    delta: str


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: CPU seconds of the first fit (calibration included) and the least of all, accuracies on the test."""

    setting: str
    first: float
    least: float
    accuracies: tuple[float, ...]


def measured(setting: str, fit: Fit, test: Dataset, repeats: int, calibration: float = 0.0) -> Row:
    """Fit as often as asked."""
    seconds, accuracies = [], []
    for seed in range(repeats):
        start = time.process_time()
        score = fit(seed)
        seconds.append(time.process_time() - start)
        accuracies.append(score(test))
    return Row(setting, seconds[0] + calibration, min(seconds), tuple(accuracies))


def majority(training: Dataset, test: Dataset, _target: Target, _repeats: int) -> Iterator[Row]:
    """Nothing learnt: the larger class of the training records."""
    larger = 1.0 if training.labels.sum() > 0 else -1.0
    yield measured("", lambda _: lambda data: float((data.labels == larger).mean()), test, 1)


def scikit_learn(training: Dataset, test: Dataset, _target: Target, _repeats: int) -> Iterator[Row]:
    """Not private."""
    from sklearn.linear_model import LogisticRegression

    def fit(_: int) -> Callable[[Dataset], float]:
        model = LogisticRegression(max_iter=2000).fit(training.features, training.labels)
        return lambda data: float(model.score(data.features, data.labels))

    yield measured("max_iter=2000", fit, test, 1)


def ours(name: str, **changed: object) -> Callable[[Dataset, Dataset, Target, int], Iterator[Row]]:
    """A classifier of this project: no seed, as in production."""

    def rows(training: Dataset, test: Dataset, target: Target, repeats: int) -> Iterator[Row]:
        import dpadmm

        classifier = {"ss": dpadmm.SsADMMClassifier, "mp": dpadmm.MpADMMClassifier}[name]

        def fit(_: int) -> Callable[[Dataset], float]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = classifier(epsilon=target.epsilon, delta=target.delta, **changed)
                model.fit(training.features, training.labels)
            return lambda data: float(model.score(data.features, data.labels))

        yield measured(", ".join(f"{k}={v}" for k, v in changed.items()) or "defaults", fit, test, repeats)

    return rows


def tuned(training: Dataset, test: Dataset, target: Target, repeats: int) -> Iterator[Row]:
    """SsADMM over a grid of steps: which one is best is read off the test records, which is not private."""
    for eta in GRID:
        yield from ours("ss", eta=eta, rho=0.25, output="last")(training, test, target, repeats)


def opacus(training: Dataset, test: Dataset, target: Target, repeats: int) -> Iterator[Row]:
    """DP-SGD over the same grid of steps."""
    from benchmarks import training_peers

    batch = int(np.ceil(np.sqrt(training.records)))
    count = EPOCHS * training.records // batch
    prepared = training.with_intercept().normalised()
    for eta in GRID:
        steps = training_peers.Steps(batch, count, eta, accountant="prv")
        train, calibration = training_peers.opacus(prepared, float(target.epsilon), float(target.delta), steps)
        yield measured(f"lr={eta}, {count} steps", _scored(train), test, repeats, calibration)


def diffprivlib(training: Dataset, test: Dataset, target: Target, repeats: int) -> Iterator[Row]:
    """Objective perturbation at its defaults."""
    from benchmarks import training_peers

    train = training_peers.diffprivlib(training.with_intercept().normalised(), float(target.epsilon))
    yield measured("defaults", _scored(train), test, repeats)


def _scored(train: Callable[[int], np.ndarray]) -> Fit:
    def fit(seed: int) -> Callable[[Dataset], float]:
        model = train(seed)

        def score(data: Dataset) -> float:
            rows = data.with_intercept().normalised()
            return float((rows.labels * (rows.features @ model) > 0).mean())

        return score

    return fit


CONTESTANTS: dict[str, Callable[[Dataset, Dataset, Target, int], Iterator[Row]]] = {
    "majority": majority,
    "scikit-learn": scikit_learn,
    "ssADMM": ours("ss"),
    "ssADMM tuned": tuned,
    "mpADMM": ours("mp"),
    "opacus": opacus,
    "diffprivlib": diffprivlib,
}


def main() -> None:
    """Run one contestant."""
    name, path, epsilon, delta, repeats = sys.argv[1:]
    arrays = np.load(Path(path))
    training = Dataset.of(arrays["X"], arrays["y"])
    test = Dataset.of(arrays["X_test"], arrays["y_test"])
    for row in CONTESTANTS[name](training, test, Target(epsilon, delta), int(repeats)):
        print(json.dumps(asdict(row)), flush=True)


if __name__ == "__main__":
    main()
