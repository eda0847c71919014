"""Noise must change with what it is scaled by, and with nothing else: n, m, C, sigma, eta, rho, one at a time."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy import special

from verification.pictures import shares
from verification.questions.question import Answer, Question, Size
from verification.questions.scenes import silent_records
from verification.reading.context import Claimed, Clock, Context, NotApplicable
from verification.reading.replayed import noise_of_runs
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Cause, Cost, TailFamily, Test, union
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Law, Parameters, RegularizerName

_DIMENSION, _TRIALS = 4, 800
_MULTIPLIER = (frozenset({Capability.TRIALS, Capability.MULTIPLIER}),)


@dataclass(frozen=True, slots=True)
class ScaleSetting:
    """One point at which the noise is measured."""

    records: int = 6
    batch: int = 2
    bound: float = 1.0
    noise: float = 1.0
    eta: float = 1.0
    rho: float = 1.0

    def __str__(self) -> str:
        """In the symbols of the page: n, m, C, the noise asked for, eta, rho."""
        noise = f"noise = {self.noise:g}, eta = {self.eta:g}, rho = {self.rho:g}"
        return f"n = {self.records}, m = {self.batch}, C = {self.bound:g}, {noise}"


SETTINGS = (
    ScaleSetting(),
    ScaleSetting(noise=0.2),
    ScaleSetting(noise=5.0),
    ScaleSetting(bound=0.25),
    ScaleSetting(bound=4.0),
    ScaleSetting(records=24),
    ScaleSetting(records=24, batch=12),
    ScaleSetting(batch=5),
    ScaleSetting(eta=0.25),
    ScaleSetting(eta=4.0),
    ScaleSetting(rho=0.25),
    ScaleSetting(rho=3.0),
)


def _measured(name: str, context: Context, *, multiplier: bool) -> Answer:
    """Sums of squares of the noise at every point, over what they should be: exact tails on both sides."""
    context.require_private()
    sums, degrees, labels, parts = list[float](), list[int](), list[str](), list[RunEnergies]()
    for setting in _settings(context):
        for regularizer in _regularizers(context, multiplier):
            noise = _noise(context, setting, _parameters(context, setting, regularizer, multiplier))
            parts.append(RunEnergies.of(noise))
            for stream, values in noise.items():
                sums.append(float(np.sum(values**2)))
                degrees.append(values.size)
                size = np.sqrt(sums[-1] / values.size)
                labels.append(
                    f"{setting}, regularizer {regularizer}: noise of {stream} is {size:.4f} of what it should be"
                )
    ratios = np.sqrt(np.divide(sums, degrees))
    draw = functools.partial(
        shares,
        "Noise over what it should be",
        "One dot for every setting of sigma, C, n, m, eta and rho; the claim is 1 for all of them.",
        np.arange(1.0, len(ratios) + 1),
        ratios,
        1.0,
        axes=("setting", "seen / claimed"),
    )
    found = []
    for tail, cause, cost in (
        (special.chdtr, Cause.NOISE_SMALL, Cost.PRIVACY),
        (special.chdtrc, Cause.NOISE_LARGE, Cost.NOTHING),
    ):
        family = TailFamily(f"least likely of {len(labels)}:", np.asarray(tail(degrees, sums)), lambda i: labels[i])
        p_value, detail = union([family])
        found.append(Test(name, Aspect.NOISE, p_value, detail, cause, cost, draw=draw))
    return Answer(name, "small sizes", 0, tuple(found), (Aspect.NOISE,), energies=RunEnergies.joined(parts))


def _settings(context: Context) -> tuple[ScaleSetting, ...]:
    """All of them; at a reduced effort some of them, at random."""
    share = min(len(SETTINGS), max(3, round(len(SETTINGS) * context.effort)))
    return tuple(SETTINGS[i] for i in sorted(context.rng.permutation(len(SETTINGS))[:share]))


def _regularizers(context: Context, multiplier: bool) -> list[RegularizerName]:
    """Where the implementation computes the sensitivity, non-convex regularizers need more noise."""
    folded = [r for r in context.description.regularizers if r in (RegularizerName.SCAD, RegularizerName.MCP)]
    return [context.plain, *(folded if multiplier else [])]


def _parameters(context: Context, setting: ScaleSetting, regularizer: RegularizerName, multiplier: bool) -> Parameters:
    # Two step sizes: the noise of an iteration belongs to its own eta^k, not to the first or the next one.
    iterations = 2 if context.sees_every_iterate else 1
    return context.parameters(
        _DIMENSION,
        eta=[setting.eta, setting.eta / 2][:iterations],
        batch=setting.batch,
        sigma=None if multiplier else setting.noise,
        noise_multiplier=setting.noise if multiplier else None,
        rho=setting.rho,
        bound=setting.bound,
        regularizer=regularizer,
        epsilon=setting.noise,
    )


def _noise(context: Context, setting: ScaleSetting, parameters: Parameters) -> dict[str, Floats]:
    """Noise over what its standard deviation should be, [trials, T, p]."""
    records = silent_records(setting.records, _DIMENSION)
    run = context.trials(records, parameters, context.count(_TRIALS))
    return noise_of_runs(context, records, parameters, run)


def _scale(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
    return _measured("noise-scale", context, multiplier=False)


def _sensitivity(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
    context.require_private()
    if context.scheme.law is not Law.GAUSSIAN:
        raise NotApplicable(f"{context.mode} takes an epsilon and scales its noise by it; see noise-scale")
    return _measured("noise-follows-sensitivity", context, multiplier=True)


QUESTIONS = (
    Question(
        "noise-scale",
        _scale,
        "the variance passed as a deviation; noise multiplied by C, C^2, 1/m or eta beside sigma; noise for a sum "
        "added to a mean, and the reverse",
        ("THEOREM-1", "THEOREM-3"),
        (Size.SMALL,),
    ),
    Question(
        "noise-follows-sensitivity",
        _sensitivity,
        "a wrong sensitivity where the implementation scales the noise itself: C for 2C, eta forgotten or of the wrong "
        "iteration, the batch size forgotten, a non-convex regularizer taken for a convex one",
        ("SENS-GRADIENT", "SENS-X", "JOINT", "E1", "E2", "E11", "DPSGD", "DPADMM", "DPSVRG"),
        (Size.SMALL,),
        needs=_MULTIPLIER,
    ),
)
