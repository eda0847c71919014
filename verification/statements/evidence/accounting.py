"""Lemmas, profiles and closed ends: the accountant's formulas against independent, enclosed values.

Lemmas 1 and 2, Proposition 1; statements G, D, R and L (profiles and their moments); GROUPS; TOLD-DRAWS and LOSS-LEVELS
(ends that need no lattice, beside those of the lattice and one another).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from flint import acb, arb

from accountant import Ledger, SsADMM
from accountant import epsilon as epsilon_of
from accountant.cramer_bound import close_levels_of
from accountant.groups import grouped_epsilon, share_of_delta, smaller_groups
from accountant.mechanisms.steps import GaussianStep, SubsampledGaussianStep
from accountant.mechanisms.words import Noise
from accountant.numbers import arb_from_fraction, arb_precision, float_down, float_up, fraction_of
from accountant.pld.composition import compose
from accountant.pld.ledger_steps import composed_epsilon
from accountant.profiles.gaussian import gaussian_delta, gaussian_epsilon
from accountant.profiles.one_step import SubsampledGaussian, single_step_delta
from accountant.profiles.without_lattice import attained_level, levels_of, revealed_epsilon
from accountant.renyi.conversion import Conversion, convert
from accountant.renyi.integrals import tight_moment
from accountant.renyi.moments import Subsampling, lemma2_moment, step_log_moment, wbk27_moment
from verification.statements.model import EvidenceResult, Kind, without_solvers

BITS = 160
RATES = (Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(221, 48842))
MULTIPLIERS = (Fraction(1), Fraction(4), Fraction(30))
ORDERS = (2, 3, 4, 5, 8, 16, 39, 150)


@without_solvers("Gaussian moments integrated", Kind.ENCLOSURE)
def gaussian_divergence() -> EvidenceResult:
    r"""E_Q[(P/Q)^alpha] of two Gaussians, integrated rigorously, encloses exp((alpha-1) alpha Delta^2/(2 sigma^2)).

    A shift in R^k is a shift of one coordinate after a rotation, under which the noise does not change.
    """
    widest = 0.0
    for alpha, ratio in itertools.product((Fraction(3, 2), Fraction(2), Fraction(7)), (Fraction(1, 4), Fraction(1))):
        with arb_precision(BITS):
            moment = _integrated_moment(arb_from_fraction(alpha), arb_from_fraction(ratio))
            formula = step_log_moment(GaussianStep(ratio**2, 1), Subsampling.LEMMA2, alpha, BITS).exp()
            if not moment.overlaps(formula) or not moment.rel_accuracy_bits() > 60:
                return EvidenceResult.check(False, f"alpha={alpha}, Delta/sigma={ratio}: {moment} against {formula}")
            widest = max(widest, float((moment.rad() / moment).upper()))
    return EvidenceResult.check(True, f"6 pairs enclosed to {widest:.1g}", size=6, tightness=1.0)


def _integrated_moment(alpha: arb, shift: arb) -> arb:
    centre = (alpha * shift).mid()
    reach = 16

    def integrand(x: acb, _: bool) -> acb:
        return (-alpha * (x - shift) ** 2 / 2 - (1 - alpha) * x * x / 2).exp()

    inside = acb.integral(integrand, acb(centre - reach), acb(centre + reach)).real / (2 * arb.pi()).sqrt()
    # Outside, the integrand is the Gaussian around alpha * shift times its largest value.
    tail = (arb(reach - 1) / arb(2).sqrt()).erfc() * (alpha * (alpha - 1) * shift * shift / 2).exp()
    return inside + tail * arb(0.5, 0.5)


@without_solvers("exact <= Theorem 27 <= Lemma 2", Kind.ENCLOSURE)
def lemma2_dominates() -> EvidenceResult:
    """Lemma 2 is never below the exact moment of the dominating pair; Theorem 27 lies between (WBK27)."""
    closest = 0.0
    for q, nu, alpha in itertools.product(RATES, MULTIPLIERS, ORDERS):
        with arb_precision(BITS):
            x = 1 / nu**2
            exact = tight_moment(q, nu, Fraction(alpha), BITS)
            printed, source = lemma2_moment(q, x, alpha, BITS), wbk27_moment(q, x, alpha, BITS)
            # At q = 1 or alpha = 2 neighbours coincide: an overlap of balls is no violation.
            if printed < source or source < exact:
                return EvidenceResult.check(False, f"q={q}, nu={nu}, alpha={alpha}: {printed}, {source}, {exact}")
            closest = max(closest, float((exact.log1p() / printed.log1p()).lower()))
    count = len(RATES) * len(MULTIPLIERS) * len(ORDERS)
    return EvidenceResult.check(True, f"{count} settings, certified", size=count, tightness=closest)


@without_solvers("between the exact and the unamplified bound", Kind.ENCLOSURE)
def capped_by_unamplified() -> EvidenceResult:
    """A subsampled price is at least the exact moment, and at most that without subsampling; at q = 1 all are one."""
    priced = [*((theorem, Noise.GAUSSIAN) for theorem in Subsampling), (Subsampling.LEMMA2, Noise.DISCRETE)]
    for (theorem, noise), q, nu, alpha in itertools.product(priced, RATES, MULTIPLIERS, (2, 17, 100)):
        with arb_precision(BITS):
            step = SubsampledGaussianStep(q, nu, 1, noise)
            cost, exact = (
                step_log_moment(step, theorem, Fraction(alpha), BITS),
                tight_moment(q, nu, Fraction(alpha), BITS),
            )
            whole = step_log_moment(GaussianStep(step.ratio_squared, 1), theorem, Fraction(alpha), BITS)
            if cost < exact.log1p() or not cost.lower() <= whole.upper():
                said = f"{theorem.value}, {noise.value} noise, q={q}, nu={nu}, alpha={alpha}"
                return EvidenceResult.check(False, f"{said}: {cost}, between {exact.log1p()} and {whole}")
            if q == 1 and theorem is Subsampling.TIGHT and not cost.overlaps(whole):
                return EvidenceResult.check(False, f"at q = 1 the tight bound is {cost}, the Gaussian's {whole}")
    count = len(priced) * len(RATES) * len(MULTIPLIERS) * 3
    return EvidenceResult.check(True, "every theorem, rate and multiplier", size=count, tightness=1.0)


@without_solvers("chords between integers", Kind.ENCLOSURE)
def chords_dominate() -> EvidenceResult:
    """Between integers the chord of (alpha-1) eps(alpha) lies above the exact moment: it is convex (E4)."""
    closest = 0.0
    for q, nu, low in itertools.product(RATES[1:], MULTIPLIERS, (2, 5, 20)):
        with arb_precision(BITS):
            ends = [tight_moment(q, nu, Fraction(a), BITS).log1p() for a in (low, low + 1)]
            middle = tight_moment(q, nu, Fraction(2 * low + 1, 2), BITS).log1p()
            if not middle <= (ends[0] + ends[1]) / 2:
                return EvidenceResult.check(False, f"q={q}, nu={nu}: not convex between {low} and {low + 1}")
            closest = max(closest, float((2 * middle / (ends[0] + ends[1])).lower()))
    return EvidenceResult.check(True, "27 chords, certified; alpha = 2 included", size=27, tightness=closest)


Pair = tuple[list[Fraction], list[Fraction]]


def _random_pair(rng: np.random.Generator, outcomes: int = 4) -> Pair:
    rows = rng.integers(1, 30, size=(2, outcomes))
    return tuple([Fraction(int(v), int(row.sum())) for v in row] for row in rows)  # type: ignore[return-value]  # two rows


def _moment(pair: Pair, alpha: int) -> Fraction:
    return sum((p**alpha * q ** (1 - alpha) for p, q in zip(*pair, strict=True)), Fraction(0))


@without_solvers("conversions on finite pairs", Kind.ENCLOSURE)
def conversions_hold() -> EvidenceResult:
    """The delta that a Renyi bound converts to is never below the true one; CKS is never worse than Proposition 1."""
    rng, reached = np.random.default_rng(12), 0.0
    for alpha, delta in itertools.product((2, 4, 16), (Fraction(1, 10), Fraction(1, 1000))):
        for _ in range(10):
            pair = _random_pair(rng)
            with arb_precision(BITS):
                log_moment = arb_from_fraction(_moment(pair, alpha)).log()
                ends = [convert(log_moment, Fraction(alpha), delta, way) for way in Conversion]
                if not ends[1] <= ends[0]:
                    return EvidenceResult.check(False, f"CKS {ends[1]} is worse than Proposition 1 {ends[0]}")
                for epsilon in ends:
                    true = sum(
                        ((arb_from_fraction(p) - epsilon.exp() * arb_from_fraction(q)).max(arb(0))
                         for p, q in zip(*pair, strict=True)), arb(0))  # fmt: skip
                    if not true.lower() <= arb_from_fraction(delta).upper():
                        return EvidenceResult.check(False, f"alpha={alpha}, delta={delta}: delta(eps) = {true}")
                    reached = max(reached, float((true / arb_from_fraction(delta)).upper()))
    return EvidenceResult.check(True, "60 finite pairs, both conversions", size=60, tightness=reached)


@without_solvers("Proposition 1 approached", Kind.ENCLOSURE)
def proposition1_is_tight() -> EvidenceResult:
    """Of a pair with a rare outcome of ratio r, the conversion recovers log r: the bound is approached."""
    with arb_precision(BITS):
        # P has an outcome of probability 2 delta that Q gives 2 delta/r; the best epsilon for delta is log(r/2).
        delta, r, alpha = Fraction(1, 10**6), 10**4, 400
        p, q = 2 * delta, 2 * delta / r
        pair = ([p, 1 - p], [q, 1 - q])
        epsilon = convert(
            arb_from_fraction(_moment(pair, alpha)).log(), Fraction(alpha), delta, Conversion.PROPOSITION1
        )
        true = (arb(r) / 2).log()
        return EvidenceResult.check(
            bool(epsilon >= true), "rare outcome", size=1, tightness=float((true / epsilon).lower())
        )


DELTA = Fraction(1, 10**8)


def _cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


@without_solvers("Gaussian profile and composition", Kind.ENCLOSURE)
def gaussian_profile_is_exact() -> EvidenceResult:
    """delta(eps) = P(likelihood ratio > e^eps) - e^eps Q(...), for one release of the summed squares (statement G)."""
    looked = 0
    for mu, epsilon in itertools.product(
        (Fraction(2**k, 32) for k in range(9)), (Fraction(k, 4) for k in (*range(9), 20, 40))
    ):
        looked += 1
        with arb_precision(BITS):
            m, e = arb_from_fraction(mu), arb_from_fraction(epsilon)
            threshold = e / m + m / 2  # the ratio of N(mu, 1) to N(0, 1) exceeds e^eps above this
            direct = (1 - _cdf(threshold - m)) - e.exp() * (1 - _cdf(threshold))
            bound = gaussian_delta(mu**2, epsilon)
            low, high = (arb_from_fraction(fraction_of(end)) for end in (bound.lower, bound.upper))
            if not (low <= direct.upper() and direct.lower() <= high):
                return EvidenceResult.check(False, f"mu={mu}, eps={epsilon}: {direct} outside {bound}")
    exact = gaussian_epsilon(Fraction(50, 900), DELTA)
    composed = composed_epsilon((GaussianStep(Fraction(1, 900), 50),), DELTA)
    ratio = float_down(exact.lower) / float_up(composed.upper)
    text = f"50 releases at nu = 30: epsilon = {float_up(exact.upper):.12f}, which composition encloses"
    encloses = composed.lower <= exact.upper and exact.lower <= composed.upper
    return EvidenceResult.check(encloses, text, size=looked + 1, tightness=ratio)


@without_solvers("profile against realisable pairs", Kind.ENCLOSURE)
def profile_dominates() -> EvidenceResult:
    r"""H(y) is at least the hockey-stick of every realisable pair tried, and equals one of them.

    Pairs, with q = m/n and means in units of the sensitivity: the mixture against N(0) in both directions (all other
    records agree), and two mixtures whose replaced record points in opposite directions by half.
    """
    reached = 0.0
    for q, nu, eps in itertools.product(
        (Fraction(1, 10), Fraction(1, 2)),
        (Fraction(1), Fraction(4)),
        (Fraction(1, 20), Fraction(1, 2), Fraction(2)),
    ):
        with arb_precision(BITS):
            bound = arb_from_fraction(fraction_of(single_step_delta(q, 1 / nu**2, eps).upper))
            for value in _realisable(q, nu, eps):
                if not value.lower() <= bound:
                    return EvidenceResult.check(False, f"q={q}, nu={nu}, eps={eps}: {value} above the profile {bound}")
                reached = max(reached, float((value / bound).lower()))
    return EvidenceResult.check(reached > 0.999, "36 pairs", size=36, tightness=reached)


def _realisable(q: Fraction, nu: Fraction, epsilon: Fraction) -> list[arb]:
    """Hockey-sticks at e^eps of (mixture, N(0)), (N(0), mixture) and two opposite mixtures."""
    rate, sigma, e = arb_from_fraction(q), arb_from_fraction(nu), arb_from_fraction(epsilon).exp()
    stay = 1 - rate

    def normal_above(threshold: arb, mean: arb) -> arb:
        return 1 - _cdf((threshold - mean) / sigma)

    # The likelihood ratio of the mixture to N(0) rises in x: above the threshold it exceeds e^eps.
    inner = ((e - stay) / rate).log()
    threshold = sigma * sigma * inner + arb(1) / 2
    forward = (
        stay * normal_above(threshold, arb(0))
        + rate * normal_above(threshold, arb(1))
        - e * normal_above(threshold, arb(0))
    )
    # N(0) exceeds e^eps times the mixture below another threshold, if the mixture can be that small at all.
    backward = arb(0)
    if 1 / e > stay:
        lower = sigma * sigma * ((1 / e - stay) / rate).log() + arb(1) / 2
        below = [_cdf((lower - mean) / sigma) for mean in (arb(0), arb(1))]
        backward = below[0] - e * (stay * below[0] + rate * below[1])
    return [forward, backward, _opposite(rate, sigma, e)]


def _opposite(rate: arb, sigma: arb, e: arb) -> arb:
    """(1-q)N(0)+qN(1/2) against (1-q)N(0)+qN(-1/2), by rigorous integration of the positive part."""
    stay = 1 - rate

    def densities(x: acb) -> tuple[acb, acb]:
        def normal(mean: arb) -> acb:
            return (-((x - mean) ** 2) / (2 * sigma * sigma)).exp() / (sigma * (2 * arb.pi()).sqrt())

        centre = stay * normal(arb(0))
        return centre + rate * normal(arb(1) / 2), centre + rate * normal(-arb(1) / 2)

    def excess(x: acb, _: bool) -> acb:
        one, two = densities(x)
        return one - e * two

    low, high = arb(0), 12 * sigma
    if not excess(acb(high), False).real > 0:
        return arb(0)
    for _ in range(90):  # the ratio rises with x; bisect for the point where the excess begins
        middle = ((low + high) / 2).mid()
        low, high = (low, middle) if excess(acb(middle), False).real > 0 else (middle, high)
    return acb.integral(excess, acb(high.mid()), acb((12 * sigma).mid())).real


@without_solvers("moments from the profile", Kind.ATTACK)
def moments_match_the_profile() -> EvidenceResult:
    r"""Statement R's formula, integrated from H directly, agrees with the accountant's rearranged integral."""
    closest = 1.0
    for q, nu, alpha in (
        (Fraction(1, 10), Fraction(2), Fraction(3)),
        (Fraction(1, 2), Fraction(4), Fraction(5, 2)),
    ):
        with arb_precision(BITS):
            direct = _moment_from_profile(q, nu, alpha)
            rearranged = tight_moment(q, nu, alpha, BITS)
            ratio = float((direct / rearranged).mid())
            if abs(ratio - 1) > 1e-6:
                return EvidenceResult.check(False, f"q={q}, nu={nu}, alpha={alpha}: {direct} against {rearranged}")
            closest = min(closest, ratio)
    return EvidenceResult.check(True, "2 settings agree to 1e-6", size=2, tightness=closest)


def _moment_from_profile(q: Fraction, nu: Fraction, alpha: Fraction) -> arb:
    """alpha (alpha-1) times the integral over t = log y of (y^{alpha-2} + y^{-alpha-1}) H(y) y, as it stands."""
    rate, mu, a = arb_from_fraction(q), arb_from_fraction(1 / nu), arb_from_fraction(alpha)

    def integrand(t: acb, _: bool) -> acb:
        ratio = 1 + (t.exp() - 1) / rate  # away from its zero for |Im t| small, where flint looks
        slope = ratio.log() / mu
        above, below = ((end / arb(2).sqrt()).erfc() / 2 for end in (slope - mu / 2, slope + mu / 2))
        profile = rate * (above - ratio * below)
        return (((a - 1) * t).exp() + (-a * t).exp()) * profile

    return a * (a - 1) * acb.integral(integrand, acb(0), acb(8)).real


@without_solvers("composition encloses", Kind.ENCLOSURE)
def composed_between() -> EvidenceResult:
    """Row 1 of the table: lower <= upper, upper below the tight Renyi bound, both far below Lemma 2 (statement L)."""
    steps = (SubsampledGaussianStep(Fraction(1, 10), Fraction(8), 100),)
    bound = composed_epsilon(steps, DELTA)
    single = SubsampledGaussianStep(Fraction(1, 10), Fraction(8), 1)
    alpha = Fraction(16)
    with arb_precision(BITS):
        moment = 100 * step_log_moment(single, Subsampling.TIGHT, alpha, BITS)
        order = arb_from_fraction(alpha)
        renyi = (moment - arb_from_fraction(DELTA).log() - order.log()) / (order - 1) + (-1 / order).log1p()
    low, high = float_down(bound.lower), float_up(bound.upper)
    holds = low <= high < float(renyi.upper())
    detail = f"n 1000, m 100, nu 8, T 100: lower {low:.4f}, upper {high:.4f}, Renyi {float(renyi.upper()):.4f}"
    return EvidenceResult.check(holds, detail, size=1, tightness=low / high)


SMALL_DELTA = Fraction(1, 10**6)
MODERATE = (("1/2", "1/2", 20), ("1/10", "2/5", 300), ("1/100", "9/10", 5000), ("1/20", "3", 2000))
"""Rate, noise and number of steps: where a lattice serves."""
MANY = ("1/10", "4", 10**6)
LITTLE = (("1/200", "1e-3", 10**5), ("1/3", "1e-30", 10**6))


def _steps(case: tuple[str, str, int]) -> list[SubsampledGaussian]:
    rate, noise, count = case
    return [SubsampledGaussian(Fraction(rate), Fraction(noise), count)]


@without_solvers("told draws beside the lattice", Kind.ENCLOSURE)
def told_draws_cost_no_less() -> EvidenceResult:
    """Who is told the draws knows at least what a pair attains; with hardly any noise, hardly more."""
    for case in MODERATE:
        told, attained = (
            revealed_epsilon(_steps(case), SMALL_DELTA),
            compose(_steps(case)).attained_epsilon(SMALL_DELTA),
        )
        if told is not None and told < attained:
            return EvidenceResult.check(False, f"{case}: {float(told)} is below what a pair attains")
    ratios = [_closeness(case) for case in LITTLE]
    text = f"{len(MODERATE)} ledgers on a lattice, {len(LITTLE)} with hardly any noise"
    count = len(MODERATE) + len(LITTLE)
    return EvidenceResult.check(min(ratios) > 0.95, text, size=count, tightness=min(ratios))


def _closeness(case: tuple[str, str, int]) -> float:
    told = revealed_epsilon(_steps(case), SMALL_DELTA)
    return 0.0 if told is None else float(attained_level(levels_of(_steps(case)), SMALL_DELTA) / told)


@without_solvers("loss levels beside the lattice", Kind.ENCLOSURE)
def losses_reach_no_more() -> EvidenceResult:
    """Levels stay below what the lattice allows every mechanism, and for many steps close to what it attains."""
    for case in (*MODERATE, MANY):
        steps = _steps(case)
        composed, level = compose(steps), attained_level(close_levels_of(steps, SMALL_DELTA), SMALL_DELTA)
        if level > composed.lattice_epsilon_upper(SMALL_DELTA):
            return EvidenceResult.check(False, f"{case}: the level {float(level)} is above the lattice's upper end")
    close = float_down(level) / float_up(composed.attained_epsilon(SMALL_DELTA))
    count = len(MODERATE) + 1
    return EvidenceResult.check(close > 0.8, f"{count} ledgers on a lattice", size=count, tightness=close)


# -- groups of records --------------------------------------------------------------------------------------------


@without_solvers("chains of groups", Kind.ENCLOSURE)
def chains_of_groups() -> EvidenceResult:
    """b neighbours in a row that are each exactly (eps, d)-private end exactly delta apart, d the share of delta.

    Two outcomes: P_b has 0 of the first, and P_i = e^eps P_{i+1} + d. The other outcome and the other direction cost
    less.
    """
    closest, looked = 1.0, 0
    for groups, epsilon, delta in itertools.product((2, 3, 7), FEW, (SMALL_DELTA, Fraction(1, 1000))):
        with arb_precision(BITS):
            share, e = arb_from_fraction(share_of_delta(groups, epsilon, delta)), arb_from_fraction(epsilon).exp()
            chain = [arb(0)]
            for _ in range(groups):
                chain.append(e * chain[-1] + share)
            back = [(1 - low) - e * (1 - high) for low, high in itertools.pairwise(chain)]
            reached = float((chain[-1] / arb_from_fraction(delta)).upper())
            looked, closest = looked + 1, min(closest, reached)
            if not (all(each < share for each in back) and reached <= 1 + 1e-15):
                return EvidenceResult.check(False, f"{groups} groups at eps={epsilon}: {reached} of delta is spent")
    return EvidenceResult.check(closest > 1 - 1e-15, f"{looked} chains", size=looked, tightness=closest)


FEW = (Fraction(1, 10), Fraction(1), Fraction(3))


def _upper_end(ledger: Ledger, delta: Fraction) -> Fraction:
    return fraction_of(epsilon_of(ledger, delta).epsilon.upper)


@without_solvers("groups in batches", Kind.ATTACK)
def groups_in_batches() -> EvidenceResult:
    """k records alike against k opposite ones: a batch holds K of them, and the price of the group covers its tests."""
    reached, looked, delta = 0.0, 0, Fraction(1, 1000)
    for n, m, k, nu in ((20, 5, 3, 4), (20, 20, 2, 8), (50, 10, 4, 6)):
        run_of_one = SsADMM(records=n, batch=m, iterations=1, noise_multiplier=nu, group_size=k)
        ledger = run_of_one.ledger()
        end = grouped_epsilon(_upper_end, ledger, delta) if smaller_groups(ledger) else _upper_end(ledger, delta)
        upper = arb_from_fraction(end)
        with arb_precision(BITS):
            held = {j: Fraction(math.comb(k, j) * math.comb(n - k, m - j), math.comb(n, m))
                    for j in range(max(0, m + k - n), min(m, k) + 1)}  # fmt: skip
            for tenth in range(-40, 120):
                t = arb(tenth) / 10
                above = sum(
                    (arb_from_fraction(share) * (1 - _cdf(t - arb(j) / nu)) for j, share in held.items()), arb(0)
                )
                gain = (above - upper.exp() * (1 - _cdf(t))) / arb_from_fraction(delta)
                looked, reached = looked + 1, max(reached, float(gain.upper()))
                if not gain <= 1:
                    return EvidenceResult.check(False, f"{k} of {n} in batches of {m}: a test gains {gain} delta")
    return EvidenceResult.check(reached > 0.5, f"{looked} tests", size=looked, tightness=reached)
