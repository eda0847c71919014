"""All checks of a declared algorithm, each with what it costs if it fails.

A check that compares exactly uses no false alarms; the noise, the adapter's own runs and the batches share them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from accountant.mechanisms.words import Sampling
from verification.declared import judged
from verification.declared.bench import Bench, OutOfTimeError
from verification.declared.climb import climb
from verification.declared.draws import Certainty, draws
from verification.declared.own_runs import own_runs_check
from verification.declared.pairs import compare_neighbours
from verification.declared.promise import Pricing, Promise
from verification.declared.seen import Seen
from verification.deployment.sighting import Aspect
from verification.outcome import Finding, Outcome
from verification.wire.faults import AdapterSkipped
from verification.wire.messages import Capability

PAIRS_TIME, DRAWS_TIME = 0.6, 0.9
ASPECTS: dict[str, tuple[Aspect, ...]] = {
    "account": (),
    "sensitivity": (Aspect.CLIPPING,),
    "post-processing": (Aspect.RELEASED,),
    "data-independence": (Aspect.RELEASED,),
    "objective": (Aspect.CLIPPING,),
    "noise": (Aspect.NOISE,),
    "sampling": (Aspect.BATCHES,),
    "own-runs": (Aspect.NOISE,),
}
"""Every check by name, and what of a claim it looks at."""


NEIGHBOURS = ("account", "sensitivity", "post-processing", "data-independence", "sampling")
DRAWS = ("noise", "sampling")


def run_declared(
    bench: Bench,
    promise: Promise,
    *,
    false_alarm: float,
    power: float,
    wants: Callable[[str], bool] = lambda _: True,
) -> Iterator[Finding]:
    """Yield a finding for every check that applies; what is not wanted need not be run."""
    pricing = Pricing(bench, promise)
    if not bench.session.can(Capability.RECORD):
        yield judged.account(bench, pricing, None)
        reason = "the adapter shows no runs from the inside (record)"
        yield from (Finding(name, Outcome.SKIPPED, reason) for name in ("sensitivity", "noise"))
        return
    began, limit = time.monotonic(), bench.deadline - time.monotonic()
    drawing = replace(bench, deadline=began + limit * DRAWS_TIME)
    seen: Seen | None = None
    if any(wants(name) for name in NEIGHBOURS):
        seen, found = _neighbours(drawing, began + limit * PAIRS_TIME, pricing)
        yield from found
    if wants("objective") and any(value.enters == "objective" for value in bench.declaration.noised):
        yield from _guarded(lambda: iter([judged.objective(bench, pricing)]), "objective")
    sampled = bench.declaration.sampling.kind is not Sampling.ALL
    level = Certainty(false_alarm / (3 if sampled else 2), power)
    outside = seen.outside if seen is not None else {}
    if any(wants(name) for name in DRAWS):
        yield from _guarded(lambda: draws(drawing, pricing, level, outside), "noise")
    if wants("own-runs"):
        yield from _guarded(lambda: iter([own_runs_check(bench, pricing, level.share)]), "own-runs")


def _neighbours(bench: Bench, deadline: float, pricing: Pricing) -> tuple[Seen | None, list[Finding]]:
    """Search until the deadline; judging what was found may take until that of the bench."""
    began, searching = time.monotonic(), replace(bench, deadline=deadline)
    try:
        seen = compare_neighbours(searching)
        climb(searching, seen)
    except AdapterSkipped as answer:
        skipped = Finding("sensitivity", Outcome.SKIPPED, f"not offered: {answer.reason}")
        return None, [judged.account(bench, pricing, None), skipped]
    seconds = time.monotonic() - began
    judges = (judged.account, judged.sensitivity, judged.post_processing, judged.independence)
    return seen, [replace(judge(bench, pricing, seen), seconds=seconds) for judge in judges]


def _guarded(check: Callable[[], Iterator[Finding]], name: str) -> Iterator[Finding]:
    began = time.monotonic()
    try:
        for finding in check():
            yield replace(finding, seconds=time.monotonic() - began)
            began = time.monotonic()
    except AdapterSkipped as answer:
        yield Finding(name, Outcome.SKIPPED, f"not offered: {answer.reason}")
    except OutOfTimeError:
        yield Finding(name, Outcome.INCONCLUSIVE, "there was no time left")
