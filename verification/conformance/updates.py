"""Does every iterate come out as the reference computes it? Replayed, or watched with next to no noise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from verification.conformance.check import OBSERVABLE, Check, Family, Mode, NotApplicable, Observation
from verification.conformance.context import Context
from verification.conformance.inside import INSIDE
from verification.conformance.inside.solved import SOLVED, InsideSolved
from verification.conformance.observe import (
    DEVIATIONS,
    TINY_SIGMA,
    expected_steps,
    first_batches,
    noiseless,
    observable,
    random_noise,
)
from verification.conformance.own_updates import READABLE, follows_rules_of_its_own, noiseless_read
from verification.picture import Picture
from verification.pictures import against_claim, coordinates
from verification.served.slack import SINGLE
from verification.served.translate import problem_of
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm, Initial, LossName, Parameters, RegularizerName
from verification.wire.records import Records, Run
from verification.wire.simple_parameters import initial_point

_RECORDS, _COLUMNS, _BATCH = 7, 6, 3


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs from the reference, in words and as a picture."""

    text: str
    picture: Picture | None = None


def random_records(context: Context, count: int, columns: int, length: float = 2.0) -> Records:
    """Records whose norms are at least `length`, so that scaling down and scaling to a length agree."""
    features = context.gaussian(count, columns)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    features *= np.maximum(length / norms, 1.0) * (1 + context.rng.random((count, 1)))
    return Records(features, np.where(context.rng.random(count) < 0.5, -1, 1).astype(np.int64))


def compare(
    context: Context,
    records: Records,
    parameters: Parameters,
    batches: list[list[int]] | None,
    noise: dict[str, Floats] | None,
    *,
    rounded: bool = False,
) -> Difference | None:
    """Return what differs between the implementation and the reference; None if nothing does.

    ``rounded``: single precision inside is allowed.
    """
    algorithm, parameters = context.mode.algorithm, observable(context, parameters)
    alone = context.own and rounded  # x alone, as the reference would have shown it
    if alone:
        run = noiseless_read(context, records, parameters)
    elif noise is None:
        run = noiseless(context, records, parameters, batches)
    else:
        name = context.session.send(records)
        run = context.session.replay(name, algorithm, parameters, noise, batches)
    expected = expected_steps(algorithm, records, parameters, run, noise=noise, batches=batches)
    added = 0.0 if context.can(Capability.REPLAY) else DEVIATIONS * TINY_SIGMA
    slack = INSIDE[algorithm].slack(parameters, problem_of(records, parameters), expected, added)
    if rounded:
        slack += SINGLE * (parameters.bound + max(float(np.abs(array).max()) for array in expected.values()))
    return difference(run, {"x": expected["x"]} if alone else expected, slack)


def difference(run: Run, expected: dict[str, Floats], slack: float) -> Difference | None:
    """Return the first difference beyond the slack."""
    for k in range(len(expected["x"])):
        for name, array in expected.items():
            if name not in run.values:
                continue
            got, right = np.ravel(run.values[name][k]), np.ravel(array[k])
            worst = int(np.argmax(np.abs(got - right)))
            if abs(got[worst] - right[worst]) > slack:
                return Difference(
                    f"{name}[{worst}] after iteration {k + 1} is {got[worst]:.12g}, the reference has "
                    f"{right[worst]:.12g}; rounding explains at most {slack:.1e}",
                    coordinates(f"{name} after iteration {k + 1}", got, right),
                )
    return None


def _cases(context: Context) -> Iterator[tuple[LossName, RegularizerName, bool, bool]]:
    """Every declared loss with every declared regularizer; bounding by clipping and by normalising in turn."""
    bounds = [flag for flag, has in ((False, context.clips), (True, context.can(Capability.NORMALISE))) if has]
    if not bounds:
        raise NotApplicable(f"{context.mode} needs the capability normalise")
    case = 0
    for loss in context.description.losses:
        for regularizer in context.description.regularizers:
            intercept = (
                context.can(Capability.INTERCEPT) and case % 3 == 1 and regularizer is not RegularizerName.NUCLEAR
            )
            yield loss, regularizer, bounds[case % len(bounds)], intercept
            case += 1


def _updates(context: Context) -> Observation:
    iterations = context.iterations(4)
    compared = 0
    for loss, regularizer, normalise, intercept in _cases(context):
        for rho, eta in ((0.25, 0.5), (2.0, 4.0)):
            records = random_records(context, _RECORDS, _COLUMNS)
            dimension = _COLUMNS + int(intercept)
            replay = context.can(Capability.REPLAY)
            batch = _BATCH if replay else _RECORDS
            parameters = context.parameters(
                dimension,
                eta=[eta / (k + 1) for k in range(iterations)],
                batch=batch,
                sigma=0.5,
                rho=rho,
                lambda_=0.2,
                bound=1.5,
                loss=loss,
                regularizer=regularizer,
                normalise=normalise,
                intercept=intercept,
                initial=_initial(context, dimension),
            )
            batches = _batches(context, parameters, replay)
            noise = random_noise(context, parameters, dimension) if replay else None
            wrong = compare(context, records, parameters, batches, noise)
            compared += 1
            if wrong:
                setting = f"loss {loss}, regularizer {regularizer}, rho {rho}, eta {eta}"
                return Observation.exact(False, f"{setting}: {wrong.text}", wrong.picture)
    how = "replayed with given batches and noise" if context.can(Capability.REPLAY) else "watched without noise"
    return Observation.exact(True, f"{compared} runs of {iterations} iterations agree ({how})")


def has_own_updates(context: Context) -> bool:
    """Whether replays show updates that are not the reference's; without them, whether runs follow other rules."""
    if context.mode.algorithm not in READABLE:
        return False
    if not context.can(Capability.REPLAY):
        return _own_in_runs(context)
    for loss, regularizer, normalise, _ in _cases(context):
        if loss is not context.description.losses[0] or regularizer is RegularizerName.NUCLEAR:
            continue
        parameters = context.parameters(
            _COLUMNS,
            eta=[0.5, 1.0, 0.25],
            batch=_RECORDS,
            sigma=0.5,
            rho=0.5,
            lambda_=0.2,
            loss=loss,
            regularizer=regularizer,
            normalise=normalise,
        )
        records = random_records(context, _RECORDS, _COLUMNS)
        noise = random_noise(context, parameters, _COLUMNS)
        batches = first_batches(parameters)
        with contextlib.suppress(RefusedRequest):
            if compare(context, records, parameters, batches, noise, rounded=True) is not None:
                return True
    return False


def _own_in_runs(context: Context) -> bool:
    """The same of runs that cannot be replayed."""
    if RegularizerName.L1 not in context.description.regularizers:
        return False
    plain, penalised = (
        context.parameters(
            _COLUMNS,
            eta=[0.5, 1.0, 0.25, 2.0],
            batch=_RECORDS,
            sigma=0.5,
            rho=0.5,
            lambda_=lambda_,
            regularizer=RegularizerName.L1,
        )
        for lambda_ in (0.0, 0.2)
    )
    with contextlib.suppress(RefusedRequest):
        return follows_rules_of_its_own(context, random_records(context, _RECORDS, _COLUMNS), plain, penalised)
    return False


def _initial(context: Context, dimension: int) -> Initial | None:
    if not context.can(Capability.INITIAL):
        return None
    return initial_point(*context.gaussian(3, dimension))


def _batches(context: Context, parameters: Parameters, replay: bool) -> list[list[int]] | None:
    if parameters.batch is None or not replay:
        return None
    return [context.rng.permutation(_RECORDS)[: parameters.batch].tolist() for _ in parameters.eta]


def _scaled(context: Context) -> Observation:
    """Vary one parameter at a time, far from the usual values."""
    base = {"rho": 1.0, "eta": 1.0, "bound": 1.0, "lambda_": 0.1}
    variations = [{}, {"rho": 0.1}, {"rho": 7.0}, {"eta": 0.05}, {"eta": 9.0}, {"bound": 0.3}, {"bound": 5.0}]
    for records_count, variation in [(5, v) for v in variations] + [(13, {}), (40, {"lambda_": 0.0})]:
        values = {**base, **variation}
        records = random_records(context, records_count, 4, length=12.0)
        parameters = context.parameters(
            4,
            eta=[values["eta"]],
            batch=records_count,
            sigma=0.5,
            rho=values["rho"],
            bound=values["bound"],
            lambda_=values["lambda_"],
        )
        wrong = compare(context, records, parameters, None, None)
        if wrong:
            return Observation.exact(False, f"n = m = {records_count}, {values}: {wrong.text}", wrong.picture)
    return Observation.exact(True, "n, m, C, eta, rho and lambda act as they should, one at a time")


def _solved(context: Context) -> Observation:
    """How far from a minimum the inner solver stops: what the privacy of objective perturbation rests on."""
    algorithm = context.mode.algorithm
    inside = INSIDE[algorithm]
    if not isinstance(inside, InsideSolved):
        raise NotApplicable(f"{context.mode} solves no inner problem")
    worst = 0.0
    for loss in context.description.losses:
        for rho in (0.05, 1.0, 20.0):
            records = random_records(context, _RECORDS, _COLUMNS)
            eta = [1.0] * context.iterations(3)
            asked = context.parameters(_COLUMNS, eta=eta, batch=_RECORDS, sigma=0.5, rho=rho, lambda_=0.1, loss=loss)
            parameters = observable(context, asked)
            if context.can(Capability.REPLAY):
                noise = random_noise(context, parameters, _COLUMNS)
                run = context.session.replay(context.session.send(records), algorithm, parameters, noise)
            else:
                noise, run = {}, noiseless(context, records, parameters)
            alone = Run({name: array[None] for name, array in run.values.items()})
            left = inside.residuals(parameters, problem_of(records, parameters), alone, noise)
            worst = max(worst, float(left.max()))
    solved = worst <= SOLVED + DEVIATIONS * TINY_SIGMA
    picture = against_claim(
        "What the inner solver leaves",
        "The longest gradient of the inner problem at the points where the solver stopped.",
        {"gradient": (worst, SOLVED)},
        "length",
    )
    text = f"the inner solver leaves a gradient of length up to {worst:.2g}, allowed is {SOLVED:g}"
    return Observation.exact(solved, text, picture)


CHECKS = (
    Check(
        "updates-agree",
        Family.UPDATES,
        "a wrong gradient, x, z or y update, noise or batch used in the wrong place, a wrong proximal map or step size",
        ("UPDATE-X", "LOSS-LOGISTIC", "LOSS-HUBER", "PROX-FIRM"),
        _updates,
        statistical=False,
        needs=OBSERVABLE,
    ),
    Check(
        "inner-problem-solved",
        Family.UPDATES,
        "a solver that stops early: objective perturbation is private for the exact minimiser alone",
        ("OBJP", "OBJP-INEXACT"),
        _solved,
        statistical=False,
        needs=OBSERVABLE,
        modes=(Mode(Algorithm.OBJP), Mode(Algorithm.ADMM)),
    ),
    Check(
        "updates-scale",
        Family.SCALE,
        "a mean taken over n instead of m, a clip norm ignored or applied twice, a step size at the wrong power",
        ("UPDATE-X", "CLIP"),
        _scaled,
        statistical=False,
        needs=OBSERVABLE,
    ),
)
