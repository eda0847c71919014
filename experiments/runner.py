"""Runs a study unit by unit, in this process or several, and never does a unit twice."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from experiments import metrics
from experiments.checkpoint import FinishedUnit, Row, StudyCheckpoint
from experiments.folds import fold_members, split
from experiments.plan import Cell, StudyPlan, Unit
from experiments.synthetic import true_model
from experiments.training import seed_of, train
from reference.arithmetic import Matrix, Vector
from reference.baselines.optimum import optimum
from reference.dataset import Dataset
from reference.losses import LOSSES
from reference.problem import Problem
from reference.regularizers import L1

NONPRIVATE, TRUE_MODEL = "nonprivate", "true-model"
OPTIMUM_RESIDUAL = 1e-7  # moves accuracy and objective by less than they are printed to
_MODEL_SIZE = 1e-12  # below this a coefficient counts as zero


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What a worker process is given once."""

    plan: StudyPlan
    datasets: tuple[Dataset, ...]


def run(
    work: Work,
    checkpoint: StudyCheckpoint,
    *,
    workers: int,
    on_progress: Callable[[int, int], None],
    seconds: float = math.inf,
) -> None:
    """Run every unit that the checkpoint does not hold yet; begin none after so many seconds."""
    deadline = time.monotonic() + seconds
    done = {Unit(unit.repeat, unit.fold, unit.dataset) for unit in checkpoint.finished}
    todo = [unit for unit in work.plan.units() if unit not in done]
    total = len(todo) + len(done)
    on_progress(len(done), total)
    for finished in _results(work, todo, workers, deadline):
        checkpoint.append(finished)
        on_progress(len(checkpoint.finished), total)


def _results(work: Work, todo: Sequence[Unit], workers: int, deadline: float) -> Iterator[FinishedUnit]:
    in_time = (unit for unit in todo if time.monotonic() < deadline)
    if workers == 1:
        yield from (run_unit(work, unit) for unit in in_time)
        return
    with ProcessPoolExecutor(workers, initializer=_give, initargs=(work,)) as pool:
        # A unit is handed out when a worker is free, so that a deadline or an interruption leaves no queue behind.
        running = {pool.submit(_run_given, unit) for unit in itertools.islice(in_time, workers)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(_run_given, unit) for unit in itertools.islice(in_time, len(finished))}
            yield from (future.result() for future in finished)


_given: list[Work] = []  # what this worker process was given; a list because a module has no other mutable place


def _give(work: Work) -> None:
    _given[:] = [work]


def _run_given(unit: Unit) -> FinishedUnit:
    return run_unit(_given[0], unit)


def run_unit(work: Work, unit: Unit) -> FinishedUnit:
    """Train every cell of every algorithm on one fold, and measure on the records left out."""
    plan, data = work.plan, work.datasets[unit.dataset]
    members = fold_members(data.records, plan.size.folds, plan.study.seed)
    training, test = split(data, members[unit.fold])
    signed, test_signed = signed_rows(training).astype(np.float32), signed_rows(test)
    rows: list[Row] = []
    seconds: dict[str, float] = {}
    if unit.repeat == 0:
        start = time.process_time()
        rows += _without_privacy(plan, training, test_signed, unit)
        seconds[NONPRIVATE] = time.process_time() - start
    for position, algorithm in enumerate(plan.study.algorithms):
        start = time.process_time()
        cells = plan.cells_of(algorithm)
        arrays = plan.arrays_of(cells)
        seed = seed_of(plan.study.seed, unit.dataset, unit.fold, unit.repeat, position)
        trained = train(algorithm, signed, arrays, algorithms=plan.algorithms, setting=plan.setting, seed=seed)
        objectives = metrics.objective(test_signed, arrays, trained.models)
        rows += _rows(
            plan,
            unit,
            cells,
            test=test_signed,
            models=trained.models,
            objectives=objectives,
            residuals=trained.residuals,
        )
        seconds[algorithm] = time.process_time() - start
    return FinishedUnit(
        fingerprint=plan.fingerprint,
        repeat=unit.repeat,
        dataset=unit.dataset,
        fold=unit.fold,
        seconds=seconds,
        rows=rows,
    )


def _rows(
    plan: StudyPlan,
    unit: Unit,
    cells: Sequence[Cell],
    *,
    test: Matrix,
    models: Matrix,
    objectives: Vector,
    residuals: Vector | None,
) -> list[Row]:
    accuracies, xi = metrics.accuracy(test, models), metrics.coverages(models, plan.study.coverage)
    nonzeros = (np.abs(models) > _MODEL_SIZE).sum(axis=1)
    return [
        Row(
            algorithm=cell.algorithm,
            accounting=cell.accounting,
            loss=cell.loss,
            lam=cell.lam,
            epsilon=cell.epsilon,
            dataset=unit.dataset,
            fold=unit.fold,
            repeat=unit.repeat,
            accuracy=float(accuracies[i]),
            objective=float(objectives[i]),
            nonzeros=int(nonzeros[i]),
            residual=None if residuals is None else float(residuals[i]),
            xi={k: float(xi[i, j]) for j, k in enumerate(plan.study.coverage)},
        )
        for i, cell in enumerate(cells)
    ]


def _without_privacy(plan: StudyPlan, training: Dataset, test: Matrix, unit: Unit) -> list[Row]:
    """The exact optimum of the training fold and, for simulated data, the model that the labels came from."""
    rows = []
    for loss in plan.study.losses:
        for lam in plan.study.lambdas:
            best = optimum(Problem.of(training, LOSSES[loss], L1(float(lam)), rho=1.0), residual=OPTIMUM_RESIDUAL).x
            value = float(LOSSES[loss].value(test @ best).mean() + float(lam) * np.abs(best).sum())
            rows.append(_plain_row(plan, unit, NONPRIVATE, loss=loss, lam=lam, test=test, model=best, objective=value))
            if plan.study.data == "synthetic":
                truth = np.concatenate([[0.0], true_model()])
                rows.append(
                    _plain_row(plan, unit, TRUE_MODEL, loss=loss, lam=lam, test=test, model=truth, objective=None)
                )
    return rows


def _plain_row(
    plan: StudyPlan, unit: Unit, name: str, *, loss: str, lam: str, test: Matrix, model: Vector, objective: float | None
) -> Row:
    models = model[None, :]
    xi = metrics.coverages(models, plan.study.coverage)[0]
    return Row(
        algorithm=name,
        accounting="none",
        loss=loss,
        lam=lam,
        epsilon="inf",
        dataset=unit.dataset,
        fold=unit.fold,
        repeat=unit.repeat,
        accuracy=float(metrics.accuracy(test, models)[0]),
        objective=objective,
        nonzeros=int((np.abs(model) > _MODEL_SIZE).sum()),
        xi=dict(zip(plan.study.coverage, map(float, xi), strict=True)),
    )


def signed_rows(data: Dataset) -> Matrix:
    """Rows label * features: what margins and gradients need."""
    return np.ascontiguousarray(data.labels[:, None] * data.features)
