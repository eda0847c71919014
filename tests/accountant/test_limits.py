"""The time limit ends every loop, in every thread, and leaves what was found; no integral runs away before it."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from flint import acb, arb

from accountant import (
    certificate,
    delta_curve,
    epsilon,
    mechanism_from,
    pricing,
    read_certificate,
    recheck,
    renyi_curve,
)
from accountant.errors import AccountantError, CannotCertifyError, TimeLimitError
from accountant.limits import check_time, time_left, time_limit
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.registry import read_ledger_file
from accountant.numbers import arb_precision
from accountant.pld import composition
from accountant.pld.composition import compose
from accountant.pld.parts import attained_by_parts, first_answer
from accountant.pricing import MethodResult
from accountant.profiles.one_step import SubsampledGaussian
from accountant.renyi import integrals

BATCHES = {"algorithm": "ssadmm", "records": 48842, "batch": 221, "noise_multiplier": "4", "iterations": 2210}
STEPS = [SubsampledGaussian(Fraction(1, k), Fraction(1), 3) for k in (2, 3, 4, 5)]


def test_without_a_limit_there_is_time() -> None:
    check_time()
    assert time_left() == float("inf")


def test_the_earlier_of_two_limits_holds() -> None:
    with time_limit(50), time_limit(100):
        assert time_left() <= 50
    with time_limit(100), time_limit(None), time_limit(50):
        assert time_left() <= 50
    assert time_left() == float("inf")


def test_a_busy_loop_is_interrupted() -> None:
    with pytest.raises(TimeLimitError), time_limit(0.05):
        sum(iter(lambda: 0, 1))  # never ends


def when_the_time_is_up(work: Callable[[], object]) -> object:
    """Return what a call answers whose time is up already; in a thread, where no signal interrupts it."""
    answers: list[object] = []

    def limited() -> None:
        with time_limit(0.001):
            time.sleep(0.01)
            try:
                answers.append(work())
            except TimeLimitError as reason:
                answers.append(reason)

    thread = threading.Thread(target=limited)
    thread.start()
    thread.join()
    return answers[0]


def test_a_thread_is_told_between_pieces_of_work() -> None:
    assert isinstance(when_the_time_is_up(check_time), TimeLimitError)


@pytest.mark.parametrize(("set_before", "limit"), [(50, 1000), (1000, 50)])
def test_a_timer_that_was_set_before_goes_on(set_before: float, limit: float) -> None:
    handler = signal.signal(signal.SIGALRM, lambda _number, _frame: None)
    before = signal.setitimer(signal.ITIMER_REAL, set_before)
    ours = signal.getsignal(signal.SIGALRM)
    try:
        with time_limit(limit):
            assert signal.getitimer(signal.ITIMER_REAL)[0] <= 50  # the earlier one
        assert limit < signal.getitimer(signal.ITIMER_REAL)[0] <= set_before or set_before == 50
        assert signal.getsignal(signal.SIGALRM) is ours
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *before)


def test_when_the_time_is_up_no_further_part_is_tried_and_the_best_one_is_kept() -> None:
    tried = 0

    def own(_part: object) -> Fraction:
        nonlocal tried
        tried += 1
        return Fraction(tried)

    assert when_the_time_is_up(lambda: attained_by_parts(STEPS, own, lambda _part: 100.0)) == 0
    assert tried == 0
    assert attained_by_parts(STEPS, own, lambda _part: 100.0) == tried == 2 ** len(STEPS) - 1


def test_when_the_time_is_up_parts_are_ranked_without_another_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = compose(STEPS)

    def guessed(*_given: object) -> float:
        raise AssertionError("a tilt was searched for")

    monkeypatch.setattr(composition, "chernoff_epsilon", guessed)
    assert when_the_time_is_up(lambda: profile.chernoff(Fraction(1, 10**6)) > 1)
    with pytest.raises(AssertionError):
        profile.chernoff(Fraction(1, 10**6))


def test_when_the_time_is_up_no_further_candidate_is_tried() -> None:
    tried = 0

    def refuses() -> Fraction:
        nonlocal tried
        tried += 1
        raise CannotCertifyError("no")

    assert when_the_time_is_up(lambda: first_answer(iter([refuses] * 5))) is None
    assert tried == 0


def test_one_method_does_not_use_up_the_time_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    known = epsilon(mechanism_from(BATCHES), "1e-8")

    def answered(_ledger: object, _delta: object, name: str, *, digits: int) -> MethodResult:
        while name == "tight-rdp-cks":
            check_time()
        return known.methods[name]

    monkeypatch.setattr(pricing, "method_epsilon", answered)
    with time_limit(2):
        report = epsilon(mechanism_from(BATCHES), "1e-8")
    assert set(report.refused) == {"tight-rdp-cks"}
    assert report.epsilon == known.epsilon


def test_recheck_has_a_limit_of_its_own() -> None:
    document = certificate(epsilon(mechanism_from(BATCHES), "1e-8"))
    began = time.monotonic()
    with pytest.raises(TimeLimitError):
        recheck(document, seconds=0.01)
    assert time.monotonic() - began < 20  # it takes seconds in full, on a busy machine too


def test_a_comparison_that_the_signal_breaks_is_the_limit() -> None:
    """As mpmath's: it takes whatever is raised while it converts for numbers that cannot be compared."""

    def interrupted() -> None:
        with contextlib.suppress(TimeLimitError):
            time.sleep(5)
        raise TypeError("'>' not supported")

    with pytest.raises(TimeLimitError), time_limit(0.05):
        interrupted()
    with pytest.raises(TypeError), time_limit(5):
        raise TypeError("a fault of ours")


ORDERS = (Fraction(1025, 1024), Fraction(3, 2), Fraction(100001, 10), Fraction(2**40 + 1))


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize(
    ("rate", "noise"), [("49/1000000", "22960000000000000000"), ("1/100", "1"), ("1/2", "1/10000")]
)
def test_the_evaluations_of_a_renyi_integral_are_limited(
    monkeypatch: pytest.MonkeyPatch, alpha: Fraction, rate: str, noise: str
) -> None:
    evaluations = 0
    honest = integrals.integral

    def counted(function: integrals.Integrand, points: list[arb], bits: int) -> arb:
        def counting(z: acb, analytic: bool) -> acb:
            nonlocal evaluations
            evaluations += 1
            return function(z, analytic)

        return honest(counting, points, bits)

    monkeypatch.setattr(integrals, "integral", counted)
    with arb_precision(72):
        moment = integrals.poisson_moment(Fraction(rate), Fraction(noise), alpha, 40)
    assert evaluations < 20_000  # without a limit 77,000 and more, for several seconds
    hides_something = Fraction(noise) >= 1 or alpha < 2
    if hides_something and alpha < 10**6:  # beyond, where nothing is private, there may be no answer
        assert moment.rel_accuracy_bits() > 30


def test_much_noise_does_not_cost_the_digits_of_a_poisson_batch() -> None:
    rate, noise, alpha = Fraction(49, 10**6), Fraction(2296 * 10**16), Fraction(3, 2)
    with arb_precision(120):
        found = integrals.poisson_moment(rate, noise, alpha, 110)
        second = float(alpha * (alpha - 1) / 2 * (rate / noise) ** 2)  # all other terms are below 1e-20 of it
    assert float(found) == pytest.approx(second, rel=1e-12)
    assert found.rel_accuracy_bits() > 90


def test_the_last_resort_answers_after_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pricing.method_epsilon

    def late(ledger: Ledger, delta: Fraction, name: str, *, digits: int) -> MethodResult:
        if name != "unsampled":
            raise CannotCertifyError("no")
        return honest(ledger, delta, name, digits=digits)

    monkeypatch.setattr(pricing, "method_epsilon", late)
    report = when_the_time_is_up(lambda: epsilon(mechanism_from(BATCHES), "1e-8"))
    assert isinstance(report, pricing.Report)
    assert set(report.methods) == {"unsampled"}
    assert set(report.refused) > {"profile"}


def test_rechecking_in_a_thread_ends_as_well() -> None:
    document = certificate(epsilon(mechanism_from(BATCHES), "1e-8", methods=["profile"]))
    assert isinstance(when_the_time_is_up(lambda: recheck(document)), TimeLimitError)


EXTREME = ("1e-100_000", "1e5_000_000", "1e-1999", "1e1999", "9" * 190, "1e-300", "1e300", "1/" + "9" * 190)


@pytest.mark.parametrize("field", ["noise_multiplier", "records", "batch", "iterations", "delta", "alpha"])
def test_no_short_input_exceeds_the_time_limit_by_more_than_a_second(field: str, tmp_path: Path) -> None:
    """In a ledger file, as delta, as a Renyi order: refused, or answered in time."""
    for text in EXTREME:
        began = time.process_time()
        entry = dict(BATCHES) if field in {"delta", "alpha"} else {**BATCHES, field: text}
        if field in {"records", "batch", "iterations"}:
            entry[field] = int("9" * 190)
        file = tmp_path / "ledger.json"
        file.write_text(json.dumps([entry]))
        with contextlib.suppress(AccountantError), time_limit(1):
            ledger = read_ledger_file(file)
            if field == "alpha":
                renyi_curve(ledger, [text])
            else:
                epsilon(ledger, text if field == "delta" else "1e-6")
        assert time.process_time() - began < 2, text


@pytest.mark.parametrize("text", EXTREME)
def test_an_extreme_number_in_a_certificate_is_refused_in_time(text: str) -> None:
    document = certificate(
        epsilon(mechanism_from({"algorithm": "gaussian", "noise_multiplier": "3"}), "1e-6")
    ).to_json()
    for path in (("delta",), ("epsilon", "upper"), ("ledger", "steps", 0, "ratio_squared")):
        forged = json.loads(json.dumps(document))
        place = forged
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = text
        began = time.process_time()
        with pytest.raises(AccountantError):
            recheck(read_certificate(json.dumps(forged)), seconds=1)
        assert time.process_time() - began < 2


FAULTS = (
    ({"algorithm": "laplace", "iterations": 1000, "noise_multiplier": "1e1999"}, "1e-20"),
    ({"algorithm": "poisson", "iterations": 10**18, "sampling_rate": "1e-1999", "noise_multiplier": "1e6"}, "1e-300"),
    ({**BATCHES, "noise_multiplier": "1e1999"}, "1e-300"),
    ({**BATCHES, "noise_multiplier": "1e17", "group_size": 2}, "1e-1999"),
    ({**BATCHES, "noise_multiplier": "1e-1999", "sampling": "shuffle"}, "0.5"),
    ({"algorithm": "mpadmm", "records": 3, "eta": "1e17", "rho": "1e1999", "clip": "1", "sigma": "1e-1999"}, "0.9"),
)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("entry", "delta"), FAULTS, ids=lambda value: value["algorithm"] if isinstance(value, dict) else ""
)
def test_extreme_parameters_have_an_answer_or_a_refusal_and_no_fault(entry: dict[str, object], delta: str) -> None:
    """Numbers that float64 cannot hold: found by random ledgers of such numbers."""
    ledger = mechanism_from({"iterations": 1, **entry}).ledger()
    for epsilon_asked in ("1e1999", "1e300", "0"):
        with contextlib.suppress(AccountantError), time_limit(1):
            delta_curve(ledger)(epsilon_asked)
    with contextlib.suppress(AccountantError), time_limit(1):
        epsilon(ledger, delta)
