from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from reference.arithmetic import Vector
from reference.errors import InvalidParameter
from reference.regularizers import (
    L1,
    MCP,
    SCAD,
    ElasticNet,
    GroupL1,
    NuclearNorm,
    Regularizer,
    Unregularized,
    soft_threshold,
)
from tests.reference.hostile import vectors

GROUPS = ((0, 1), (2,))
P = 6

lambdas = st.sampled_from([0.0, 1e-3, 0.3, 1.0])
rhos = st.sampled_from([0.75, 1.0, 2.0, 4.0])
small = st.one_of(
    st.floats(-8, 8),
    # Exactly at thresholds: 0, lambda/rho, lambda (1 + 1/rho), a lambda, gamma lambda of the values above.
    st.sampled_from([0.0, 0.3, 0.4, 0.15, 1.0, 0.5, 0.25, 4 / 3, 2.0, 1.5, 1.25, 7 / 3, 3.7, 3.0, 1.11, 0.9]),
).flatmap(lambda v: st.sampled_from([v, -v]))


def all_of(lam: float) -> list[Regularizer]:
    return [
        Unregularized(),
        L1(lam),
        ElasticNet(lam, 0.25),
        GroupL1(lam, GROUPS),
        NuclearNorm(lam, 2, 3),
        SCAD(lam),
        MCP(lam),
    ]


NAMES = [regularizer.name for regularizer in all_of(1.0)]
SEPARABLE = ["none", "l1", "elastic-net", "scad", "mcp"]


def named(name: str, lam: float) -> Regularizer:
    return next(regularizer for regularizer in all_of(lam) if regularizer.name == name)


def proximal_objective(regularizer: Regularizer, z: Vector, w: Vector, rho: float) -> float:
    return float(regularizer.value(z)) + rho / 2 * float(np.sum((z - w) ** 2))


@pytest.mark.parametrize("name", SEPARABLE)
@given(w=small, lam=lambdas, rho=rhos)
def test_prox_beats_a_brute_force_search_in_one_dimension(name: str, w: float, lam: float, rho: float) -> None:
    regularizer = named(name, lam)
    z = regularizer.prox(np.array([w]), rho)
    best = proximal_objective(regularizer, z, np.array([w]), rho)
    # The minimiser lies between 0 and w; the grid holds both, and every kink of the penalties.
    grid = np.concatenate([np.linspace(0, w, 2001), np.sign(w) * lam * np.array([1.0, 3.7, 3.0])])
    values = regularizer.value(grid[:, None]) + rho / 2 * (grid - w) ** 2
    # Values are at most 200 and carry a dozen roundings.
    assert best <= values.min() + 200 * 12 * 2.0**-53


@pytest.mark.parametrize("name", NAMES)
@given(w=vectors(P, small), lam=lambdas, rho=rhos, direction=vectors(P, st.floats(-1, 1)))
def test_no_step_away_from_the_prox_improves_the_objective(
    name: str, w: Vector, lam: float, rho: float, direction: Vector
) -> None:
    regularizer = named(name, lam)
    z = regularizer.prox(w, rho)
    best = proximal_objective(regularizer, z, w, rho)
    for target in (z + direction, z + 1e-3 * direction, z - direction, np.zeros(P), w, (z + w) / 2):
        assert best <= proximal_objective(regularizer, target, w, rho) + 1e4 * 2.0**-53 * P


@pytest.mark.parametrize("name", ["none", "l1", "elastic-net", "group-l1", "nuclear"])
@given(w=vectors(P, small), lam=lambdas, rho=rhos)
def test_optimality_conditions_of_the_convex_ones(name: str, w: Vector, lam: float, rho: float) -> None:
    regularizer = named(name, lam)
    z = regularizer.prox(w, rho)
    g = rho * (w - z)  # must be a subgradient of lambda h at z: h(v) >= h(z) + <g, v - z> for every v
    for v in (np.zeros(P), w, 2 * z, z + g, z - g, -z):
        gap = float(regularizer.value(v)) - float(regularizer.value(z)) - float(g @ (v - z))
        assert gap >= -1e4 * 2.0**-53 * P


@given(w=vectors(P, small), lam=lambdas, rho=rhos)
def test_subgradient_of_l1_coordinate_by_coordinate(w: Vector, lam: float, rho: float) -> None:
    z = L1(lam).prox(w, rho)
    g = rho * (w - z)
    tolerance = 16 * 2.0**-53 * rho * 16
    assert np.all(np.abs(g) <= lam + tolerance)
    assert np.all(np.abs(g - lam * np.sign(z))[z != 0] <= tolerance)


@pytest.mark.parametrize("name", NAMES)
@given(a=vectors(P, small), b=vectors(P, small), lam=lambdas, rho=rhos)
def test_prox_stretches_no_distance_by_more_than_its_lipschitz_constant(
    name: str, a: Vector, b: Vector, lam: float, rho: float
) -> None:
    regularizer = named(name, lam)
    za, zb = regularizer.prox(a, rho), regularizer.prox(b, rho)
    assert np.linalg.norm(za - zb) <= regularizer.lipschitz(rho) * np.linalg.norm(a - b) + 1e-12


@pytest.mark.parametrize("name", ["none", "l1", "elastic-net", "group-l1", "nuclear"])
@given(a=vectors(P, small), b=vectors(P, small), lam=lambdas, rho=rhos)
def test_convex_prox_is_firmly_nonexpansive(name: str, a: Vector, b: Vector, lam: float, rho: float) -> None:
    regularizer = named(name, lam)
    dw = a - b
    dz = regularizer.prox(a, rho) - regularizer.prox(b, rho)
    assert dz @ dz <= dz @ dw + 1e-11


@pytest.mark.parametrize(
    ("regularizer", "a", "b"),
    [
        (Unregularized(), 0.0, 1.0),
        (L1(0.3), 1.0, 2.0),
        (ElasticNet(0.3, 0.25), 1.0, 2.0),
        (SCAD(1.0), 2.2, 3.5),  # between lambda (1 + tau) and a lambda
        (MCP(1.0), 1.5, 2.5),  # between tau lambda and gamma lambda
    ],
    ids=["none", "l1", "elastic-net", "scad", "mcp"],
)
def test_the_lipschitz_constant_is_attained(regularizer: Regularizer, a: float, b: float) -> None:
    stretch = (regularizer.prox(np.array([b]), 1.0) - regularizer.prox(np.array([a]), 1.0))[0] / (b - a)
    assert stretch == pytest.approx(regularizer.lipschitz(1.0), rel=1e-12)


def test_the_lipschitz_constant_one_is_approached_by_groups_and_singular_values() -> None:
    for regularizer in (GroupL1(0.3, ((0, 1), (2, 3))), NuclearNorm(0.3, 2, 2)):
        far, farther = np.array([1e3, 0, 0, 1e3]), np.array([1e3 + 1, 0, 0, 1e3])
        moved = np.linalg.norm(regularizer.prox(farther, 1.0) - regularizer.prox(far, 1.0))
        assert moved == pytest.approx(1.0, rel=1e-6)
        assert regularizer.lipschitz(1.0) == 1.0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("w", "expected"), [(1.0, 0.0), (np.nextafter(1.0, 2), 2.0**-52), (0.0, 0.0), (3.0, 2.0)])
def test_soft_threshold_exactly_at_its_threshold(w: float, expected: float, sign: int) -> None:
    assert soft_threshold(np.array([sign * w]), 1.0)[0] == sign * expected


@pytest.mark.parametrize(("name", "seams"), [("scad", (1.0, 2.0, 3.7)), ("mcp", (1.0, 3.0))])
def test_folded_proxes_are_continuous_at_their_seams(name: str, seams: tuple[float, ...]) -> None:
    regularizer = named(name, 1.0)
    for seam in seams:
        around = np.array([np.nextafter(seam, 0), seam, np.nextafter(seam, 9)])
        assert np.ptp(regularizer.prox(around, 1.0)) <= 16 * 2.0**-52


@given(vectors(4, st.floats(-1e300, 1e300)))
@example(np.array([5e-324, 0.0, -5e-324, 0.0]))
def test_huge_and_denormal_arguments_stay_finite(w: Vector) -> None:
    for regularizer in (L1(0.3), ElasticNet(0.3), GroupL1(0.3, ((0, 1, 2),)), SCAD(0.3), MCP(0.3)):
        z = regularizer.prox(w, 2.0)
        assert np.isfinite(z).all()
        assert (np.abs(z) <= np.abs(w) * (1 + 2.0**-51)).all()


@pytest.mark.parametrize("name", NAMES)
@given(w=vectors(2 * P, small), lam=lambdas)
def test_leading_axes_are_independent_runs(name: str, w: Vector, lam: float) -> None:
    regularizer = named(name, lam)
    together = regularizer.prox(w.reshape(2, P), 2.0)
    values = regularizer.value(w.reshape(2, P))
    for row in range(2):
        np.testing.assert_allclose(together[row], regularizer.prox(w.reshape(2, P)[row], 2.0), rtol=0, atol=1e-13)
        assert values[row] == pytest.approx(float(regularizer.value(w.reshape(2, P)[row])), rel=1e-13, abs=1e-13)


def test_values_by_hand() -> None:
    x = np.array([3.0, -4.0, 0.5, 0.0, 0.0, 0.0])
    expected = {
        "none": 0.0,
        "l1": 7.5,
        "elastic-net": 0.25 * 7.5 + 0.75 / 2 * 25.25,
        "group-l1": 5.5,
        "nuclear": float(np.sqrt(25.25)),
        "scad": _scad(3.0) + _scad(4.0) + _scad(0.5),
        "mcp": _mcp(3.0) + _mcp(4.0) + _mcp(0.5),
    }
    for name in NAMES:
        assert float(named(name, 1.0).value(x)) == pytest.approx(expected[name], rel=1e-14), name


def _scad(size: float, lam: float = 1.0, a: float = 3.7) -> float:
    if size <= lam:
        return lam * size
    if size <= a * lam:
        return (2 * a * lam * size - size**2 - lam**2) / (2 * (a - 1))
    return lam**2 * (a + 1) / 2


def _mcp(size: float, lam: float = 1.0, gamma: float = 3.0) -> float:
    return lam * size - size**2 / (2 * gamma) if size <= gamma * lam else gamma * lam**2 / 2


@pytest.mark.parametrize(
    ("regularizer", "rho", "message"),
    [
        (SCAD(1.0), 0.25, "scad needs a > 1 \\+ 1/rho = 5.0, got a=3.7"),
        (SCAD(1.0, 3), 0.5, "scad needs a > 1 \\+ 1/rho = 3.0, got a=3"),  # an integer is a number too
        (MCP(1.0), 0.25, "mcp needs gamma > 1/rho = 4.0, got gamma=3.0"),
        (MCP(1.0, 2), 0.5, "mcp needs gamma > 1/rho = 2.0, got gamma=2"),
    ],
)
def test_folded_regularizers_refuse_where_the_map_jumps(regularizer: Regularizer, rho: float, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        regularizer.lipschitz(rho)
    with pytest.raises(InvalidParameter, match=message):
        regularizer.prox(np.ones(1), rho)


def test_where_it_is_refused_the_true_map_does_jump() -> None:
    # MCP, rho = 1/4, gamma = 3: the minimiser leaps from 0 to beyond gamma lambda.
    rho, lam, gamma, grid = 0.25, 1.0, 3.0, np.linspace(0, 12, 120001)
    penalty = np.where(grid <= gamma * lam, lam * grid - grid**2 / (2 * gamma), gamma * lam**2 / 2)
    minimisers = [grid[np.argmin(penalty + rho / 2 * (grid - w) ** 2)] for w in np.linspace(3.0, 4.0, 101)]
    assert np.diff(minimisers).max() > 3.0


@pytest.mark.parametrize("lam", [-1, -1.0, float("nan"), float("inf")])
def test_weights_must_be_finite_and_not_negative(lam: float) -> None:
    for make in (L1, ElasticNet, SCAD, MCP, lambda v: GroupL1(v, GROUPS), lambda v: NuclearNorm(v, 2, 3)):
        with pytest.raises(InvalidParameter, match="lambda must be finite and >= 0, got lambda="):
            make(lam)


@pytest.mark.parametrize("groups", [(), ((),), ((0, 1), (1, 2)), ((-1,),), ((0,), ())])
def test_groups_must_be_disjoint_and_not_empty(groups: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InvalidParameter, match="groups must be non-empty, disjoint"):
        GroupL1(1.0, groups)


def test_dimensions_must_fit() -> None:
    with pytest.raises(InvalidParameter, match="groups must index a model of 2 entries, got index 2"):
        GroupL1(1.0, GROUPS).prox(np.ones(2), 1.0)
    with pytest.raises(InvalidParameter, match="a model of 5 entries is no 2 x 3 matrix"):
        NuclearNorm(1.0, 2, 3).prox(np.ones(5), 1.0)
    with pytest.raises(InvalidParameter, match="rows and columns must be >= 1, got 0 x 3"):
        NuclearNorm(1.0, 0, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SCAD(1.0, 2), "a must be > 2, got a=2"),
        (lambda: MCP(1.0, 1), "gamma must be > 1, got gamma=1"),
        (lambda: ElasticNet(1.0, 2), "l1_ratio must lie in \\[0, 1\\], got l1_ratio=2"),
    ],
)
def test_shape_parameters_are_checked(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidParameter, match=message):
        make()


@given(w=vectors(P, small), lam=lambdas, rho=rhos)
def test_nuclear_prox_shrinks_singular_values(w: Vector, lam: float, rho: float) -> None:
    z = NuclearNorm(lam, 2, 3).prox(w, rho).reshape(2, 3)
    before = np.linalg.svd(w.reshape(2, 3), compute_uv=False)
    after = np.linalg.svd(z, compute_uv=False)
    np.testing.assert_allclose(after, np.maximum(before - lam / rho, 0), rtol=0, atol=1e-13)


@given(w=small, lam=st.sampled_from([0.3, 1.0]), rho=rhos)
def test_a_wrong_threshold_would_be_caught(w: float, lam: float, rho: float) -> None:
    assume(abs(w) > lam / rho + 0.01 and rho != 1.0)
    wrong = soft_threshold(np.array([w]), lam)  # lambda for lambda/rho
    right = L1(lam).prox(np.array([w]), rho)
    better, worse = (proximal_objective(L1(lam), z, np.array([w]), rho) for z in (right, wrong))
    assert better < worse - 1e-9
