"""Progress of a run on standard error, a line every two seconds; nothing about the records is in it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

SECONDS = 2.0


@contextlib.contextmanager
def reported(name: str, steps: int) -> Iterator[Callable[[], None]]:
    """A function to call after each step; it reports when two seconds have passed, and at the end."""
    began = shown = time.monotonic()
    done = 0

    def tick() -> None:
        nonlocal done, shown
        done += 1
        if time.monotonic() - shown > SECONDS:
            shown = time.monotonic()
            left = (shown - began) * (steps - done) / done
            sys.stderr.write(f"{name}: {done:,} of {steps:,} iterations, about {left:.0f} s left\n")

    yield tick
    sys.stderr.write(f"{name}: {done:,} iterations in {time.monotonic() - began:.1f} s\n")
