"""Fair timing on a shared machine: interleaved rounds, CPU time, minima."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def interleaved(jobs: Sequence[Callable[[], object]], *, rounds: int = 5) -> list[float]:
    """The least CPU seconds of each job over the rounds; in each round every job runs once, after one warm-up."""
    best = [float("inf")] * len(jobs)
    for job in jobs:
        job()
    for _ in range(rounds):
        for index, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[index] = min(best[index], time.process_time() - start)
    return best
