"""The exact adversary keeps to a time limit, in a thread too, where no signal interrupts it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction

import pytest

from accountant import epsilon, mechanism_from
from accountant.errors import CannotCertifyError, TimeLimitError
from accountant.limits import check_time, time_limit
from accountant.numbers import fraction_of
from accountant.pld.adversary import method, ordering, search
from accountant.pld.adversary.search import certificate_for
from accountant.pricing import Report
from accountant.profiles.one_step import SubsampledGaussian

HARD = {"algorithm": "ssadmm", "records": 1000, "batch": 300, "noise_multiplier": "0.6", "iterations": 100000}
"""No hint is near, and the search of a certificate tests thousands of boxes."""
LIMIT = 1.0
SOON = 10.0
"""What a busy machine may add; the search in full takes minutes."""


@pytest.fixture(autouse=True)
def nothing_is_known_beforehand() -> None:
    """What another test has found in this process would be answered at once."""
    certificate_for.cache_clear()


@pytest.fixture
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every profile of a box takes a tenth of a second longer: no machine finds a certificate within the limit."""

    def late() -> None:
        time.sleep(0.1)
        check_time()

    monkeypatch.setattr(ordering, "check_time", late)


def in_a_thread(work: Callable[[], object]) -> object:
    answers: list[object] = []

    def caught() -> None:
        try:
            answers.append(work())
        except CannotCertifyError as reason:
            answers.append(reason)

    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()
    return answers[0]


def limited(seconds: float, work: Callable[[], object]) -> tuple[object, float]:
    """Return what is answered within a limit, and the seconds that it took."""

    def inside() -> object:
        with time_limit(seconds):
            return work()

    began = time.monotonic()
    answer = in_a_thread(inside)
    return answer, time.monotonic() - began


@pytest.mark.usefixtures("slow_machine")
def test_a_hard_question_ends_soon_after_the_limit_and_is_still_certified() -> None:
    report, seconds = limited(LIMIT, lambda: epsilon(mechanism_from(HARD), "1e-6", effort="tight"))
    assert seconds < SOON
    assert isinstance(report, Report)
    assert "adversary" in report.refused
    assert "time limit" in report.refused["adversary"]
    assert 0 < fraction_of(report.epsilon.least) <= fraction_of(report.epsilon.most)
    assert report.epsilon.most == min(result.epsilon.most for result in report.methods.values())


@pytest.mark.usefixtures("slow_machine")
def test_asked_for_the_adversary_alone_the_limit_is_a_refusal() -> None:
    answer, seconds = limited(LIMIT / 2, lambda: epsilon(mechanism_from(HARD), "1e-6", methods=["adversary"]))
    assert seconds < SOON
    assert isinstance(answer, CannotCertifyError)
    assert "time limit" in str(answer)


def test_a_search_that_was_cut_short_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = ordering.find_stairs

    def late(*given: object) -> str | None:
        """Find the first stairs, and use up the time on the others."""
        if found:
            raise TimeLimitError("the time limit was reached")
        found.append(searched(*given))  # type: ignore[arg-type]  # handed on as they are
        left[0] = 0.0
        return found[0]

    found: list[str | None] = []
    left = [60.0]
    monkeypatch.setattr(search, "find_stairs", late)
    monkeypatch.setattr("accountant.limits.time_left", lambda: left[0])
    with pytest.raises(TimeLimitError):
        certificate_for(0.0123, 0.9)
    assert found
    assert certificate_for.cache_info().currsize == 0


def test_the_best_composition_so_far_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_time(*_given: object) -> Fraction:
        raise TimeLimitError("the time limit was reached")

    run, delta = method.Run((SubsampledGaussian(Fraction(1, 10), Fraction(2), 20),)), Fraction(1, 10**6)
    whole, _ = method.adversary_epsilon(run, delta)
    monkeypatch.setattr(method, "symmetrised_epsilon", no_time)
    cut_short, first = method.adversary_epsilon(run, delta)
    assert cut_short >= whole
    assert first.lattice.delta_upper(cut_short) <= delta
    monkeypatch.setattr(method, "lattice_epsilon", no_time)
    with pytest.raises(TimeLimitError):
        method.adversary_epsilon(run, delta)
