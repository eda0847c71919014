r"""Every record the same, dense and too long: the mean gradient is one record's, and must not be longer than C.

Whatever the batch, each gradient is the clipped gradient of that one record, c u with c <= C. So the part of the noisy
gradient along u has a mean of at most C, and its part across u is noise alone. What is bounded is the ratio of the two:
(mean + deviation Z)/(deviation sqrt(chi^2_d/d)) with mean/deviation <= C/sigma, so that size alone never accuses. With
the claimed ratio r = C/sigma,

    P(ratio >= t) <= min over z of P(Z > z) + P(chi^2_d <= d ((r + z)/t)^2),

a decreasing function of t, hence a p-value. The first iteration, which may start elsewhere, is compared with its own
deviation, the others with that of all of them.

Noise is looked at along the record as well, where a gradient is: noise that is turned off it hides nothing. With the
gradient that the reference would have taken away, what is left is noise and a value that does not depend on it; its
sum of squares is then at least chi-square distributed. Runs that start at 0 learn the record in a step or two; where a
start can be named, another starts so far on the wrong side that the gradient stays C long to the end.
"""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass

import numpy as np
from scipy import special

from accountant.mechanisms.words import Algorithm
from reference.clipping import clipped_slopes
from verification.questions import scenes
from verification.questions.noise import small_run
from verification.questions.question import Answer, Question, Size, drawn
from verification.reading.context import (
    FEWER_VALUES,
    Claimed,
    Clock,
    Context,
    NotApplicable,
    repeated,
    require_every_iterate,
)
from verification.reading.inverter import INVERTERS
from verification.reading.replayed import as_the_reference
from verification.served.translate import noise_scales, problem_of
from verification.statistics.noise_size import size_tests
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Cause, TailFamily, Test, union
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.messages import Capability, initial_point
from verification.wire.records import Records, Run

_STREAMS = {Algorithm.SSADMM: "gradient", Algorithm.DPSGD: "gradient", Algorithm.MPADMM: "x"}
_Z = np.linspace(0.0, 40.0, 161)
_QUIET = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """Noise over its scale, along the record (with what its gradient adds) and across it; the ratio that is allowed."""

    along: Floats  # [runs, T]
    across: Floats  # [runs, T, p - 1]
    allowed: Floats  # [T]
    beside: Floats  # [runs, T]: along the record, without the reference's gradient


def parted(claimed: Claimed, records: Records, run: Run) -> Parted:
    """Read the noise, and put the gradient back that was taken from it."""
    algorithm, parameters = claimed.mode.algorithm, claimed.parameters
    name = _STREAMS[algorithm]
    problem = problem_of(Records(records.features[:1], records.labels[:1]), parameters)
    inside = INVERTERS[algorithm]
    scale = noise_scales(algorithm, parameters, claimed.records)[name]
    noise = inside.noise(parameters, problem, run)[name] / scale[:, None]
    x = inside.previous(parameters, problem, run).x
    slopes = problem.loss.slope(x @ problem.signed.T)
    if problem.clip is not None:
        slopes = clipped_slopes(slopes, problem.norms, problem.clip)
    # a descent: gradients are against the record, and x moves against the gradient
    steps = np.array([inside.step(parameters, claimed.records, k) for k in range(parameters.iterations)])
    factor = np.ones_like(steps) if name == "gradient" else -steps
    unit = problem.signed[0] / np.linalg.norm(problem.signed[0])
    gradient = slopes[:, :, 0] * problem.norms[0] * factor / scale
    basis = np.linalg.qr(np.column_stack([unit, np.eye(unit.size)[:, 1:]]))[0][:, 1:]
    beside = noise @ unit
    along = -np.sign(factor) * (beside + gradient)
    return Parted(along, noise @ basis, parameters.bound * np.abs(factor) / scale, beside)


def far_start(claimed: Claimed, records: Records) -> Claimed:
    """The same from a point so far against the record that no honest run of this length gets across."""
    parameters, inside = claimed.parameters, INVERTERS[claimed.mode.algorithm]
    steps = sum(inside.step(parameters, claimed.records, k) for k in range(parameters.iterations))
    signed = records.features[0] * records.labels[0]
    away = -2 * parameters.bound * steps * signed / np.linalg.norm(signed)
    return claimed.with_parameters(initial=initial_point(away, away, np.zeros_like(away)))


def tails_of_excess(seen: Parted) -> Floats:
    """The tail of every iteration, over all runs."""
    runs, iterations, _ = seen.across.shape
    energy, degrees = np.zeros(iterations), np.zeros(iterations)
    energy[0], degrees[0] = _spread(seen.across[:, :1])
    if iterations > 1:
        energy[1:], degrees[1:] = _spread(seen.across[:, 1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = seen.along.sum(axis=0) / np.sqrt(runs) / np.sqrt(energy / degrees)
        limits = degrees[:, None] * ((np.sqrt(runs) * seen.allowed[:, None] + _Z) / ratios[:, None]) ** 2
    bounds = special.ndtr(-_Z) + special.chdtr(degrees[:, None], limits)
    # what is not above the claimed ratio shows nothing
    return np.where(ratios > np.sqrt(runs) * seen.allowed, np.minimum(1.0, bounds.min(axis=1)), 1.0)


def _spread(across: Floats) -> tuple[float, int]:
    """The sum of squares about the mean, and its degrees: a gradient that leaves the record's direction is no noise."""
    rows = across.reshape(-1, across.shape[2])
    if len(rows) == 1:
        return float(np.sum(rows**2)), rows.size
    return float(np.sum((rows - rows.mean(axis=0)) ** 2)), (len(rows) - 1) * rows.shape[1]


def excess_test(parts: dict[str, Parted]) -> Test:
    """Whether a gradient is longer than C, in proportion to its noise."""
    families = [
        TailFamily(f"{where}, iteration", tails_of_excess(seen), lambda k: str(k + 1)) for where, seen in parts.items()
    ]
    p_value, at = union(families)
    share = max(float(np.max(seen.along.mean(axis=0) / seen.allowed)) for seen in parts.values())
    detail = f"mean gradients of equal records are up to {share:.4g} times as long as C; least likely: {at}"
    # what is bounded is a ratio: where the noise across is too small, that is why
    quiet = min(float(np.sqrt(np.mean(seen.across**2))) for seen in parts.values()) < _QUIET
    return Test("bound", Aspect.CLIPPING, p_value, detail, Cause.NOISE_SMALL if quiet else Cause.CONTRIBUTION)


def along_test(parts: dict[str, Parted]) -> Test:
    """Whether there is less noise along the gradient than is claimed."""
    sizes = {where: float(np.sqrt(np.mean(seen.beside**2))) for where, seen in parts.items()}
    families = [
        TailFamily(where, np.array([special.chdtr(seen.beside.size, np.sum(seen.beside**2))]), lambda _: "")
        for where, seen in parts.items()
    ]
    p_value, at = union(families)
    told = ", ".join(f"{size:.4g} {where}" for where, size in sizes.items())
    detail = f"noise along the gradient over the claimed one: {told}; least likely: {at}"
    return Test("noise-along-the-gradient", Aspect.NOISE, p_value, detail, Cause.NOISE_SMALL)


def identical(context: Context, at_size: Claimed | None, clock: Clock) -> Answer:
    """The gradient and the noise of every iteration of a run on identical records that are too long."""
    claimed = at_size or small_run(context)
    context.require_private()
    require_every_iterate(context)
    if claimed.mode.algorithm not in _STREAMS:
        raise NotApplicable(f"the gradient of {claimed.mode} cannot be read off a single noised value")
    if claimed.columns == 1:
        raise NotApplicable("one column: no noise is seen across the records")
    fewer = claimed.fitting(FEWER_VALUES)
    records = scenes.identical(fewer.records, fewer.columns, fewer.parameters.bound, context.rng, context.reach)
    name = context.session.send(records)
    used = clock.fitting(context, name, fewer).used
    runs = 1 if context.own and used.runs is None else repeated(used)

    def read(asked: Claimed, count: int) -> Parted:
        run = context.run(name, asked.parameters, count)
        shown = as_the_reference(context, asked.parameters, run, asked.records) if context.own else run
        return parted(asked, records, shown)

    seen = {"from 0": read(used, runs)}
    if context.can(Capability.INITIAL):
        far = far_start(used, records)
        with contextlib.suppress(RefusedRequest, NotApplicable):  # a start so far off may be out of bounds
            seen["from afar"] = read(far, runs if used.runs is not None else 1)
    noise = {_STREAMS[claimed.mode.algorithm]: seen["from 0"].across}
    draw = drawn("identical records", noise)
    found = (excess_test(seen), along_test(seen), *size_tests(noise))
    tests = tuple(dataclasses.replace(t, draw=draw) for t in found)
    energies = RunEnergies.of(noise, whole=used is at_size)
    covers = (Aspect.CLIPPING, Aspect.NOISE)
    return Answer("identical records", used.size, runs, tests, covers, energies=energies, noise=noise)


QUESTIONS = (
    Question(
        "identical",
        identical,
        "gradients longer than C in proportion to their noise; noise missing along the gradient",
        ("CLIP", "SENS-GRADIENT"),
        (Size.CLAIMED,),
    ),
)
