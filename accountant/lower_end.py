r"""The lower end: an epsilon that a realisable pair of neighbours violates, so that no accountant may report less.

Leaving releases out is post-processing, so that the best of several parts and ways counts:

1. Gaussian releases of everything, alone or together, and pure releases have closed forms.
2. Steps that have a profile are composed on a lattice (`accountant.pld`).
3. Where the ends are still far apart, levels that losses of all kinds reach together: many steps, little noise.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from accountant.errors import CannotCertifyError, UnsupportedSchemeError
from accountant.mechanisms.ledger import Ledger, gdp_squared
from accountant.mechanisms.steps import (
    GaussianStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    ShuffledStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise
from accountant.numbers import Bound, Dyadic
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.pure import laplace_epsilon, pure_epsilon, pure_parts, side_epsilon
from accountant.shuffled import shuffled_epsilon

_FAR_APART: Final = Fraction(3, 2)
"""Ends of one phase further apart than this factor are looked at again; those of several always are."""
_NOTHING: Final = Bound.from_fractions(Fraction(0), Fraction(0)).least


def attained(
    steps: tuple[Step, ...], delta: Fraction, upper: Dyadic, composed: Dyadic | None, *, digits: int
) -> Dyadic:
    """Return what the realisable `steps` attain at delta; `composed` is what a lattice found, where one was made."""
    if not steps:
        return _NOTHING
    if shuffled := [step for step in steps if isinstance(step, ShuffledStep)]:
        largest = [_or_nothing(functools.partial(shuffled_epsilon, step, delta)) for step in shuffled]
        return max([attained(with_sums(steps), delta, upper, None, digits=digits), *largest])
    mu_squared = gdp_squared(steps)
    if mu_squared is not None:
        return gaussian_epsilon(mu_squared, delta, digits=digits).least
    if not delta:
        return _end(sum((epsilon * count for epsilon, count in pure_releases(steps)), Fraction(0)))
    alone = max(
        (laplace_epsilon(step.epsilon, delta).least for step in steps if isinstance(step, LaplaceStep)),
        default=_NOTHING,
    )
    together = _or_nothing(lambda: _mixed(steps, delta))
    steps = responses_in(steps)
    best = max(
        alone,
        together,
        _or_nothing(lambda: _pure(steps, delta, digits)),
        _or_nothing(lambda: _gaussian(steps, delta, digits)),
        _or_nothing(lambda: _composed(steps, delta)) if composed is None else composed,
    )
    ratio = Fraction(1) if len(steps) > 1 else _FAR_APART
    if not upper.infinite and upper.fraction() <= ratio * best.fraction():
        return best
    return max(best, _or_nothing(lambda: _level(steps, delta)))


def _or_nothing(bound: Callable[[], Dyadic]) -> Dyadic:
    """Return the bound, or 0, which is always true, where it cannot be certified or the time is up."""
    try:
        return bound()
    except (CannotCertifyError, ArithmeticError):
        return _NOTHING


def _pure(steps: tuple[Step, ...], delta: Fraction, digits: int) -> Dyadic:
    """Return what the pure releases attain, or the best part of them that has not too many losses."""
    best, known, pure = _NOTHING, list[set[tuple[Fraction, int]]](), pure_releases(steps)
    for part in pure_parts(pure) if pure else ():
        if not any(set(part) <= larger for larger in known):
            with contextlib.suppress(CannotCertifyError):
                best = max(best, pure_epsilon(part, delta, digits=digits).least)
                known.append(set(part))
    return best


def _gaussian(steps: tuple[Step, ...], delta: Fraction, digits: int) -> Dyadic:
    """Return what the Gaussian releases of everything attain."""
    mu_squared = gdp_squared(gaussian_steps(steps))
    return _NOTHING if mu_squared is None else gaussian_epsilon(mu_squared, delta, digits=digits).least


def _composed(steps: tuple[Step, ...], delta: Fraction) -> Dyadic:
    """Return what the steps that have a profile attain, on a lattice."""
    if not (core := composable(steps)):
        return _NOTHING
    from accountant.pld.ledger_steps import attained_epsilon  # noqa: PLC0415 - numpy is loaded only when it is needed

    return _end(attained_epsilon(core, delta))


def _mixed(steps: tuple[Step, ...], delta: Fraction) -> Dyadic:
    """Return what pure steps attain on one lattice with the others; nothing where every step is of one kind."""
    pure = tuple(step for step in steps if isinstance(step, PureStep))
    core = composable(steps)
    if not pure or (not core and not any(isinstance(step, LaplaceStep) for step in pure)):
        return _NOTHING
    from accountant.pld.ledger_steps import mixed_epsilon_lower  # noqa: PLC0415 - as above

    return _end(mixed_epsilon_lower((*core, *pure), delta))


def _level(steps: tuple[Step, ...], delta: Fraction) -> Dyadic:
    """Return what the losses of all steps reach often enough."""
    from accountant.cramer_bound import close_levels_of, usual_level  # noqa: PLC0415 - as above
    from accountant.pld.ledger_steps import attained_steps, profile_steps  # noqa: PLC0415 - as above
    from accountant.pld.parts import joined  # noqa: PLC0415 - as above
    from accountant.profiles.without_lattice import attained_level  # noqa: PLC0415 - as above

    drawn, pure = joined(profile_steps(attained_steps(composable(steps), delta), "up")), pure_releases(steps)
    usual = _or_nothing(lambda: _end(usual_level(drawn, pure, delta)))
    return max(usual, _or_nothing(lambda: _end(attained_level(close_levels_of(drawn, delta, pure), delta))))


def _end(value: Fraction) -> Dyadic:
    return Bound.from_fractions(value, value).least


def adaptive_lower(ledger: Ledger, delta: Fraction, progress: Callable[[str], None] | None) -> Fraction | None:
    """Return what an adaptive adversary attains on these steps, where there is one and it can be certified."""
    from accountant.pld.adversary.adaptive_lower import ledger_adaptive_epsilon  # noqa: PLC0415 - as above

    if progress is not None:
        progress("adaptive lower end (1 to 3 s)")
    try:
        return ledger_adaptive_epsilon(ledger.steps, delta)
    except (CannotCertifyError, UnsupportedSchemeError):
        return None


def with_sums(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps with the sums of each shuffled epoch in its place: Gaussian releases."""
    return tuple(each for s in steps for each in (s.summed() if isinstance(s, ShuffledStep) else (s,)))


def composable(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps whose profile is known: real Gaussian noise, records drawn in any way but shuffled."""
    return tuple(
        step
        for step in steps
        if isinstance(step, PoissonGaussianStep | WithReplacementStep)
        or (isinstance(step, GaussianStep | SubsampledGaussianStep) and step.noise is Noise.GAUSSIAN)
    )


def pure_releases(steps: tuple[Step, ...]) -> tuple[tuple[Fraction, int], ...]:
    """Return the epsilons of pure steps, each with how often it is spent."""
    return tuple((step.epsilon, step.count) for step in steps if isinstance(step, PureStep))


def responses_in(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps with randomised response that Laplace noise attains in place of Laplace noise."""
    return tuple(
        PureStep(side_epsilon(step.epsilon), step.count, step.neighbours) if isinstance(step, LaplaceStep) else step
        for step in steps
    )


def gaussian_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps that release everything under real Gaussian noise: their profile is closed."""
    return tuple(step for step in steps if isinstance(step, GaussianStep) and step.noise is Noise.GAUSSIAN)
