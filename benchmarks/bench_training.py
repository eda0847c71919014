"""Training to the same (epsilon, delta) beside its peers: time and test accuracy on Adult, one machine, one run.

    python -m benchmarks.bench_training --data FOLDER [--epsilon 1.0] [--out FILE.json]

* ssADMM of this project, T = 2210 batches of 221, noise certified for (epsilon, 1e-8), replace-one neighbours;
* opacus DP-SGD (PyTorch), the same model, expected batch size and number of steps, its noise from its own accountant
  for add-or-remove neighbours: a *weaker* promise at the same epsilon (replace-one is up to twice that);
* diffprivlib's LogisticRegression: objective perturbation, pure epsilon, L2 penalty.

Every peer gets rows of length 1 and the same split. Peers that are not installed are left out and named. Times are
CPU seconds of training alone; data, imports and calibration are not counted, calibration is listed beside.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import accountant
from benchmarks import training_peers
from benchmarks.training_peers import Steps
from experiments.data import adult, prepared
from experiments.folds import batch_size, fold_members, iterations, split
from reference.arithmetic import Vector
from reference.dataset import Dataset
from reference.losses import Logistic
from reference.outputs import Output, finish
from reference.problem import Problem, State
from reference.randomness import Seeded
from reference.regularizers import L1
from reference.schedules import PerEpoch, steps
from reference.ssadmm import ssadmm

DELTA = "1e-8"
EPOCHS = 10
LAMBDA = 1e-4
RHO, ETA0 = 0.25, 4.0
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One implementation: least CPU seconds, mean accuracy over the repeats, what it promises."""

    name: str
    seconds: float
    calibration_seconds: float
    accuracy: float
    promise: str


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with a9a and a9a.t")
    parser.add_argument("--epsilon", default="1.0", help="decimal string")
    parser.add_argument("--out", type=Path, help="also write JSON here")
    arguments = parser.parse_args()
    data = prepared(adult(arguments.data, trust=False), "unit")
    training, test = split(data, fold_members(data.records, 10, 1)[0])
    measured, missing = [ours(training, test, arguments.epsilon)], []
    peers: list[tuple[str, Callable[[Dataset, Dataset, str], Measured]]] = [
        ("opacus", opacus),
        ("diffprivlib", diffprivlib),
    ]
    for name, peer in peers:
        if importlib.util.find_spec(name) is None:
            missing.append(f"{name}: not installed")
            continue
        try:
            measured.append(peer(training, test, arguments.epsilon))
        except ImportError as error:  # installed beside versions that it does not work with
            missing.append(f"{name}: cannot be imported ({error})")
    for row in measured:
        print(
            f"{row.name:32} {row.seconds:8.2f} s  calibration {row.calibration_seconds:6.2f} s  "
            f"accuracy {row.accuracy:.4f}  {row.promise}"
        )
    for reason in missing:
        print(f"left out: {reason}")
    if arguments.out is not None:
        rows = [asdict(row) for row in measured]
        arguments.out.write_text(json.dumps({"epsilon": arguments.epsilon, "rows": rows, "missing": missing}, indent=2))


def ours(training: Dataset, test: Dataset, epsilon: str) -> Measured:
    """The reference's ssADMM, one run after another, drawn from seeds."""
    n, m = training.records, batch_size(training.records)
    T = iterations(EPOCHS, n, m)
    start = time.process_time()
    found = accountant.calibrate_noise(
        lambda sigma: accountant.SsADMM(records=n, batch=m, iterations=T, sigma=sigma, clip="1").ledger(),
        epsilon=epsilon,
        delta=DELTA,
    )
    calibration = time.process_time() - start
    sigma = accountant.float_up(found.value)
    problem = Problem.of(training, Logistic(), L1(LAMBDA), rho=RHO)

    def train(seed: int) -> Vector:
        source, initial = Seeded(seed), State.zero(problem.dimension)
        states = ssadmm(
            problem,
            initial,
            step_sizes=steps(PerEpoch(ETA0, n, m), T),
            batches=source.batches(n, m, T),
            noise=source.noise(problem.dimension, sigma, T),
        )
        return finish(initial, states).model(Output.LAST)

    seconds, accuracy = _repeated(train, test)
    promise = f"({epsilon}, {DELTA}), replace one, certified; T = {T}, m = {m}, L1"
    return Measured("dpadmm ssADMM", seconds, calibration, accuracy, promise)


def opacus(training: Dataset, test: Dataset, epsilon: str) -> Measured:
    """Opacus: a linear model without bias (the intercept is a column), Poisson batches, gradients clipped to 1."""
    n, m = training.records, batch_size(training.records)
    T = iterations(EPOCHS, n, m)
    train, calibration = training_peers.opacus(training, float(epsilon), float(DELTA), Steps(m, T, ETA0))
    seconds, accuracy = _repeated(train, test)
    promise = f"({epsilon}, {DELTA}), add or remove one, RDP of Poisson batches; T = {T}, expected m = {m}"
    return Measured("opacus DP-SGD", seconds, calibration, accuracy, promise)


def diffprivlib(training: Dataset, test: Dataset, epsilon: str) -> Measured:
    """diffprivlib: L2-regularised logistic regression by objective perturbation, defaults but for the norm bound."""
    seconds, accuracy = _repeated(training_peers.diffprivlib(training, float(epsilon)), test)
    return Measured(
        "diffprivlib LogisticRegression", seconds, 0.0, accuracy, f"({epsilon}, 0), L2 penalty, its defaults"
    )


def _repeated(train: Callable[[int], Vector], test: Dataset) -> tuple[float, float]:
    """The least CPU time of a training, and the mean test accuracy."""
    best, accuracies = float("inf"), []
    for seed in range(REPEATS):
        start = time.process_time()
        model = train(seed)
        best = min(best, time.process_time() - start)
        accuracies.append(float((test.labels * (test.features @ model) > 0).mean()))
    return best, float(np.mean(accuracies))


if __name__ == "__main__":
    main()
