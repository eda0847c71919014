r"""Both ends of a composed profile, re-derived by routes that share nothing with the fast composition.

1. One step alone, and whatever a closed form of the ledger without sampling, of one phase or of one event already
   decides: in mpmath, however large the ledger is.
2. `contour_route`: Fourier inversion in balls, every error proved; decides to about 1e-5 of epsilon.
3. `integer_route` where the line would be too long: exact integers on a grid, to the first of `GRID_SLACKS` of epsilon
   that a grid of modest size affords; which one it was is said. Batches with replacement are re-derived by it alone.

An upper end is refused where delta(upper) of the dominating pair exceeds delta, a lower end where neither order of the
realisable pair reaches delta there. Where a route confirms the upper end only to a width, the wider end that it proves
is returned, and that is what is certified.

Little noise, many steps: `profiles.without_lattice` and `cramer_bound` in mpmath; tilts are guesses of the fast route.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from flint import acb, arb
from mpmath import mpf

from accountant.certificates.contour_route import composed_delta, phases_of
from accountant.certificates.integer_route import (
    ExactGaussians,
    ExactKnown,
    ExactPair,
    ExactPure,
    ExactStep,
    Grid,
    chance,
    exact_delta_upper,
    exact_measure,
    exact_mixture,
    joining,
    measure_delta,
)
from accountant.certificates.mpmath_route import (
    exceeds,
    gaussian_delta,
    laplace_delta,
    log_moment,
    mp,
    normal_cdf,
    number,
    one_event_delta,
    reaches,
    single_step_delta,
    with_replacement_delta,
)
from accountant.cramer_bound import LARGE, best_tilt, is_fit
from accountant.errors import CannotCertifyError, CertificateError
from accountant.limits import check_time
from accountant.mechanisms.ledger import gdp_squared
from accountant.mechanisms.steps import (
    GaussianStep,
    GroupStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise
from accountant.numbers import arb_from_fraction, arb_precision, fraction_of
from accountant.pld.composition import ComposedProfile, MixedProfile, OrderedProfile, Resolution, compose
from accountant.pld.ledger_steps import (
    MOST_LISTED,
    SPARE_SHARE,
    attained_step,
    attained_steps,
    mixed_profile,
    ordered_profile,
    poisson_group,
    profile_steps,
    single_with_replacement,
    with_public_copies,
)
from accountant.pld.plan import log_of
from accountant.profiles.one_step import SubsampledGaussian
from accountant.profiles.without_lattice import costliest, costliest_pure
from accountant.renyi.integrals import LEAST_NOISE
from accountant.renyi.moments import Subsampling

Pure = Sequence[tuple[Fraction, int]]
_DIGITS: Final = 50
_SHARES: Final = (Fraction(1, 2), Fraction(1, 256))
_SPENT: Final = (Fraction(1, 2), Fraction(1, 64), Fraction(1, 4096))
_SIZES: Final = (1, 2, 3, 4, 5, 8)
_DISTANCES: Final = ("0.5", "1", "1.5", "2", "3", "4", "6")
_ROUNDING: Final = Fraction(1, 10**9)
"""Of an end: both routes look for integers, and may differ by one where they are huge."""
_SPARE: Final = Fraction(1, 10**6)
_RETREATS: Final = (1.0, 0.98, 0.9)


def told_draws_confirm(steps: Sequence[SubsampledGaussian], delta: Fraction, upper: Fraction) -> bool:
    """Say whether delta(upper) is at most delta even for somebody who is told when the record was drawn."""
    drawn = [step for step in steps if step.sampling_rate < 1]
    everything = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), Fraction(0))
    for share in _SHARES if drawn else ():
        square = everything
        for step in drawn:
            draws = _seldom_more(step.count, step.sampling_rate, delta * (1 - share) / len(drawn))
            square += draws / step.noise_multiplier**2
        widened = upper * (1 + _ROUNDING)
        if not square or not exceeds(gaussian_delta(square, widened, _DIGITS), delta * share):
            return True
    return False


def losses_reach(steps: Sequence[SubsampledGaussian], pure: Pure, delta: Fraction, lower: Fraction) -> bool:
    """Say whether the losses of the phases exceed `lower` often enough."""
    for tilted in (False, True):
        with mp.workdps(_DIGITS):
            phases = _phases(steps, pure, delta, tilted=tilted)
            for spent in _SPENT:
                log_p, cost = mp.log(number(delta / spent)), -mp.log(number(1 - spent))
                for size in _SIZES:
                    if size <= len(phases) and log_p / size < -mp.log(2):
                        found = sorted((phase(log_p / size) for phase in phases), reverse=True)[:size]
                        if sum(found) - cost >= number(lower * (1 - _ROUNDING)):
                            return True
    return _usually_reached(steps, pure, delta, lower)


def _usually_reached(steps: Sequence[SubsampledGaussian], pure: Pure, delta: Fraction, lower: Fraction) -> bool:
    """Say whether Chernoff's bound from below, at the s that mean and variance suggest, reaches `lower`."""
    if delta < LARGE or any(step.noise_multiplier < LEAST_NOISE for step in steps):
        return False
    releases: list[Step] = [PoissonGaussianStep(s.sampling_rate, s.noise_multiplier, s.count) for s in steps]
    releases += [PureStep(epsilon, count) for epsilon, count in pure]

    def decay(s: Fraction) -> mpf:
        """Return -log E[e^{-sL}] of all releases together, from its definition."""
        return -mp.fsum([r.count * log_moment(r, Subsampling.LEMMA2, 1 - s, _DIGITS) for r in releases])

    with mp.workdps(_DIGITS):
        spent, small = (1 + delta) / 2, Fraction(1, 4096)
        log_rest, cost = mp.log(number(1 - delta / spent)), -mp.log(number(1 - spent))
        once, twice = decay(small), decay(2 * small)
        variance = (2 * once - twice) / number(small) ** 2
        if not variance > 0:
            return False
        s = min(fraction_of(mp.sqrt(-2 * log_rest / variance)), Fraction(1, 2))
        return s > 0 and bool((decay(s) + log_rest) / number(s) - cost >= number(lower))


def _phases(
    steps: Sequence[SubsampledGaussian], pure: Pure, delta: Fraction, *, tilted: bool
) -> list[Callable[[mpf], mpf]]:
    """Return from log p to a loss that is reached with probability p, for every phase; never below 0."""
    square = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), Fraction(0))
    found: list[Callable[[mpf], mpf]] = [lambda log_p: _gaussian(square, log_p)] if square else []
    for step in costliest(steps):
        found.append(lambda log_p, step=step: _drawn(step, log_p))  # type: ignore[misc]  # the default binds step
        if tilted and is_fit(step):
            found[-1] = lambda log_p, step=step: max(_drawn(step, log_p), _tilted(step, delta, log_p))  # type: ignore[misc]  # as above
    for epsilon, count in costliest_pure(pure):
        found.append(lambda log_p, e=epsilon, n=count: _answers(e, n, log_p))  # type: ignore[misc]  # as above
    return found


def _gaussian(square: Fraction, log_p: mpf) -> mpf:
    mu, low, high = mp.sqrt(number(square)), mp.mpf(-1), mp.mpf(1)
    while mp.log(normal_cdf(low)) > log_p:
        low *= 2
    for _ in range(60):
        between = (low + high) / 2
        low, high = (low, between) if mp.log(normal_cdf(between)) >= log_p else (between, high)
    return max(mu * (mu / 2 - high), mp.mpf(0))


def _drawn(step: SubsampledGaussian, log_p: mpf) -> mpf:
    q, mu, best = number(step.sampling_rate), 1 / number(step.noise_multiplier), mp.mpf(0)
    for distance in _DISTANCES:
        h = mp.mpf(distance)
        seen = mu * mu / 2 - mu * h + mp.log(q)
        if seen > 0:
            times = _often(step.count, q * normal_cdf(h), log_p)
            best = max(best, times * seen + (step.count - times) * mp.log1p(-q))
    return best


def _answers(epsilon: Fraction, count: int, log_p: mpf) -> mpf:
    e = number(epsilon)
    return max(e * (2 * _often(count, 1 / (1 + mp.exp(-e)), log_p) - count), mp.mpf(0))


def _tilted(step: SubsampledGaussian, delta: Fraction, log_p: mpf) -> mpf:
    """Return the level of Cramer's bound; the moments leave out the largest losses, so that no more is reached."""
    tilt = best_tilt(step, delta, float(mp.nstr(log_p, 17)))
    if tilt is None:
        return mp.mpf(0)
    with arb_precision(128 + step.count.bit_length()):
        (phase,) = phases_of([step], ExactPair.MIXTURE_FIRST, delta * _SPARE)
        for part in _RETREATS:
            check_time()
            theta, down, up = arb(tilt.theta * part), arb(tilt.down * part), arb(tilt.up)
            below, here, above = (
                step.count * phase.moment(acb(at)).real.log() for at in (theta - down, theta, theta + up)
            )
            high = (above - here + arb(3).log()) / up
            if here - theta * high - arb(6).log() >= arb(mp.nstr(log_p, 40)):
                level = ((here - below - arb(2).log()) / down).lower()
                return mp.mpf(level.str(30, radius=False)) if level.is_finite() else mp.mpf(0)
    return mp.mpf(0)


def _seldom_more(count: int, rate: Fraction, chance: Fraction) -> int:
    """Return a number of draws that is exceeded with at most this probability."""
    with mp.workdps(_DIGITS + 2 * len(str(count))):
        q, goal = number(rate), mp.log(number(chance))
        low, high = (rate * count).__ceil__(), count
        while low < high:
            between = (low + high) // 2
            k = between + 1
            ratio = q / (1 - q) * (count - k) / (k + 1)
            small = ratio < 1 and _log_mass(count, q, k) - mp.log1p(-ratio) <= goal
            low, high = (low, between) if small else (between + 1, high)
        return high


def _often(count: int, chance: mpf, log_p: mpf) -> int:
    """Return a number of successes that is reached with probability p <= 1/2 at least."""
    with mp.workdps(_DIGITS + 2 * len(str(count))):
        low, high, deviation = int(count * chance), count, int(mp.sqrt(count * chance * (1 - chance))) + 1
        while low < high:
            between = (low + high + 1) // 2
            reached = any(_log_block(count, chance, between, deviation // part) >= log_p for part in (1, 3, 9, 27))
            low, high = (between, high) if reached else (low, between - 1)
        return low


def _log_block(count: int, chance: mpf, first: int, more: int) -> mpf:
    """Return a lower bound of log P[first <= K <= first + more]: the masses fall beyond the mode."""
    if more and first >= (count + 1) * chance and first + more <= count:
        return mp.log(more + 1) + _log_mass(count, chance, first + more)
    return _log_mass(count, chance, first)


def _log_mass(count: int, chance: mpf, number_of: int) -> mpf:
    check_time()
    if not 0 < chance < 1:
        raise CannotCertifyError("a probability rounds to 0 or 1")
    ways = mp.loggamma(count + 1) - mp.loggamma(number_of + 1) - mp.loggamma(count - number_of + 1)
    return ways + number_of * mp.log(chance) + (count - number_of) * mp.log1p(-chance)


GRID_SLACKS: Final = (Fraction(1, 10**4), Fraction(1, 2500), Fraction(1, 500))
CONTOUR_SLACK: Final = Fraction(1, 10**4)
"""Of delta: what the contour leaves open, less than 1e-5 of epsilon."""
MODEST_WINDOW: Final = 1 << 16
MAX_WINDOW: Final = 1 << 18
SPACING_BITS: Final = 20
COARSE: Final = Resolution(tolerance=1e-3, most_points=1 << 16)
"""Of the fast composition that the grid's size is guessed from."""
CLOSED_DIGITS: Final = 40
_CLOSED_ERROR: Final = Fraction(1, 10**30)


@dataclass(frozen=True, slots=True)
class Proved:
    """An upper end that a second route proves, at least the stated one, and how it was decided."""

    upper: Fraction
    how: str


@dataclass(frozen=True, slots=True)
class Attained:
    """How a lower end was confirmed, and whether it was `decided`: otherwise it is not excluded, to a width."""

    how: str
    decided: bool = True


def proved_profile_upper(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> Proved:
    """Return the end at or above `upper` at which delta of the composed dominating pair is at most delta, or raise."""
    if k := poisson_group(steps):
        return _grouped_upper(steps, k, delta, upper)
    closed = _closed(steps, upper)
    if closed is not None:
        if exceeds(closed, delta * (1 + _CLOSED_ERROR)):
            raise CertificateError(f"profile: the closed form finds delta({_show(upper)}) above the stated delta")
        return Proved(upper, "the closed form")
    if _is_enough_without_sampling(steps, delta, upper):
        return Proved(upper, "the closed form without sampling")
    spent = [step.count * step.epsilon for step in steps if isinstance(step, PureStep)]
    if len(spent) == len(steps) and upper >= sum(spent):
        return Proved(upper, "the sum of the epsilons")
    known = any(isinstance(step, PoissonGaussianStep | PureStep) for step in steps)
    return (_known_upper if known else _dominated_upper)(steps, delta, upper)


def _dominated_upper(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> Proved:
    """Decide by the dominating pairs of the steps."""
    announced, others = with_public_copies(steps, delta)
    below = profile_steps(others, "down")
    if announced:
        replaced = [s for s in steps if isinstance(s, WithReplacementStep) and s.copies.most > 1]
        composed = mixed_profile(steps, delta, COARSE)
        count = sum(step.count for step in steps)
        mixtures = [exact_mixture(step, delta * SPARE_SHARE / step.count) for step in replaced]
        return _grid_upper(composed, count, [*mixtures, *below], delta, upper)
    steps = others
    if _is_enough_by_union(below, delta) or told_draws_confirm(below, delta, upper):
        return Proved(upper, "the closed form of the draws")
    with contextlib.suppress(CannotCertifyError):
        return _contour_upper(below, (ExactPair.DOMINATING,), delta, upper)
    check_time()
    return _fast_grid_upper(steps, below, delta, upper)


def _grouped_upper(steps: tuple[Step, ...], k: int, delta: Fraction, upper: Fraction) -> Proved:
    """Decide where groups of k join Poisson batches: however many of them are in the first data set alone."""
    if _is_enough_without_sampling(steps, delta, upper):
        return Proved(upper, "the closed form without sampling")
    composed, count = ordered_profile(steps, delta, COARSE), sum(step.count for step in steps)
    others = tuple(step for step in steps if not isinstance(step, GroupStep))
    rest = _exact_in_order(others, ExactPair.DOMINATING, delta)
    ends = []
    for removed in range(k, -1, -1):
        pairs = [
            ExactGaussians(joining(step, removed), joining(step, k - removed), step.noise_multiplier, step.count)
            for step in steps
            if isinstance(step, GroupStep)
        ]
        ends.append(_grid_upper(composed, count, [*pairs, *rest], delta, upper))
    return max(ends, key=lambda end: end.upper)


def _known_upper(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> Proved:
    """Decide where pairs are known, in both orders: by contours where every step is Gaussian, else by integers."""
    gaussian = all(isinstance(step, PoissonGaussianStep | GaussianStep) for step in steps)
    below = profile_steps(steps, "down") if gaussian else []
    if gaussian and (_is_enough_by_union(below, delta) or told_draws_confirm(below, delta, upper)):
        return Proved(upper, "the closed form of the draws")
    if gaussian:
        with contextlib.suppress(CannotCertifyError):
            return _contour_upper(below, (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND), delta, upper)
        check_time()
    composed, count = ordered_profile(steps, delta, COARSE), sum(step.count for step in steps)
    sampled = any(isinstance(step, PoissonGaussianStep) for step in steps)
    orders = (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND)[: 2 if sampled else 1]
    ends = [_grid_upper(composed, count, _exact_in_order(steps, order, delta), delta, upper) for order in orders]
    return max(ends, key=lambda end: end.upper)


def _exact_in_order(steps: tuple[Step, ...], order: ExactPair, delta: Fraction) -> list[ExactStep]:
    found: list[ExactStep] = []
    for step in steps:
        if isinstance(step, PureStep):
            found.append(ExactPure(step.epsilon, step.count, isinstance(step, LaplaceStep)))
        elif isinstance(step, WithReplacementStep) and step.copies.most > 1:
            found.append(exact_mixture(step, delta * SPARE_SHARE / step.count))
        elif isinstance(step, WithReplacementStep):
            found += profile_steps((attained_step(step, 1),), "down")
        elif isinstance(step, PoissonGaussianStep):
            found += [ExactKnown(each, order) for each in profile_steps((step,), "down")]
        else:
            found += profile_steps((step,), "down")
    return found


def _contour_upper(
    below: list[SubsampledGaussian], pairs: Sequence[ExactPair], delta: Fraction, upper: Fraction
) -> Proved:
    """Decide by contour integrals of the pairs; what they leave open is a `CannotCertifyError`."""
    for end in (upper, upper * (1 + CONTOUR_SLACK)):
        found = [composed_delta(below, pair, end, delta) for pair in pairs]
        if any(_is_above(each, delta * (1 + CONTOUR_SLACK)) for each in found):
            raise CertificateError(f"profile: the contour finds delta({_show(upper)}) above the stated delta")
        if all(_is_at_most(each, delta) for each in found):
            return Proved(end, "a contour integral")
    raise CannotCertifyError("the contour does not decide")


def require_profile_lower(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> Attained:
    """Raise unless an order of the realisable pair reaches delta at lower; return how it was confirmed."""
    if lower <= 0 or _is_attained_by_copies(steps, delta, lower):
        return Attained("exact integers", decided=False) if lower > 0 else Attained("epsilon is never below 0")
    steps = attained_steps(steps, delta)
    closed = _closed(steps, lower)
    if closed is not None:
        if not reaches(closed, delta * (1 - _CLOSED_ERROR)):
            raise CertificateError(f"profile: no realisable pair reaches the stated delta at {_show(lower)}")
        return Attained("the closed form")
    if _is_attained_by_less(steps, delta, lower):
        return Attained("the closed form of a part")
    above = profile_steps(steps, "up")
    if losses_reach(above, (), delta, lower):
        return Attained("levels that losses reach")
    try:
        for pair in (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND):
            found = composed_delta(above, pair, lower, delta)
            with arb_precision(128):
                if not found.upper() < arb_from_fraction(delta * (1 - CONTOUR_SLACK)):
                    return Attained("a contour integral", bool(found.lower() >= arb_from_fraction(delta)))
    except CannotCertifyError:
        check_time()
        return Attained(_grid_lower(steps, above, delta, lower), decided=False)
    raise CertificateError(f"profile: no realisable pair reaches the stated delta at {_show(lower)}")


def _is_attained_by_copies(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> bool:
    """Say whether exact integers do not exclude that batches that hold several records reach delta, with all others."""
    copied = [step for step in steps if isinstance(step, WithReplacementStep) and step.copies.most > 1]
    if not copied or max(step.copies.most for step in copied) > MOST_LISTED:
        return False
    others = profile_steps(attained_steps(tuple(step for step in steps if step not in copied), delta), "up")
    laws = [tuple(chance(step.copies, k) for k in range(step.copies.most + 1)) for step in copied]
    with contextlib.suppress(CannotCertifyError):
        composed = (ordered_profile if poisson_group(steps) else mixed_profile)(steps, delta, COARSE)
        grid, slack = _grid(composed, sum(step.count for step in steps), delta, lower)
        for order in (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND):
            first = order is ExactPair.MIXTURE_FIRST
            pairs: list[ExactStep] = [ExactKnown(each, order) for each in others]
            for step, law in zip(copied, laws, strict=True):
                own, other = (law, (Fraction(1),)) if first else ((Fraction(1),), law)
                pairs.append(ExactGaussians(own, other, step.noise_multiplier, step.count))
            if exact_delta_upper(pairs, ExactPair.DOMINATING, lower * (1 - slack), grid) >= delta:
                return True
    check_time()
    return False


def _grid_lower(steps: tuple[Step, ...], above: list[SubsampledGaussian], delta: Fraction, lower: Fraction) -> str:
    """Decide by exact integers: what they find is an upper bound, so a lower end above it is refused."""
    grid, slack = recheck_grid(steps, delta, lower)
    pairs = (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND)
    if all(exact_delta_upper(above, pair, lower * (1 - slack), grid) < delta for pair in pairs):
        raise CertificateError(f"profile: no realisable pair reaches the stated delta at {_show(lower)}")
    return f"exact integers (to {float(2 * slack):.2%})"


def is_attained_by_mixture(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> bool:
    """Say whether exact integers do not exclude that steps of all kinds together reach delta at the lower end."""
    core = tuple(step for step in steps if not isinstance(step, PureStep))
    steps = (*attained_steps(core, delta), *(step for step in steps if isinstance(step, PureStep)))
    count = sum(1 if isinstance(step, PureStep) else step.count for step in steps)
    grid, slack = _grid(ordered_profile(steps, delta, COARSE), count, delta, lower)
    pairs = (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND)
    known = [
        [each if isinstance(each, ExactPure) else ExactKnown(each, pair) for each in _exact(steps)] for pair in pairs
    ]
    return any(exact_delta_upper(one, ExactPair.DOMINATING, lower * (1 - slack), grid) >= delta for one in known)


def _exact(steps: tuple[Step, ...]) -> list[ExactPure | SubsampledGaussian]:
    found: list[ExactPure | SubsampledGaussian] = []
    for step in steps:
        if isinstance(step, PureStep):
            found.append(ExactPure(step.epsilon, step.count, isinstance(step, LaplaceStep)))
        else:
            found += profile_steps((step,), "up")
    return found


def _fast_grid_upper(
    steps: tuple[Step, ...], below: list[SubsampledGaussian], delta: Fraction, upper: Fraction
) -> Proved:
    composed = compose(profile_steps(steps, "down"), target_delta=delta, resolution=COARSE)
    return _grid_upper(composed, sum(step.count for step in steps), below, delta, upper)


def _grid_upper(
    composed: ComposedProfile | MixedProfile | OrderedProfile,
    count: int,
    below: Sequence[ExactStep],
    delta: Fraction,
    upper: Fraction,
) -> Proved:
    """Decide by exact integers: every grid gives an upper bound, so the first that confirms decides."""
    grid, slack = _grid(composed, count, delta, upper)
    widened = upper * (1 + slack)
    for finer in (1, 2, 4):
        refined = Grid(grid.spacing / finer, grid.window * finer, grid.bits + finer)
        if refined.window > MAX_WINDOW:
            break
        found = exact_measure(below, ExactPair.DOMINATING, refined)
        for end in (upper, widened):
            if measure_delta(found, end, refined) <= delta:
                return Proved(end, f"exact integers (to {float(end / upper - 1) if upper else 0:.2%})")
    raise CertificateError(f"profile: exact integers find delta({_show(upper)}) above the stated delta")


def _closed(steps: tuple[Step, ...], epsilon: Fraction) -> mpf | None:
    """Return delta(epsilon) where it is known in closed form: no sampling at all, or a single step."""
    if len(steps) == 1 and isinstance(steps[0], LaplaceStep) and steps[0].count == 1:
        return laplace_delta(steps[0].epsilon, min(epsilon, steps[0].epsilon), CLOSED_DIGITS)
    alone = single_with_replacement(steps)
    if alone is not None:
        return with_replacement_delta(alone.copies, alone.noise_multiplier, epsilon, CLOSED_DIGITS)
    mu_squared = gdp_squared(steps)
    if mu_squared is not None:
        return gaussian_delta(mu_squared, epsilon, CLOSED_DIGITS)
    if len(steps) == 1 and steps[0].count == 1 and isinstance(steps[0], SubsampledGaussianStep | PoissonGaussianStep):
        step = steps[0]
        return single_step_delta(step.sampling_rate, 1 / step.noise_multiplier**2, epsilon, CLOSED_DIGITS)
    return None


def _is_enough_without_sampling(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> bool:
    """Say whether delta(upper) is at most delta even if every record is used in every step: sampling never costs."""
    square = unsampled_square(steps)
    if square is None:
        return False
    found = gaussian_delta(square, upper, CLOSED_DIGITS)
    return not exceeds(found, delta * (1 + _CLOSED_ERROR))


def _is_enough_by_union(steps: Sequence[SubsampledGaussian], delta: Fraction) -> bool:
    """Say whether the total variations of the steps together are at most delta: then every epsilon >= 0 will do."""
    square = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), Fraction(0))
    total = gaussian_delta(square, Fraction(0), CLOSED_DIGITS) if square else mpf(0)
    for step in steps:
        if step.sampling_rate < 1:
            own = single_step_delta(step.sampling_rate, 1 / step.noise_multiplier**2, Fraction(0), CLOSED_DIGITS)
            total = total + step.count * own
    return not exceeds(total, delta * (1 + _CLOSED_ERROR))


def unsampled_square(steps: tuple[Step, ...]) -> Fraction | None:
    """Return the sum of (Delta/sigma)^2, Delta what the most entries of a batch move; None under other noise."""
    square = Fraction(0)
    for step in steps:
        if isinstance(step, WithReplacementStep):
            square += step.count * (step.copies.most / step.noise_multiplier) ** 2
        elif isinstance(step, PoissonGaussianStep):
            square += step.count / step.noise_multiplier**2
        elif isinstance(step, GaussianStep | SubsampledGaussianStep) and step.noise is Noise.GAUSSIAN:
            square += step.count * step.ratio_squared
        else:
            return None
    return square


def _is_attained_by_less(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> bool:
    """Say whether the phases without sampling, one step of a phase, or one event of all sampled phases reach delta.

    Leaving releases out is post-processing, and an event bounds delta from below.
    """
    unsampled = tuple(step for step in steps if isinstance(step, GaussianStep))
    parts: list[tuple[Step, ...]] = [unsampled] if unsampled else []
    parts += [(replace(step, count=1),) for step in steps if step not in unsampled]
    reached = [found for part in parts if (found := _closed(part, lower)) is not None]
    reached.append(one_event_delta(steps, lower, CLOSED_DIGITS))
    return any(reaches(found, delta * (1 - _CLOSED_ERROR)) for found in reached)


def _is_above(found: arb, delta: Fraction) -> bool:
    with arb_precision(128):
        return bool(found.lower() > arb_from_fraction(delta))


def _is_at_most(found: arb, delta: Fraction) -> bool:
    with arb_precision(128):
        return found.is_finite() and bool(found.upper() <= arb_from_fraction(delta))


def recheck_grid(steps: tuple[Step, ...], delta: Fraction, epsilon: Fraction) -> tuple[Grid, Fraction]:
    r"""Return a grid whose chords cost about half the slack, and that slack: the finest that is affordable.

    Chords shift epsilon by about theta T h^2/12, theta the slope of -log(delta). It and the reach are asked of the fast
    composition, for a guess only: every grid is sound. Beyond the window may lie a tenth of what the slack allows of
    delta: P[L > x + y] <= delta(x)/(1 - e^-y).
    """
    composed = compose(profile_steps(steps, "down"), target_delta=delta, resolution=COARSE)
    return _grid(composed, sum(step.count for step in steps), delta, epsilon)


def _grid(
    composed: ComposedProfile | MixedProfile | OrderedProfile, T: int, delta: Fraction, epsilon: Fraction
) -> tuple[Grid, Fraction]:
    near = epsilon or composed.epsilon_upper(min(delta, composed.delta_upper(Fraction(0))) / 4)
    if not near > 0:
        raise CannotCertifyError("the losses are too small to re-derive the profile on a grid")
    drop = log_of(composed.delta_upper(near * Fraction(99, 100))) - log_of(composed.delta_upper(near))
    theta = max(100 * drop, 1.0)
    for slack in GRID_SLACKS:
        mantissa, exponent = math.frexp(float(near) * math.sqrt(6 * float(slack) / (theta * T)))
        spacing = Fraction(round(mantissa * 2**SPACING_BITS)) * Fraction(2) ** (exponent - SPACING_BITS)
        spare = delta * slack * Fraction(theta) / 10
        reach = min(composed.epsilon_upper(spare * min(y, Fraction(1)) / 2) + y for y in (near, Fraction(1)))
        window = (reach / spacing).__ceil__() + 1
        if window <= (MAX_WINDOW if slack == GRID_SLACKS[-1] else MODEST_WINDOW):
            bits = (1 / delta).__ceil__().bit_length() + T.bit_length() + window.bit_length() + 16
            return Grid(spacing, window, bits), slack
    raise CannotCertifyError(f"re-deriving the profile needs {window} points a side, above {MAX_WINDOW}")


def _show(value: Fraction) -> str:
    return f"{float(value):.10g}"
