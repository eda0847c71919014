r"""Ends for little noise or many steps, a second time: what is drawn is told, and what losses reach.

The theorems are those of `profiles.revealed`, `profiles.loss_levels` and `tilted_levels`; the numbers are mpmath's, and
the moments those of `contour_moments`. Which tilts are looked at is asked of the fast route, for a guess only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from flint import acb, arb
from mpmath import mpf

from accountant.certificates.comparing import exceeds
from accountant.certificates.contour_moments import phases_of
from accountant.certificates.integer_route import ExactPair
from accountant.certificates.mpmath_route import gaussian_delta, mp, number
from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_precision
from accountant.profiles.loss_levels import costliest, costliest_pure
from accountant.profiles.one_step import SubsampledGaussian
from accountant.tilted_levels import best_tilt, is_fit

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
    return False


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
    while mp.log(_normal_cdf(low)) > log_p:
        low *= 2
    for _ in range(60):
        between = (low + high) / 2
        low, high = (low, between) if mp.log(_normal_cdf(between)) >= log_p else (between, high)
    return max(mu * (mu / 2 - high), mp.mpf(0))


def _drawn(step: SubsampledGaussian, log_p: mpf) -> mpf:
    q, mu, best = number(step.sampling_rate), 1 / number(step.noise_multiplier), mp.mpf(0)
    for distance in _DISTANCES:
        h = mp.mpf(distance)
        seen = mu * mu / 2 - mu * h + mp.log(q)
        if seen > 0:
            times = _often(step.count, q * _normal_cdf(h), log_p)
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


def _normal_cdf(x: mpf) -> mpf:
    return mp.erfc(-x / mp.sqrt(2)) / 2
