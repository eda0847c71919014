"""Lemmas 1 to 3, Proposition 1 and the Renyi bounds: the accountant's formulas against independent, enclosed values."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from flint import acb, arb

from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import arb_from_fraction, arb_precision
from accountant.profiles.gaussian import gaussian_rdp
from accountant.renyi.conversion import Conversion, convert
from accountant.renyi.moments import Subsampling, step_log_moment
from accountant.renyi.tight import tight_moment
from accountant.renyi.without_replacement import lemma2_moment, wbk27_moment
from verification.lemmas.prover import Prover
from verification.statements.model import Evidence, EvidenceResult, Kind

BITS = 160
RATES = (Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(221, 48842))
MULTIPLIERS = (Fraction(1), Fraction(4), Fraction(30))
ORDERS = (2, 3, 8, 39)


def gaussian_divergence() -> Evidence:
    r"""E_Q[(P/Q)^alpha] of two Gaussians, integrated rigorously, encloses exp((alpha-1) alpha Delta^2/(2 sigma^2)).

    A shift in R^k is a shift of one coordinate after a rotation, under which the noise does not change.
    """

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls
        widest = 0.0
        for alpha, ratio in itertools.product(
            (Fraction(3, 2), Fraction(2), Fraction(7)), (Fraction(1, 4), Fraction(1))
        ):
            with arb_precision(BITS):
                moment = _integrated_moment(arb_from_fraction(alpha), arb_from_fraction(ratio))
                formula = (arb_from_fraction((alpha - 1) * gaussian_rdp(ratio**2, alpha))).exp()
                if not moment.overlaps(formula) or not moment.rel_accuracy_bits() > 60:
                    return EvidenceResult.check(
                        False, f"alpha={alpha}, Delta/sigma={ratio}: {moment} against {formula}"
                    )
                widest = max(widest, float((moment.rad() / moment).upper()))
        return EvidenceResult.check(True, f"6 pairs enclosed to {widest:.1g}", tightness=1.0)

    return Evidence("Gaussian moments integrated", Kind.ENCLOSURE, run)


def _integrated_moment(alpha: arb, shift: arb) -> arb:
    centre = (alpha * shift).mid()
    reach = 16

    def integrand(x: acb, _: bool) -> acb:
        return (-alpha * (x - shift) ** 2 / 2 - (1 - alpha) * x * x / 2).exp()

    inside = acb.integral(integrand, acb(centre - reach), acb(centre + reach)).real / (2 * arb.pi()).sqrt()
    # Outside, the integrand is the Gaussian around alpha * shift times its largest value.
    tail = (arb(reach - 1) / arb(2).sqrt()).erfc() * (alpha * (alpha - 1) * shift * shift / 2).exp()
    return inside + tail * arb(0.5, 0.5)


def lemma2_dominates() -> Evidence:
    """Lemma 2 is never below the exact moment of the dominating pair; Theorem 27 lies between (WBK27)."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls
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
        return EvidenceResult.check(True, f"{count} settings, certified", tightness=closest)

    return Evidence("exact <= Theorem 27 <= Lemma 2", Kind.ENCLOSURE, run)


def capped_by_unamplified() -> Evidence:
    """No subsampled bound is above the bound without subsampling; at q = 1 the tight one is the Gaussian's own."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls
        for theorem, q, nu, alpha in itertools.product(Subsampling, RATES, MULTIPLIERS, (2, 17)):
            with arb_precision(BITS):
                step = SubsampledGaussianStep(q, nu, 1)
                cost = step_log_moment(step, theorem, Fraction(alpha), BITS)
                whole = arb_from_fraction((alpha - 1) * gaussian_rdp(step.ratio_squared, Fraction(alpha)))
                if not cost.lower() <= whole.upper():
                    return EvidenceResult.check(
                        False, f"{theorem.value}, q={q}, nu={nu}, alpha={alpha} costs more than q = 1"
                    )
                if q == 1 and theorem is Subsampling.TIGHT and not cost.overlaps(whole):
                    return EvidenceResult.check(False, f"at q = 1 the tight bound is {cost}, the Gaussian's {whole}")
        return EvidenceResult.check(True, "every theorem, rate and multiplier", tightness=1.0)

    return Evidence("capped by the unamplified bound", Kind.ENCLOSURE, run)


def chords_dominate() -> Evidence:
    """Between integers the chord of (alpha-1) eps(alpha) lies above the exact moment: it is convex (E4)."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls
        closest = 0.0
        for q, nu, low in itertools.product(RATES[1:], MULTIPLIERS, (2, 5, 20)):
            with arb_precision(BITS):
                ends = [tight_moment(q, nu, Fraction(a), BITS).log1p() for a in (low, low + 1)]
                middle = tight_moment(q, nu, Fraction(2 * low + 1, 2), BITS).log1p()
                if not middle <= (ends[0] + ends[1]) / 2:
                    return EvidenceResult.check(False, f"q={q}, nu={nu}: not convex between {low} and {low + 1}")
                closest = max(closest, float((2 * middle / (ends[0] + ends[1])).lower()))
        return EvidenceResult.check(True, "27 chords, certified; alpha = 2 included", tightness=closest)

    return Evidence("chords between integers", Kind.ENCLOSURE, run)


def adaptive_composition() -> Evidence:
    r"""Adaptive finite mechanisms in rational arithmetic: moments multiply at most, and exactly without adaptation.

    E_Q[(P/Q)^alpha] over two rounds is the sum over the first outcome of p^alpha q^(1-alpha) times the second round's
    moment given it, hence at most the product with the largest second moment.
    """

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - rationals
        rng, reached = np.random.default_rng(11), 0.0
        for alpha in (2, 3, 5):
            for _ in range(40):
                first = _random_pair(rng)
                second = [_random_pair(rng) for _ in first[0]]
                joint = sum(
                    p**alpha * q ** (1 - alpha) * _moment(follow, alpha)
                    for p, q, follow in zip(*first, second, strict=True)
                )
                allowed = _moment(first, alpha) * max(_moment(follow, alpha) for follow in second)
                if joint > allowed:
                    return EvidenceResult.check(False, f"alpha={alpha}: {joint} > {allowed}")
                reached = max(reached, float(joint / allowed))
        pair = _random_pair(rng)
        product = [[p * r for p in row for r in row] for row in pair]
        exact = _moment((product[0], product[1]), 3) == _moment(pair, 3) ** 2
        return EvidenceResult.check(
            exact, "120 adaptive mechanisms; equality without adaptation", tightness=1.0 if exact else reached
        )

    return Evidence("adaptive composition, exactly", Kind.ENCLOSURE, run)


Pair = tuple[list[Fraction], list[Fraction]]


def _random_pair(rng: np.random.Generator, outcomes: int = 4) -> Pair:
    rows = rng.integers(1, 30, size=(2, outcomes))
    return tuple([Fraction(int(v), int(row.sum())) for v in row] for row in rows)  # type: ignore[return-value]  # two rows


def _moment(pair: Pair, alpha: int) -> Fraction:
    return sum((p**alpha * q ** (1 - alpha) for p, q in zip(*pair, strict=True)), Fraction(0))


def conversions_hold() -> Evidence:
    """The delta that a Renyi bound converts to is never below the true one; CKS is never worse than Proposition 1."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls around rationals
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
        return EvidenceResult.check(True, "60 finite pairs, both conversions", tightness=reached)

    return Evidence("conversions on finite pairs", Kind.ENCLOSURE, run)


def proposition1_is_tight() -> Evidence:
    """Of a pair with a rare outcome of ratio r, the conversion recovers log r: the bound is approached."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - balls
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
                bool(epsilon >= true), "rare outcome", tightness=float((true / epsilon).lower())
            )

    return Evidence("Proposition 1 approached", Kind.ENCLOSURE, run)
