"""Groups of records: closed forms, all batches of small data, chains of smaller groups, certificates, refusals."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mpf
from scipy import stats

from accountant import (
    DPADMM,
    DPSVRG,
    Gaussian,
    InvalidQuantityError,
    Laplace,
    Ledger,
    Mechanism,
    MpADMM,
    ObjP,
    Poisson,
    Pure,
    SsADMM,
    UnsupportedSchemeError,
    certificate,
    epsilon,
    recheck,
)
from accountant.certificates.recheck import _recheck_groups
from accountant.copies import Copies
from accountant.errors import CannotCertifyError
from accountant.groups import share_of_delta
from accountant.mechanisms.ledger import unsampled_squared
from accountant.mechanisms.steps import GaussianStep, GroupStep, PureStep, ShuffledStep
from accountant.mechanisms.words import Sampling
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.with_replacement import rate_of_several, single_delta

DELTA = Fraction(1, 10**6)
Values = tuple[float, ...]


@pytest.mark.parametrize("k", [2, 7])
@pytest.mark.parametrize(
    ("grouped", "plain"),
    [
        (
            lambda k: Gaussian(noise_multiplier=9, iterations=3, group_size=k),
            lambda k: Gaussian(noise_multiplier=Fraction(9, k), iterations=3),
        ),
        (lambda k: Laplace(noise_multiplier=9, group_size=k), lambda k: Laplace(noise_multiplier=Fraction(9, k))),
        (
            lambda k: MpADMM(records=1000, eta=1, rho="0.5", clip=1, sigma="0.1", iterations=4, group_size=k),
            lambda k: MpADMM(records=1000, eta=1, rho="0.5", clip=k, sigma="0.1", iterations=4),
        ),
        (
            lambda k: DPADMM(records=1000, eta=1, rho="0.5", clip=1, sigma="0.1", iterations=4, group_size=k),
            lambda k: DPADMM(records=1000, eta=1, rho="0.5", clip=k, sigma="0.1", iterations=4),
        ),
    ],
)
def test_a_group_of_k_costs_k_times_the_sensitivity(grouped, plain, k: int) -> None:  # type: ignore[no-untyped-def]  # two lambdas of one number
    assert grouped(k).ledger().steps == plain(k).ledger().steps
    assert grouped(1).ledger().steps == plain(1).ledger().steps


def hypergeometric(n: int, m: int, k: int) -> list[float]:
    return [float(stats.hypergeom.pmf(j, n, k, m)) for j in range(min(m, k) + 1)]


def test_the_laws_of_how_many_of_a_group_are_in_a_batch() -> None:
    for copies, law in (
        (Copies(5, 3, 20, replaced=False), hypergeometric(20, 5, 3)),
        (Copies(5, 3, 20), [float(stats.binom.pmf(j, 5, 3 / 20)) for j in range(6)]),
    ):
        ratios = [float(copies.ratio(j)) for j in range(copies.most)]
        assert ratios == pytest.approx([b / a for a, b in itertools.pairwise(law)])
        for j in range(1, copies.most + 1):
            assert float(rate_of_several(copies, j)) == pytest.approx(sum(law[j:]))
    with pytest.raises(InvalidQuantityError, match="some batch must hold none"):
        Copies(5, 16, 20, replaced=False)


def mixture(values: Values, batch: int, sigma: float, z: np.ndarray) -> np.ndarray:
    found = Counter(round(sum(chosen), 9) for chosen in itertools.combinations(values, batch))
    parts = [c / found.total() * stats.norm.pdf(z, loc=at, scale=sigma) for at, c in found.items()]
    return np.asarray(np.sum(parts, axis=0))


def joined(values: Values, rate: float, sigma: float, z: np.ndarray) -> np.ndarray:
    total = np.zeros_like(z)
    for who in itertools.product((0, 1), repeat=len(values)):
        chance = math.prod(rate if w else 1 - rate for w in who)
        total += chance * stats.norm.pdf(z, loc=sum(v for v, w in zip(values, who, strict=True) if w), scale=sigma)
    return total


def worst_delta(p: np.ndarray, q: np.ndarray, eps: float, dz: float) -> float:
    return float(max(np.maximum(p - math.exp(eps) * q, 0).sum(), np.maximum(q - math.exp(eps) * p, 0).sum()) * dz)


@pytest.mark.parametrize(("n", "m", "k"), [(5, 2, 2), (6, 2, 3), (6, 3, 2)])
def test_no_group_in_small_data_costs_more_than_the_theorem(n: int, m: int, k: int) -> None:
    """All batches of all data sets with records at -1, 0.3 and 1, of which k are replaced by others."""
    z = np.linspace(-m - 12, m + 12, 1501)
    for nu, eps in itertools.product((0.5, 2.0), (0.0, 0.7)):
        bound = float(single_delta(Copies(m, k, n, replaced=False), Fraction(nu), Fraction(eps)))
        single = float(single_delta(Copies(m, 1, n, replaced=False), Fraction(nu), Fraction(eps)))
        worst = 0.0
        for rest in itertools.combinations_with_replacement((-1.0, 0.3, 1.0), n - k):
            for other in ((-1.0,) * k, (-1.0, *(0.3,) * (k - 1))):
                p, q = mixture((1.0,) * k + rest, m, 2 * nu, z), mixture(other + rest, m, 2 * nu, z)
                worst = max(worst, worst_delta(p, q, eps, z[1] - z[0]))
        assert worst <= bound + 1e-6
        assert worst > single  # a price of single records is exceeded: the wrong one is seen


def test_no_group_of_poisson_batches_costs_more_than_the_theorem() -> None:
    """A user's records join or leave, or some of each."""
    z, rate = np.linspace(-14, 14, 1501), 0.2
    for nu, eps in itertools.product((0.7, 2.0), (0.0, 0.7)):
        bound = float(single_delta(Copies(3, 1, 5), Fraction(nu), Fraction(eps)))
        for rest in ((), (1.0,), (-1.0, 1.0)):
            for first, second in (((1.0,) * 3, ()), ((1.0,) * 2, (-1.0,)), ((1.0, -1.0, 1.0), ())):
                p, q = joined(first + rest, rate, nu, z), joined(second + rest, rate, nu, z)
                assert worst_delta(p, q, eps, z[1] - z[0]) <= bound + 1e-6


MIXED = [
    SsADMM(records=1000, batch=10, iterations=5, noise_multiplier=2, group_size=2),
    pytest.param(
        Poisson(sampling_rate="0.01", noise_multiplier=2, iterations=20, group_size=3), marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize("mechanism", MIXED)
def test_the_ends_of_a_group_enclose_and_a_second_route_confirms_them(mechanism: Mechanism) -> None:
    found = epsilon(mechanism, DELTA)
    assert {"profile", "group"} == set(found.methods)
    assert 0 < found.epsilon.lower < found.epsilon.upper < found.epsilon.lower * mpf("1.05")
    assert any(each.proved is not None for each in recheck(certificate(found)))


def test_a_larger_group_never_costs_less() -> None:
    ends = [
        epsilon(SsADMM(records=1000, batch=10, iterations=3, noise_multiplier=3, group_size=k), DELTA).epsilon
        for k in (1, 2, 3, 5)
    ]
    assert all(a.upper < b.upper and a.lower < b.lower for a, b in itertools.pairwise(ends))


def test_a_chain_of_groups_shares_delta_by_its_geometric_sum() -> None:
    share = float(share_of_delta(3, Fraction(1, 2), DELTA))
    assert share * (1 + math.exp(0.5) + math.exp(1.0)) == pytest.approx(1e-6)
    assert share_of_delta(4, Fraction(0), DELTA) <= DELTA / 4


def test_pure_groups_cost_k_epsilon_and_are_attained_only_where_that_is_known() -> None:
    assert epsilon(Pure(epsilon="0.1", iterations=3, group_size=4), 0).epsilon.upper == pytest.approx(1.2)
    assert epsilon(Pure(epsilon="0.1", iterations=3, group_size=4), 0).epsilon.lower == 0
    assert epsilon(ObjP(records=9, epsilon="0.1", iterations=2, group_size=3), 0).epsilon.upper == pytest.approx(0.6)
    assert epsilon(Laplace(noise_multiplier=10, group_size=4), 0).epsilon.lower == pytest.approx(0.4)


def test_a_group_that_every_batch_meets_gains_nothing_from_sampling() -> None:
    ledger = SsADMM(records=10, batch=6, iterations=2, noise_multiplier=3, group_size=5).ledger()
    assert ledger.steps == (GaussianStep(Fraction(25, 9), 2),)


def test_what_has_no_theorem_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedSchemeError, match="group_size on drawn batches"):
        SsADMM(records=100, batch=5, iterations=2, noise_multiplier=3, group_size=2, noise="discrete").ledger()
    with pytest.raises(InvalidQuantityError, match="group_size must be at most records=100"):
        SsADMM(records=100, batch=5, iterations=2, noise_multiplier=3, group_size=101)
    svrg = DPSVRG(records=100, batch=5, iterations=2, inner=1, noise_multiplier=3, group_size=2)
    assert isinstance(svrg.ledger().steps[1], GroupStep)


GROUP = GroupStep(1000, 10, Fraction(2), 5, group=3, sampling=Sampling.WITHOUT_REPLACEMENT)
SHUFFLED = ShuffledStep(10, 10, Fraction(1), Fraction(2), 5)


@pytest.mark.parametrize("beside", [GaussianStep(Fraction(1, 30), 2), PureStep(Fraction(1, 5), 2), SHUFFLED])
def test_a_phase_beside_a_group_never_lowers_an_end(beside: GaussianStep | PureStep | ShuffledStep) -> None:
    """The lower end of both is at least that of each; a shuffled phase is priced as its releases."""
    released = GaussianStep(Fraction(1, 4), 5) if isinstance(beside, ShuffledStep) else beside
    books = [
        Ledger((GROUP, released), realisable=(GROUP, beside)),
        Ledger((GROUP,), realisable=(GROUP,)),
        Ledger((released,), realisable=(beside,)),
    ]
    both, *alone = [epsilon(book, DELTA).epsilon for book in books]
    assert all(one.lower <= both.lower and one.upper <= both.upper for one in alone)


WIDE = [
    (SsADMM(records=305558, batch=65, iterations=22, noise_multiplier=1, sampling="shuffle", group_size=6), "gdp"),
    (SsADMM(records=23, batch=900, iterations=30, noise_multiplier="1e-9", sampling="with-replacement"), "profile"),
    (Poisson(sampling_rate="0.3", noise_multiplier="1e-10", iterations=9, group_size=5), "profile"),
]


@pytest.mark.parametrize(("mechanism", "method"), WIDE)
def test_what_no_lattice_holds_is_priced_as_if_unsampled_and_confirmed(mechanism: Mechanism, method: str) -> None:
    found = epsilon(mechanism, DELTA, effort="standard")
    square = unsampled_squared(found.ledger.steps)
    assert square is not None
    assert found.epsilon.upper == pytest.approx(gaussian_epsilon(square, DELTA).upper, rel=1e-9)
    assert method in found.methods
    assert recheck(certificate(found))


def test_groups_that_the_second_route_cannot_decide_accuse_nobody() -> None:
    phases = [
        SsADMM(records=n, batch=m, noise_multiplier=nu, iterations=count, group_size=7)
        for n, m, nu, count in ((10149484150, 9051031235, "1e19", 2081058956), (23585502875, 283829869, "2.366", 3))
    ]
    found = epsilon(phases[0].ledger() + phases[1].ledger(), "102e-8", methods=["group"])
    document = certificate(found)
    with pytest.raises(CannotCertifyError):
        _recheck_groups(found.ledger, Fraction("102e-8"), Fraction(document.methods["group"].upper))
