"""The golden accounting vectors: fresh, valid, certified, and confirmed by another library."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema
import pytest

from accountant.certificates import mpmath_route as second_route
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import PoissonGaussianStep, SubsampledGaussianStep
from accountant.numbers import CONTEXT, fraction_of
from accountant.renyi.conversion import Conversion
from accountant.renyi.moments import Subsampling
from tools.accounting_vector_sets import Vector, Vectors, parameter_sets
from tools.accounting_vectors import DATA, SCHEMA, main, vector

FILE = Vectors.model_validate_json(DATA.read_text("utf-8"))
SLOW_TO_CONFIRM = {"small-noise", "large-order", "cancellation"}


def test_the_file_follows_its_schema() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    assert schema == Vectors.model_json_schema()
    jsonschema.validate(json.loads(DATA.read_text("utf-8")), schema)


def test_there_are_two_hundred_sets_and_every_flag_is_used() -> None:
    assert len(FILE.vectors) >= 200
    assert len({v.id for v in FILE.vectors}) == len(FILE.vectors)
    assert {flag for v in FILE.vectors for flag in v.flags} == set(FILE.flags)
    assert {name for v in FILE.vectors for name in v.values} == set(FILE.quantities)


def test_fifty_digits_and_ends_in_order() -> None:
    for v in FILE.vectors:
        for name, enclosure in v.values.items():
            lower, upper = Fraction(enclosure.lower), Fraction(enclosure.upper)
            assert 0 <= lower <= upper, (v.id, name)
            assert upper - lower <= Fraction(2, 10**49) * upper, (v.id, name)


def test_no_amplified_order_is_dearer_than_its_neighbours_allow() -> None:
    for v in FILE.vectors:
        if "rdp_wbk27" in v.values:
            assert Fraction(v.values["rdp_wbk27"].lower) <= Fraction(v.values["rdp_lemma2"].upper), v.id
            assert Fraction(v.values["rdp_tight"].lower) <= Fraction(v.values["rdp_wbk27"].upper), v.id


def test_a_sample_is_generated_again_to_the_last_digit() -> None:
    for number, parameters in enumerate(parameter_sets(), start=1):
        if number % 12 == 0:
            assert vector(number, parameters) == FILE.vectors[number - 1]


@pytest.mark.slow
def test_the_files_are_what_the_generator_writes() -> None:
    assert main(["--check"]) == 0


def test_the_generator_refuses_unknown_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err


def confirmed(v: Vector) -> None:
    """mpmath, by definition, at 60 digits."""
    n = {name: Fraction(text) for name, text in v.inputs.items()}
    if v.kind == "gaussian":
        close(v, "delta", fraction_of(second_route.gaussian_delta(n["mu_squared"], n["epsilon"], 60)))
    elif v.kind == "poisson":
        step = PoissonGaussianStep(n["sampling_rate"], n["noise_multiplier"], 1)
        with CONTEXT.workdps(60):
            moment = second_route.log_moment(step, Subsampling.TIGHT, n["alpha"], 60)
            close(v, "rdp_poisson", fraction_of(moment) / (n["alpha"] - 1))
    elif v.kind == "without-replacement":
        book = Ledger((SubsampledGaussianStep(n["sampling_rate"], n["noise_multiplier"], int(n["count"])),))
        for name, theorem, conversion in (
            ("epsilon_lemma2_prop1", Subsampling.LEMMA2, Conversion.PROPOSITION1),
            ("epsilon_lemma2_cks", Subsampling.LEMMA2, Conversion.CKS),
            ("epsilon_wbk27_cks", Subsampling.WBK27, Conversion.CKS),
        ):
            found = second_route.epsilon_at_order(
                book, theorem, conversion, alpha=n["alpha"], delta=n["delta"], digits=60
            )
            close(v, name, fraction_of(found))


def close(v: Vector, name: str, value: Fraction) -> None:
    lower, upper = Fraction(v.values[name].lower), Fraction(v.values[name].upper)
    slack = value / 10**48
    assert lower - slack <= value <= upper + slack, (v.id, name)


def test_mpmath_confirms_the_vectors() -> None:
    for v in FILE.vectors[::12]:
        if not SLOW_TO_CONFIRM & set(v.flags):
            confirmed(v)


@pytest.mark.slow
def test_mpmath_confirms_every_vector() -> None:
    for v in FILE.vectors:
        if "small-noise" not in v.flags:
            confirmed(v)
