"""A time limit on a computation: what is known when it is reached is the answer, and what is not is refused.

`time_limit` raises `TimeLimitError` in the main thread when the time is up, and every second after that until the block
is left: a `CannotCertifyError`, so that a method that is interrupted counts as one without an answer and the search
goes on with what is cheaper. Enclosures stay certified; they only become wider.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from accountant.errors import TimeLimitError

AGAIN = 1.0


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Run the block for at most about so many seconds (None: without end); only the main thread can be interrupted."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not usable:
        yield
        return

    def expired(_number: int, _frame: FrameType | None) -> None:
        raise TimeLimitError(f"the time limit of {seconds:g} s was reached")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
