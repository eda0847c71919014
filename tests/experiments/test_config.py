"""A study says what is run, or is refused with the place and the value."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.config import load_algorithms, load_study
from experiments.errors import ConfigError

PAPER_EPSILONS = {"0.1", "0.2", "0.4", "0.6", "0.8", "1.0"}


@pytest.mark.parametrize("name", ["adult", "ipums-br", "synthetic"])
def test_packaged_studies_are_the_papers(name: str) -> None:
    study = load_study(name)
    assert study.delta == "1e-8"
    assert study.lambdas == ("0.0001", "0.001")
    assert set(study.full.epsilons) >= PAPER_EPSILONS
    assert max(map(float, study.full.epsilons)) > 1
    assert (study.full.folds, study.full.repeats) == (10, 10)
    assert set(study.algorithms) >= {"ssadmm", "mpadmm", "dpsgd", "dpadmm", "objp", "dpsvrg"}
    if name == "synthetic":
        assert study.losses == ("logistic",)
        assert study.full.datasets == 10
        assert study.coverage == (20, 25, 30, 40)
        assert study.coverage_epsilons == ("0.4", "0.6", "0.8", "1.0")
    else:
        assert study.losses == ("logistic", "huber")


def test_what_the_paper_states_is_not_tuned() -> None:
    algorithms = load_algorithms()
    assert (algorithms.ssadmm.rho, algorithms.mpadmm.rho) == ("0.25", "0.5")
    assert algorithms.dpadmm.parties == 2
    assert algorithms.objp.inner_steps == 20
    assert "simulated" in algorithms.how_chosen


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('delta = "1e-8"', "delta = 1e-8", "delta.*valid string"),
        ('delta = "1e-8"', 'delta = "-1"', "delta.*decimal string > 0"),
        ('delta = "1e-8"', 'delta = "tiny"', "delta.*decimal string > 0"),
        ('"dpsgd", ', '"dpsgdd", ', "algorithms.3"),
        ("folds = 10", "folds = 0", "full.folds"),
        ("folds = 10", "foldz = 10", "full.folds.*required"),
        ("seed = 3", "seed = 3\nsurprise = 1", "surprise"),
        ("seed = 3", "seed = ", "not TOML"),
    ],
)
def test_a_wrong_study_is_refused_by_name_and_value(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    from importlib import resources

    text = (resources.files("experiments") / "configs" / "synthetic.toml").read_text("utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ConfigError, match=complaint):
        load_study(str(path))


def test_a_study_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="no study called 'adlut'"):
        load_study("adlut")
    with pytest.raises(ConfigError, match="no such study file"):
        load_study("missing.toml")
