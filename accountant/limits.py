"""A time limit on a computation: what is known when it is reached is the answer, and what is not is refused.

Inside `time_limit` two things end a computation whose time is up with `TimeLimitError`, a `CannotCertifyError`, so that
it counts as a method without an answer. Enclosures stay certified; they only become wider.

- `check_time`, called by every loop that goes on after a `CannotCertifyError`: without it each candidate left would be
  tried anew. It works in every thread.
- A signal, in the main thread, for whatever runs between two such calls; again every two seconds, should something
  swallow it.

Limits may be nested: the earlier end holds. A timer that others have set is left alone where it is due earlier, and set
again otherwise.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from types import FrameType

from accountant.errors import AccountantError, TimeLimitError

AGAIN = 2.0
_END: ContextVar[float | None] = ContextVar("end of the time limit", default=None)

_PROCESSOR_END: ContextVar[float] = ContextVar("end of the processor's time", default=math.inf)


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Run the block for at most about so many seconds (None: no limit but those around it)."""
    if seconds is None or seconds >= time_left():
        yield
        return
    token = _END.set(time.monotonic() + seconds)
    try:
        with _alarm(seconds):
            yield
    finally:
        _END.reset(token)


@contextlib.contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Run the block until `check_time` finds so many seconds of the processor used: the same on a busy machine."""
    token = _PROCESSOR_END.set(min(time.process_time() + seconds, _PROCESSOR_END.get()))
    try:
        yield
    finally:
        _PROCESSOR_END.reset(token)


def time_left() -> float:
    """Return the seconds that are left, infinitely many where nothing is limited."""
    end = _END.get()
    return float("inf") if end is None else end - time.monotonic()


def check_time() -> None:
    """Raise `TimeLimitError` where the time is up."""
    if time_left() <= 0 or time.process_time() >= _PROCESSOR_END.get():
        raise TimeLimitError("the time limit was reached")


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block by a signal, where that is possible."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= seconds:
        yield
        return

    message, fired = f"the time limit of {seconds:g} s was reached", False

    def expired(_number: int, _frame: FrameType | None) -> None:
        nonlocal fired
        fired = True
        raise TimeLimitError(message)

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, expired)
    left, interval = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), AGAIN)
    try:
        yield
    except Exception as error:
        # what the signal interrupts may come out as something else: of a comparison of mpmath's, or of compiled code
        if fired and not isinstance(error, AccountantError):
            raise TimeLimitError(message) from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 1e-6), interval)
