"""What takes too long is not concluded, even where the interruption comes out as another exception."""

from __future__ import annotations

import math
import re
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from accountant.errors import TimeLimitError
from accountant.limits import time_limit
from audits.gate.options import GateRun
from tests.audits.gate.test_gate import REFERENCE, claim_file, dpadmm
from verification.judge import Result, seconds_for_all
from verification.outcome import About, Outcome


def test_what_takes_too_long_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(TimeLimitError), time_limit(0.05):
        time.sleep(30)
    assert time.monotonic() - began < 10


def test_an_interruption_that_was_turned_into_something_else_is_still_one() -> None:
    def swallowing() -> None:
        try:
            time.sleep(30)
        except TimeLimitError:
            raise SystemError("returned a result with an exception set") from None

    with pytest.raises(TimeLimitError), time_limit(0.05):
        swallowing()


def test_other_exceptions_pass_and_the_alarm_is_off_afterwards() -> None:
    handler, (left, _) = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    with pytest.raises(KeyError), time_limit(30):
        raise KeyError("x")
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL)[0] <= left


def test_elsewhere_than_in_the_main_thread_there_is_no_limit() -> None:
    done = []

    def work() -> None:
        with time_limit(0.001):
            time.sleep(0.05)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


@pytest.mark.parametrize(
    ("asked", "late", "processes", "needed"), [([1.0, 3.0], 2, 1, 8.0), ([1.0, 3.0], 2, 2, 4.0), ([], 3, 1, math.inf)]
)
def test_questions_that_were_not_reached_take_as_long_as_those_that_were(
    asked: list[float], late: int, processes: int, needed: float
) -> None:
    results = [Result(About(), Outcome.STANDS, seconds=seconds) for seconds in asked]
    results += [Result(About(), Outcome.INCONCLUSIVE, late=True)] * late
    assert seconds_for_all(results, processes) == needed


@pytest.mark.parametrize(
    ("needed", "given", "said"), [(40.0, 10.0, "240s"), (9.0, 10.0, "60s"), (math.inf, 1.0, "300s")]
)
def test_the_budget_that_would_suffice_grows_with_what_was_missing(needed: float, given: float, said: str) -> None:
    run = SimpleNamespace(claims=SimpleNamespace(gate=SimpleNamespace(budget=60.0)))
    assert f'budget = "{said}"' in GateRun.enough_time(cast("GateRun", run), needed, given)


@pytest.mark.slow
def test_a_spent_budget_says_what_was_not_reached_and_what_would_suffice(tmp_path: Path) -> None:
    path = claim_file(tmp_path, REFERENCE, ('budget = "5m"', 'budget = "1s"'))
    done = dpadmm("gate", str(path), "--workers", "1")
    assert done.returncode == 3
    assert re.search(r'budget = "\d+s"', done.stdout)
    assert re.search(r"not reached: [a-z-]+/ssadmm/(small|claimed)", done.stdout)
