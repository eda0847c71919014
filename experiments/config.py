"""What a study runs, as a TOML file: validated whole before anything is computed."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from experiments.errors import ConfigError

AlgorithmName = Literal["ssadmm", "mpadmm", "mpadmm-primal", "dpsgd", "dpadmm", "objp", "objp-once", "dpsvrg"]
AccountingName = Literal["paper", "certified"]
LossName = Literal["logistic", "huber"]
DataName = Literal["adult", "ipums-br", "synthetic"]


def _positive_decimal(text: str) -> str:
    """Reals that reach the accountant are decimal strings: what is meant, not the nearest binary float."""
    try:
        positive = Fraction(text) > 0
    except (ValueError, ZeroDivisionError):
        positive = False
    if not positive:
        raise ValueError(f"must be a decimal string > 0, got {text!r}")
    return text


Decimal = Annotated[str, AfterValidator(_positive_decimal)]
Count = Annotated[int, Field(ge=1)]
ModelT = TypeVar("ModelT", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Stochastic(_Strict):
    """ssADMM and DP-SGD: eta^k = eta0/h in expected epoch h, batches of sqrt(n)."""

    eta0: Decimal
    epochs: Count
    rho: Decimal = "1"  # DP-SGD has no penalty


class Epochwise(_Strict):
    """mpADMM and DP-ADMM: full gradients, a constant step size."""

    eta: Decimal
    epochs: Count
    rho: Decimal
    parties: Count = 1


class Objective(_Strict):
    """ADMM-objP: the budget in equal parts, so many gradient steps a solve."""

    iterations: Count
    rho: Decimal
    inner_steps: Count


class VarianceReducedOptions(_Strict):
    """DP-SVRG: nu of the full gradient = anchor_ratio times nu of an inner step; an inner loop is one epoch."""

    eta: Decimal
    epochs: Count
    anchor_ratio: Decimal


class Algorithms(_Strict):
    """The parameters of every algorithm, and how those were chosen that the paper leaves open."""

    how_chosen: str
    ssadmm: Stochastic
    dpsgd: Stochastic
    mpadmm: Epochwise
    mpadmm_primal: Epochwise
    dpadmm: Epochwise
    objp: Objective
    objp_once: Objective  # a single solve: objective perturbation without iterating
    dpsvrg: VarianceReducedOptions


class Size(_Strict):
    """How much of the study is run; the quick one draws the same figures from fewer runs."""

    folds: Count
    repeats: Count
    epsilons: tuple[Decimal, ...] = Field(min_length=1)
    datasets: Count = 1  # of simulated data only
    rows: Count | None = None  # a sample of the records; None for all of them


class Study(_Strict):
    """One data set, or one family of simulated ones, under all algorithms."""

    name: str
    data: DataName
    scaling: Literal["none", "unit", "min-max"]  # unit: public bounds [0, 1]; min-max reads the data (E12)
    losses: tuple[LossName, ...] = Field(min_length=1)
    lambdas: tuple[Decimal, ...] = Field(min_length=1)
    algorithms: tuple[AlgorithmName, ...] = Field(min_length=1)
    accountings: tuple[AccountingName, ...] = ("paper", "certified")
    delta: Decimal
    seed: int
    coverage: tuple[Count, ...] = ()  # the k of xi_k
    coverage_epsilons: tuple[Decimal, ...] = ()
    full: Size
    quick: Size

    def size(self, *, quick: bool) -> Size:
        """The amount of work that is asked for."""
        return self.quick if quick else self.full


def load_study(name_or_path: str) -> Study:
    """A study of this package by name, or a file of your own."""
    return _validated(Study, name_or_path)


def load_algorithms(name_or_path: str = "algorithms") -> Algorithms:
    """The algorithms' parameters of this package, or a file of your own."""
    return _validated(Algorithms, name_or_path)


def _validated(model: type[ModelT], name_or_path: str) -> ModelT:
    try:
        # Through JSON: in strict mode only JSON may turn an array into a tuple.
        return model.model_validate_json(json.dumps(tomllib.loads(_text(name_or_path))))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{name_or_path}: {place}: {first['msg']}, got {first['input']!r}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name_or_path}: not TOML: {error}") from None


def _text(name_or_path: str) -> str:
    path = Path(name_or_path)
    if path.suffix == ".toml":
        if not path.is_file():
            raise ConfigError(f"no such study file: {path}")
        return path.read_text("utf-8")
    packaged = resources.files("experiments") / "configs" / f"{name_or_path}.toml"
    if not packaged.is_file():
        raise ConfigError(f"no study called {name_or_path!r}; give a file whose name ends in .toml for one of your own")
    return packaged.read_text("utf-8")
