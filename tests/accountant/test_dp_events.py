"""DpEvents of dp-accounting: what an event means under each relation, what is refused, and there and back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from accountant import Gaussian, Laplace, Ledger, MpADMM, Poisson, Pure, SsADMM, epsilon
from accountant.certificates.certificate import ledger_record, read_ledger
from accountant.dp_events import (
    DEEPEST,
    Event,
    event_document,
    event_of_ledger,
    event_of_object,
    ledger_of_event,
    object_of_event,
    read_event_file,
)
from accountant.errors import AccountantError, InvalidQuantityError, NotPrivateError, UnsupportedSchemeError
from accountant.mechanisms.steps import GaussianStep, LaplaceStep, PoissonGaussianStep, SubsampledGaussianStep
from accountant.mechanisms.words import Neighbours
from accountant.numbers import float_up, fraction_of

REPLACED, ADDED = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE
GAUSSIAN: Event = {"class_name": "GaussianDpEvent", "noise_multiplier": "4"}
LAPLACE: Event = {"class_name": "LaplaceDpEvent", "noise_multiplier": "8"}
POISSON: Event = {"class_name": "PoissonSampledDpEvent", "sampling_probability": "0.01", "event": GAUSSIAN}
FIXED: Event = {
    "class_name": "SampledWithoutReplacementDpEvent",
    "source_dataset_size": 1000,
    "sample_size": 10,
    "event": GAUSSIAN,
}


def repeated(event: Event, count: object) -> Event:
    return {"class_name": "SelfComposedDpEvent", "event": event, "count": count}


def composed(*events: Event) -> Event:
    return {"class_name": "ComposedDpEvent", "events": list(events)}


def test_replacing_a_record_moves_a_sum_twice_as_far_as_adding_one() -> None:
    assert ledger_of_event(GAUSSIAN, REPLACED).steps == (GaussianStep(Fraction(1, 4), 1),)
    assert ledger_of_event(GAUSSIAN, ADDED).steps == (GaussianStep(Fraction(1, 16), 1, neighbours=ADDED),)
    assert ledger_of_event(LAPLACE, REPLACED).steps == (LaplaceStep(Fraction(1, 4), 1, REPLACED),)
    assert ledger_of_event(LAPLACE, ADDED).steps == (LaplaceStep(Fraction(1, 8), 1, ADDED),)


def test_a_composition_that_is_repeated_takes_turns() -> None:
    """Its list of steps does not show the order, and no bound may rest on it."""
    other: Event = {**FIXED, "sample_size": 20}
    for event, ordered in (
        (composed(repeated(FIXED, 5), repeated(other, 3)), True),
        (repeated(composed(FIXED, other), 1), True),
        (repeated(composed(FIXED, other), 4), False),
        (composed(LAPLACE, repeated(repeated(composed(FIXED, other), 1), 2)), False),
    ):
        ledger = ledger_of_event(event, REPLACED)
        assert ledger.ordered is ordered
        assert read_ledger(ledger_record(ledger)).ordered is ordered
        assert (ledger + ledger).ordered is ordered


def test_batches_have_the_theorem_of_their_relation_and_no_other() -> None:
    assert ledger_of_event(FIXED, REPLACED).steps == (SubsampledGaussianStep(Fraction(1, 100), Fraction(2), 1),)
    assert ledger_of_event(POISSON, ADDED).steps == (PoissonGaussianStep(Fraction(1, 100), Fraction(4), 1),)
    with pytest.raises(UnsupportedSchemeError, match="under replace-one"):
        ledger_of_event(POISSON, REPLACED)
    with pytest.raises(UnsupportedSchemeError, match="under add-or-remove"):
        ledger_of_event(FIXED, ADDED)


def test_compositions_multiply_and_add() -> None:
    event = composed(repeated(composed(GAUSSIAN, repeated(FIXED, 3)), 5), {"class_name": "NoOpDpEvent"}, LAPLACE)
    assert ledger_of_event(event, REPLACED).steps == (
        GaussianStep(Fraction(1, 4), 5),
        SubsampledGaussianStep(Fraction(1, 100), Fraction(2), 15),
        LaplaceStep(Fraction(1, 4), 1, REPLACED),
    )


def nested(depth: int) -> Event:
    event = GAUSSIAN
    for _ in range(depth):
        event = composed(event)
    return event


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"class_name": "ZCDpEvent", "rho": "1", "xi": "0"}, "no theorem is implemented for a ZCDpEvent"),
        ({"class_name": "NoOpDpEvent"}, "nothing to price"),
        ({"class_name": "UnsupportedDpEvent"}, "no theorem"),
        (repeated(GAUSSIAN, 0), "count"),
        (repeated(GAUSSIAN, True), "count"),
        ({**GAUSSIAN, "noise_multiplier": 0.1}, "exact number"),
        ({**GAUSSIAN, "noise_multiplier": "0"}, "noise_multiplier"),
        ({**GAUSSIAN, "noise_multiplier": "nan"}, "noise_multiplier"),
        ({**GAUSSIAN, "standard_deviation": "1"}, "has the fields"),
        ({"class_name": "GaussianDpEvent"}, "has the fields"),
        ({**GAUSSIAN, "module_name": "elsewhere"}, "only events of"),
        ({**FIXED, "sample_size": 1001}, "at most"),
        ({**FIXED, "event": LAPLACE}, "around a GaussianDpEvent only"),
        ({**FIXED, "event": repeated(GAUSSIAN, 2)}, "around a GaussianDpEvent only"),
        ({"class_name": "ComposedDpEvent", "events": GAUSSIAN}, "a list"),
        (nested(DEEPEST + 1), "deep"),
        ({"noise_multiplier": "1"}, "class_name"),
    ],
)
def test_what_is_not_an_event_with_a_theorem_is_refused_by_name(event: Event, message: str) -> None:
    with pytest.raises(AccountantError, match=message):
        ledger_of_event(event, REPLACED)


def test_no_noise_has_no_price() -> None:
    with pytest.raises(NotPrivateError):
        ledger_of_event(composed(GAUSSIAN, {"class_name": "NonPrivateDpEvent"}), REPLACED)


LEDGERS: dict[str, Ledger] = {
    "ssadmm": SsADMM(records=1000, batch=10, noise_multiplier=2, iterations=50).ledger(),
    "gaussian": Gaussian(noise_multiplier="1/3", iterations=4).ledger(),
    "mpadmm": MpADMM(records=1000, eta=1, rho="0.7", clip=1, sigma="0.01", iterations=10).ledger(),
    "poisson": Poisson(sampling_rate="1/30", noise_multiplier=2, iterations=10).ledger(),
    "laplace": Laplace(noise_multiplier=3, iterations=7).ledger(),
    "laplace, add-or-remove": Laplace(noise_multiplier=3, iterations=7, neighbours="add-or-remove").ledger(),
    "phases": SsADMM(records=1000, batch=10, noise_multiplier=2, iterations=50).ledger()
    + Gaussian(noise_multiplier=9).ledger(),
}


@pytest.mark.parametrize("name", LEDGERS)
def test_there_and_back_costs_the_same_to_16_digits_and_never_less(name: str, tmp_path: Path) -> None:
    ledger, path = LEDGERS[name], tmp_path / "event.json"
    path.write_text(json.dumps(event_document(ledger)))
    back = ledger_of_event(*read_event_file(path))
    assert back.neighbours is ledger.neighbours
    method = "optimal-pure" if ledger.is_pure else "rdp-cks" if not ledger.is_subsampled else "lemma2-cks"
    once, again = (epsilon(each, "1e-6", methods=[method]).methods[method].epsilon for each in (ledger, back))
    near, far = fraction_of(once.upper), fraction_of(again.upper)
    assert abs(far - near) <= near / 10**13
    for step, other in zip(ledger.steps, back.steps, strict=True):
        assert step.count == other.count
        if isinstance(step, GaussianStep) and isinstance(other, GaussianStep):
            assert other.ratio_squared >= step.ratio_squared


def test_what_no_event_describes_is_not_written() -> None:
    for ledger in (
        Pure(epsilon="0.1", iterations=3).ledger(),
        Gaussian(noise_multiplier=2, noise="discrete").ledger(),
        Laplace(noise_multiplier=2, sampling="without-replacement", sampling_rate="0.1").ledger(),
        SsADMM(records=100, batch=10, noise_multiplier=2, iterations=5, noise="discrete").ledger(),
        MpADMM(records=10, eta=4, rho="0.5", clip=1, sigma="0.1", iterations=2, sensitivity="printed").ledger(),
    ):
        with pytest.raises(UnsupportedSchemeError):
            event_of_ledger(ledger)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"event": {}}', '{"format": "dpadmm-dp-event", "version": 2, "neighbours": "x", "event": {}}']
)
def test_an_event_file_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_text(text)
    with pytest.raises(InvalidQuantityError):
        read_event_file(path)


def test_an_object_of_another_package_is_no_event() -> None:
    with pytest.raises(UnsupportedSchemeError, match="only events of"):
        event_of_object(Fraction(1))


@pytest.mark.peers
def test_objects_go_there_and_back_and_theirs_is_what_they_answer() -> None:
    dp = pytest.importorskip("dp_accounting")
    event = dp.ComposedDpEvent(
        [dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.1)), 100), dp.LaplaceDpEvent(20.0)]
    )
    plain = event_of_object(event)
    assert object_of_event(plain) == event
    ledger = ledger_of_event(plain, ADDED)
    assert ledger.steps[0] == PoissonGaussianStep(Fraction(0.01), Fraction(1.1), 100)
    theirs = dp.pld.PLDAccountant().compose(dp.SelfComposedDpEvent(dp.GaussianDpEvent(3.0), 5)).get_epsilon(1e-6)
    gaussian = event_of_object(dp.SelfComposedDpEvent(dp.GaussianDpEvent(3.0), 5))
    ours = epsilon(ledger_of_event(gaussian, REPLACED), "1e-6", methods=["gdp"]).epsilon
    assert theirs < ours.lower  # one is for added, the other for replaced records
    half = event_of_object(dp.SelfComposedDpEvent(dp.GaussianDpEvent(6.0), 5))
    same = epsilon(ledger_of_event(half, REPLACED), "1e-6", methods=["gdp"]).epsilon
    assert float_up(same.upper) == pytest.approx(theirs, rel=1e-3)
