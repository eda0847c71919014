"""A limit of time for our own computations: what takes longer is not concluded."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class TookTooLongError(Exception):
    """The limit was reached."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLongError` inside when the time is over; in the main thread, where signals arrive.

    Compiled code that is interrupted inside a call back may turn it into another exception: whatever comes out after
    the time is over means that it was over.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    late = TookTooLongError(f"no result within {seconds:.3g} seconds")
    over = threading.Event()

    def ring(_number: int, _frame: FrameType | None) -> None:
        over.set()
        raise late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    except Exception as error:
        if over.is_set():
            raise late from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
