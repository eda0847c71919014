r"""Batches that hold a record several times, or several of a group: the profile of one step, and what dominates it.

A batch is m independent uniform draws of n records. Changing one entry of a batch moves the statistic by at most D
(2C/m for a mean of clipped gradients), so changing k entries moves it by at most kD; nu = sigma/D. Neighbours differ in
one record, which is in the batch K times, K binomial with m and 1/n; p_k = P[K = k], eta = P[K >= 1].

**Theorem**, proved below for both relations; for replaced records it is [BBG18] Theorem 10. For eps >= 0

    delta(eps) <= sum over k >= 1 of p_k delta_k(eps'),    e^eps' = 1 + (e^eps - 1)/eta,

delta_k the profile of a Gaussian release with noise multiplier nu/k. Nothing is taken from [BBG18] unproved. Its text
could not be had; the statement was compared with three public restatements (docs/reference/accounting.md), and all
batches of small data sets are listed in tests/accountant/profiles/test_with_replacement_enumerated.py.

*Proof.* Replaced records: P = (1-eta) A + eta P1 and Q = (1-eta) A + eta Q1, A the output given K = 0, which is the
same for both. With b = e^(eps - eps') <= 1 it is an identity of measures ("advanced joint convexity", [BBG18] Theorem
2) that

    P - e^eps Q = eta (P1 - e^eps' ((1-b) A + b Q1)),

because eta e^eps' (1-b) = eta (e^eps' - e^eps) = (1-eta) (e^eps - 1). So D(P, Q), the positive part's mass at e^eps, is
eta times D'(P1, (1-b) A + b Q1) at e^eps', at most eta ((1-b) D'(P1, A) + b D'(P1, Q1)) by convexity. Given K = k and
the places of the record, fill these places by the other neighbour's record (Q1), or by independent uniform draws of the
other records (A): either way k entries change, all others agree. By joint convexity both divergences are at most the
sum of p_k/eta delta_k(eps'). Record added or removed, n the larger number: the smaller data set's output is A itself,
so Q = A and Q1 = A in the same lines; the other order has P1 and Q1 exchanged. QED

With pi_k = p_k/eta the bound is the mixture, by weights pi_k, of the dominating profiles of steps *without*
replacement of rate eta and noise multiplier nu/k (`one_step`): a step that says aloud which k it draws, whether or not
the record takes part. Its losses are the mixture of theirs, and that is what is composed (`PublicCopies`,
`accountant.pld.composition`). For one step the theorem itself is closed: `single_delta`.

**Groups.** Where neighbours differ in at most g records, K counts the entries of the batch that are among them, and the
proof is the same word by word: given K = k and their places, fill these by the other neighbour's records (Q1), or by
records outside of the group, drawn as the rest was (A). Without replacement K is hypergeometric, with replacement
binomial with m and g/n. Poisson batches, where g records in all are added or removed: draw for each of the g whether it
joins, in whichever data set it is; K of them join, binomial with g and q, and the sum moves by at most K C. [G24] shows
it for one order of removed records alone, where the mixture of Gaussians below is the exact pair.

Lower end: where all other records are equal, the pair is sum p_k N(k) against N(0) in units of D. Threshold tests are
the best tests of it and of (1-eta) N(0) + eta N(1) against N(0), in both orders, and they are better for the former at
every threshold: so it dominates the pair of a step without replacement of rate eta, and so do compositions of it. The
same holds of (1-r) N(0) + r N(j), r = P[K >= j], which is what K becomes if it is moved down to 0 or j.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from flint import arb

from accountant.copies import Copies
from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb
from accountant.profiles.gaussian import delta_ball

_BITS: Final = 512
_RATE_BITS: Final = 96
_MOST_COPIES: Final = 64
_MOST_FACTORS: Final = 10**5
_HALVINGS: Final = 60


def batch_rates(copies: Copies) -> tuple[Fraction, Fraction]:
    """Enclose eta, the probability that a record that differs is in a batch, to about 96 bits."""
    with arb_precision(_RATE_BITS):
        eta = _some(copies)
        return fraction_from_arb(eta.lower()), min(fraction_from_arb(eta.upper()), Fraction(1))


def rate_of_several(copies: Copies, several: int) -> Fraction:
    """Return P[K >= several], rounded down to about 96 bits."""
    with arb_precision(_BITS):
        weights, _ = _weights(copies, Fraction(1, 1 << _RATE_BITS))
        total = sum(weights[several - 1 :], arb(0)).lower()
    with arb_precision(_RATE_BITS):
        return fraction_from_arb((+total).lower())


def single_delta(
    copies: Copies, noise_multiplier: Fraction, epsilon: Fraction, spare: Fraction = Fraction(1, 10**60)
) -> Fraction:
    """Return the theorem's delta(epsilon), epsilon >= 0, of one step, rounded up; `spare` bounds what is left out."""
    with arb_precision(_BITS + 4 * (1 / spare).__ceil__().bit_length()):
        weights, rest = _weights(copies, spare)
        eta = _some(copies)
        inner = (arb_from_fraction(epsilon).expm1() / eta).log1p()
        total = rest
        for k, weight in enumerate(weights, start=1):
            total += weight * delta_ball(arb_from_fraction(k / noise_multiplier), inner)
        return min(fraction_from_arb(total.upper()), Fraction(1))


def single_epsilon(copies: Copies, noise_multiplier: Fraction, delta: Fraction) -> Fraction:
    """Return about the least epsilon >= 0 with `single_delta` at most delta."""
    low, high = Fraction(0), Fraction(1)
    spare = min(Fraction(1, 10**60), delta / 10**6)
    if single_delta(copies, noise_multiplier, low, spare) <= delta:
        return low
    while single_delta(copies, noise_multiplier, high, spare) > delta:
        low, high = high, 2 * high
        if high > 1 << 30:
            raise CannotCertifyError(f"no epsilon up to {high} reaches the delta of one step with replacement")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        holds = single_delta(copies, noise_multiplier, middle, spare) <= delta
        low, high = (low, middle) if holds else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class PublicCopies:
    """`count` steps that announce k with probability weights[k - 1], rounded up; `rest` bounds all larger k's.

    Each then is a step without replacement of `rate` (eta, rounded up) and noise multiplier `noise_multiplier`/k.
    """

    rate: Fraction
    noise_multiplier: Fraction
    weights: tuple[Fraction, ...]
    rest: Fraction
    count: int


def public_copies(copies: Copies, noise_multiplier: Fraction, count: int, spare: Fraction) -> PublicCopies:
    """Return the mixture of the header, so many k's that a larger one is announced with probability `spare` at most."""
    with arb_precision(_BITS):
        eta = 1 - _none(copies)
        weights, rest = _weights(copies, spare / 2 * batch_rates(copies)[0])
        if len(weights) > _MOST_COPIES:
            raise CannotCertifyError(
                f"a record may be drawn more than {_MOST_COPIES} times in a batch: too often to be priced"
            )
        shares = tuple(min(fraction_from_arb((weight / eta).upper()), Fraction(1)) for weight in weights)
        left_out = min(fraction_from_arb((rest / eta).upper()), Fraction(1))
    return PublicCopies(batch_rates(copies)[1], noise_multiplier, shares, left_out, count)


def law(copies: Copies, rest: Fraction) -> list[arb]:
    """Return P[K = 0], P[K = 1], ..., until larger K have at most about `rest`, at the precision that is set."""
    return [_none(copies), *_weights(copies, rest)[0]]


def _weights(copies: Copies, rest: Fraction) -> tuple[list[arb], arb]:
    """Return p_1, p_2, ..., and a bound of those left out, at most about `rest`."""
    found: list[arb] = []
    weight, tail = _none(copies), arb(1)
    tail -= weight
    for k in range(copies.most):
        check_time()
        weight = weight * arb_from_fraction(copies.ratio(k))
        found.append(weight)
        tail -= weight
        if fraction_from_arb(tail.upper()) <= rest:
            break
    return found, tail.max(arb(0)) if len(found) < copies.most else arb(0)


def _none(copies: Copies) -> arb:
    return _log_none(copies).exp()


def _some(copies: Copies) -> arb:
    return -_log_none(copies).expm1()


def _log_none(copies: Copies) -> arb:
    """Return log P[K = 0]."""
    n = copies.size
    if copies.replaced:
        return copies.draws * (arb(-copies.marked) / n).log1p()
    few, many = sorted((copies.draws, copies.marked))
    if few > _MOST_FACTORS:
        raise CannotCertifyError(f"a group and a batch of more than {_MOST_FACTORS} records are too many to be priced")
    return sum(((arb(-many) / (n - i)).log1p() for i in range(few)), arb(0))
