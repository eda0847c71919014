"""What an adversary on fixed-size batches cannot exceed, what one attains, and the theory behind both.

Statements LEADER, ADAPTIVE and FORWARD-EXCEEDED; HOCKEY-STICK, TESTS, SUBSAMPLING, TRIPLES, COMPOSITION and
CONNECT-THE-DOTS: Coq proves these for every integral, and here the accountant's own functions must obey them.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from accountant.errors import CertificateError
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import Bound, arb_from_fraction, arb_precision, float_up, fraction_of
from accountant.pld.adversary.adaptive_lower import adaptive_delta_lower, adaptive_epsilon_lower
from accountant.pld.adversary.ordering import Ordering, check
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.adversary.search import certificate_for
from accountant.pld.composition import MixedProfile, Resolution, binary_step, compose
from accountant.pld.ledger_steps import composed_epsilon
from accountant.pld.types import Frame, Pair
from accountant.profiles.gaussian import gaussian_delta
from accountant.profiles.one_step import SubsampledGaussian, single_step_delta
from verification.statements.model import EvidenceResult, Kind, without_solvers
from verification.wire.arrays import Floats

Q, MU, STEPS = 0.1, 1.0, 3
EPSILONS = (0.0, 0.1, 0.3, 0.7)
SLACK = 1e-3
"""The attacks are computed in binary64 with linear interpolation, good to less than this."""
POLICIES = 20
CENTRES = (0.0, 0.25, 0.5, 0.75, 1.0)
FORWARD_AND_REVERSE = (0.0, 1.0)
CLOSE = 0.97
"""How much of the dynamic programme the certified lower end must keep: a lower end of 0 would be true and useless."""


@without_solvers("cover of the triples", Kind.ENCLOSURE)
def certificate_holds() -> EvidenceResult:
    """Every box of a cover of all triples is tested in outward-rounded arithmetic, for windows and for stairs."""
    found = certificate_for(Q, MU)
    check(found)
    boxes = found.windows.count("k"), sum(entry.cover.count("k") for entry in found.stairs)
    detail = f"q={Q}, nu={1 / MU}: {boxes[0]} boxes for windows, {boxes[1]} for stairs"
    return EvidenceResult.check(True, detail, size=sum(boxes))


@without_solvers("incomplete certificates are refused", Kind.ENCLOSURE)
def incomplete_certificates_fail() -> EvidenceResult:
    """A box forgotten, a smaller leader, no share at all: none passes."""
    found = certificate_for(Q, MU)
    wrong = {
        "a box forgotten": replace(found, windows=found.windows[:-1]),
        "half the share": replace(found, single=replace(found.single, share=found.single.share / 2)),
        "the forward pair alone": with_stairs(found, share=0.0, lift=0.0),
    }
    passed = [name for name, certificate in wrong.items() if _passes(certificate)]
    detail = f"incomplete certificates that passed: {', '.join(passed) or 'none'}"
    return EvidenceResult.check(not passed, detail, size=len(wrong))


def with_stairs(found: Ordering, *, share: float, lift: float) -> Ordering:
    """Return the certificate with another leader for its first stairs."""
    first, *others = found.stairs
    return replace(found, stairs=(replace(first, leader=replace(first.leader, share=share, lift=lift)), *others))


def _passes(certificate: Ordering) -> bool:
    try:
        check(certificate)
    except CertificateError:
        return False
    return True


@without_solvers("adaptive adversaries by dynamic programming", Kind.ATTACK)
def adaptive_attacks() -> EvidenceResult:
    """The best of five triples before each step, and random policies: dynamic programming never exceeds the bound."""
    found = certificate_for(Q, MU)
    lattice = composed([found], Frame(0.004, 8.0, 4.0), Course(STEPS, STEPS, 1.0), -35.0)
    bounds = np.array([float(lattice.delta_upper(Fraction(epsilon))) for epsilon in EPSILONS])
    generator = np.random.default_rng(15)
    attained = [_attained(None)] + [_attained(generator) for _ in range(POLICIES)]
    reached = max(float(np.max(values / bounds)) for values in attained)
    detail = f"{STEPS} steps, {POLICIES} random policies and the best one reach {reached:.4f} of the bound"
    return EvidenceResult.check(reached <= 1 + SLACK, detail, size=1 + POLICIES, tightness=min(reached, 1.0))


@without_solvers("between the forward pair and the leader", Kind.ENCLOSURE)
def attained_between() -> EvidenceResult:
    """The certified lower end is above the forward pair's, which a fixed pair attains, and below the leader's bound."""
    found = _lower_ends()
    step = SubsampledGaussian(Fraction(Q), 1 / Fraction(MU), STEPS)
    lattice = composed([certificate_for(Q, MU)], Frame(0.004, 8.0, 4.0), Course(STEPS, STEPS, 1.0), -35.0)
    upper = [lattice.delta_upper(Fraction(epsilon)) for epsilon in EPSILONS]
    forward = [compose([step]).delta_lower(e) for e in map(Fraction, EPSILONS)]
    below = all(low <= high for low, high in zip(found, upper, strict=True))
    gains = [float(low / pair) - 1 for low, pair in zip(found, forward, strict=True)]
    detail = f"{STEPS} steps: up to {max(gains):.2%} above the forward pair's delta; never above the leader's bound"
    return EvidenceResult.check(below and max(gains) > 0, detail, size=len(EPSILONS))


@without_solvers("forward or reverse before each step", Kind.ATTACK)
def attained_by_choosing() -> EvidenceResult:
    """Who chooses the forward or the reverse pair before each step attains it: their dynamic programme."""
    found = np.array([float(value) for value in _lower_ends()])
    share = found / _attained(None, FORWARD_AND_REVERSE)
    detail = f"{STEPS} steps: {share.min():.4f} to {share.max():.4f} of what the adversary has"
    holds = bool(share.max() <= 1 + SLACK and share.min() >= CLOSE)
    return EvidenceResult.check(holds, detail, size=len(EPSILONS), tightness=min(float(share.min()), 1.0))


EXCEEDED = (
    (Fraction(1, 100), Fraction(1), 100, Fraction(1, 10**6)),
    (Fraction(1, 20), Fraction(1), 40, Fraction(1, 10**5)),
    (Fraction(1, 10), Fraction(2), 100, Fraction(1, 10**5)),
    (Fraction(1, 20), Fraction(2), 50, Fraction(1, 20)),
)
"""q, nu, T and delta at which an adaptive adversary is certified to exceed the forward pair."""


@without_solvers("adaptive against fixed pairs", Kind.ENCLOSURE)
def forward_exceeded() -> EvidenceResult:
    """What an adaptive adversary attains is strictly above the *upper* ends of the forward and of the reverse pair."""
    gains = []
    for q, nu, count, delta in EXCEEDED:
        attained = adaptive_epsilon_lower(SubsampledGaussian(q, nu, count), delta)
        fixed = max(
            MixedProfile([binary_step(q, nu, count, pair)], Resolution(2e-5)).epsilon_upper(delta)
            for pair in (Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND)
        )
        gains.append(float(attained / fixed) - 1)
    detail = "epsilon exceeds the forward pair's by at least " + ", ".join(f"{gain:.2%}" for gain in gains)
    return EvidenceResult.check(min(gains) > 0, detail, size=len(gains))


@without_solvers("two fixed triples", Kind.ATTACK)
def no_fixed_pair_found() -> EvidenceResult:
    """Of two fixed triples on a line no pair exceeds the forward pair, taken twice: none is known that does."""
    x, outputs = np.linspace(-3.0, 3.0, 801), np.linspace(-9 / MU, 1 + 9 / MU, 601)
    start = np.maximum(1 - np.exp(x), 0.0)
    first = {centre: _after(start, x, outputs, centre) for centre in CENTRES}
    best = max(
        float(np.max(np.interp(EPSILONS, x, _after(first[one], x, outputs, other)) / _attained(None, (0.0,), 2)))
        for one, other in itertools.product(CENTRES, CENTRES)
    )
    detail = f"{len(CENTRES) ** 2} pairs of triples reach {best:.5f} of the forward pair's delta"
    return EvidenceResult.check(best <= 1 + SLACK, detail, size=len(CENTRES) ** 2, tightness=min(best, 1.0))


def _lower_ends() -> list[Fraction]:
    step = SubsampledGaussian(Fraction(Q), 1 / Fraction(MU), STEPS)
    return [adaptive_delta_lower(step, Fraction(epsilon)) for epsilon in EPSILONS]


def _attained(
    generator: np.random.Generator | None, centres: tuple[float, ...] = CENTRES, steps: int = STEPS
) -> Floats:
    """Return delta of the best adversary who moves c between a' and a, or of a random policy."""
    x = np.linspace(-2.5, 2.5, 801)
    outputs = np.linspace(-8 / MU, 1 + 8 / MU, 601)
    value = np.maximum(1 - np.exp(x), 0.0)
    for _ in range(steps):
        options = np.array([_after(value, x, outputs, centre) for centre in centres])
        if generator is None:
            value = options.max(axis=0)
        else:  # one choice for each stretch of losses
            choice = np.repeat(generator.integers(0, len(options), size=9), 89)
            value = options[choice, np.arange(x.size)]
    return np.asarray(np.interp(np.array(EPSILONS), x, value), dtype=np.float64)


def _after(value: Floats, x: Floats, outputs: Floats, centre: float) -> Floats:
    """Return E_P f(y Q/P) for the triple (c, 1, 0) on a line."""
    density = MU * (outputs[1] - outputs[0]) / np.sqrt(2 * np.pi)

    def normal(mean: float) -> Floats:
        return np.asarray(density * np.exp(-((outputs - mean) ** 2) * MU**2 / 2), dtype=np.float64)

    p = (1 - Q) * normal(centre) + Q * normal(1.0)
    loss = np.log(p) - np.log((1 - Q) * normal(centre) + Q * normal(0.0))
    moved = np.clip(x[:, None] - loss[None, :], x[0], x[-1])
    return np.asarray(np.interp(moved, x, value) @ p, dtype=np.float64)


# -- the theory, of the accountant's own functions ----------------------------------------------------------------

LEVELS = tuple(Fraction(k, 8) for k in (1, 2, 4, 8, 16))
MUS = (Fraction(1, 10), Fraction(1), Fraction(3))
RATES = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(99, 100))
BITS = 128


def _overlap(one: Bound, two: arb) -> bool:
    return bool(arb_from_fraction(fraction_of(one.lower)) <= two.upper()) and bool(
        two.lower() <= arb_from_fraction(fraction_of(one.upper))
    )


def _ball(bound: Bound) -> arb:
    return arb_from_fraction(fraction_of(bound.lower)).union(arb_from_fraction(fraction_of(bound.upper)))


@without_solvers("profiles reversed", Kind.ENCLOSURE)
def reversed_profile() -> EvidenceResult:
    """Statement HOCKEY-STICK: the accountant's profiles obey H_{1/y} = 1 - 1/y + H_y/y."""
    looked = 0
    for mu, epsilon in itertools.product((*MUS, Fraction(1, 3), Fraction(7)), LEVELS):
        with arb_precision(BITS):
            below, above = (gaussian_delta(mu**2, e) for e in (-epsilon, epsilon))
            y = arb_from_fraction(epsilon).exp()
            looked += 1
            if not _overlap(below, 1 - 1 / y + _ball(above) / y):
                return EvidenceResult.check(False, f"mu={mu}, eps={epsilon}: {below} against {above}")
    return EvidenceResult.check(True, "Gaussian profiles", size=looked, tightness=1.0)


@without_solvers("threshold tests of Gaussians", Kind.ENCLOSURE)
def no_test_beats_the_profile() -> EvidenceResult:
    """Statement TESTS: P(x > t) - e^eps Q(x > t) of two Gaussians is at most the accountant's delta, and reaches it."""
    looked, reached = 0, 1.0
    for mu, epsilon in itertools.product(MUS, LEVELS):
        with arb_precision(BITS):
            m, e = arb_from_fraction(mu), arb_from_fraction(epsilon)
            delta, best = gaussian_delta(mu**2, epsilon), 0.0
            for k in range(-20, 21):
                t = e / m + m / 2 + arb(k) / 10
                gain = (((t - m) / arb(2).sqrt()).erfc() - e.exp() * (t / arb(2).sqrt()).erfc()) / 2
                looked += 1
                if not gain.lower() <= arb_from_fraction(fraction_of(delta.upper)):
                    return EvidenceResult.check(False, f"mu={mu}, eps={epsilon}: a test gains {gain}")
                best = max(best, float((gain / arb_from_fraction(fraction_of(delta.upper))).mid()))
            reached = min(reached, best)
    return EvidenceResult.check(reached > 1 - 1e-9, "thresholds about the best", size=looked, tightness=reached)


@without_solvers("one amplified step", Kind.ENCLOSURE)
def amplified_profile() -> EvidenceResult:
    """Statement SUBSAMPLING: delta of one step on a share q is q times the Gaussian's at log(1 + (e^eps - 1)/q)."""
    looked = 0
    for q, mu, epsilon in itertools.product(RATES, MUS, LEVELS):
        with arb_precision(BITS):
            rate, m = arb_from_fraction(q), arb_from_fraction(mu)
            inner = (1 + (arb_from_fraction(epsilon).exp() - 1) / rate).log()
            ends = [(inner / m + sign * m / 2) / arb(2).sqrt() for sign in (-1, 1)]
            wanted = rate * (ends[0].erfc() - inner.exp() * ends[1].erfc()) / 2
            looked += 1
            if not _overlap(single_step_delta(q, mu**2, epsilon), wanted):
                return EvidenceResult.check(False, f"q={q}, mu={mu}, eps={epsilon}: not {wanted}")
    return EvidenceResult.check(True, "rates, noises and levels", size=looked, tightness=1.0)


def _upper(spacing: float, steps: int) -> Floats:
    lattice = composed([certificate_for(Q, MU)], Frame(spacing, 8.0, 4.0), Course(steps, steps, 1.0), -35.0)
    return np.array([float(lattice.delta_upper(Fraction(epsilon))) for epsilon in EPSILONS])


@without_solvers("triples below one step of the leader", Kind.ATTACK)
def triples_below_the_leader() -> EvidenceResult:
    """Statement TRIPLES: one step of the leader is above every triple (c, a, a') with c on the segment."""
    bound = _upper(0.004, 1)
    inside = [_attained(None, (float(centre),), 1) for centre in np.linspace(0, 1, 21)]
    reached = max(float(np.max(values / bound)) for values in inside)
    detail = f"{len(inside)} triples reach {reached:.4f} of the leader's step"
    return EvidenceResult.check(
        CLOSE <= reached <= 1 + SLACK, detail, size=len(inside) * len(EPSILONS), tightness=min(reached, 1.0)
    )


@without_solvers("composed ends of the forward pair", Kind.ATTACK)
def composed_steps() -> EvidenceResult:
    """Statement COMPOSITION: the composed ends of the forward pair enclose its divergence after T steps, integrated."""
    worst, looked = 0.0, 0
    for steps in (1, 2, STEPS):
        true = _attained(None, (0.0,), steps)
        profile = compose([SubsampledGaussian(Fraction(Q), 1 / Fraction(MU), steps)])
        for epsilon, value in zip(map(Fraction, EPSILONS), true, strict=True):
            low, high = float(profile.delta_lower(epsilon)), float(profile.delta_upper(epsilon))
            worst, looked = max(worst, low / value - 1, 1 - high / value), looked + 1
    return EvidenceResult.check(worst <= SLACK, f"at most {worst:.2g} outside", size=looked)


@without_solvers("coarser grids", Kind.ENCLOSURE)
def coarser_is_above() -> EvidenceResult:
    """Statement CONNECT-THE-DOTS: on a coarser grid the recursion's bound is larger, and tends to the finer one's."""
    bounds = [_upper(spacing, STEPS) for spacing in (0.016, 0.008, 0.004)]
    rises = all(np.all(a >= b * (1 - 1e-9)) for a, b in itertools.pairwise(bounds))
    share = float(np.min(bounds[-1] / bounds[0]))
    holds = bool(rises) and share > CLOSE
    return EvidenceResult.check(holds, "spacings 0.016, 0.008, 0.004", size=3 * len(EPSILONS), tightness=share)


@without_solvers("reported epsilon of the forward pair", Kind.ENCLOSURE)
def reported_epsilon() -> EvidenceResult:
    """Statement L: at the delta of T integrated steps, the reported upper end is at least the epsilon they have."""
    steps = (SubsampledGaussianStep(Fraction(Q), 1 / Fraction(MU), STEPS),)
    close = 0.0
    for epsilon, delta in zip(EPSILONS[1:], _attained(None, (0.0,))[1:], strict=True):
        upper = float_up(composed_epsilon(steps, Fraction(float(delta))).upper)
        if upper < epsilon * (1 - 10 * SLACK):
            return EvidenceResult.check(False, f"delta={delta}: {upper} reported, {epsilon} attained")
        close = max(close, epsilon / upper)
    return EvidenceResult.check(close > CLOSE, "three levels", size=len(EPSILONS) - 1, tightness=min(close, 1.0))
