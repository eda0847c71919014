"""Tidy results (one row a trained model) and their means, as CSV and as text."""

from __future__ import annotations

import csv
import io
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from experiments.checkpoint import Row
from experiments.noise import Level
from experiments.plan import LevelKey, StudyPlan

COLUMNS = ("algorithm", "accounting", "loss", "lambda", "epsilon", "dataset", "fold", "repeat")
MEASURES = ("accuracy", "objective", "nonzeros", "residual")

KeyT = TypeVar("KeyT")


@dataclass(frozen=True, slots=True)
class Group:
    """What is averaged over folds, repeats and data sets."""

    algorithm: str
    accounting: str
    loss: str
    lam: str
    epsilon: str


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, the standard deviation over runs, and how many there were."""

    mean: float
    deviation: float
    runs: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The means of every group."""

    accuracy: dict[Group, Mean]
    objective: dict[Group, Mean]
    xi: dict[tuple[Group, int], Mean]
    residual: dict[Group, float]  # the largest

    def curve(self, measure: str, algorithm: str, accounting: str, loss: str, lam: str) -> list[tuple[float, Mean]]:
        """Mean against epsilon, ascending."""
        table = self.accuracy if measure == "accuracy" else self.objective
        points = [
            (float(group.epsilon), mean)
            for group, mean in table.items()
            if (group.algorithm, group.accounting, group.loss, group.lam) == (algorithm, accounting, loss, lam)
        ]
        return sorted(points, key=lambda point: point[0])


def summarise(rows: Iterable[Row], accountings: Sequence[str]) -> Summary:
    """Average; ADMM-objP, whose pure privacy has one accounting, is shown under each of them."""
    accuracy, objective = defaultdict[Group, list[float]](list), defaultdict[Group, list[float]](list)
    xi = defaultdict[tuple[Group, int], list[float]](list)
    residual = defaultdict[Group, float](float)
    for row in rows:
        shown = accountings if row.algorithm in {"objp", "objp-once"} else (row.accounting,)
        for accounting in shown:
            group = Group(row.algorithm, accounting, row.loss, row.lam, row.epsilon)
            accuracy[group].append(row.accuracy)
            if row.objective is not None:
                objective[group].append(row.objective)
            if row.residual is not None:
                residual[group] = max(residual[group], row.residual)
            for k, share in row.xi.items():
                xi[group, k].append(share)
    return Summary(_means(accuracy), _means(objective), _means(xi), dict(residual))


def _means(values: dict[KeyT, list[float]]) -> dict[KeyT, Mean]:
    return {
        key: Mean(statistics.fmean(listed), statistics.stdev(listed) if len(listed) > 1 else 0.0, len(listed))
        for key, listed in values.items()
    }


def results_csv(rows: Sequence[Row], coverage: Sequence[int]) -> str:
    """Every trained model, one row each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *MEASURES, *(f"xi_{k}" for k in coverage)])
    for row in rows:
        keys = (row.algorithm, row.accounting, row.loss, row.lam, row.epsilon, row.dataset, row.fold, row.repeat)
        measures = (row.accuracy, row.objective, row.nonzeros, row.residual)
        writer.writerow([*keys, *measures, *(row.xi.get(k, "") for k in coverage)])
    return text.getvalue()


def summary_csv(summary: Summary) -> str:
    """Means and deviations of accuracy and objective, one row a group."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "algorithm",
            "accounting",
            "loss",
            "lambda",
            "epsilon",
            "runs",
            "accuracy",
            "accuracy_sd",
            "objective",
            "objective_sd",
        ]
    )
    for group, mean in summary.accuracy.items():
        loss = summary.objective.get(group)
        keys = (group.algorithm, group.accounting, group.loss, group.lam, group.epsilon)
        rest = (loss.mean, loss.deviation) if loss is not None else ("", "")
        writer.writerow([*keys, mean.runs, mean.mean, mean.deviation, *rest])
    return text.getvalue()


def noise_csv(plan: StudyPlan) -> str:
    """Every noise level, and what it costs in truth."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["algorithm", "accounting", "epsilon", "loss", "sigma", "anchor_sigma", "ridge", "method", "certified_epsilon"]
    )
    for key, level in plan.levels.items():
        writer.writerow(
            [*key, level.sigma, level.anchor_sigma, level.ridge, level.method, level.certified_epsilon or ""]
        )
    return text.getvalue()


def find_level(levels: dict[LevelKey, Level], algorithm: str, accounting: str, epsilon: str) -> Level | None:
    """The level of an algorithm, whatever the loss (only ADMM-objP's depends on it)."""
    return next((level for key, level in levels.items() if key[:3] == (algorithm, accounting, epsilon)), None)
