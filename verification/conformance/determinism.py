"""Same seed, same output; other seed, or none, other output; and a replay that only depends on its request."""

from __future__ import annotations

import numpy as np

from verification.conformance.check import REPLAY, Check, Family, Observation
from verification.conformance.context import Context
from verification.conformance.noise import fresh_finding, noise_parameters, silent_records
from verification.conformance.observe import random_noise
from verification.conformance.own_updates import noise_of_runs
from verification.conformance.updates import random_records
from verification.wire.messages import Capability
from verification.wire.records import Run

_SEEDED = (frozenset({Capability.TRIALS, Capability.SEED}),)


def _same(first: Run, second: Run) -> bool:
    return all(np.array_equal(array, second.values[name]) for name, array in first.values.items())


def _seed_repeats(context: Context) -> Observation:
    """In one process, with another request in between, and in a second process."""
    records, parameters = random_records(context, 5, 6), noise_parameters(context, batch=2)
    seed = int(context.rng.integers(1 << 53))

    def ask(which: int) -> Run:
        return context.trials_of(context.session, name, parameters, 20, which)

    name = context.session.send(records)
    first = ask(seed)
    ask(seed + 1)
    if not _same(first, ask(seed)):
        return _not_repeated(f"seed {seed} gave another output the second time")
    with context.another() as other:
        theirs = context.trials_of(other, other.send(records), parameters, 20, seed)
    if not _same(first, theirs):
        return _not_repeated(f"seed {seed} gave another output in another process")
    return Observation.exact(True, "the same seed gives the same output, in this process and in another")


def _not_repeated(how: str) -> Observation:
    """A broken promise of the adapter's that costs no privacy: seeds only serve to repeat a run."""
    return Observation(1.0, how, 0.0, how)


def _seeds_differ(context: Context) -> Observation:
    """Neighbouring seeds and none at all: no noise vector twice."""
    context.require_private()
    records, parameters = silent_records(), noise_parameters(context, batch=3)
    name = context.session.send(records)
    base = int(context.rng.integers(1 << 52))
    vectors = []
    for seed in (0, 1, 2, base, base + 1, base + (1 << 32), None):
        run = context.trials_of(context.session, name, parameters, context.count(100), seed)
        noise = noise_of_runs(context, records, parameters, run)
        vectors += [array.reshape(-1, array.shape[2]) for array in noise.values()]
    return fresh_finding(np.vstack(vectors), "under seven different seeds")


def _replay_repeats(context: Context) -> Observation:
    records, other = random_records(context, 5, 6), random_records(context, 5, 6)
    parameters = noise_parameters(context, batch=2)
    noise = random_noise(context, parameters, 6)
    batches = None if parameters.batch is None else [[0, 3]] * parameters.iterations
    first_name, second_name = context.session.send(records), context.session.send(other)

    def ask(name: str) -> Run:
        return context.session.replay(name, context.mode.algorithm, parameters, noise, batches)

    first = ask(first_name)
    ask(second_name)
    same = _same(first, ask(first_name))
    return Observation.exact(same, "a replay depends on its request alone" if same else "the same replay, two answers")


CHECKS = (
    Check(
        "seed-repeats",
        Family.DETERMINISM,
        "a seed that does not determine the output, so that no finding could be reproduced",
        (),
        _seed_repeats,
        statistical=False,
        needs=_SEEDED,
    ),
    Check(
        "seeds-differ",
        Family.DETERMINISM,
        "seeds that are ignored, truncated or collide: the same noise under different seeds or under none",
        ("E18",),
        _seeds_differ,
        statistical=True,
        needs=_SEEDED,
    ),
    Check(
        "replay-repeats",
        Family.DETERMINISM,
        "state that leaks from one request into another, noise of its own in a replay",
        (),
        _replay_repeats,
        statistical=False,
        needs=REPLAY,
    ),
)
