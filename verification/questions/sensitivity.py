"""Observed against claimed sensitivity, for every value that leaves the implementation.

Non-convex regularizers where no noise is enough: their proximal map jumps, and nothing may be released from it.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass, replace

import numpy as np

from verification.neighbours.families import (
    DIMENSION,
    SMALL_STEP,
    Domain,
    WorstCase,
    cancelling,
    clipped,
    hinge,
    saturated,
    silent,
)
from verification.neighbours.neighbours import Attack, Neighbours, as_records, changed
from verification.neighbours.search import Proposals, SearchLimits, attacks, simplified, smallest
from verification.pictures import against_claim, scores
from verification.questions.question import (
    EVERY_ITERATE,
    OBSERVABLE,
    REPLAY,
    Answer,
    Observation,
    Question,
    Size,
    at_few_records,
)
from verification.questions.scenes import random_records
from verification.reading import values as observe
from verification.reading.context import ALL_MODES, MPADMM_ALL, Claimed, Clock, Context, NotApplicable
from verification.reading.inverter import INVERTERS, SOLVED, SolvedInverter, with_count
from verification.reading.replayed import FOUND, HIDDEN, SIZES, noised_gradients, noiseless_read, own_noise
from verification.reading.values import (
    DEVIATIONS,
    TINY_SIGMA,
    first_batches,
    noiseless,
    observable,
    random_noise,
    resolution,
)
from verification.served.translate import anchor_sensitivities, claimed_distance, problem_of, sensitivities
from verification.statistics import tails
from verification.statistics.test import Aspect, Cause, Test
from verification.wire.arrays import Floats
from verification.wire.faults import AdapterRefusal, RefusedRequest
from verification.wire.messages import Capability, initial_point
from verification.wire.parameters import Initial, Law, LossName, Parameters, RegularizerName, RegularizerOptions
from verification.wire.records import Records, Run
from verification.wire.tape import NotOnTapeError

_FAR = 2.0**14  # times the tilt: margins of -160, where the sigmoid is 1 to the last bit
_TILT = 0.01
_ATTACKS = 24
_SMALL_SIZES = ((2, 1), (2, 2), (3, 2))  # records and columns at which a smaller witness is looked for
_SHRINKING, _SHRINKING_BY_REPLAY = 160, 120  # pairs that are measured for it, where each is one step or many
_SHRINKING_SECONDS = 30.0
_HOLDING = 1e3  # a threshold far above every iterate of these short runs
_JOINTLY = "(x, z, y) jointly"
_LOUD = 30.0
# Values whose noise was found by replays: in each of three iterations an error of x, z, y grows tenfold at most. With
# rho = 1/2, eta in [1/2, 4]: (1/eta + rho + 1)/(rho + 1/eta) <= 7/3 for x, 1/rho more for z, a prox doubles it at most.
_FOUND = FOUND * 10.0**3
_LOW_PRECISION = 2.0**-36  # a unit above it is not that of doubles
_FEW = 5
_SMALL_NOISE = 1e-2
_ROUNDINGS = 64  # of released values, in three iterations
_PLAIN_DIGITS = 1e-7  # a combination of outputs this much quieter than the loudest is taken for a constant


def hard_pair(context: Context, count: int, bound: float = 1.0, *, normalise: bool = False) -> WorstCase:
    """The worst case of `count` records that an implementation allows.

    By clipping, unless only normalising is offered, or asked for; with normalised features the huberized hinge attains
    the bound from 0, the logistic loss only from a start far out.
    """
    losses = context.description.losses
    if context.clips and not (normalise and context.can(Capability.NORMALISE)):
        return clipped(count, C=bound, loss=losses[0])
    if LossName.HUBER in losses:
        return hinge(count, C=bound, length=2.0)
    if not context.can(Capability.INITIAL):
        raise NotApplicable("with normalised features and the logistic loss, needs the capability initial")
    return saturated(count, far=_FAR / bound, C=bound, tilt=_TILT, length=2.0)


# -- one step, no noise: no value moves further than claimed ---------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One step on neighbours, and what is asked of it."""

    pair: Neighbours
    regularizer: RegularizerName
    loss: LossName
    rho: float
    eta: float
    lambda_: float
    normalise: bool
    initial: Initial | None

    def parameters(self, context: Context) -> Parameters:
        count, dimension = self.pair.count, self.pair.columns
        found = context.parameters(
            dimension,
            eta=[self.eta],
            batch=min(3, count) if context.can(Capability.REPLAY) else count,
            sigma=1.0,
            rho=self.rho,
            lambda_=self.lambda_,
            loss=self.loss,
            regularizer=self.regularizer,
            initial=self.initial,
            normalise=self.normalise,
        )
        return observable(context, found)


@dataclass(frozen=True, slots=True)
class _Moves:
    """How far every value moved in a step, what is allowed, and the rounding that is allowed beside it."""

    moved: dict[str, float]
    allowed: dict[str, float]
    slack: float
    rounding: float

    def ratio(self, name: str) -> float:
        """The share of what is allowed that was reached, rounding taken off."""
        return (self.moved[name] - self.slack) / (self.allowed[name] * (1 + self.rounding))

    def worst(self) -> str | None:
        """The first value that moved too far."""
        return next((name for name in self.moved if self.ratio(name) > 1.0), None)


def _one_step(context: Context) -> Observation:
    reached, rounding = 0.0, observe.released_rounding(context)  # each side is off by half of it at most
    for attack in range(_ATTACKS):
        step = _step(context, attack)
        moves = _moves(context, step, rounding)
        name = moves.worst()
        if name is not None:
            bound = moves.allowed[name]
            return Observation(
                False,
                f"{name} moved by {moves.moved[name]:.9g} between neighbours, claimed is at most {bound:.9g} "
                f"(regularizer {step.regularizer}, eta {step.eta:g}, rho {step.rho:g})\n"
                f"{_smallest_witness(context, step, moves, rounding)}",
                against_claim(
                    "The sensitivity witness",
                    "How far each released value moved when one record was replaced, in one step without noise.",
                    {each: (far, moves.allowed[each]) for each, far in moves.moved.items()},
                    "distance between neighbours",
                ),
            )
        reached = max(reached, moves.moved["x"] / moves.allowed["x"])
    return Observation(True, f"{_ATTACKS} attacks; the hardest moved x by {reached:.6f} of what is claimed")


def _moves(context: Context, step: _Step, rounding: float) -> _Moves:
    parameters = step.parameters(context)
    pair = step.pair
    sides = (pair.first, pair.second) if context.rng.random() < 0.5 else (pair.second, pair.first)
    runs = [noiseless_read(context, side, parameters) for side in sides]
    allowed = INVERTERS[context.mode.algorithm].moves(parameters, pair.count)
    slack = _observation_slack(context, pair.first, parameters, runs[0]) + rounding * math.sqrt(3 * runs[0].x.shape[1])
    return _Moves(_moved(context, allowed, *runs), allowed, slack, context.rounding)


def _step(context: Context, attack: int) -> _Step:
    """In turn: the hardest pair, random records at random points, the hardest normalised pair, a balanced batch."""
    rho, eta = ((0.5, 0.5), (0.5, 4.0), (2.0, 4.0))[attack % 3]
    count, dimension = 5, 4
    initial, normalise, loss = None, not context.clips, context.description.losses[0]
    if attack % 2 == 0:
        case = hard_pair(context, count, normalise=attack % 4 == 2 and context.can(Capability.INITIAL))
        pair, initial, normalise, loss = case.neighbours, case.initial, case.normalise is not None, case.loss
    elif attack % 4 == 3:
        pair = cancelling(count, dimension, 20.0)
    else:
        first = random_records(context.rng, count, dimension, length=3.0)
        pair = changed(first, 0, (-first.features[0], int(first.labels[0])), "random")
        if context.can(Capability.INITIAL):
            initial = initial_point(*(30.0 * context.gaussian(3, dimension)))
    offered = context.description.regularizers
    lambda_ = float(context.rng.choice([0.01, 0.2, 2.0]))
    if context.own:
        lambda_ = context.penalty(lambda_)  # behind a proximal map no gradient of other updates can be read
    return _Step(pair, offered[attack % len(offered)], loss, rho, eta, lambda_, normalise, initial)


def _smallest_witness(context: Context, step: _Step, moves: _Moves, rounding: float) -> str:
    """The smallest neighbours that one such step moves too far, in words: at a few records first, else at these."""

    def at(attack: Attack) -> _Step:
        far = attack.neighbours.columns == step.pair.columns
        return replace(step, pair=as_records(attack.neighbours), initial=step.initial if far else None)

    def ratio(attack: Attack) -> float | None:
        try:
            found = known[attack.key()] = _moves(context, at(attack), rounding)
        except (NotOnTapeError, RefusedRequest):
            return None
        return max(found.ratio(name) for name in found.moved)

    own = step.pair
    known = {Attack(own).key(): moves}
    sizes = [size for size in _SMALL_SIZES if size[0] <= own.count and size[1] <= own.columns]
    strategies = [attacks(Domain(*size, closed=False)) for size in sizes]
    strategies.append(simplified(Attack(own), Domain(own.count, own.columns, closed=False)))
    limits = SearchLimits(
        time.monotonic() + _SHRINKING_SECONDS,
        _SHRINKING_BY_REPLAY if context.own else _SHRINKING,
        int(context.rng.integers(1 << 32)),
    )
    attack = smallest([Proposals(each, ratio) for each in strategies], limits, above=1.0).attack or Attack(own)
    seen = known[attack.key()]
    name = seen.worst() or max(seen.moved, key=seen.ratio)
    text = f"{name} moves by {seen.moved[name]:.6g}, claimed is {seen.allowed[name]:.6g}"
    return f"smallest witness: {attack.text()}; {text}"


def _moved(context: Context, allowed: dict[str, float], first: Run, second: Run) -> dict[str, float]:
    """How far each value that is released, and that a bound is known for, moved; and all of x, z, y together."""
    shown = set(context.description.released[context.mode.algorithm]) - context.processed
    moved = {
        name: float(np.linalg.norm(first.values[name][0] - second.values[name][0])) for name in allowed if name in shown
    }
    return moved | ({_JOINTLY: math.hypot(*moved.values())} if _JOINTLY in allowed else {})


def _observation_slack(context: Context, records: Records, parameters: Parameters, run: Run) -> float:
    problem, inside = problem_of(records, parameters), INVERTERS[context.mode.algorithm]
    follows = inside.after_x(parameters, problem, run.x[None])
    added = 0.0 if context.can(Capability.REPLAY) else DEVIATIONS * TINY_SIGMA
    return inside.slack(parameters, problem, {"x": run.x, **follows}, added)


# -- replay: what is not noised must be a function of what is ----------------------------------------------------


def _coupled(context: Context) -> Observation:
    """Choose the neighbour's noise so that all noised values coincide; then everything released must coincide."""
    context.require_private()
    # Of two records that cancel one is turned round: a mean that is clipped as a whole moves as well.
    pair = hard_pair(context, 2)
    coupled = _coupled_hidden if context.hides else _coupled_pair
    findings = [coupled(context, each) for each in (pair, silent(pair))]
    if context.processed and context.sees_every_iterate:
        records = random_records(context.rng, 5, 3)
        parameters = context.parameters(3, eta=[0.5, 4.0, 1.0], batch=5, sigma=1.0, rho=0.5, lambda_=0.2)
        run = context.trials(records, parameters, _FEW)
        findings += [_replayed_alike(context, records, parameters, run, set(context.processed)) or findings[0]]
    return min(findings, key=lambda finding: finding.holds)


def _coupled_hidden(context: Context, pair: WorstCase) -> Observation:
    """One step of an implementation that hides large noise: the move that hides a record, found where noise is small.

    Then everything released must be the same whatever the noise, if the neighbour's is moved by as much.
    """
    parameters = _pair_parameters(context, pair, 2, [0.5], sigma=1.0)
    batches = None if parameters.batch is None else [[0, 1]]
    sides = (pair.first, pair.second) if context.rng.random() < 0.5 else (pair.second, pair.first)
    first, second = (context.session.send(side) for side in sides)
    algorithm, standard = context.mode.algorithm, random_noise(context, parameters, DIMENSION)

    def shown(name: str, noise: dict[str, Floats]) -> Run:
        run = context.session.replay(name, algorithm, parameters, noise, batches)
        return Run({value: run.values[value] for value in context.description.released[algorithm]})

    text = "everything released is a function of the noised values alone, at every size of the noise"
    noises = [{stream: size * array for stream, array in standard.items()} for size in SIZES]
    if all(noised_gradients(context, side, parameters, noise, batches) for side in sides for noise in noises):
        return Observation(True, text)
    small = {stream: _SMALL_NOISE * array for stream, array in standard.items()}
    found = own_noise(context, second, parameters, with_count(shown(first, small)), batches, quiet=True)
    move = {stream: found[stream][0] - array for stream, array in context.with_noise(small).items()}
    moved = np.sqrt(sum(np.sum(array**2, axis=-1) for array in move.values()))
    wrong = _moves_too_far(moved, sensitivities(algorithm, parameters, 2), context.rounding)
    for size in SIZES if wrong is None else ():
        noise = {stream: size * array for stream, array in standard.items()}
        other = {stream: array + move.get(stream, 0.0) for stream, array in noise.items()}
        seen = _all_coincide(shown(first, noise), shown(second, other), pair.start, _FOUND + context.rounding)
        if not seen.holds:
            return seen
    return wrong or Observation(True, text)


def _coupled_pair(context: Context, pair: WorstCase) -> Observation:
    count, iterations = 2, 3
    parameters = _pair_parameters(context, pair, count, [0.5] * iterations, sigma=1.0)
    noise = random_noise(context, parameters, DIMENSION)
    batches = None if parameters.batch is None else [list(range(count))] * iterations
    algorithm = context.mode.algorithm
    sides = (pair.first, pair.second) if context.rng.random() < 0.5 else (pair.second, pair.first)
    hidden = [context.session.send(side) for side in sides]
    run = context.session.replay(hidden[0], algorithm, parameters, noise, batches)
    other = {name: array.copy() for name, array in noise.items()}
    other_problem = problem_of(sides[1], parameters)
    if context.own:
        coupled = own_noise(context, hidden[1], parameters, with_count(run), batches)
        other = {name: array[0] for name, array in coupled.items()}
    for k in range(0 if context.own else iterations):
        twin = context.session.replay(hidden[1], algorithm, parameters, other, batches)
        INVERTERS[algorithm].couple(parameters, other_problem, (run, twin), other, k)
    twin = context.session.replay(hidden[1], algorithm, parameters, other, batches)
    leaving = context.description.released[algorithm]  # a replay also shows what stays inside
    shown, twins = (Run({name: side.values[name] for name in leaving}) for side in (run, twin))
    solved = SOLVED * iterations / parameters.rho if isinstance(INVERTERS[algorithm], SolvedInverter) else 0.0
    if context.own:
        carried = context.with_noise(noise)
        moved = np.sqrt(sum(np.sum((other[name] - noise[name]) ** 2, axis=-1) for name in carried))
        wrong = _moves_too_far(moved, sensitivities(algorithm, parameters, count), context.rounding)
        if wrong is not None:
            return wrong
        solved += _FOUND
    if context.unit > _LOW_PRECISION:
        solved += context.rounding
    return _all_coincide(shown, twins, pair.start, solved)


def _moves_too_far(moved: Floats, allowed: Floats, rounding: float) -> Observation | None:
    """Whether a record moves what is noised by more than the noise was scaled for, in the noise's own units."""
    ratios = moved / allowed
    k = int(np.argmax(ratios))
    if ratios[k] <= 1 + rounding + _FOUND:
        return None
    text = f"noise must be moved by {moved[k]:.6g} in iteration {k + 1} to hide one record, claimed is {allowed[k]:.6g}"
    return Observation(False, text, cause=Cause.CONTRIBUTION)


def _all_coincide(run: Run, twin: Run, start: float, solved: float) -> Observation:
    scale = 1.0 + start + max(float(np.abs(array).max()) for array in run.values.values())
    close = (1e-10 + solved) * scale  # a million roundings of what is added and subtracted here, and the inner solver
    for name in run.values:
        apart = float(np.abs(run.values[name] - twin.values[name]).max())
        if apart > close:
            return Observation(
                False,
                f"with noise under which all noised values are equal for two neighbours, {name} still differs "
                f"by {apart:.3g}: it reveals the record through no noise at all",
                against_claim(
                    "What no noise covers",
                    "How far each released value differs between neighbours when all noised values are equal.",
                    {each: (float(np.abs(run.values[each] - twin.values[each]).max()), close) for each in run.values},
                    "difference",
                ),
            )
    return Observation(True, f"{', '.join(run.values)} are functions of the noised values alone")


# -- trials: what is released beside x ---------------------------------------------------------------------------


def _post_processing(context: Context) -> Observation:
    released = set(context.description.released[context.mode.algorithm]) & {"z", "y"}
    if not released:
        raise NotApplicable("neither z nor y leaves the implementation")
    records = random_records(context.rng, 5, 3)
    for regularizer in context.description.regularizers:
        if regularizer is RegularizerName.NUCLEAR:
            continue
        eta, batch = [0.5, 4.0, 1.0], 2
        parameters = context.parameters(
            3, eta=eta, batch=batch, sigma=1.0, rho=0.5, lambda_=0.2, regularizer=regularizer
        )
        run = context.trials(records, parameters, _FEW if context.own else 50)
        if context.own:
            wrong = _replayed_alike(context, records, parameters, run, released)
            if wrong is not None:
                return wrong
            continue
        right = INVERTERS[context.mode.algorithm].after_x(parameters, problem_of(records, parameters), run.x)
        close = 1e-10 * (1 + float(np.abs(run.x).max()) + float(np.abs(right["y"]).max()))
        # what is released may be rounded; an error of x reaches z and y at most (1 + L) (1 + rho) times in an iteration
        rounding = max(resolution(array) for array in run.values.values())
        close = max(close, _ROUNDINGS * rounding)
        if context.unit > _LOW_PRECISION:
            close += context.rounding * (1 + float(np.abs(run.x).max()))
        for name in sorted(released):
            apart = float(np.abs(run.values[name] - right[name]).max())
            if apart > close:
                return Observation(
                    False,
                    f"{name} is off by {apart:.3g} from what follows from the released x (regularizer {regularizer}): "
                    "it carries something that never got noise",
                    against_claim(
                        "What no noise covers",
                        "How far each released value lies from what follows from the released x.",
                        {each: (float(np.abs(run.values[each] - right[each]).max()), close) for each in released},
                        "difference",
                    ),
                )
    text = f"{' and '.join(sorted(released))} follow from the released x alone"
    return Observation(True, text, difference=f"{text}, by updates that are not the reference's" if context.own else "")


def _replayed_alike(
    context: Context, records: Records, parameters: Parameters, run: Run, released: set[str]
) -> Observation | None:
    """Whether replays with the same x show other z and y: those of a replay are functions of x (coupled-releases)."""
    name = context.session.send(records)
    noise = own_noise(context, name, parameters, run, quiet=True)
    for trial in range(len(run.x)):
        alone = {stream: array[trial] for stream, array in noise.items()}
        again = context.session.replay(name, context.mode.algorithm, parameters, alone, first_batches(parameters))
        close = max(_FOUND, _ROUNDINGS * context.unit) * (
            1 + max(float(np.abs(array).max()) for array in again.values.values())
        )
        if float(np.abs(again.x - run.x[trial]).max()) > close:
            raise NotApplicable(HIDDEN)  # the noise was not found exactly enough for the same x
        for value in sorted(released):
            apart = float(np.abs(again.values[value] - run.values[value][trial]).max())
            if apart > close:
                return Observation(
                    False,
                    f"{value} is off by {apart:.3g} from that of a replay with the same x: it carries something "
                    "that never got noise",
                )
    return None


def distinguishable(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
    """Compare the distance of two neighbours' outputs, in units of their own noise, with the claimed one."""
    context.require_private()
    if context.scheme.law is not Law.GAUSSIAN:
        raise NotApplicable("the noise is not Gaussian, so that distances say little; the audit plays this game")
    pair = hard_pair(context, 2)
    tests = (_told_apart(context, pair, 1500), _told_apart(context, silent(pair), 500))
    return Answer("the hardest neighbours", "small sizes", 0, tests, (Aspect.RELEASED,))


def _told_apart(context: Context, pair: WorstCase, trials: int) -> Test:
    count, iterations = 2, context.iterations(2) if context.sees_every_iterate else 1
    eta = [SMALL_STEP] * iterations if context.mode.release is None else [0.5] * iterations
    if pair.initial is None and context.mode.release is not None:
        eta = [SMALL_STEP] * iterations
    if "inner" in context.scheme.takes:
        eta = [step / _LOUD for step in eta]  # the noise of the steps is loud, and must not carry x away
    multiplier = 0.8  # not 1, where with two records sigma would be 1 and its square as well
    unit = _pair_parameters(context, pair, count, eta, sigma=1.0)
    sigma = multiplier * float(sensitivities(context.mode.algorithm, unit, count)[0])
    noise: dict[str, float] = {"sigma": sigma}
    if unit.inner is not None:
        # The full gradient is what the pair moves; a step that says next to nothing leaves the claim for it alone.
        anchor = multiplier * float(anchor_sensitivities(unit, count)[0])
        noise = {"sigma": _LOUD * sigma, "anchor_sigma": anchor}
    parameters = unit.model_copy(update=noise)
    claimed = claimed_distance(context.mode.algorithm, parameters, count)
    runs = context.pair_trials(pair.first, pair.second, parameters, context.count(trials))
    first, second = (_stacked(run) for run in runs)
    return _mahalanobis(first, second, claimed)


def _pair_parameters(context: Context, pair: WorstCase, count: int, eta: list[float], sigma: float) -> Parameters:
    held = pair.held and RegularizerName.L1 in context.description.regularizers and not context.scheme.proximal_x
    return context.parameters(
        DIMENSION,
        eta=eta,
        batch=count,
        sigma=sigma,
        rho=0.5,
        loss=pair.loss,
        regularizer=RegularizerName.L1 if held else context.plain,
        lambda_=_HOLDING * (1 + pair.start) if held else 0.0,
        initial=pair.initial,
        normalise=pair.normalise is not None,
    )


def _stacked(run: Run) -> Floats:
    """Everything that left each trial, one row a trial."""
    return np.hstack([array.reshape(len(array), -1) for array in run.values.values()])


def _mahalanobis(first: Floats, second: Floats, claimed: float) -> Test:
    asked = functools.partial(Test, "distinguishable", Aspect.RELEASED, cause=Cause.DISTINGUISHED)
    origin = first.mean(axis=0)
    size = np.maximum(np.abs(first - origin).max(axis=0), np.abs(second - origin).max(axis=0))
    loudest = float(size.max())
    if loudest == 0.0:
        return asked(0.0, "nothing that leaves the implementation varies from run to run: there is no noise")
    both = np.vstack([first - first.mean(axis=0), second - second.mean(axis=0)])
    _, singular, axes = np.linalg.svd(both / loudest, full_matrices=False)
    loud = singular > _PLAIN_DIGITS * singular[0]
    shift = (first.mean(axis=0) - second.mean(axis=0)) / loudest
    quiet = float(np.abs(axes[~loud] @ shift).max()) if (~loud).any() else 0.0
    if quiet > 100 * _PLAIN_DIGITS:
        return asked(
            0.0,
            f"a combination of released values is constant from run to run and differs by {quiet * loudest:.3g} "
            "between neighbours: it reveals the record with certainty",
        )
    projected = [(side - origin) / loudest @ axes[loud].T for side in (first, second)]
    p_value = tails.shifted_means(projected[0], projected[1], claimed)
    pooled = np.linalg.norm((axes[loud] @ shift) / (singular[loud] / math.sqrt(len(both))))
    along = axes[loud].T @ ((axes[loud] @ shift) / (singular[loud] ** 2 / len(both))) / max(float(pooled), 1e-300)
    near, far = ((side - origin) / loudest @ along for side in (first, second))
    caption = (
        "The combination of released values that tells the neighbours apart best, in its own standard deviations; the "
        f"curves may lie {claimed:.3f} apart."
    )
    draw = functools.partial(scores, "everything released", near, far, caption)
    detail = f"neighbours are {pooled:.3f} standard deviations apart, claimed at most {claimed:.3f}"
    return asked(p_value, detail, draw=draw)


_RHO = 0.25  # 1/rho = 4: SCAD needs a > 5, MCP gamma > 4; the customary 3.7 and 3 fall short
_JUMPING = {RegularizerName.SCAD: RegularizerOptions(a=3.7), RegularizerName.MCP: RegularizerOptions(gamma=3.0)}


def _refused(context: Context) -> Observation:
    offered = [name for name in context.description.regularizers if name in _JUMPING]
    if not offered:
        raise NotApplicable("no non-convex regularizer is offered")
    records = Records(np.eye(4), np.ones(4, dtype=np.int64))
    for regularizer in offered:
        options = _JUMPING[regularizer]
        admissible = context.parameters(
            4, eta=[1.0], batch=4, sigma=1.0, rho=_RHO, lambda_=0.1, regularizer=regularizer
        )
        parameters = admissible.model_copy(update={"options": options})
        try:
            noiseless(context, records, parameters, may_refuse=True)
        except AdapterRefusal:
            continue
        shape = options.a if options.a is not None else options.gamma
        return Observation(
            False, f"{regularizer} of shape {shape} was accepted at rho {_RHO:g}: its proximal map jumps there"
        )
    return Observation(True, f"{' and '.join(offered)} are refused where their proximal map jumps")


QUESTIONS = (
    at_few_records(
        "one-step-sensitivity",
        Cause.CONTRIBUTION,
        Aspect.RELEASED,
        "a record that moves x, z, y or the three together further than the noise was scaled for",
        ("SENS-GRADIENT", "SENS-X", "SENS-Z", "SENS-Y", "JOINT", "E1", "E11", "DPSGD", "DPADMM", "DPSVRG"),
        _one_step,
        needs=OBSERVABLE,
    ),
    at_few_records(
        "coupled-releases",
        Cause.UNNOISED,
        Aspect.RELEASED,
        "an un-noised value beside a noised one: a dual, an average, a loss, a count",
        ("P",),
        _coupled,
        needs=REPLAY,
    ),
    at_few_records(
        "post-processing",
        Cause.UNNOISED,
        Aspect.RELEASED,
        "z or y computed from the x before noise was added",
        ("P",),
        _post_processing,
        needs=EVERY_ITERATE,
        modes=tuple(mode for mode in ALL_MODES if mode != MPADMM_ALL),
    ),
    Question(
        "distinguishable",
        distinguishable,
        "everything released, taken together, tells the hardest neighbours apart better than claimed",
        ("SENS-GRADIENT", "JOINT", "G"),
        (Size.SMALL,),
    ),
    at_few_records(
        "refuses-jumping-prox",
        Cause.CONTRIBUTION,
        Aspect.RELEASED,
        "SCAD or MCP inside mpADMM with a shape at which z has no sensitivity bound at all",
        ("E11",),
        _refused,
        covers=False,
        modes=(MPADMM_ALL,),
    ),
)
