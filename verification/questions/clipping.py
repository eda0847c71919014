"""No record, however extreme, may weigh more than C: clipping, normalising, the intercept, NaN and infinity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verification.outcome import Picture
from verification.pictures import against_claim
from verification.questions.question import Needs, Observation, at_few_records
from verification.reading.context import Context, NotApplicable
from verification.reading.inverter import INVERTERS
from verification.reading.replayed import noiseless_read
from verification.reading.values import DEVIATIONS, TINY_SIGMA, released_rounding
from verification.served.translate import problem_of
from verification.statistics.test import Aspect, Cause
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterFault, AdapterRefusal, Fault
from verification.wire.messages import Capability, initial_point
from verification.wire.parameters import Parameters
from verification.wire.records import Records

_C = 0.8
_OTHERS = 7
_LENGTHS = ((1e3, 1e3), (1e3, 1.0), (1.0, 1e3), (1e3, 1e3), (1e-3, 1.0), (3.0, 0.5), (1e6, 1e-3), (1e3, 0.0))


def _needs(*capabilities: Capability) -> Needs:
    return tuple(frozenset({how, *capabilities}) for how in (Capability.REPLAY, Capability.TRIALS))


def _step(context: Context, count: int, columns: int, *, normalise: bool, intercept: bool = False) -> Parameters:
    """One iteration from 0 over all records, with rho = eta = 1 and no penalty: x is minus half the mean gradient."""
    return context.parameters(
        columns + int(intercept),
        eta=[1.0],
        batch=count,
        sigma=1.0,
        bound=_C,
        regularizer=context.plain,
        normalise=normalise,
        intercept=intercept,
        # said, so that one that starts elsewhere otherwise can be read as well
        initial=initial_point(*np.zeros((3, columns + int(intercept)))) if context.can(Capability.INITIAL) else None,
    )


def _mean_gradient(context: Context, records: Records, parameters: Parameters, *, may_refuse: bool = False) -> Floats:
    """The mean gradient of the first iteration from 0; a row a party."""
    run = noiseless_read(context, records, parameters, may_refuse=may_refuse)
    return INVERTERS[context.mode.algorithm].mean_gradient(parameters, records.count, run)


def _longest(gradients: Floats) -> float:
    return float(np.linalg.norm(gradients, axis=-1).max())


def _lengths(length: float, allowed: float) -> Picture:
    return against_claim(
        "The sensitivity witness",
        "The gradient of one record, beside the length that the noise was scaled for.",
        {"gradient": (length, allowed)},
        "length",
    )


def _extreme(context: Context, *, normalise: bool) -> Observation | None:
    """Records at the edge of binary64: refused, or no longer than C."""
    slack = 4 * released_rounding(context)
    for size in _extreme_sizes(context.largest):
        records = Records(np.array([[size, -size, 0.0]] * 2), np.array([1, 1], dtype=np.int64))
        parameters = _step(context, 2, 3, normalise=normalise)
        try:
            length = _longest(_mean_gradient(context, records, parameters, may_refuse=True))
        except AdapterRefusal:
            continue
        except AdapterFault as fault:
            if fault.fault is not Fault.NOT_FINITE:
                raise
            return Observation(False, f"features of {size:g} came out as NaN or infinity")
        if length > _C * (1 + context.rounding) + 4 * DEVIATIONS * TINY_SIGMA + slack:
            text = f"features of {size:g} have a gradient of length {length:.9g}, allowed is C = {_C:g}"
            return Observation(False, text, _lengths(length, _C))
    return None


def _extreme_sizes(largest: float) -> tuple[float, ...]:
    """Lengths at both ends of the range of the implementation's numbers, and where their squares leave it."""
    return (
        largest**0.5,
        largest ** (2 / 3),
        largest,
        1 / largest ** (2 / 3),
        5e-324 if largest > 1e300 else 1 / largest,
    )


def _bounded(context: Context, *, normalise: bool) -> Observation:
    """One record that is replaced among others moves the mean by at most 2C/n; none is longer than C."""
    how = "normalised" if normalise else "clipped"
    wrong = _moves(context, normalise=normalise) or _extreme(context, normalise=normalise)
    return wrong or Observation(True, f"ordinary, huge, tiny and boundary records are {how} one by one")


def _moves(context: Context, *, normalise: bool, intercept: bool = False) -> Observation | None:
    """Others that are aligned, opposed, mixed, short or long; the first is replaced by its opposite and by others."""
    parameters = _step(context, _OTHERS + 1, 3, normalise=normalise, intercept=intercept)
    allowed = 2 * _C / context.scheme.averaged(parameters, _OTHERS + 1)
    slack = allowed * context.rounding + 8 * DEVIATIONS * TINY_SIGMA + 8 * released_rounding(context)
    for kind, (longest, rest) in enumerate(_LENGTHS):
        first = min(longest, context.largest)
        records = _with_others(context, first, rest, kind % 4)
        mean = _mean_gradient(context, records, parameters)
        for factor in (-1.0, 1e-6, min(1e6, context.largest) / first):
            other = records.replace(0, factor * records.features[0], int(records.labels[0]))
            moved = _longest(_mean_gradient(context, other, parameters) - mean)
            if moved > allowed + slack:
                text = f"a record of length {first:g} among others of {rest:g} moves the mean gradient by "
                text += f"{moved:.6g}, allowed is 2C/n = {allowed:.6g}"
                return Observation(False, text, _lengths(moved, allowed))
    return None


def _with_others(context: Context, first: float, rest: float, kind: int) -> Records:
    """A record of one length and others of another: aligned, opposed, cancelling or in random directions."""
    directions = context.gaussian(_OTHERS + 1, 3)
    axis = directions[0]
    if kind < 3:
        signs = (np.ones(_OTHERS), -np.ones(_OTHERS), (-1.0) ** np.arange(_OTHERS))[kind]
        directions[1:] = signs[:, None] * axis
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.full(_OTHERS + 1, rest)
    lengths[0] = first
    return Records(directions * lengths[:, None], np.ones(_OTHERS + 1, dtype=np.int64))


def _clip(context: Context) -> Observation:
    if not context.scheme.clips:
        raise NotApplicable(f"{context.mode} solves with true gradients: it takes normalised records and never clips")
    return _bounded(context, normalise=False)


def _normalise(context: Context) -> Observation:
    return _bounded(context, normalise=True)


def _intercept(context: Context) -> Observation:
    for normalise in (True, False):
        if not (context.can(Capability.NORMALISE) if normalise else context.clips):
            continue
        wrong = _too_long(context, normalise) or _moves(context, normalise=normalise, intercept=True)
        if wrong is not None:
            return wrong
    return Observation(True, "the column of ones is in front, and counted before a record is bounded")


def _too_long(context: Context, normalise: bool) -> Observation | None:
    """Equal records: their mean gradient is each one's, so its length must not exceed C."""
    records = Records(np.full((2, 3), 40.0), np.ones(2, dtype=np.int64))
    parameters = _step(context, 2, 3, normalise=normalise, intercept=True)
    length = _longest(_mean_gradient(context, records, parameters))
    slope = float(np.abs(problem_of(records, parameters).loss.slope(np.zeros(1)))[0])
    allowed = _C * (slope if normalise else 1.0)
    if length > allowed * (1 + context.rounding) + 4 * DEVIATIONS * TINY_SIGMA + 4 * released_rounding(context):
        text = f"with the intercept a record's gradient has length {length:.9g}, allowed is {allowed:.9g}"
        return Observation(False, text, _lengths(length, allowed))
    return None


def _not_finite_records() -> Iterator[tuple[str, Records]]:
    for name, value in (("NaN", np.nan), ("infinity", np.inf), ("-infinity", -np.inf)):
        # The others' gradients add up, so that a record which erases them all does not go unnoticed.
        features = np.full((4, 3), 5.0)
        features[1, 1] = value
        yield name, Records(features, np.ones(4, dtype=np.int64))


def _not_finite(context: Context) -> Observation:
    """Refused, or as harmless as any other record: the result within one record's reach of the others'."""
    refused = 0
    normalise = not context.clips
    parameters = _step(context, 4, 3, normalise=normalise)
    for name, records in _not_finite_records():
        try:
            mean = _mean_gradient(context, records, parameters, may_refuse=True)
        except AdapterRefusal:
            refused += 1
            continue
        except AdapterFault as fault:
            if fault.fault is not Fault.NOT_FINITE:
                raise
            return Observation(False, f"a record with {name} makes the output NaN or infinite: it is revealed at once")
        moved = _longest(mean - _mean_gradient(context, records.replace(1, np.full(3, 5.0), 1), parameters))
        allowed = 2 * _C / context.scheme.averaged(parameters, 4)
        if moved > allowed * (1 + context.rounding) + 8 * DEVIATIONS * TINY_SIGMA + 8 * released_rounding(context):
            text = f"a record with {name} moves the gradient by {moved:.6g}, allowed is {allowed:.6g}"
            return Observation(False, text, _lengths(moved, allowed))
    return Observation(True, f"NaN and infinities: {refused} of 3 refused, the others harmless")


QUESTIONS = (
    at_few_records(
        "clips-each-record",
        Cause.CONTRIBUTION,
        Aspect.CLIPPING,
        "a clip norm that is ignored, clipping of the batch instead of the record, clipping by coordinate, overflow",
        ("CLIP", "SENS-GRADIENT"),
        _clip,
        needs=_needs(Capability.CLIP),
    ),
    at_few_records(
        "normalises-each-record",
        Cause.CONTRIBUTION,
        Aspect.CLIPPING,
        "features that are not normalised, by column instead of by row, or by the data's own maximum",
        ("SENS-GRADIENT", "E12"),
        _normalise,
        needs=_needs(Capability.NORMALISE),
    ),
    at_few_records(
        "intercept-before-bounding",
        Cause.CONTRIBUTION,
        Aspect.CLIPPING,
        "an intercept appended after normalising: records of length up to sqrt 2",
        ("INTERCEPT-ORDER",),
        _intercept,
        covers=False,
        needs=_needs(Capability.INTERCEPT),
    ),
    at_few_records(
        "refuses-not-finite",
        Cause.CONTRIBUTION,
        Aspect.CLIPPING,
        "NaN that passes the clip, because every comparison with it is false",
        ("CLIP",),
        _not_finite,
        covers=False,
    ),
)
