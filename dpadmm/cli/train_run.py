"""What `dpadmm train` does once its options are parsed: prepare, calibrate, run, write."""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from accountant import decimal_string
from accountant.mechanisms.words import Algorithm
from dpadmm.cli.train_options import Choices
from dpadmm.loaders import Loaded
from dpadmm.privacy import Guarantee, PrivateRun, calibrated, priced
from dpadmm.saving import whole_directory, write_json
from dpadmm.training import REGULARIZERS, SCHEDULES, Training, randomness_for, run
from reference.arithmetic import Vector
from reference.dataset import Dataset
from reference.errors import require_count, require_not_negative
from reference.losses import LOSSES
from reference.mpadmm import Release
from reference.outputs import Output
from reference.problem import Problem, State

MODEL_FORMAT = "dpadmm-model/1"
MANIFEST_FORMAT = "dpadmm-manifest/1"
TRACE_WARNING = "trace.csv is computed from the records without noise: it is NOT private, do not publish it"
SEED_WARNING = "a seed was given: whoever knows it can remove the noise, so nothing is private"
SILENT_WARNING = "sigma is 0: the model is not private"


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What a run produced."""

    model: Vector
    classes: tuple[str, str]
    choices: Choices
    training: Training
    records: int
    dimension: int
    sigma: float
    guarantee: Guarantee | None
    warnings: tuple[str, ...]

    @property
    def private(self) -> bool:
        """Whether the guarantee holds for whoever sees the model and the manifest."""
        return self.guarantee is not None and self.choices.seed is None and self.sigma > 0

    @property
    def nonzero(self) -> int:
        """How many coefficients are not 0."""
        return int(np.count_nonzero(self.model))

    def document(self) -> dict[str, object]:
        """The manifest: every parameter, version and seed; nothing computed from the records but n, p and the noise."""
        return {
            "format": MANIFEST_FORMAT,
            "versions": {
                "dpadmm": importlib.metadata.version("dpadmm"),
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            "parameters": self.choices.document() | {"batch": self.training.batch, "sigma": repr(self.sigma)},
            "records": self.records,
            "dimension": self.dimension,
            "classes": list(self.classes),
            "privacy": self._privacy(),
            "warnings": list(self.warnings),
        }

    def _privacy(self) -> dict[str, object] | None:
        if self.guarantee is None:
            return None
        return {
            "epsilon": decimal_string(self.guarantee.epsilon, 12, "up"),
            "delta": decimal_string(self.guarantee.delta, 12, "down"),
            "neighbours": "replace-one",
            "method": self.guarantee.method,
            "holds": self.private,
        }


def train(loaded: Loaded, choices: Choices, data: Path, out: Path, *, trace: bool) -> Trained:
    """Run and write; refuses before anything is written."""
    dataset = _prepared(loaded, choices)
    problem = Problem.of(
        dataset,
        LOSSES[choices.loss],
        REGULARIZERS[choices.regularizer](choices.lam, choices.shape()),
        rho=choices.rho,
        clip=choices.clip,
    )
    training = _training(choices, problem)
    guarantee = _guarantee(choices, training, problem)
    sigma = guarantee.sigma if guarantee is not None else choices.sigma or 0.0
    randomness = randomness_for(choices.seed, choices.grid)
    objectives: list[tuple[float, float]] = []

    def record(state: State) -> None:
        if trace:
            objectives.append((float(problem.objective(state.x)), float(np.linalg.norm(state.x - state.z))))

    with _progress(training.iterations) as tick:

        def watch(state: State) -> None:
            record(state)
            tick()

        finished = run(training, problem, sigma, randomness, watch)
    model = finished.model(Output(choices.output_kind))
    warnings = tuple(
        text
        for text, applies in (
            (TRACE_WARNING, trace),
            (SEED_WARNING, choices.seed is not None),
            (SILENT_WARNING, sigma == 0),
        )
        if applies
    )
    trained = Trained(
        model, loaded.classes, choices, training, problem.records, problem.dimension, sigma, guarantee, warnings
    )
    _write(trained, data, out, objectives if trace else None)
    return trained


def _prepared(loaded: Loaded, choices: Choices) -> Dataset:
    dataset = Dataset.of(loaded.features, loaded.labels)
    if choices.bounds is not None:
        dataset = dataset.scaled(*choices.bounds)
    if choices.intercept:
        dataset = dataset.with_intercept()
    return dataset.normalised() if choices.normalise else dataset


def _training(choices: Choices, problem: Problem) -> Training:
    algorithm, n = Algorithm(choices.algorithm), problem.records
    default = n if algorithm is Algorithm.MPADMM else math.isqrt(n - 1) + 1
    batch = choices.batch if choices.batch is not None else default
    require_count("batch", batch, at_most=n)
    schedule = SCHEDULES[choices.schedule](choices.eta, n, batch)
    return Training(algorithm, schedule, choices.iterations, batch, Release(choices.release), choices.grid)


def _guarantee(choices: Choices, training: Training, problem: Problem) -> Guarantee | None:
    if choices.sigma is not None:
        require_not_negative("sigma", choices.sigma)
    if choices.delta is None or choices.sigma == 0:
        return None
    # Normalised rows have length 1: the public bound, whatever the records are.
    bound = choices.clip if choices.clip is not None else problem.loss.steepest
    private_run = PrivateRun(training, problem.records, problem.dimension, choices.rho, bound, problem.regularizer)
    if choices.sigma is not None:
        return priced(private_run, choices.sigma, choices.delta)
    return calibrated(private_run, choices.epsilon or "", choices.delta)


@contextlib.contextmanager
def _progress(iterations: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=iterations, label="training", file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def _write(trained: Trained, data: Path, out: Path, objectives: list[tuple[float, float]] | None) -> None:
    choices = trained.choices
    with whole_directory(out) as draft:
        np.savez(draft / "model.npz", coefficients=trained.model, classes=np.array(trained.classes))
        write_json(
            draft / "model.json",
            {
                "format": MODEL_FORMAT,
                "classes": list(trained.classes),
                "coefficients": [repr(float(value)) for value in trained.model],
                "preprocessing": {
                    "bounds": None if choices.bounds is None else [repr(bound) for bound in choices.bounds],
                    "intercept": choices.intercept,
                    "normalise": choices.normalise,
                },
            },
        )
        if objectives is not None:
            rows = [f"{k},{value!r},{gap!r}\n" for k, (value, gap) in enumerate(objectives, start=1)]
            header = f"# {TRACE_WARNING}\niteration,objective,distance_of_x_and_z\n"
            (draft / "trace.csv").write_text(header + "".join(rows), encoding="utf-8")
        write_json(draft / "manifest.json", trained.document() | {"data": data.name})
