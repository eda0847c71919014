r"""Reading the noise of an implementation whose updates are not the reference's, but valid ones of its own.

What was noised in a run is a function of the noise, given the data and the batches, and `replay` is that function. So
the noise of a run is what makes a replay show the same noised values: found by iteration, without knowing how the
implementation computes z, y or anything else from them. On records without gradient it includes the gradient; on the
run's own records, all in every batch, it is the noise alone.

The noise is found in the implementation's own units, in which a record's gradient may move it by the claimed
sensitivity: `coupled-releases` bounds that, so that a shorter step with as much less noise is as private.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from reference.problem import State
from reference.vectorised import Runs
from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.conformance.inside import INSIDE
from verification.conformance.inside.base import with_count
from verification.conformance.observe import first_batches, noiseless, resolution, standard_noise
from verification.served.serve import Values
from verification.served.translate import initial_of, noise_scales, problem_of
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm, Parameters, Release
from verification.wire.records import Records, Run
from verification.wire.schemes import noised_names

READABLE = (Algorithm.SSADMM, Algorithm.MPADMM)
"""The algorithms whose noise can be found in this way."""
EFFORT = 0.04
"""Sample sizes of conformance, in which every run has to be replayed, over the usual ones."""
UNREAD = "its updates are not the reference's: without replay its noise cannot be read"
FOUND = 1e-9
"""How exactly noise is found, over the largest value: what a replay lacks, in the reference's units."""
_PASSES = 40
_REMEMBERED = 12
_FITTED_RUNS = 20


def own_noise(
    context: Context, name: str, parameters: Parameters, run: Run, batches: list[list[int]] | None = None
) -> Values:
    """The noise under which a replay on the records ``name`` shows the runs [count, T, p]; not applicable if none."""
    if not context.can(Capability.REPLAY):
        raise NotApplicable(UNREAD)
    runs = [Run({key: array[[r]] for key, array in run.values.items()}) for r in range(len(run.x))]
    found = [_one(context, name, parameters, each, batches) for each in runs]
    return {stream: np.concatenate([each[stream] for each in found]) for stream in found[0]}


def _one(context: Context, name: str, parameters: Parameters, target: Run, batches: list[list[int]] | None) -> Values:
    """One run: correct the noise by what a replay still lacks, until nothing is lacking (Anderson's acceleration)."""
    given = first_batches(parameters) if batches is None else batches
    wanted = _apparent(context, parameters, target)
    shapes = {stream: array.shape for stream, array in wanted.items()}
    right = _flat(wanted)
    noises, lacks = [right], list[Floats]()
    for _ in range(_PASSES):
        noise = _parts(noises[-1], shapes)
        alone = {stream: array[0] for stream, array in noise.items()}
        again = context.session.replay(name, context.mode.algorithm, parameters, alone, given)
        lacks.append(right - _flat(_apparent(context, parameters, with_count(again))))
        if float(np.abs(lacks[-1]).max()) <= FOUND * max(float(np.abs(part).max()) for part in (right, noises[-1])):
            return noise
        noises, lacks = noises[-_REMEMBERED:], lacks[-_REMEMBERED:]
        noises.append(_improved(noises, lacks))
        if not np.isfinite(noises[-1]).all():
            break
    raise NotApplicable("its updates are not the reference's, and no noise was found under which a replay agrees")


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


def _apparent(context: Context, parameters: Parameters, run: Run) -> Values:
    """The noise as the reference's updates would have it, gradients included."""
    return INSIDE[context.mode.algorithm].noise(parameters, problem_of(_nothing(run.x.shape[-1]), parameters), run)


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
    right = INSIDE[context.mode.algorithm].after_x(penalised, problem_of(records, penalised), run.x)
    close = _close(run, right)
    if all(float(np.abs(run.values[name] - right[name]).max()) <= close for name in ("z", "y")):
        return False
    if not _combined(run, "y", ("x", "z"), close):
        return False
    run = context.trials(records, plain, _FITTED_RUNS)
    return _combined(run, "z", ("x",), _close(run, {}))


def _close(run: Run, right: Values) -> float:
    """As `post-processing` has it: 1e-10 of the largest value, or 64 roundings of what is released."""
    largest = max(float(np.abs(array).max()) for array in (*run.values.values(), *right.values()))
    return max(1e-10 * (1 + largest), 64 * max(resolution(array) for array in run.values.values()))


def _combined(run: Run, name: str, now: tuple[str, ...], close: float) -> bool:
    """Whether a value is a fixed combination of these of its iteration and of x, z, y of the one before."""
    before = [run.values[each][:, :-1].ravel() for each in ("x", "z", "y")]
    known = np.column_stack([*(run.values[each][:, 1:].ravel() for each in now), *before])
    wanted = run.values[name][:, 1:].ravel()
    weights = np.linalg.lstsq(known, wanted, rcond=1e-9)[0]
    return float(np.abs(known @ weights - wanted).max()) <= close


def noise_of_runs(context: Context, records: Records, parameters: Parameters, run: Run) -> Values:
    """The noise of runs [count, T, p] over its claimed scale, where the gradient does not depend on the batch."""
    if not context.own:
        return standard_noise(context.mode.algorithm, records, parameters, run)
    return own_standard_noise(context, context.session.send(records), parameters, records.count, run)


def own_standard_noise(context: Context, name: str, parameters: Parameters, records: int, run: Run) -> Values:
    """The same, by replays on the records of this name."""
    scales = noise_scales(context.mode.algorithm, parameters, records)
    found = own_noise(context, name, parameters, run)
    return {stream: array / scales[stream][:, None] for stream, array in found.items()}


def noiseless_read(context: Context, records: Records, parameters: Parameters, *, may_refuse: bool = False) -> Run:
    """A run without noise [T, p] as the reference would have shown it, if it had had the same gradients."""
    run = noiseless(context, records, parameters, may_refuse=may_refuse)
    if not context.own:
        return run
    read = as_the_reference(context, parameters, with_count(run), records.count)
    return Run({name: array[0] for name, array in read.values.items()})


def as_the_reference(context: Context, parameters: Parameters, run: Run, records: int) -> Run:
    """The runs [count, T, p] that the reference makes of the same noisy gradients: what the other checks can read."""
    dimension = run.x.shape[-1]
    silent = Records(np.zeros((records, dimension)), np.ones(records, dtype=np.int64))
    plain = parameters.model_copy(update={"intercept": False, "normalise": None, "clip": parameters.bound})
    noise = own_noise(context, context.session.send(silent), plain, run)
    return reference_run(context.mode.algorithm, plain, noise, dimension)


def reference_run(algorithm: Algorithm, parameters: Parameters, noise: Values, dimension: int) -> Run:
    """The reference's runs on a record without gradient and with this noise."""
    problem = problem_of(_nothing(dimension), parameters)
    count = len(next(iter(noise.values())))
    initial = initial_of(parameters, dimension)
    state = State(*(np.repeat(value[None], count, axis=0) for value in (initial.x, initial.z, initial.y)))
    names = noised_names(algorithm, parameters)
    gammas = [{name: noise[name][:, k] for name in names} for k in range(len(parameters.eta))]
    if algorithm is Algorithm.MPADMM:
        states = list(Runs().mpadmm(problem, state, step_sizes=parameters.eta, noise=gammas))
    else:
        batches = [np.zeros((count, 1), dtype=np.intp)] * len(gammas)
        states = list(Runs().ssadmm(problem, state, step_sizes=parameters.eta, batches=batches, noise=gammas))
    return Run({name: np.stack([getattr(each, name) for each in states], axis=1) for name in ("x", "z", "y")})
