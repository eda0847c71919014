"""A study small enough to run in a second, with noise that needs no accountant."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.config import AccountingName, AlgorithmName, Algorithms, Study, load_algorithms, load_study
from experiments.data import prepared
from experiments.noise import Level, NoiseSetting
from experiments.plan import StudyPlan, make_plan
from experiments.runner import Work
from experiments.synthetic import simulate
from experiments.training import seed_of

ROWS = 300
SHORT = {
    "ssadmm": {"epochs": 1},
    "dpsgd": {"epochs": 1},
    "mpadmm": {"epochs": 2},
    "mpadmm_primal": {"epochs": 2},
    "dpadmm": {"epochs": 2},
    "objp": {"iterations": 2},
    "dpsvrg": {"epochs": 1},
    "objp_once": {"inner_steps": 10},
}


def short_algorithms() -> Algorithms:
    packaged = load_algorithms()
    changed = {name: getattr(packaged, name).model_copy(update=update) for name, update in SHORT.items()}
    return packaged.model_copy(update=changed)


def small_study(*, folds: int = 2, repeats: int = 2, datasets: int = 1) -> Study:
    study = load_study("synthetic")
    size = study.full.model_copy(
        update={"folds": folds, "repeats": repeats, "datasets": datasets, "rows": ROWS, "epsilons": ("0.4", "1.0")}
    )
    return study.model_copy(
        update={"full": size, "quick": size, "losses": ("logistic", "huber"), "lambdas": ("0.01", "0.05")}
    )


@dataclass(frozen=True, slots=True)
class Proportional:
    """Noise inversely proportional to epsilon, twice as much under the paper's accounting."""

    setting: NoiseSetting

    def level(self, algorithm: AlgorithmName, accounting: AccountingName, epsilon: str, loss: str) -> Level:
        sigma = (2 if accounting == "paper" else 1) * 0.01 / float(epsilon)
        return Level(sigma * (100 if algorithm in {"objp", "objp-once"} else 1), sigma, 0.0, "test", epsilon)


def small_work(study: Study | None = None, *, tag: str = "") -> Work:
    study = study or small_study()
    datasets = tuple(
        prepared(simulate(seed_of(study.seed, index), ROWS), "none") for index in range(study.full.datasets)
    )
    plan: StudyPlan = make_plan(
        study,
        short_algorithms(),
        study.full,
        records=ROWS,
        calibrator_for=Proportional,
        data_digest=tag,
        progress=lambda _: None,
    )
    return Work(plan, datasets)
