"""What takes too long is not concluded, even where the interruption comes out as another exception."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from audits.gate.price import TookTooLongError, time_limit


def test_what_takes_too_long_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(TookTooLongError), time_limit(0.05):
        time.sleep(30)
    assert time.monotonic() - began < 10


def test_an_interruption_that_was_turned_into_something_else_is_still_one() -> None:
    def swallowing() -> None:
        try:
            time.sleep(30)
        except TookTooLongError:
            raise SystemError("returned a result with an exception set") from None

    with pytest.raises(TookTooLongError), time_limit(0.05):
        swallowing()


def test_other_exceptions_pass_and_the_alarm_is_off_afterwards() -> None:
    with pytest.raises(KeyError), time_limit(30):
        raise KeyError("x")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


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
