"""A study from its name to its results: data, plan, runs, report."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments import data
from experiments.checkpoint import FinishedUnit, StudyCheckpoint
from experiments.config import Algorithms, Size, Study
from experiments.errors import ConfigError, DataError
from experiments.files import require_room
from experiments.noise import Accountant
from experiments.plan import StudyPlan, make_plan
from experiments.report import Results
from experiments.runner import Work, run
from experiments.synthetic import simulate
from experiments.training import seed_of
from reference.dataset import Dataset

CHECKPOINT = "checkpoint.jsonl"


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for."""

    study: Study
    algorithms: Algorithms
    source: str | None
    trust: bool
    quick: bool
    out: Path
    workers: int
    fresh: bool
    repeats: int | None = None
    budget: float | None = None

    @property
    def size(self) -> Size:
        """How much is run; ``--repeats`` shortens a study without changing what a unit is."""
        size = self.study.size(quick=self.quick)
        if self.repeats is None:
            return size
        if self.repeats < 1:
            raise ConfigError(f"repeats must be >= 1, got repeats={self.repeats}")
        return size.model_copy(update={"repeats": self.repeats})


def load_datasets(request: Request) -> tuple[Dataset, ...]:
    """The prepared records of a study; simulated ones need no path."""
    study, size = request.study, request.size
    if study.data == "synthetic":
        if request.source is not None:
            raise DataError("the simulated data are generated; --data does not apply to them")
        rows = size.rows or 40_000
        return tuple(
            data.prepared(simulate(seed_of(study.seed, index), rows), study.scaling) for index in range(size.datasets)
        )
    if request.source is None:
        origin = data.LIBSVM if study.data == "adult" else data.IPUMS_BR.origin
        raise DataError(f"{study.name} needs --data, the folder or file with its records; they come from {origin}")
    loader = data.adult if study.data == "adult" else data.ipums_br
    records = data.prepared(loader(request.source, trust=request.trust), study.scaling)
    return (_sample(records, size.rows, study.seed),)


def _sample(records: Dataset, rows: int | None, seed: int) -> Dataset:
    if rows is None or rows >= records.records:
        return records
    chosen = np.sort(np.random.default_rng(seed).choice(records.records, rows, replace=False))
    return Dataset.of(records.features[chosen], records.labels[chosen])


def prepare(request: Request, progress: Callable[[str], None]) -> Work:
    """Load the records and calibrate all noise."""
    progress("loading the records")
    datasets = load_datasets(request)
    digest = hashlib.sha256()
    for records in datasets:
        digest.update(records.features.tobytes())
        digest.update(records.labels.tobytes())
    plan = make_plan(
        request.study,
        request.algorithms,
        request.size,
        records=min(records.records for records in datasets),
        calibrator_for=lambda setting: Accountant(request.algorithms, setting),
        data_digest=digest.hexdigest(),
        progress=progress,
    )
    return Work(plan, datasets)


def carry_out(request: Request, progress: Progress) -> Results:
    """Run a study, or what is left of it; the folder is tried before anything else."""
    require_room(request.out)
    work = prepare(request, progress.say)
    checkpoint = StudyCheckpoint(request.out / CHECKPOINT, work.plan.fingerprint, fresh=request.fresh)
    seconds = math.inf if request.budget is None else request.budget
    run(work, checkpoint, workers=request.workers, on_progress=progress.units, seconds=seconds)
    return Results.of(work.plan, _of_plan(checkpoint, work.plan))


def _of_plan(checkpoint: StudyCheckpoint, plan: StudyPlan) -> list[FinishedUnit]:
    """Finished units in the plan's order, whatever order they finished in: equal results, equal files."""
    wanted = {(unit.repeat, unit.fold, unit.dataset) for unit in plan.units()}
    listed = [unit for unit in checkpoint.finished if (unit.repeat, unit.fold, unit.dataset) in wanted]
    return sorted(listed, key=lambda unit: (unit.repeat, unit.fold, unit.dataset))


class Progress:
    """Lines on standard error: what is being done, how much is left, and about how long that takes."""

    def __init__(self) -> None:
        self._start: float | None = None
        self._already = 0
        self._live = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """One line of news."""
        self._show(text, last=not self._live)

    def units(self, done: int, total: int) -> None:
        """How many units are finished; the estimate counts only what this run did."""
        if self._start is None:
            self._start, self._already = time.monotonic(), done
        spent, here = time.monotonic() - self._start, done - self._already
        left = f", about {_duration(spent / here * (total - done))} left" if here and done < total else ""
        self._show(f"{done} of {total} units after {_duration(spent)}{left}", last=done == total or not self._live)

    def _show(self, text: str, *, last: bool) -> None:
        head, tail = ("\r\x1b[K", "\n" if last else "") if self._live else ("", "\n")
        sys.stderr.write(f"{head}{text}{tail}")
        sys.stderr.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
