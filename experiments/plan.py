"""A study made concrete: its cells, its noise levels, its units of work, and a fingerprint of all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from experiments.cells import CellTable
from experiments.config import AccountingName, AlgorithmName, Algorithms, Size, Study
from experiments.folds import smallest_training_fold
from experiments.noise import Calibrator, Level, NoiseSetting


@dataclass(frozen=True, slots=True)
class Cell:
    """One model of a unit."""

    algorithm: AlgorithmName
    accounting: AccountingName
    loss: str
    lam: str
    epsilon: str


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """A training run of all cells. Repeats come first, so that a partial study covers data sets and folds evenly."""

    repeat: int
    fold: int
    dataset: int


LevelKey = tuple[AlgorithmName, AccountingName, str, str]  # algorithm, accounting, epsilon, loss


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """Everything a worker needs besides the records."""

    study: Study
    algorithms: Algorithms
    size: Size
    setting: NoiseSetting
    levels: dict[LevelKey, Level]
    fingerprint: str

    def units(self) -> list[Unit]:
        """All units, in the order in which they are run."""
        sizes = (self.size.repeats, self.size.folds, self.size.datasets)
        return [Unit(r, f, d) for r in range(sizes[0]) for f in range(sizes[1]) for d in range(sizes[2])]

    def cells_of(self, algorithm: AlgorithmName) -> list[Cell]:
        """The cells of an algorithm, equal losses together."""
        return list(study_cells(self.study, self.size, algorithm))

    def arrays_of(self, cells: list[Cell]) -> CellTable:
        """The same cells as the columns that the loops take."""
        levels = [self.levels[cell.algorithm, cell.accounting, cell.epsilon, cell.loss] for cell in cells]
        return CellTable.of(
            [cell.loss for cell in cells],
            [float(cell.lam) for cell in cells],
            [level.sigma for level in levels],
            anchor_noise=[level.anchor_sigma for level in levels],
            ridge=[level.ridge for level in levels],
        )


def accountings_of(study: Study, algorithm: AlgorithmName) -> tuple[AccountingName, ...]:
    """ADMM-objP is pure and has one accounting; releasing x alone is not in the paper and has only the certified."""
    if algorithm in {"objp", "objp-once"}:
        return study.accountings[:1]
    if algorithm == "mpadmm-primal":
        return tuple(name for name in study.accountings if name == "certified")
    return study.accountings


def study_cells(study: Study, size: Size, algorithm: AlgorithmName) -> Iterator[Cell]:
    """Every combination, the loss outermost."""
    for loss in study.losses:
        for lam in study.lambdas:
            for accounting in accountings_of(study, algorithm):
                for epsilon in size.epsilons:
                    yield Cell(algorithm, accounting, loss, lam, epsilon)


def make_plan(
    study: Study,
    algorithms: Algorithms,
    size: Size,
    *,
    records: int,
    calibrator_for: Callable[[NoiseSetting], Calibrator],
    data_digest: str,
    progress: Callable[[str], None],
) -> StudyPlan:
    """Calibrate every noise level, then fix the fingerprint that results must match."""
    setting = NoiseSetting(smallest_training_fold(records, size.folds), study.delta)
    calibrator = calibrator_for(setting)
    levels: dict[LevelKey, Level] = {}
    for algorithm in study.algorithms:
        progress(f"calibrating the noise of {algorithm}")
        for cell in study_cells(study, size, algorithm):
            key = (cell.algorithm, cell.accounting, cell.epsilon, cell.loss)
            if key not in levels:
                levels[key] = calibrator.level(*key)
    identity = {
        "study": study.model_dump(mode="json", exclude={"full", "quick"}),
        "size": size.model_dump(mode="json", exclude={"repeats"}),
        "algorithms": algorithms.model_dump(mode="json", exclude={"how_chosen"}),
        "levels": [[*key, asdict(level)] for key, level in levels.items()],
        "data": data_digest,
    }
    text = json.dumps(identity, sort_keys=True)
    return StudyPlan(study, algorithms, size, setting, levels, hashlib.sha256(text.encode()).hexdigest())
