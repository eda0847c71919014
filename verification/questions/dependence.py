r"""What one record changes at the claimed size, on ordinary data: the same batch, no noise, one record replaced.

Scaling, skipping, stopping and weighting that look at the data are harmless in an update only if they do not depend on
one record: then one step moves by at most what is claimed, 2C/m through the x update, whichever record of the batch is
replaced by whatever. A record that is turned round, empty, of one huge column, or so long that low precision overflows
shows preprocessing by statistics of the data, loss scaling that skips a step, weights and step sizes of the batch.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from verification.outcome import Aspect, Cause
from verification.pictures import against_claim
from verification.questions import scenes
from verification.questions.question import REPLAY, Answer, Question, Size
from verification.reading.context import EVERY_MODE, FEWER_VALUES, Claimed, Clock, Context, require_private
from verification.reading.inverter import INSIDE, with_count
from verification.reading.replayed import as_the_reference
from verification.reading.values import no_noise
from verification.served.translate import problem_of
from verification.statistics.test import Test
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterFault, AdapterRefusal, Fault
from verification.wire.records import Records, Run

_SMALL_RECORDS, _SMALL_COLUMNS, _SMALL_BATCH = 200, 12, 20
_LENGTHS = (1e3, 1e9, 1e20)


@dataclass(frozen=True, slots=True)
class Moved:
    """How far x moved when a record was replaced, and by what."""

    share: float  # of what is allowed
    change: str


def small_run(context: Context) -> Claimed:
    """A few hundred records: more than any small test has, so that branches for large data are taken."""
    parameters = context.parameters(_SMALL_COLUMNS, eta=[0.5], batch=_SMALL_BATCH, sigma=1.0, rho=0.5, lambda_=0.0)
    return Claimed(context.mode, _SMALL_RECORDS, _SMALL_COLUMNS, parameters)


def changes(record: Floats, bound: float, largest: float, rng: np.random.Generator) -> dict[str, Floats]:
    """What a record is replaced by."""
    column = np.zeros_like(record)
    column[int(rng.integers(record.size))] = min(1e6, largest) * bound
    direction = rng.standard_normal(record.size)
    direction /= np.linalg.norm(direction)
    found = {"turned round": -record, "made empty": np.zeros_like(record), "one huge column": column}
    lengths = [length for length in _LENGTHS if length * bound <= largest]
    return found | {f"of length {length:g} C": length * bound * direction for length in lengths}


def dependence(context: Context, at_size: Claimed | None, _clock: Clock) -> Answer:
    """Replace one record of the batch in every way, and compare one step."""
    claimed = (at_size or small_run(context)).fitting(FEWER_VALUES).shortened(1)
    require_private(claimed)
    claimed = claimed.with_parameters(lambda_=0.0)
    parameters = claimed.parameters
    records = scenes.mixed(claimed.records, claimed.columns, parameters.bound, context.rng, extreme=(1.0,)).records
    m = parameters.batch or claimed.records
    members = np.sort(context.rng.permutation(claimed.records)[:m])
    place = int(members[int(context.rng.integers(m))])
    batches = None if parameters.batch is None else [members.tolist()]
    usual = _step(context, claimed, records, batches, may_refuse=False)
    allowed = INSIDE[context.mode.algorithm].moves(parameters, claimed.records)["x"]
    slack = INSIDE[context.mode.algorithm].slack(parameters, problem_of(records, parameters), {"x": usual.x[0]}, 0.0)
    moved = [Moved(0.0, "nothing could be replaced")]
    for name, features in changes(records.features[place], parameters.bound, context.largest, context.rng).items():
        other = records.replace(place, features, int(records.labels[place]))
        with contextlib.suppress(AdapterRefusal):
            moved.append(Moved(_share(context, claimed, other, batches, (usual, allowed, slack)), name))
    return _answer(claimed, moved, place, 1 + context.rounding)


def _step(
    context: Context, claimed: Claimed, records: Records, batches: list[list[int]] | None, *, may_refuse: bool
) -> Run:
    """x after one iteration without noise, as the reference would have shown the same gradient; [1, 1, p]."""
    session, algorithm, parameters = context.session, context.mode.algorithm, claimed.parameters
    name = session.send(records, may_refuse=may_refuse)
    silence = no_noise(algorithm, parameters, claimed.columns)
    run = with_count(session.replay(name, algorithm, parameters, silence, batches, may_refuse=may_refuse))
    return as_the_reference(context, parameters, run, claimed.records) if context.own else run


def _share(
    context: Context,
    claimed: Claimed,
    records: Records,
    batches: list[list[int]] | None,
    usual: tuple[Run, float, float],
) -> float:
    """How far the record moved x, over what is allowed; infinite where the output is not finite."""
    try:
        run = _step(context, claimed, records, batches, may_refuse=True)
    except AdapterFault as fault:
        if fault.fault is not Fault.NOT_FINITE:
            raise
        return np.inf
    before, allowed, slack = usual
    return max(0.0, float(np.linalg.norm(run.x - before.x)) - slack) / allowed


def _answer(claimed: Claimed, moved: list[Moved], place: int, most: float) -> Answer:
    worst = max(moved, key=lambda each: each.share)
    text = f"one step moves by {worst.share:.6g} of what is allowed when record {place} is replaced: {worst.change}"
    drawn = {each.change: (each.share, 1.0) for each in moved if np.isfinite(each.share)}
    test = Test(
        "moves-with-a-record",
        Aspect.CLIPPING,
        0.0 if worst.share > most else 1.0,
        text,
        Cause.CONTRIBUTION,
        deterministic=True,
        draw=lambda: against_claim(
            "The sensitivity witness",
            "How far one step moves when one record of the batch is replaced.",
            drawn,
            "share of what is allowed",
        ),
        witness=f"record {place} of {claimed.records:,} {worst.change}, n = {claimed.records:,}",
    )
    return Answer("ordinary records, one replaced", claimed.size, len(moved), (test,), (Aspect.CLIPPING,))


QUESTIONS = (
    Question(
        "dependence",
        dependence,
        "updates that depend on the data by more than one record's share: columns scaled by statistics of the data, "
        "steps that are skipped or shortened where a gradient is large, weights of the batch",
        ("SENS-GRADIENT", "SENS-X"),
        (Size.SMALL, Size.CLAIMED),
        needs=REPLAY,
        modes=EVERY_MODE,  # one step of a baseline is compared at a few records alone
        statistical=False,
    ),
)
