r"""Reading the noise of an implementation whose updates are not the reference's, but valid ones of its own.

What was noised in a run is a function of the noise, given the data and the batches, and `replay` is that function. So
the noise of a run is what makes a replay show the same noised values, found by iteration. On records without gradient
it includes the gradient; on the run's own records, all in every batch, it is the noise alone. It is in the
implementation's own units, in which a record's gradient may move it by the claimed sensitivity (`coupled-releases`), so
that a shorter step with as much less noise is as private.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.gradients import batch_gradients
from verification.reading.context import Claimed, Context, NotApplicable
from verification.reading.inverter import INVERTERS, with_count
from verification.reading.values import first_batches, no_noise, noiseless, resolution, standard_noise
from verification.served.serve import Values
from verification.served.stepwise import StepwiseBaselines
from verification.served.translate import noise_scales, party_name, problem_of
from verification.statistics.test import Aspect, Cause, Cost, Test
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Parameters, Release, noised_names
from verification.wire.records import Records, Run

READABLE = (Algorithm.SSADMM, Algorithm.MPADMM, Algorithm.DPSGD)
"""The algorithms whose noise can be found in this way."""
EFFORT = 0.04
"""Sample sizes of conformance, in which every run has to be replayed, over the usual ones."""
UNREAD = "its updates are not the reference's, so that its noise can be read by replays alone: offer replay"
HIDDEN = "noise cannot be read: what is computed from noisy values is nearly the same for different noise"
UNSEEN = (
    f"{HIDDEN}, and it is not the reference's gradients that are noised: a version without that step can be read, or "
    "declare it as a mechanism of its own"
)
FOUND = 1e-9
"""How exactly noise is found, over the largest value: what a replay lacks, in the reference's units."""
SIZES = (0.1, 1.0, 10.0)
"""The sizes of noise, over the bound, at which what is computed from noisy values is looked at."""
_PASSES = 40
_SMALL_STEP, _SMALLER, _FLAT = 1e-3, 1e-2, 1e-2
"""Where a change of the noise shows a hundred times less than another, noise is not read but compared with replays:
what is found to 1e-9 would be known to 1e-7 alone, and repeated values no longer told from fresh ones."""
_REMEMBERED = 12
_TURNED = 1e-3
_FITTED_RUNS = 20


def own_noise(
    context: Context,
    name: str,
    parameters: Parameters,
    run: Run,
    batches: list[list[int]] | None = None,
    *,
    quiet: bool = False,
) -> Values:
    """The noise under which a replay on the records ``name`` shows the runs [count, T, p]; not applicable if none.

    Values without noise of their own are given none. ``quiet``: the runs have next to no noise, and are read where
    something is computed from noisy values that hides large noise, if it hides none of theirs.
    """
    if not context.can(Capability.REPLAY):
        raise NotApplicable(UNREAD)
    if context.hides and not quiet:
        raise NotApplicable(HIDDEN)
    runs = [Run({key: array[[r]] for key, array in run.values.items()}) for r in range(len(run.x))]
    found = [_one(context, name, parameters, each, batches) for each in runs]
    noise = {stream: np.concatenate([each[stream] for each in found]) for stream in found[0]}
    if context.hides:
        lengths = np.linalg.norm(next(iter(context.with_noise(noise).values())), axis=-1)
        r, k = np.unravel_index(int(np.argmax(lengths)), lengths.shape)
        longest = {stream: array[r] for stream, array in noise.items()}
        if hides_noise(context, name, parameters, longest, batches=batches, k=int(k)):
            raise NotApplicable(HIDDEN)
    return noise


def _one(context: Context, name: str, parameters: Parameters, target: Run, batches: list[list[int]] | None) -> Values:
    """One run: correct the noise by what a replay still lacks, until nothing is lacking (Anderson's acceleration)."""
    given = first_batches(parameters) if batches is None else batches
    shown = apparent(context, parameters, target)
    wanted = context.with_noise(shown)
    none = {stream: np.zeros_like(array) for stream, array in shown.items()}
    shapes = {stream: array.shape for stream, array in wanted.items()}
    right = _flat(wanted)
    noises, lacks = [right], list[Floats]()
    close = max(FOUND, _ROUNDINGS * context.unit)  # of the noise, in the implementation's own arithmetic
    for _ in range(_PASSES):
        noise = none | _parts(noises[-1], shapes)
        alone = {stream: array[0] for stream, array in noise.items()}
        again = context.session.replay(name, context.mode.algorithm, parameters, alone, given)
        lacks.append(right - _flat(context.with_noise(apparent(context, parameters, with_count(again)))))
        if float(np.abs(lacks[-1]).max()) <= close * max(float(np.abs(part).max()) for part in (right, noises[-1])):
            return noise
        noises, lacks = noises[-_REMEMBERED:], lacks[-_REMEMBERED:]
        noises.append(_improved(noises, lacks))
        if not np.isfinite(noises[-1]).all():
            break
    raise NotApplicable("its updates are not the reference's, and no noise was found under which a replay agrees")


def hides_noise(
    context: Context,
    name: str,
    parameters: Parameters,
    noise: Values,
    *,
    batches: list[list[int]] | None = None,
    k: int = 0,
) -> bool:
    """Whether a replay shows next to the same x in iteration k for some change of its noise of [T, p].

    To first order, and beside the largest change that noise of this size, or a hundredth of it, can make: a sign or a
    threshold shows no change, what is divided by its own size far less of large noise than of small noise.
    """
    given, algorithm = first_batches(parameters) if batches is None else batches, context.mode.algorithm
    stream = next(iter(context.with_noise(noise)))
    largest = float(np.abs(noise[stream][k]).max())
    if not largest:
        return False

    def responses(size: float) -> Floats:
        step = _SMALL_STEP * size * largest

        def shown(change: Floats) -> Floats:
            moved = noise[stream].copy()
            moved[k] = size * moved[k] + step * change
            x: Floats = context.session.replay(name, algorithm, parameters, {**noise, stream: moved}, given).x[k]
            return x

        axes = np.eye(noise[stream].shape[-1])
        found: Floats = np.linalg.svd(np.array([shown(axis) - shown(-axis) for axis in axes]), compute_uv=False)
        return found / size

    here, smaller = responses(1.0), responses(_SMALLER)
    return bool(here[-1] <= _FLAT * max(here[0], smaller[0]))


def _improved(noises: list[Floats], lacks: list[Floats]) -> Floats:
    """The next noise: the combination of those tried that would have lacked the least, corrected by what it lacks."""
    if len(noises) == 1:
        return noises[0] + lacks[0]
    moved, changed = (np.stack([b - a for a, b in itertools.pairwise(each)], axis=1) for each in (noises, lacks))
    weights = np.linalg.lstsq(changed, lacks[-1], rcond=1e-12)[0]
    improved: Floats = noises[-1] + lacks[-1] - (moved + changed) @ weights
    return improved


def _flat(values: Values) -> Floats:
    return np.concatenate([array.ravel() for array in values.values()])


def _parts(flat: Floats, shapes: dict[str, tuple[int, ...]]) -> Values:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    return {s: part.reshape(shapes[s]) for s, part in zip(shapes, np.split(flat, ends[:-1]), strict=True)}


def apparent(context: Context, parameters: Parameters, run: Run) -> Values:
    """The noise as the reference's updates would have it, gradients included."""
    return INVERTERS[context.mode.algorithm].noise(parameters, problem_of(_nothing(run.x.shape[-1]), parameters), run)


@functools.lru_cache(maxsize=4)
def _nothing(columns: int) -> Records:
    """One record without gradient."""
    return Records(np.zeros((1, columns)), np.ones(1, dtype=np.int64))


def follows_rules_of_its_own(context: Context, records: Records, plain: Parameters, penalised: Parameters) -> bool:
    """Whether z and y are fixed combinations of what is released, the same everywhere, but not the reference's.

    That costs no privacy, and hides the noise where nothing can be replayed. With a penalty y is looked at, of which z
    is then no combination; without one z is. What carries the clean x is none: its noise is another in every run.
    """
    released = context.description.released[context.mode.algorithm]
    if not context.sees_every_iterate or not {"x", "z", "y"} <= set(released) or plain.release is Release.ALL:
        return False
    run = context.trials(records, penalised, _FITTED_RUNS)
    right = INVERTERS[context.mode.algorithm].after_x(penalised, problem_of(records, penalised), run.x)
    close = close_to(run, right)
    if all(float(np.abs(run.values[name] - right[name]).max()) <= close for name in ("z", "y")):
        return False
    if not combined(run, "y", ("x", "z"), close):
        return False
    run = context.trials(records, plain, _FITTED_RUNS)
    return combined(run, "z", ("x",), close_to(run))


def close_to(run: Run, right: Values | None = None) -> float:
    """As `post-processing` has it: 1e-10 of the largest value, or 64 roundings of what is released."""
    largest = max(float(np.abs(array).max()) for array in (*run.values.values(), *(right or {}).values()))
    return max(1e-10 * (1 + largest), 64 * max(resolution(array) for array in run.values.values()))


def combined(run: Run, name: str, now: tuple[str, ...], close: float) -> bool:
    """Whether a value is a fixed combination of these of its iteration and of x, z, y of the one before."""
    before = [run.values[each][:, :-1].ravel() for each in ("x", "z", "y")]
    known = np.column_stack([*(run.values[each][:, 1:].ravel() for each in now), *before])
    wanted = run.values[name][:, 1:].ravel()
    weights = np.linalg.lstsq(known, wanted, rcond=1e-9)[0]
    return float(np.abs(known @ weights - wanted).max()) <= close


def noise_of_runs(context: Context, records: Records, parameters: Parameters, run: Run) -> Values:
    """The noise of runs [count, T, p] over its claimed scale, where the gradient does not depend on the batch."""
    if not context.own:
        claimed = Claimed(context.mode, records.count, records.columns, parameters)
        return context.with_noise(standard_noise(claimed, records, run))
    return own_standard_noise(context, context.session.send(records), parameters, records.count, run)


def own_standard_noise(context: Context, name: str, parameters: Parameters, records: int, run: Run) -> Values:
    """The same, by replays on the records of this name."""
    scales = noise_scales(context.mode.algorithm, parameters, records)
    found = context.with_noise(own_noise(context, name, parameters, run))
    return {stream: array / scales[stream][:, None] for stream, array in found.items()}


def noiseless_read(context: Context, records: Records, parameters: Parameters, *, may_refuse: bool = False) -> Run:
    """A run without noise [T, p] as the reference would have shown it, if it had had the same gradients."""
    if context.hides:
        return _seen_through_noise(context, records, parameters, may_refuse=may_refuse)
    run = noiseless(context, records, parameters, may_refuse=may_refuse)
    if not context.own:
        return run
    read = as_the_reference(context, parameters, with_count(run), records.count, quiet=True)
    return Run({name: array[0] for name, array in read.values.items()})


def _seen_through_noise(context: Context, records: Records, parameters: Parameters, *, may_refuse: bool) -> Run:
    """The same where noise is hidden: the reference's gradients, if they explain what is shown at every size of it."""
    dimension, rng = records.columns + int(parameters.intercept), context.rng
    shapes = {name: array.shape for name, array in no_noise(context.mode.algorithm, parameters, dimension).items()}
    alone: Values = {}
    for size in SIZES:
        noise = {name: size * parameters.bound * rng.standard_normal(shape) for name, shape in shapes.items()}
        moved = noised_gradients(context, records, parameters, noise, may_refuse=may_refuse)
        if moved is None:
            raise NotApplicable(UNSEEN)
        alone = {name: (moved[name] - noise[name])[None] for name in shapes}
    run = reference_run(context.mode.algorithm, _as_silent(parameters), alone, dimension)
    return Run({name: array[0] for name, array in run.values.items()})


def noised_gradients(
    context: Context,
    records: Records,
    parameters: Parameters,
    noise: Values,
    batches: list[list[int]] | None = None,
    *,
    may_refuse: bool = False,
) -> Values | None:
    """The noise with the reference's gradients in it, [T, p], if whatever leaves is a function of their sum; else None.

    It is where a replay on records without gradient, of the noise and the gradients together, shows the same. Then a
    record moves what is noised as in the reference, whatever is computed from it: nothing of that has to be inverted.
    """
    session, algorithm = context.session, context.mode.algorithm
    given = first_batches(parameters) if batches is None else batches
    name = session.send(records, may_refuse=may_refuse)
    run = session.replay(name, algorithm, parameters, noise, given, may_refuse=may_refuse)
    problem = problem_of(records, parameters)
    x = INVERTERS[algorithm].previous(parameters, problem, with_count(run)).x[0]
    chosen = np.tile(np.arange(records.count), (len(x), 1)) if given is None else np.array(given, dtype=np.intp)
    gradients = batch_gradients(problem, x, chosen)
    stream = next(iter(context.with_noise(noise)))
    if stream != "gradient":
        gradients = -gradients / (parameters.rho + 1 / np.array(parameters.eta))[:, None]
    moved = {**noise, stream: noise[stream] + gradients}
    silent = session.send(Records(np.zeros((records.count, x.shape[1])), np.ones(records.count, dtype=np.int64)))
    again = session.replay(silent, algorithm, _as_silent(parameters), moved, given)
    unit = min(context.unit, _SINGLE)  # a coarser one would let through what a record adds
    for value in context.description.released[algorithm]:
        close = max(FOUND, _ROUNDINGS * unit) * (1 + float(np.abs(run.values[value]).max()))
        if float(np.abs(run.values[value] - again.values[value]).max()) > close:
            return None
    return moved


def _as_silent(parameters: Parameters) -> Parameters:
    """The same for records without gradient."""
    return parameters.model_copy(update={"intercept": False, "normalise": None, "clip": parameters.bound})


def as_the_reference(context: Context, parameters: Parameters, run: Run, records: int, *, quiet: bool = False) -> Run:
    """The runs [count, T, p] that the reference makes of the same noisy gradients: what the other checks can read."""
    dimension = run.x.shape[-1]
    silent = Records(np.zeros((records, dimension)), np.ones(records, dtype=np.int64))
    plain = _as_silent(parameters)
    name = context.session.send(silent)
    noise = own_noise(context, name, plain, run, quiet=quiet)
    if dimension not in context.turns:
        context.turns[dimension] = _turn(context, name, plain, dimension)
    turn, stream = context.turns[dimension], next(iter(context.with_noise(noise)))
    if turn is not None:
        noise = {**noise, stream: noise[stream] @ turn}
    return reference_run(context.mode.algorithm, plain, noise, dimension)


def _turn(context: Context, name: str, parameters: Parameters, dimension: int) -> Floats | None:
    """The rotation that is nearest to what a replay makes of its noise before it is added; None where there is none.

    Noise in another order of coordinates, of the other sign or turned is of the same law, and turned back it shows the
    gradient in its own coordinates.
    """
    once = parameters.model_copy(update={"eta": parameters.eta[:1], "iterations": 1})
    silence = no_noise(context.mode.algorithm, once, dimension)
    stream = next(iter(context.with_noise(silence)))

    def added(noise: Floats) -> Floats:
        both = []
        for sign in (1.0, -1.0):
            given = {**silence, stream: sign * parameters.bound * noise[None]}
            run = context.session.replay(name, context.mode.algorithm, once, given, first_batches(once))
            both.append(apparent(context, once, with_count(run))[stream][0, 0])
        half: Floats = (both[0] - both[1]) / 2
        return half

    probe = np.sin(1.0 + np.arange(dimension))
    moved = added(probe)
    along = float(moved @ probe) / float(probe @ probe)
    if along > 0 and float(np.abs(moved - along * probe).max()) <= _TURNED * along:
        return None
    left, sizes, right = np.linalg.svd(np.array([added(axis) for axis in np.eye(dimension)]))
    turn: Floats = left @ right
    return None if sizes[-1] <= _FLAT * sizes[0] or np.allclose(turn, np.eye(dimension), atol=_TURNED) else turn


def reference_run(algorithm: Algorithm, parameters: Parameters, noise: Values, dimension: int) -> Run:
    """The reference's runs on a record without gradient and with this noise."""
    engine, records = StepwiseBaselines(), _nothing(dimension)
    batches = None if parameters.batch is None else np.zeros((parameters.iterations, 1), dtype=np.intp)
    alone = ({name: array[r] for name, array in noise.items()} for r in range(len(next(iter(noise.values())))))
    runs = [engine.replay(records, algorithm, parameters, each, batches) for each in alone]
    return Run({name: np.stack([run[name] for run in runs]) for name in runs[0]})


_ADDED = 1e-3
_AGREES = 1e-2
_ROWS = 1 << 24


def inputs(claimed: Claimed, rng: np.random.Generator) -> tuple[Values, list[list[int]] | None]:
    """Noise of the claimed size, and fresh batches."""
    parameters, scheme = claimed.parameters, claimed.scheme
    scales = noise_scales(claimed.mode.algorithm, parameters, claimed.records)
    noise = {}
    for name in noised_names(claimed.mode.algorithm, parameters):
        shape = scheme.noise_shape(name, parameters, claimed.columns)
        scale = next(iter(scales.values())) if name not in scales else scales[name]
        noise[name] = rng.standard_normal(shape) * scale.reshape(-1, *[1] * (len(shape) - 1))
    if parameters.batch is None:
        return noise, None
    if parameters.batch == claimed.records:
        return noise, [list(range(claimed.records))] * parameters.iterations
    chosen = [rng.choice(claimed.records, parameters.batch, replace=False).tolist() for _ in parameters.eta]
    return noise, chosen


def replay_tests(
    claimed: Claimed, records: Records, run: Run, noise: Values, batches: Sequence[Sequence[int]] | None
) -> list[Test]:
    """Compare step by step, from the implementation's own iterates."""
    found, given = _added(claimed, records, with_count(run), noise, batches)
    added, worst, where = 1.0, 0.0, ""
    for name, array in found.items():
        wanted = given[name]
        ratios = np.sum(array * wanted, axis=1) / np.sum(wanted**2, axis=1)
        if (abs(ratios - 1)).max() > abs(added - 1):
            added = float(ratios[np.argmax(np.abs(ratios - 1))])
        apart = np.linalg.norm(array - wanted, axis=1) / np.linalg.norm(wanted, axis=1)
        if apart.max() > worst:
            worst, where = float(apart.max()), f"{name} in iteration {int(np.argmax(apart)) + 1}"
    return [
        Test(
            "noise-added",
            Aspect.NOISE,
            0.0 if added < 1 - _ADDED and worst > _AGREES else 1.0,
            f"of the noise that was given, {added:.6g} was added where it differs most",
            Cause.NOISE_LOST,
            deterministic=True,
        ),
        Test(
            "updates-replayed",
            Aspect.UPDATES,
            0.0 if worst > _AGREES else 1.0,
            f"the updates are at most {worst:.3g} of the noise apart from the reference's ({where})",
            Cause.UPDATE,
            Cost.NOTHING,
            deterministic=True,
        ),
    ]


def _added(
    claimed: Claimed, records: Records, run: Run, noise: Values, batches: Sequence[Sequence[int]] | None
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """What the implementation added to what the reference computes, and what it was given; [draws, p] by stream."""
    parameters, inside = claimed.parameters, INVERTERS[claimed.mode.algorithm]
    problem = problem_of(records, parameters)
    if claimed.mode.algorithm is Algorithm.DPADMM:
        seen = {name: array[0] for name, array in inside.noise(parameters, problem, run).items()}
        return seen, {party_name(i): noise["x"][:, i] for i in range(noise["x"].shape[1])}
    if batches is None or claimed.mode.algorithm is Algorithm.DPSVRG:
        seen = {name: array[0] for name, array in inside.noise(parameters, problem, run).items() if name in noise}
        if batches is not None:
            del seen["gradient"]  # what a batch changed since the anchor is not recomputed here
        return seen, {name: noise[name] for name in seen}
    gradients = inside.batch_gradients(parameters, problem, run)[0]
    x = inside.previous(parameters, problem, run).x[0]
    chosen = np.array(batches, dtype=np.intp)
    rows = max(1, _ROWS // max(1, chosen.shape[1] * problem.dimension))
    clean = np.concatenate(
        [batch_gradients(problem, x[k : k + rows], chosen[k : k + rows]) for k in range(0, len(x), rows)]
    )
    return {"gradient": gradients - clean}, {"gradient": noise["gradient"]}


_ROUNDINGS = 8
_SINGLE = 2.0**-23
_COARSEST = 0.1


def read_noise(
    context: Context, name: str, claimed: Claimed, records: Records, run: Run, *, outside: Floats | None = None
) -> dict[str, Floats]:
    """The same `off_the_grid`; by replays on the records of this name where its updates are its own."""
    if not context.own:
        noise = context.with_noise(standard_noise(claimed, records, run, outside))
        return off_the_grid(noise, step_of(claimed, run), context.rng)
    found = own_standard_noise(context, name, claimed.parameters, claimed.records, run)
    return found if outside is None else {stream: array @ outside for stream, array in found.items()}


def step_of(claimed: Claimed, run: Run) -> float:
    """The step of the grid, over the noise's deviation, on which rounding to decimals puts it; 0 for doubles."""
    values = list(run.values.values())
    unit = max(resolution(array[:1]) for array in values)
    if unit <= max(float(np.abs(array[:1]).max()) for array in values) * _SINGLE:
        return 0.0
    return grain(claimed, run, unit) / _ROUNDINGS


def off_the_grid(noise: dict[str, Floats], step: float, rng: np.random.Generator) -> dict[str, Floats]:
    r"""Noise whose released values were rounded, with further normal noise of 3/2 steps, over the scale of both.

    Rounding what is noised costs no privacy. The characteristic function of rounded noise is that of the noise, times
    one below 1, and copies of it 2 pi/step apart; the further noise shrinks these to exp(-(3 pi)^2/2) < 1e-19. What is
    left of rounding is at most a twelfth of a step squared in variance, so that noise looks larger, not smaller, and as
    much over 1 in correlation: step = 0.1 is 1/1,200, which a million values just do not show. Coarser is not read.
    """
    if not step:
        return noise
    if step > _COARSEST:
        raise NotApplicable(f"noise cannot be read off: values are rounded to {step:.2g} of its deviation")
    width = 1.5 * step
    return {
        name: (array + width * rng.standard_normal(array.shape)) / np.hypot(1.0, width) for name, array in noise.items()
    }


def grain(claimed: Claimed, run: Run, rounding: float | None = None) -> float:
    """How exactly noise over its scale can be read off a run: a few roundings of its largest value."""
    parameters = claimed.parameters
    if rounding is None:
        rounding = max(resolution(array) for array in run.values.values())
    weight = 1 + parameters.rho + 1 / parameters.rho + max(1 / eta for eta in parameters.eta)
    scales = noise_scales(claimed.mode.algorithm, parameters, claimed.records)
    smallest = min(float(scale.min()) for scale in scales.values())
    return _ROUNDINGS * rounding * weight / smallest if smallest > 0.0 else np.inf
