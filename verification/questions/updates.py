"""Does every iterate come out as the reference computes it? Replayed, or watched with next to no noise.

Does an implementation reproduce the golden vectors? The files that ports use, played over the wire.

`dpadmm vectors check` plays the invalid cases too and reports case by case; here the first difference decides.

Same seed, same output; other seed, or none, other output; and a replay that only depends on its request.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.updates import update_y, update_z
from verification.picture import Picture
from verification.pictures import against_claim, coordinates
from verification.questions.noise import small_run
from verification.questions.question import OBSERVABLE, REPLAY, Observation, at_few_records
from verification.questions.scenes import random_records, silent_records
from verification.reading.context import COARSEST, DOUBLE, MPADMM_ALL, Context, Mode, NotApplicable
from verification.reading.inverter import INSIDE, SOLVED, InsideSolved
from verification.reading.replayed import READABLE, follows_rules_of_its_own, hides_noise, noise_of_runs, noiseless_read
from verification.reading.values import (
    DEVIATIONS,
    TINY_SIGMA,
    expected_steps,
    first_batches,
    noiseless,
    observable,
    random_noise,
    resolution,
)
from verification.served.translate import problem_of
from verification.statistics.noise_shape import repeats
from verification.statistics.test import Aspect, Cause, Cost
from verification.vectors import model
from verification.vectors.checking import ITERATES, first_difference, not_offered
from verification.vectors.files import load_all
from verification.vectors.recipe import read
from verification.vectors.wire import noise_arrays, parameter_fields
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import Capability
from verification.wire.parameters import Initial, LossName, Parameters, RegularizerName
from verification.wire.records import Records, Run
from verification.wire.simple_parameters import initial_point

_RECORDS, _COLUMNS, _BATCH = 7, 6, 3
_SMALL_CHANGE = 2.0**-20
_FEW_RUNS = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs from the reference, in words and as a picture."""

    text: str
    picture: Picture | None = None


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
        slack += context.rounding * (parameters.bound + max(float(np.abs(array).max()) for array in expected.values()))
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
        records = random_records(context.rng, _RECORDS, _COLUMNS)
        noise = random_noise(context, parameters, _COLUMNS)
        batches = first_batches(parameters)
        with contextlib.suppress(RefusedRequest):
            if compare(context, records, parameters, batches, noise, rounded=True) is not None:
                return True
    return False


def hides_its_noise(context: Context) -> bool:
    """Whether updates of its own hide the size of the noise: looked at where noise is much larger than gradients."""
    small = small_run(context)
    parameters = small.parameters.model_copy(update={"iterations": 1, "eta": small.parameters.eta[:1]})
    name = context.session.send(silent_records(small.records, small.columns))
    noise = {stream: 3.0 * array for stream, array in random_noise(context, parameters, small.columns).items()}
    return hides_noise(context, name, parameters, noise)


def working_unit(context: Context) -> float:
    r"""The relative rounding of the implementation's arithmetic, measured without knowing its updates.

    Of a smooth function f(t) of the records, f(h) - 2 f(0) + f(-h) is h^2 f'' but for rounding: with h = 2^-20 that is
    2^-40, and what is larger is rounding. Without a penalty one iteration is smooth where no record is at the bound.
    """
    columns = _COLUMNS
    parameters = context.parameters(
        columns, eta=[0.5], batch=_RECORDS, sigma=0.5, rho=0.5, regularizer=context.plain, normalise=None
    )
    records = random_records(context.rng, _RECORDS, columns, length=3.0)
    along = context.gaussian(_RECORDS, columns)
    runs = [
        noiseless(context, Records(records.features + t * along, records.labels), parameters).x
        for t in (0.0, _SMALL_CHANGE, -_SMALL_CHANGE)
    ]
    scale = max(float(np.abs(runs[0]).max()), 1e-300)
    unit = float(np.abs(runs[1] - 2 * runs[0] + runs[2]).max()) / (2 * scale)
    return unit if DOUBLE < unit <= COARSEST else DOUBLE


def processed_values(context: Context) -> frozenset[str]:
    """Which of z and y follow from what was released, where mpADMM claims noise for all three: a claim covers less.

    Such a value costs nothing: given the released x (and z) it is known.
    """
    if context.mode != MPADMM_ALL or not context.sees_every_iterate:
        return frozenset()
    offered = context.description.regularizers
    parameters = context.parameters(
        _COLUMNS,
        eta=[0.5, 1.0, 0.25],
        batch=_RECORDS,
        sigma=0.5,
        rho=0.5,
        lambda_=0.2,
        regularizer=RegularizerName.L1 if RegularizerName.L1 in offered else context.plain,
    )
    records = random_records(context.rng, _RECORDS, _COLUMNS)
    run = context.trials(records, parameters, _FEW_RUNS)
    problem = problem_of(records, parameters)
    y = INSIDE[context.mode.algorithm].shifted(parameters, problem, "y", run.y)
    z = np.stack(
        [
            update_z(run.x[:, k], y[:, k], rho=problem.rho, regularizer=problem.regularizer)
            for k in range(parameters.iterations)
        ],
        axis=1,
    )
    follows = {"z": z, "y": update_y(y, run.x, run.z, rho=problem.rho)}
    scale = 1.0 + max(float(np.abs(array).max()) for array in run.values.values())
    close = max(1e-10, context.rounding) * scale + max(resolution(array) for array in run.values.values())
    return frozenset(n for n, value in follows.items() if float(np.abs(run.values[n] - value).max()) <= close)


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
        return follows_rules_of_its_own(context, random_records(context.rng, _RECORDS, _COLUMNS), plain, penalised)
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
        records = random_records(context.rng, records_count, 4, length=12.0)
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
    return Observation.exact(solved, text, picture)


@functools.cache
def _valid_cases() -> tuple[model.Case, ...]:
    return tuple(case for file in load_all() for case in file.cases if case.expected is not None)


def _golden(context: Context) -> Observation:
    algorithm, release = context.mode.algorithm, context.mode.release
    played = 0
    for case in _valid_cases():
        recipe = read(case)
        of_this_mode = recipe.algorithm == algorithm and recipe.release == (release and str(release))
        if not of_this_mode or case.expected is None or not_offered(context.description, recipe):
            continue
        data = context.session.send(Records(recipe.features, np.array(recipe.labels, dtype=np.int64)))
        parameters = Parameters.model_validate(parameter_fields(recipe))
        run = context.session.replay(data, algorithm, parameters, noise_arrays(recipe), recipe.batches)
        held = [name for name in ITERATES if getattr(case.expected, name)]
        if not set(held) <= set(run.values):
            raise NotApplicable(f"the vectors hold {', '.join(held)}, and not all of them are shown")
        wrong = first_difference(case.expected, run)
        played += 1
        if wrong:
            return Observation.exact(False, f"case {case.id}: {wrong}")
    if not played:
        raise NotApplicable("no golden vector fits what is offered")
    return Observation.exact(True, f"{played} golden vectors reproduced within their tolerances")


_SEEDED = (frozenset({Capability.TRIALS, Capability.SEED}),)


def _same(first: Run, second: Run) -> bool:
    return all(np.array_equal(array, second.values[name]) for name, array in first.values.items())


def _seed_repeats(context: Context) -> Observation:
    """In one process, with another request in between, and in a second process."""
    records, parameters = random_records(context.rng, 5, 6), small_run(context, batch=2).parameters
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
    parameters = small_run(context).parameters
    records = silent_records(8, 6)
    name = context.session.send(records)
    base = int(context.rng.integers(1 << 52))
    vectors = []
    for seed in (0, 1, 2, base, base + 1, base + (1 << 32), None):
        run = context.trials_of(context.session, name, parameters, context.count(100), seed)
        noise = noise_of_runs(context, records, parameters, run)
        vectors += [array.reshape(-1, array.shape[2]) for array in noise.values()]
    found = repeats("seeds-differ", np.vstack(vectors))
    picture = None if found.draw is None else found.draw()
    return Observation(found.p_value, f"{found.detail} under seven different seeds", picture=picture)


def _replay_repeats(context: Context) -> Observation:
    records, other = random_records(context.rng, 5, 6), random_records(context.rng, 5, 6)
    parameters = small_run(context, batch=2).parameters
    noise = random_noise(context, parameters, 6)
    batches = None if parameters.batch is None else [[0, 3]] * parameters.iterations
    first_name, second_name = context.session.send(records), context.session.send(other)

    def ask(name: str) -> Run:
        return context.session.replay(name, context.mode.algorithm, parameters, noise, batches)

    first = ask(first_name)
    ask(second_name)
    same = _same(first, ask(first_name))
    return Observation.exact(same, "a replay depends on its request alone" if same else "the same replay, two answers")


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
    at_few_records(
        "updates-scale",
        Cause.UPDATE,
        Aspect.UPDATES,
        "a mean taken over n instead of m, a clip norm ignored or applied twice, a step size at the wrong power",
        ("UPDATE-X", "CLIP"),
        _scaled,
        cost=Cost.NOTHING,
        covers=False,
        needs=OBSERVABLE,
    ),
    at_few_records(
        "golden-vectors",
        Cause.UPDATE,
        Aspect.UPDATES,
        "a wrong formula, single precision, a wrong branch at a threshold, an overflow or underflow at extreme margins",
        ("UPDATE-X", "LOSS-LOGISTIC", "LOSS-HUBER", "CLIP"),
        _golden,
        cost=Cost.NOTHING,
        needs=REPLAY,
    ),
    at_few_records(
        "seed-repeats",
        Cause.NOT_REPEATED,
        Aspect.UPDATES,
        "a seed that does not determine the output, so that no finding could be reproduced",
        (),
        _seed_repeats,
        covers=False,
        different=Cause.NOT_REPEATED,
        needs=_SEEDED,
    ),
    at_few_records(
        "seeds-differ",
        Cause.NOISE_REUSED,
        Aspect.NOISE,
        "seeds that are ignored, truncated or collide: the same noise under different seeds or under none",
        ("E18",),
        _seeds_differ,
        covers=False,
        statistical=True,
        needs=_SEEDED,
    ),
    at_few_records(
        "replay-repeats",
        Cause.NOT_REPEATED,
        Aspect.UPDATES,
        "state that leaks from one request into another, noise of its own in a replay",
        (),
        _replay_repeats,
        covers=False,
        needs=REPLAY,
    ),
)
