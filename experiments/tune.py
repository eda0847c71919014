r"""Chooses what the paper leaves open, on simulated data only: nothing private is read, so nothing is spent.

The data set is drawn with a seed of its own, which no study uses. Each candidate is trained on nine tenths and
scored on the rest: mean test accuracy over both lambdas, both accountings and epsilon in ``EPSILONS``, for logistic
regression. One setting an algorithm is kept for all epsilons, losses and data sets. What the paper does state
(rho of ssADMM and mpADMM, the schedules, m = sqrt n, two parties, twenty inner steps) is not touched.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from experiments import metrics
from experiments.config import (
    AlgorithmName,
    Algorithms,
    Epochwise,
    Objective,
    Stochastic,
    Study,
    VarianceReduced,
    load_study,
)
from experiments.data import prepared
from experiments.folds import fold_members, split
from experiments.noise import Accountant
from experiments.plan import Plan, make_plan
from experiments.runner import signed_rows
from experiments.synthetic import simulate
from experiments.training import seed_of, train
from reference.dataset import Dataset

SEED = 20_200_511  # of the tuning data; the studies have others
ROWS = 40_000
EPSILONS = ("0.2", "0.6", "1.0")
REPEATS = 2

Candidate = Stochastic | Epochwise | Objective | VarianceReduced


def candidates(algorithm: AlgorithmName, now: Algorithms, *, quick: bool) -> Iterator[Candidate]:
    """The grid of an algorithm; the quick one is a corner of it."""
    etas = ("4", "16") if quick else ("1", "2", "4", "8", "16", "32", "64")
    epochs = (5,) if quick else (1, 2, 5, 10, 20)
    rounds = (10,) if quick else (5, 10, 20, 40)
    match algorithm:
        case "ssadmm" | "dpsgd":
            base = now.ssadmm if algorithm == "ssadmm" else now.dpsgd
            for eta, count in itertools.product(etas, epochs):
                yield base.model_copy(update={"eta0": eta, "epochs": count})
        case "mpadmm" | "mpadmm-primal":
            model = now.mpadmm if algorithm == "mpadmm" else now.mpadmm_primal
            for eta, count in itertools.product(etas, rounds):
                yield model.model_copy(update={"eta": eta, "epochs": count})
        case "dpadmm":
            for eta, count, rho in itertools.product(etas, rounds, ("0.5",) if quick else ("0.1", "0.5")):
                yield now.dpadmm.model_copy(update={"eta": eta, "epochs": count, "rho": rho})
        case "objp":
            for count, rho in itertools.product((2, 5) if quick else (1, 2, 5, 10), ("0.01", "0.05", "0.2")):
                yield now.objp.model_copy(update={"iterations": count, "rho": rho})
        case "dpsvrg":
            for eta, count, ratio in itertools.product(("0.5", "2", "8"), (1, 2, 5), ("0.5", "2", "8")):
                yield now.dpsvrg.model_copy(update={"eta": eta, "epochs": count, "anchor_ratio": ratio})


def tune(now: Algorithms, *, quick: bool, progress: Callable[[str], None]) -> Algorithms:
    """The best candidate of every algorithm."""
    study = _study()
    data = prepared(simulate(seed_of(SEED), ROWS // 8 if quick else ROWS), study.scaling)
    chosen: dict[str, Candidate] = {}
    for algorithm in study.algorithms:
        field = algorithm.replace("-", "_")
        best = (-1.0, getattr(now, field))
        for candidate in candidates(algorithm, now, quick=quick):
            trial = now.model_copy(update={field: candidate})
            score = _score(study, algorithm, trial, data)
            progress(f"{algorithm}: {score:.4f} with {candidate.model_dump(mode='json')}")
            best = max(best, (score, candidate), key=lambda pair: pair[0])
        chosen[field] = best[1]
    rows = ROWS // 8 if quick else ROWS
    how = (
        f"`dpadmm experiment tune`: one simulated data set of {rows} rows (seed {SEED}, used by no study), a tenth "
        f"of it held out, {REPEATS} repeats; the best mean test accuracy over both lambdas, both accountings and "
        f"epsilon in {', '.join(EPSILONS)}, logistic regression. rho of ssADMM and mpADMM, schedules, batch size, "
        "parties and inner steps are the paper's."
    )
    return now.model_copy(update={**chosen, "how_chosen": how})


def _study() -> Study:
    study = load_study("synthetic")
    size = study.full.model_copy(update={"epsilons": EPSILONS, "folds": 10, "repeats": REPEATS, "datasets": 1})
    return study.model_copy(update={"full": size, "quick": size, "coverage": ()})


def _score(study: Study, algorithm: AlgorithmName, trial: Algorithms, data: Dataset) -> float:
    """Mean test accuracy over cells and repeats."""
    single = study.model_copy(update={"algorithms": (algorithm,)})
    plan: Plan = make_plan(
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
    scores = []
    for repeat in range(REPEATS):
        seed = seed_of(SEED, repeat)
        trained = train(algorithm, signed_rows(training), cells, algorithms=trial, setting=plan.setting, seed=seed)
        scores.append(float(metrics.accuracy(signed_rows(test), trained.models).mean()))
    return sum(scores) / len(scores)


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
