"""Does every iterate come out as the reference computes it? Replayed, or watched with next to no noise.

Other seeds, or none, must give other output; that equal requests have equal answers is asked by `wire.smoke`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from accountant.mechanisms.words import Algorithm
from verification.pictures import against_claim, coordinates
from verification.questions.noise import small_run
from verification.questions.question import OBSERVABLE, Observation, at_few_records
from verification.questions.scenes import EXTREME, LONG, random_records, silent_records
from verification.reading.context import COARSEST, DOUBLE, FORMATS, MPADMM_ALL, Context, Mode, NotApplicable
from verification.reading.inverter import INVERTERS, SOLVED, SolvedInverter
from verification.reading.replayed import (
    READABLE,
    apparent,
    close_to,
    combined,
    follows_rules_of_its_own,
    hides_noise,
    noiseless_read,
)
from verification.reading.values import (
    DEVIATIONS,
    TINY_SIGMA,
    first_batches,
    no_noise,
    noiseless,
    observable,
    quietened,
    random_noise,
)
from verification.served.translate import problem_of
from verification.statistics.tails import Side, kolmogorov, two_samples
from verification.statistics.test import Aspect, Cause, Cost
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterFault, AdapterRefusal, Fault, RefusedRequest
from verification.wire.messages import Capability, initial_point
from verification.wire.parameters import Initial, LossName, Parameters, RegularizerName
from verification.wire.records import Records, Run

_RECORDS, _COLUMNS, _BATCH = 7, 6, 3
_CHANGES, _POINTS, _CURVATURE = (2.0**-20, 2.0**-9, 2.0**-7), 5, 32.0
_FEW_RUNS = 20
_SIGMAS, _HIDING_RUNS, _CERTAIN = (0.3, 1.0, 3.0), 300, 1e-9


def compare(
    context: Context,
    records: Records,
    parameters: Parameters,
    batches: list[list[int]] | None,
    noise: dict[str, Floats] | None,
    *,
    rounded: bool = False,
) -> Observation | None:
    """Return what differs from the reference, None if nothing does; ``rounded`` allows single precision inside."""
    algorithm, parameters = context.mode.algorithm, observable(context, parameters)
    alone = context.own and rounded  # x alone, as the reference would have shown it
    if alone:
        run = noiseless_read(context, records, parameters)
    elif noise is None:
        run = noiseless(context, records, parameters, batches)
    else:
        name = context.session.send(records)
        run = context.session.replay(name, algorithm, parameters, noise, batches)
    problem, inside = problem_of(records, parameters), INVERTERS[algorithm]
    gamma = no_noise(algorithm, parameters, problem.dimension) if noise is None else noise
    expected = inside.expected(
        parameters, problem, run, gamma, first_batches(parameters) if batches is None else batches
    )
    if rounded:
        expected = context.with_noise(expected)  # what has no noise of its own has a question of its own
    added = 0.0 if context.can(Capability.REPLAY) else DEVIATIONS * TINY_SIGMA
    slack = inside.slack(parameters, problem, expected, added)
    if rounded:
        slack += context.rounding * (parameters.bound + max(float(np.abs(array).max()) for array in expected.values()))
    return difference(run, {"x": expected["x"]} if alone else expected, slack)


def difference(run: Run, expected: dict[str, Floats], slack: float) -> Observation | None:
    """Return the first difference beyond the slack."""
    for k in range(len(expected["x"])):
        for name, array in expected.items():
            if name not in run.values:
                continue
            got, right = np.ravel(run.values[name][k]), np.ravel(array[k])
            worst = int(np.argmax(np.abs(got - right)))
            if abs(got[worst] - right[worst]) > slack:
                return Observation(
                    False,
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
            records = random_records(context.rng, _RECORDS, _COLUMNS)
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
                return replace(wrong, detail=f"{setting}: {wrong.detail}")
    how = "replayed with given batches and noise" if context.can(Capability.REPLAY) else "watched without noise"
    return Observation(True, f"{compared} runs of {iterations} iterations agree ({how})")


def _whole_batches(  # noqa: PLR0917 - as in `Context.parameters`
    context: Context,
    eta: list[float],
    lambda_: float,
    regularizer: RegularizerName,
    loss: LossName | None = None,
    normalise: bool | None = None,
) -> Parameters:
    """A few iterations on all records."""
    return context.parameters(
        _COLUMNS,
        eta=eta,
        batch=_RECORDS,
        sigma=0.5,
        rho=0.5,
        lambda_=lambda_,
        loss=loss,
        regularizer=regularizer,
        normalise=normalise,
    )


def has_own_updates(context: Context) -> bool:
    """Whether replays show updates that are not the reference's; without them, whether runs follow other rules."""
    if context.mode.algorithm not in READABLE:
        return False
    if not context.can(Capability.REPLAY):
        return _own_in_runs(context) or _hides_in_runs(context)
    for loss, regularizer, normalise, _ in _cases(context):
        if loss is not context.description.losses[0] or regularizer is RegularizerName.NUCLEAR:
            continue
        parameters = _whole_batches(context, [0.5, 1.0, 0.25], context.penalty(0.2), regularizer, loss, normalise)
        records = random_records(context.rng, _RECORDS, _COLUMNS)
        noise = random_noise(context, parameters, _COLUMNS)
        batches = first_batches(parameters)
        with contextlib.suppress(RefusedRequest):
            if compare(context, records, parameters, batches, noise, rounded=True) is not None:
                return True
    return False


def hides_its_noise(context: Context) -> bool:
    """Whether updates of its own hide the size of noise that is much larger than gradients, and is there at all."""
    small = small_run(context)
    name = context.session.send(silent_records(small.records, small.columns))
    noise = random_noise(context, small.parameters, small.columns)
    noise = {stream: 3.0 * array for stream, array in noise.items()}
    one, other = (
        context.session.replay(
            name,
            context.mode.algorithm,
            small.parameters,
            {stream: sign * array for stream, array in noise.items()},
            first_batches(small.parameters),
        ).x
        for sign in (1.0, -1.0)
    )
    if np.array_equal(one, other):
        return False
    return any(hides_noise(context, name, small.parameters, noise, k=k) for k in range(small.parameters.iterations))


def working_unit(context: Context) -> float:
    r"""The relative rounding of the implementation's arithmetic, measured without knowing its updates.

    Of a smooth function f(t) of the records, f(h) - 2 f(0) + f(-h) is h^2 f'' but for rounding, and what is larger is
    rounding. It shows where h moves a value by about its last place: with h = 2^-20 that of single precision, with 2^-9
    that of 11 bits, with 2^-7 that of 8. Without a penalty one iteration is smooth where no record is at the bound;
    |f''| is below 32 |f| in coordinates that are not small. All records are the same one, so that what each is rounded
    by does not cancel in their mean. A coordinate shows its rounding in part: the unit is at least that of the format.
    """
    columns = _COLUMNS
    parameters = _whole_batches(context, [0.5], 0.0, context.plain)
    noise = random_noise(context, parameters, columns) if context.hides else None
    batches = first_batches(parameters)

    def x_of(features: Floats, labels: NDArray[np.int64]) -> Floats:
        records = Records(np.repeat(features, _RECORDS, axis=0), labels)
        if noise is None:
            return noiseless(context, records, parameters).x
        name = context.session.send(records)
        return context.session.replay(name, context.mode.algorithm, parameters, noise, batches).x

    def second_difference(step: float) -> float:
        one = random_records(context.rng, 1, columns, length=3.0)
        along, labels = step * context.gaussian(1, columns), np.full(_RECORDS, int(one.labels[0]))
        low, middle, high = (x_of(one.features + t * along, labels) for t in (-1, 0, 1))
        large = np.abs(middle) >= max(float(np.abs(middle).max()) / 2, 1e-300)
        return float(np.max(np.abs(low - 2 * middle + high)[large] / np.abs(middle[large]), initial=0.0)) / 2

    found = DOUBLE
    for step in _CHANGES:
        units = (second_difference(step) for _ in range(_POINTS))
        found = max([found, *(unit for unit in units if _CURVATURE * step**2 < unit <= COARSEST)])
    return max(found, next((unit for coarser, unit in FORMATS.items() if found > coarser), DOUBLE))


def longest_run(context: Context) -> float:
    """The length over C of the longest records that are run with noise for a few iterations, without error or NaN."""
    claimed = small_run(context)
    for length in sorted(EXTREME, reverse=True):
        records = random_records(context.rng, claimed.records, claimed.columns, length=length)
        try:
            name = context.session.send(records, may_refuse=True)
            context.trials_of(context.session, name, claimed.parameters, _FEW_RUNS, None, may_refuse=True)
        except AdapterRefusal:
            continue
        except AdapterFault as fault:
            if fault.fault is not Fault.NOT_FINITE:
                raise
            continue
        return length
    return max(LONG)


def processed_values(context: Context) -> frozenset[str]:
    """Which of z and y carry no noise of their own, where mpADMM claims noise for all three.

    Asked, whatever the updates are: a replay of other noise for that value alone shows the same; without replay, the
    value is one fixed combination of what was released before it in every run. Such a value must be a function of
    what was released: `coupled-releases` and `post-processing` ask for that.
    """
    if context.mode != MPADMM_ALL or not context.released_all:
        return frozenset()
    offered = context.description.regularizers
    regularizer = RegularizerName.L1 if RegularizerName.L1 in offered else context.plain
    plain, penalised = (_whole_batches(context, [0.5, 1.0, 0.25], lambda_, regularizer) for lambda_ in (0.0, 0.2))
    records = random_records(context.rng, _RECORDS, _COLUMNS)
    if not context.can(Capability.REPLAY):
        if not context.sees_every_iterate:
            return frozenset()
        y, z = context.trials(records, penalised, _FEW_RUNS), context.trials(records, plain, _FEW_RUNS)
        found = {"y": combined(y, "y", ("x", "z"), close_to(y)), "z": combined(z, "z", ("x",), close_to(z))}
        return frozenset(name for name, follows in found.items() if follows)
    name, noise = context.session.send(records), random_noise(context, penalised, _COLUMNS)
    usual = context.session.replay(name, context.mode.algorithm, penalised, noise)

    def moved(stream: str) -> float:
        other = {**noise, stream: noise[stream] + context.gaussian(*noise[stream].shape)}
        again = context.session.replay(name, context.mode.algorithm, penalised, other)
        return max(float(np.abs(array - again.values[key]).max()) for key, array in usual.values.items())

    return frozenset(stream for stream in noise if stream != "x" and not moved(stream))


def _own_in_runs(context: Context) -> bool:
    """The same of runs that cannot be replayed."""
    if RegularizerName.L1 not in context.description.regularizers:
        return False
    steps = [0.5, 1.0, 0.25, 2.0]
    plain, penalised = (_whole_batches(context, steps, lambda_, RegularizerName.L1) for lambda_ in (0.0, 0.2))
    with contextlib.suppress(RefusedRequest):
        return follows_rules_of_its_own(context, random_records(context.rng, _RECORDS, _COLUMNS), plain, penalised)
    return False


def _hides_in_runs(context: Context) -> bool:
    """Whether runs show that the noisy value goes through a function, where nothing can be replayed.

    On records without gradient the noise then is not normal of one size over the given one, and beside a gradient it is
    not the same and the gradient, as noise of another law is. Both must be all but certain, so that mistakes in the
    noise are still read; where nothing varies at all, nothing is hidden.
    """
    along = np.ones(_COLUMNS) / np.sqrt(_COLUMNS)
    zeros = initial_point(*np.zeros((3, _COLUMNS))) if context.can(Capability.INITIAL) else None
    silent, equal = np.zeros((_RECORDS, _COLUMNS)), np.tile(3.0 * along, (_RECORDS, 1))
    labels = np.ones(_RECORDS, dtype=np.int64)

    def shown(features: Floats, parameters: Parameters, count: int) -> Floats:
        run = context.trials(Records(features, labels), parameters, count)
        return next(iter(apparent(context, parameters, run).values()))[:, 0]

    noises, added = list[Floats](), list[float]()
    for sigma in _SIGMAS:
        parameters = context.parameters(
            _COLUMNS, eta=[1.0], batch=_RECORDS, sigma=sigma, rho=0.5, regularizer=context.plain, initial=zeros
        )
        gradient = shown(equal, quietened(context.mode.algorithm, parameters), 1)[0]
        noises.append(shown(silent, parameters, _HIDING_RUNS) / sigma)
        beside = (shown(equal, parameters, _HIDING_RUNS) - gradient) / sigma
        added.append(two_samples(noises[-1] @ along, beside @ along, Side.EITHER))
    if not max(float(np.ptp(noise, axis=0).max()) for noise in noises):
        return False
    laws = [kolmogorov(noise / max(float(np.sqrt(np.mean(noise**2))), 1e-300)) for noise in noises]
    sizes = [two_samples(noises[0].ravel(), noise.ravel(), Side.EITHER) for noise in noises[1:]]
    return min(added) < _CERTAIN and min(*laws, *sizes) < _CERTAIN


def _initial(context: Context, dimension: int) -> Initial | None:
    if not context.can(Capability.INITIAL):
        return None
    return initial_point(*context.gaussian(3, dimension))


def _batches(context: Context, parameters: Parameters, replay: bool) -> list[list[int]] | None:
    if parameters.batch is None or not replay:
        return None
    return [context.rng.permutation(_RECORDS)[: parameters.batch].tolist() for _ in parameters.eta]


def _solved(context: Context) -> Observation:
    """How far from a minimum the inner solver stops: what the privacy of objective perturbation rests on."""
    algorithm = context.mode.algorithm
    inside = INVERTERS[algorithm]
    if not isinstance(inside, SolvedInverter):
        raise NotApplicable(f"{context.mode} solves no inner problem")
    worst = 0.0
    for loss in context.description.losses:
        for rho in (0.05, 1.0, 20.0):
            records = random_records(context.rng, _RECORDS, _COLUMNS)
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
    return Observation(solved, text, picture)


QUESTIONS = (
    at_few_records(
        "updates-agree",
        Cause.UPDATE,
        Aspect.UPDATES,
        "a wrong gradient, x, z or y update, noise or batch used in the wrong place, a wrong proximal map or step size",
        ("UPDATE-X", "LOSS-LOGISTIC", "LOSS-HUBER", "PROX-FIRM"),
        _updates,
        cost=Cost.NOTHING,
        needs=OBSERVABLE,
    ),
    at_few_records(
        "inner-problem-solved",
        Cause.UNSOLVED,
        Aspect.UPDATES,
        "a solver that stops early: objective perturbation is private for the exact minimiser alone",
        ("OBJP", "OBJP-INEXACT"),
        _solved,
        needs=OBSERVABLE,
        modes=(Mode(Algorithm.OBJP), Mode(Algorithm.ADMM)),
    ),
)
