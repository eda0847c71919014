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
from accountant.mechanisms.words import Algorithm, Sampling
from dpadmm.cli._mechanism_options import progress
from dpadmm.cli.train import Choices
from dpadmm.defaults import Given, ProblemSize, Setting, setting, signal
from dpadmm.loaders import Loaded
from dpadmm.privacy import Guarantee, PrivateRun, calibrated, priced
from dpadmm.saved import Preparation, SavedModel, bounds_of, whole_directory, write_json
from dpadmm.training import REGULARIZERS, SCHEDULES, Training, least_rho, randomness_for, released, run
from reference.dataset import Dataset
from reference.errors import require_count, require_not_negative, require_positive
from reference.losses import LOSSES
from reference.mpadmm import Release
from reference.problem import Problem, State

MANIFEST_FORMAT = "dpadmm-manifest/1"
TRACE_WARNING = "trace.csv is computed from the records without noise: it is NOT private, do not publish it"
SEED_WARNING = "a seed was given: anyone who knows it can remove the noise, so nothing is private"
SILENT_WARNING = "sigma is 0: the model is not private"
HOPELESS = 30.0
"""Below this n mu/sqrt(p), models of simulated data were hardly better than the larger class."""
HOPELESS_WARNING = (
    "the noise for this epsilon outweighs so few records with so many features: expect a model that is no better than "
    "always predicting the larger class (judged by public numbers; `dpadmm evaluate` measures it)"
)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What a run produced."""

    saved: SavedModel
    choices: Choices
    training: Training
    setting: Setting
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
        return int(np.count_nonzero(self.saved.coefficients))

    def document(self) -> dict[str, object]:
        """The manifest: every parameter, version and seed; nothing computed from the records but n, p and the noise."""
        return {
            "format": MANIFEST_FORMAT,
            "versions": {
                "dpadmm": importlib.metadata.version("dpadmm"),
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            "parameters": self.choices.document()
            | {"batch": self.training.batch, "sigma": repr(self.sigma), "iterations": self.setting.iterations}
            | {"eta": repr(self.setting.eta), "rho": repr(self.setting.rho)},
            "records": self.records,
            "dimension": self.dimension,
            "classes": list(self.saved.classes),
            "features": list(self.saved.feature_names),
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
            "theorem": self.guarantee.theorem,
            "holds": self.private,
        }


def train(loaded: Loaded, choices: Choices, data: Path, out: Path, *, trace: bool) -> Trained:
    """Run and write; refuses before anything is written."""
    preparation = Preparation(
        loaded.columns, bounds_of(loaded.columns, choices.bounds), choices.intercept, choices.normalise
    )
    dataset = Dataset.of(preparation.apply(loaded.features), loaded.labels)
    chosen = _setting(choices, dataset)
    problem = Problem.of(
        dataset,
        LOSSES[choices.loss],
        REGULARIZERS[choices.regularizer](choices.lam, choices.shape()),
        rho=chosen.rho,
        clip=choices.clip,
    )
    training = _training(choices, chosen, problem)
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
    kinds = {"output": choices.output_kind, "regularizer": choices.regularizer}
    model = released(finished, training, chosen, **kinds, sigma=sigma, intercept=choices.intercept)
    saved = SavedModel(model, loaded.classes, choices.loss, loaded.label, preparation)
    warnings = _warnings(choices, dataset, sigma, trace=trace)
    trained = Trained(saved, choices, training, chosen, problem.records, problem.dimension, sigma, guarantee, warnings)
    _write(trained, data, out, objectives if trace else None)
    return trained


def _warnings(choices: Choices, dataset: Dataset, sigma: float, *, trace: bool) -> tuple[str, ...]:
    listed = (
        (TRACE_WARNING, trace),
        (SEED_WARNING, choices.seed is not None),
        (SILENT_WARNING, sigma == 0),
        (HOPELESS_WARNING, _hopeless(choices, dataset)),
    )
    return tuple(text for text, applies in listed if applies)


def _hopeless(choices: Choices, dataset: Dataset) -> bool:
    """Whether so few records drown in the noise of the target; from public numbers alone."""
    if choices.epsilon is None or choices.delta is None:
        return False
    return signal(_size(choices, dataset), choices.epsilon, choices.delta) < HOPELESS


def _batch(choices: Choices, records: int) -> int:
    default = records if choices.algorithm == Algorithm.MPADMM else math.isqrt(records - 1) + 1
    batch = choices.batch if choices.batch is not None else default
    require_count("batch", batch, at_most=records)
    return batch


def _size(choices: Choices, dataset: Dataset) -> ProblemSize:
    batch, rho = _batch(choices, dataset.records), least_rho(choices.regularizer, choices.shape())
    return ProblemSize(dataset.records, batch, dataset.dimension, choices.clip or 1.0, rho)


def _setting(choices: Choices, dataset: Dataset) -> Setting:
    """What was typed, and the rest by n, p and the target."""
    for name, value in (("rho", choices.rho), ("eta", choices.eta), ("clip", choices.clip)):
        if value is not None:
            require_positive(name, value)
    size = _size(choices, dataset)
    falls = SCHEDULES[choices.schedule](1.0, size.records, size.batch)
    target = None if choices.epsilon is None or choices.delta is None else (choices.epsilon, choices.delta)
    given = Given(falls, choices.iterations, choices.eta, choices.rho)
    return setting(Algorithm(choices.algorithm), size, given, target)


def _training(choices: Choices, chosen: Setting, problem: Problem) -> Training:
    algorithm, n = Algorithm(choices.algorithm), problem.records
    batch = _batch(choices, n)
    schedule = SCHEDULES[choices.schedule](chosen.eta, n, batch)
    return Training(
        algorithm,
        schedule,
        chosen.iterations,
        batch,
        Release(choices.release),
        choices.grid,
        Sampling(choices.sampling),
    )


def _guarantee(choices: Choices, training: Training, problem: Problem) -> Guarantee | None:
    if choices.sigma is not None:
        require_not_negative("sigma", choices.sigma)
    if choices.delta is None or choices.sigma == 0:
        return None
    # Normalised rows have length 1: the public bound, whatever the records are.
    bound = choices.clip if choices.clip is not None else problem.loss.steepest
    private_run = PrivateRun(
        training, problem.records, problem.dimension, float(problem.rho), bound, problem.regularizer
    )
    progress("the price of the noise; sooner with --effort quick")
    if choices.sigma is not None:
        return priced(private_run, choices.sigma, choices.delta, choices.effort)
    return calibrated(private_run, choices.epsilon or "", choices.delta, choices.effort)


@contextlib.contextmanager
def _progress(iterations: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=iterations, label="training", file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def _write(trained: Trained, data: Path, out: Path, objectives: list[tuple[float, float]] | None) -> None:
    with whole_directory(out) as draft:
        np.savez(draft / "model.npz", coefficients=trained.saved.coefficients, classes=np.array(trained.saved.classes))
        write_json(draft / "model.json", trained.saved.document())
        if objectives is not None:
            rows = [f"{k},{value!r},{gap!r}\n" for k, (value, gap) in enumerate(objectives, start=1)]
            header = f"# {TRACE_WARNING}\niteration,objective,distance_of_x_and_z\n"
            (draft / "trace.csv").write_text(header + "".join(rows), encoding="utf-8")
        write_json(draft / "manifest.json", trained.document() | {"data": data.name})
