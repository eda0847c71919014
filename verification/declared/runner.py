"""All questions about a declared algorithm, each with what it costs if it fails, through the one judge.

A question that compares exactly uses no false alarms; the noise, the adapter's own runs and the batches share them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from accountant.mechanisms.words import Sampling
from verification.declared import checks
from verification.declared.bench import Bench, OutOfTimeError
from verification.declared.checks import Certainty, Collected
from verification.declared.own_runs import own_runs_check
from verification.declared.pairs import compare_neighbours, search_neighbours, smallest_witnesses
from verification.declared.promise import Pricing, Promise
from verification.declared.seen import Seen
from verification.judge import About, Result, concluded
from verification.outcome import Stage
from verification.questions.question import Answer
from verification.reading.context import NotApplicable, Undecided
from verification.wire.faults import AdapterSkipped
from verification.wire.messages import Capability

PAIRS_TIME, DRAWS_TIME = 0.6, 0.9
NEIGHBOURS = ("account", "sensitivity", "post-processing", "data-independence", "sampling")
DRAWS = ("noise", "sampling")
NAMES = (*NEIGHBOURS, "objective", "noise", "own-runs")
"""Every question by name."""


def run_declared(
    bench: Bench,
    promise: Promise,
    *,
    false_alarm: float,
    power: float,
    wants: Callable[[str], bool] = lambda _: True,
) -> Iterator[Result]:
    """Yield a result for every question that applies; what is not wanted need not be asked."""
    pricing = Pricing(bench, promise)

    def result(name: str, ask: Callable[[], Answer], share: float = 0.0) -> Result:
        algorithm = bench.question.algorithm
        return concluded(About(name, algorithm, Stage.DECLARED, algorithm), lambda: _in_time(ask), share)

    if not bench.session.can(Capability.RECORD):
        yield result("account", lambda: checks.account(bench, pricing, None))
        reason = "the adapter shows no runs from the inside (record)"
        yield from (result(name, lambda: _not_offered(reason)) for name in ("sensitivity", "noise"))
        return
    began, limit = time.monotonic(), bench.deadline - time.monotonic()
    drawing = replace(bench, deadline=began + limit * DRAWS_TIME)
    seen: Seen | None = None
    if any(wants(name) for name in NEIGHBOURS):
        try:
            seen = _neighbours(drawing, began + limit * PAIRS_TIME)
        except AdapterSkipped as skipped:
            reason = f"not offered: {skipped.reason}"
            yield result("account", lambda: checks.account(drawing, pricing, None))
            yield result("sensitivity", lambda: _not_offered(reason))
        else:
            yield from _compared(drawing, pricing, seen, result, time.monotonic() - began)
    if wants("objective") and any(value.enters == "objective" for value in bench.declaration.noised):
        yield result("objective", lambda: checks.objective(bench, pricing))
    sampled = bench.declaration.sampling.kind is not Sampling.ALL
    level = Certainty(false_alarm / (3 if sampled else 2), power)
    if any(wants(name) for name in DRAWS):
        yield from _draws(drawing, pricing, level, seen, result)
    if wants("own-runs"):
        yield result("own-runs", lambda: own_runs_check(bench, pricing), level.share)


Ask = Callable[..., Result]


def _compared(bench: Bench, pricing: Pricing, seen: Seen, result: Ask, seconds: float) -> Iterator[Result]:
    """Everything that comparing neighbours answers."""
    asked: dict[str, Callable[[], Answer]] = {
        "account": lambda: checks.account(bench, pricing, seen),
        "sensitivity": lambda: checks.sensitivity(bench, pricing, seen),
        "post-processing": lambda: checks.post_processing(bench, pricing, seen),
        "data-independence": lambda: checks.independence(bench, pricing, seen),
    }
    for name, ask in asked.items():
        yield replace(result(name, ask), seconds=seconds)


def _draws(bench: Bench, pricing: Pricing, level: Certainty, seen: Seen | None, result: Ask) -> Iterator[Result]:
    """The noise, and where records are drawn the batches, of the same runs."""
    kept: list[Collected] = []

    def noise() -> Answer:
        kept.append(checks.collect(bench))
        return checks.noise_check(bench, kept[0], pricing, level)

    yield result("noise", noise, level.share)
    if kept and bench.declaration.sampling.kind is not Sampling.ALL:
        outside = {} if seen is None else seen.outside
        yield result("sampling", lambda: checks.sampling_check(bench, kept[0], outside, pricing), level.share)


def _neighbours(bench: Bench, deadline: float) -> Seen:
    """Search until the deadline; shrinking what was found may take until that of the bench."""
    searching = replace(bench, deadline=deadline)
    seen = compare_neighbours(searching)
    search_neighbours(searching, seen)
    smallest_witnesses(bench, seen)
    return seen


def _in_time(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except OutOfTimeError:
        raise Undecided("there was no time left") from None
    except AdapterSkipped as skipped:
        raise NotApplicable(f"not offered: {skipped.reason}") from None


def _not_offered(reason: str) -> Answer:
    raise NotApplicable(reason)
