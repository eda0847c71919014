"""Noise must change with what it is scaled by, and with nothing else: n, m, C, sigma, eta, rho, one at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verification.pictures import shares
from verification.questions.question import TRIALS, Observation, at_few_records
from verification.questions.scenes import silent_records
from verification.reading.context import Context, NotApplicable
from verification.reading.replayed import noise_of_runs
from verification.statistics import tails
from verification.statistics.test import Aspect, Cause
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


def _measure(context: Context, multiplier: bool) -> Observation:
    context.require_private()
    p_values: list[float] = []
    excess: list[float] = []
    labels: list[str] = []
    sizes: list[float] = []
    for setting in _settings(context):
        for regularizer in _regularizers(context, multiplier):
            parameters = _parameters(context, setting, regularizer, multiplier)
            for name, values in _ratios(context, setting, parameters).items():
                below, above = tails.chi_square_sides(np.array([np.sum(values**2)]), np.array([values.size]))
                p_values.append(float(below[0]))
                excess.append(float(above[0]))
                deviation = float(np.sqrt(np.mean(values**2)))
                sizes.append(deviation)
                labels.append(
                    f"{setting}, regularizer {regularizer}: noise of {name} is {deviation:.4f} of what it should be"
                )
    p_value, where = tails.smallest(np.array(p_values))
    too_loud, at_most = tails.smallest(np.array(excess))
    return Observation(
        p_value,
        f"least likely of {len(labels)}: {labels[where]}",
        too_loud,
        f"largest of {len(labels)}: {labels[at_most]}",
        shares(
            "Noise over what it should be",
            "One dot for every setting of sigma, C, n, m, eta and rho; the claim is 1 for all of them.",
            np.arange(1.0, len(sizes) + 1),
            np.array(sizes),
            1.0,
            axes=("setting", "seen / claimed"),
        ),
    )


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


def _ratios(context: Context, setting: ScaleSetting, parameters: Parameters) -> dict[str, Floats]:
    """Noise over what its standard deviation should be, [trials, T, p]."""
    records = silent_records(setting.records, _DIMENSION)
    run = context.trials(records, parameters, context.count(_TRIALS))
    return context.keep(noise_of_runs(context, records, parameters, run))


def _sigma(context: Context) -> Observation:
    return _measure(context, multiplier=False)


def _multiplier(context: Context) -> Observation:
    context.require_private()
    if context.scheme.law is not Law.GAUSSIAN:
        raise NotApplicable(f"{context.mode} is told an epsilon and always scales by itself; see noise-scale")
    return _measure(context, multiplier=True)


QUESTIONS = (
    at_few_records(
        "noise-scale",
        Cause.NOISE_SMALL,
        Aspect.NOISE,
        "the variance passed as a deviation; noise multiplied by C, C^2, 1/m or eta beside sigma; noise for a sum "
        "added to a mean, and the reverse",
        ("THEOREM-1", "THEOREM-3"),
        _sigma,
        different=Cause.NOISE_LARGE,
        statistical=True,
        needs=TRIALS,
    ),
    at_few_records(
        "noise-follows-sensitivity",
        Cause.NOISE_SMALL,
        Aspect.NOISE,
        "a wrong sensitivity where the implementation scales the noise itself: C for 2C, eta forgotten or of the wrong "
        "iteration, the batch size forgotten, a non-convex regularizer taken for a convex one",
        ("SENS-GRADIENT", "SENS-X", "JOINT", "E1", "E2", "E11", "DPSGD", "DPADMM", "DPSVRG"),
        _multiplier,
        different=Cause.NOISE_LARGE,
        statistical=True,
        needs=_MULTIPLIER,
    ),
)
