r"""Chooses what the paper leaves open, on simulated data only: nothing private is read, so nothing is spent.

The data set is drawn with a seed of its own, which no study uses. Each candidate is trained on nine tenths and
scored on the rest: mean test accuracy over both lambdas, both accountings and epsilon in ``EPSILONS``, for logistic
regression; among those about as good, the least median objective (accuracy alone knows nothing of scale). One
setting an algorithm is kept for all epsilons, losses and data sets. What the paper does state (rho of ssADMM and
mpADMM, the schedules, m = sqrt n, two parties, twenty inner steps) is not touched.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from experiments import metrics
from experiments.config import (
    AlgorithmName,
    Algorithms,
    Epochwise,
    Objective,
    Stochastic,
    Study,
    VarianceReducedOptions,
    load_study,
)
from experiments.data import prepared
from experiments.folds import fold_members, split
from experiments.noise import Accountant
from experiments.plan import StudyPlan, make_plan
from experiments.runner import signed_rows
from experiments.synthetic import simulate
from experiments.training import seed_of, train
from reference.dataset import Dataset

SEED = 20_200_511  # of the tuning data; the studies have others
ROWS = 40_000
EPSILONS = ("0.2", "0.6", "1.0")
REPEATS = 2
AS_GOOD = 0.005

Candidate = Stochastic | Epochwise | Objective | VarianceReducedOptions


def candidates(algorithm: AlgorithmName, now: Algorithms, *, quick: bool) -> Iterator[Candidate]:
    """The grid of an algorithm; the quick one is a corner of it."""
    etas = ("4", "16") if quick else ("1", "4", "16", "64")
    epochs = (5,) if quick else (1, 2, 5, 10)
    rounds = (10,) if quick else (20, 40, 160)
    match algorithm:
        case "ssadmm" | "dpsgd":
            base = now.ssadmm if algorithm == "ssadmm" else now.dpsgd
            for eta, count in itertools.product(etas, epochs):
                yield base.model_copy(update={"eta0": eta, "epochs": count})
        case "mpadmm" | "mpadmm-primal":
            model = now.mpadmm if algorithm == "mpadmm" else now.mpadmm_primal
            # No step above 4: the printed sensitivity lacks eta (E1), so larger ones only flatter that accounting.
            for eta, count in itertools.product(("1", "4"), rounds):
                yield model.model_copy(update={"eta": eta, "epochs": count})
        case "dpadmm":
            for eta, count, rho in itertools.product(("4", "64"), rounds, ("0.1", "0.5")):
                yield now.dpadmm.model_copy(update={"eta": eta, "epochs": count, "rho": rho})
        case "objp":
            for count, rho in itertools.product((5,) if quick else (5, 10), ("0.01", "0.05", "0.2")):
                yield now.objp.model_copy(update={"iterations": count, "rho": rho})
        case "objp-once":
            for rho in ("0.01", "0.05", "0.2"):
                yield now.objp_once.model_copy(update={"rho": rho})
        case "dpsvrg":
            for eta, count, ratio in itertools.product(("0.5", "2", "8"), (1, 2), ("2", "8", "32")):
                yield now.dpsvrg.model_copy(update={"eta": eta, "epochs": count, "anchor_ratio": ratio})


def tune(now: Algorithms, *, quick: bool, progress: Callable[[str], None]) -> Algorithms:
    """The best candidate of every algorithm."""
    study = _study()
    data = prepared(simulate(seed_of(SEED), ROWS // 8 if quick else ROWS), study.scaling)
    chosen: dict[str, Candidate] = {}
    for algorithm in study.algorithms:
        field = algorithm.replace("-", "_")
        scored: list[tuple[float, float, Candidate]] = []
        for candidate in candidates(algorithm, now, quick=quick):
            trial = now.model_copy(update={field: candidate})
            accuracy, objective = _score(study, algorithm, trial, data)
            progress(f"{algorithm}: accuracy {accuracy:.4f}, objective {objective:.4f}, {candidate.model_dump()}")
            scored.append((accuracy, objective, candidate))
        chosen[field] = _best(scored)
    return now.model_copy(update={**chosen, "how_chosen": how_chosen(ROWS // 8 if quick else ROWS)})


def how_chosen(rows: int) -> str:
    """How it was done, for the file."""
    return (
        f"`python -m experiments tune`: one simulated data set of {rows} rows (seed {SEED}, used by no study), a tenth "
        f"of it held out, {REPEATS} repeats; of the settings within {AS_GOOD} of the best mean test accuracy "
        f"over both lambdas, both accountings and epsilon in {', '.join(EPSILONS)} the one of the least median test "
        "objective, logistic regression. rho of ssADMM and mpADMM, schedules, batch size, "
        "parties and inner steps are the paper's."
    )


def _study() -> Study:
    study = load_study("synthetic")
    size = study.full.model_copy(update={"epsilons": EPSILONS, "folds": 10, "repeats": REPEATS, "datasets": 1})
    return study.model_copy(update={"full": size, "quick": size, "coverage": ()})


def _best(scored: list[tuple[float, float, Candidate]]) -> Candidate:
    """The lowest objective among those within ``AS_GOOD`` of the best accuracy, which knows nothing of scale."""
    top = max(accuracy for accuracy, _, _ in scored)
    return min((entry for entry in scored if entry[0] >= top - AS_GOOD), key=lambda entry: entry[1])[2]


def _score(study: Study, algorithm: AlgorithmName, trial: Algorithms, data: Dataset) -> tuple[float, float]:
    """Mean test accuracy and median test objective over cells and repeats."""
    single = study.model_copy(update={"algorithms": (algorithm,)})
    plan: StudyPlan = make_plan(
        single,
        trial,
        single.full,
        records=data.records,
        calibrator_for=lambda setting: Accountant(trial, setting),
        data_digest="",
        progress=lambda _: None,
    )
    training, test = split(data, fold_members(data.records, single.full.folds, SEED)[0])
    cells = plan.arrays_of(plan.cells_of(algorithm))
    accuracies, objectives, test_rows = [], [], signed_rows(test)
    for repeat in range(REPEATS):
        seed = seed_of(SEED, repeat)
        trained = train(algorithm, signed_rows(training), cells, algorithms=trial, setting=plan.setting, seed=seed)
        accuracies.append(metrics.accuracy(test_rows, trained.models))
        objectives.append(metrics.objective(test_rows, cells, trained.models))
    return float(np.mean(accuracies)), float(np.median(objectives))


def as_toml(algorithms: Algorithms) -> str:
    """The parameters in the layout of configs/algorithms.toml."""
    lines = [f'how_chosen = """{algorithms.how_chosen}"""', ""]
    for name, parameters in algorithms.model_dump(mode="json", exclude={"how_chosen"}).items():
        lines.append(f"[{name}]")
        lines += [
            f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in parameters.items()
        ]
        lines.append("")
    return "\n".join(lines)
