"""The certificate: bounds of profiles, the cover, and mutants of the certificate."""

from __future__ import annotations

import contextlib
import dataclasses
import math

import numpy as np
import pytest
from scipy.special import ndtr

from accountant.errors import CannotCertifyError, CertificateError
from accountant.pld.adversary import nodes
from accountant.pld.adversary.cover import WHOLE, Box, kept_boxes, squares
from accountant.pld.adversary.leader import Leader
from accountant.pld.adversary.nodes import PHI_ERROR, checked_log, grid, normal_cdf, shape, upper_profile
from accountant.pld.adversary.ordering import Judge, Ordering, Stairs, check, find_windows
from accountant.pld.adversary.search import found_certificate
from tests.accountant.pld.adversary.independent import forward, profile

Q, MU = 0.1, 1.0


@pytest.fixture(scope="module")
def ordering() -> Ordering:
    """Searched for from nothing: no box is smaller than it has to be."""
    return found_certificate(Q, MU).ordering


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(Q, MU, 1.0)


def test_normal_distribution_is_within_its_error() -> None:
    x = np.random.default_rng(1).normal(size=20000) * 3
    assert float(np.max(np.abs(normal_cdf(x) - ndtr(x)))) <= PHI_ERROR + 1e-15
    with pytest.raises(CannotCertifyError):
        normal_cdf(np.array([math.nan]))


def test_a_wrong_logarithm_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = np.log
    assert checked_log(np.array([0.5, 3.0])) == pytest.approx(true(np.array([0.5, 3.0])), abs=1e-11)
    monkeypatch.setattr(np, "log", lambda x: true(x) + 1e-9)
    with pytest.raises(CannotCertifyError):
        checked_log(np.array([0.5]))


@pytest.mark.parametrize("angles", [(0.5, 0.5), (0.8, 0.3), (1.0, 0.0), (0.6, 0.7)])
def test_profiles_are_bounded_from_above_and_closely(angles: tuple[float, float]) -> None:
    p, r = (angle * math.pi / 2 for angle in angles)
    a, b, opposite = math.sin(p) ** 2, math.sin(p + r) ** 2, math.sin(r) ** 2
    nodes = grid(Q, MU)
    bound = upper_profile(nodes, shape(MU, a, b, max(min((a + b - opposite) / 2, a, b), 0.0)))
    some = slice(2, 90, 11)
    true = profile(Q, MU, (a, b, opposite), nodes.u[some])
    assert np.all(bound[some] >= true - 2e-4)
    assert np.all(bound[some] <= true + 1e-3)


def test_the_forward_pair_is_the_largest_ahead(judge: Judge) -> None:
    high = judge.reference.forward_high[1 : judge.reference.nodes.u.size + 1]
    assert high == pytest.approx(forward(MU, judge.reference.nodes.u), rel=1e-9, abs=1e-14)


def test_boxes_bound_the_triples_in_them() -> None:
    box = Box(0.625, 0.75, 0.375, 0.5, 6)
    s = squares(box)
    rng = np.random.default_rng(3)
    for _ in range(200):
        p, r = rng.uniform(0.625, 0.75), rng.uniform(0.375, 0.5)
        if p + r < 1 or r > p:
            continue
        a, b, opposite = (math.sin(v * math.pi / 2) ** 2 for v in (p, p + r, r))
        assert s.a_low <= a <= s.a_high
        assert s.r_low <= opposite <= s.r_high
        assert b <= s.b_high


def test_random_triples_are_below_the_leader(ordering: Ordering, judge: Judge) -> None:
    """Triples anywhere in the ball, by quadrature: both integral inequalities of the certificate."""
    nodes = judge.reference.nodes
    u = np.concatenate([[0.0], nodes.u[::3]])
    ahead, behind = forward(MU, u), profile(Q, MU, (0.0, 1.0, 1.0), u)
    weight = Q / (1 + Q * u) ** 1.5

    def integrals(values: np.ndarray) -> np.ndarray:
        cells = np.diff(u) * (values[1:] * weight[1:] + values[:-1] * weight[:-1]) / 2
        return np.concatenate([[0.0], np.cumsum(cells)])

    rng = np.random.default_rng(5)
    for _ in range(6):
        points = rng.normal(size=(3, 2))
        points /= 2 * np.linalg.norm(points, axis=1)[:, None]
        c, a, other = points
        sides = [float(((v - w) ** 2).sum()) for v, w in ((a, c), (a, other), (c, other))]
        up, down = profile(Q, MU, (sides[0], sides[1], sides[2]), u), profile(Q, MU, (sides[2], sides[1], sides[0]), u)
        single, block = ordering.single, ordering.stairs[0].leader
        leading = (1 + single.lift) * (ahead + (1 - single.share) * behind + single.share * ahead)
        assert np.all(integrals(up + down) <= integrals(leading) + 1e-4 * integrals(leading)[-1])
        below = (1 + block.lift) * ((1 - block.share) * behind + block.share * ahead)
        left = integrals(up)[-1] + integrals(down)
        assert np.all(left <= integrals(ahead)[-1] + integrals(below) + 1e-3 * integrals(ahead)[-1])


def test_the_certificate_holds(ordering: Ordering) -> None:
    check(ordering)


_LEADER = Leader(Q, MU, 0.5, 0.0)
_EXAMPLE = Ordering(_LEADER, "hkk", (Stairs(_LEADER, 0.0, "hkk"), Stairs(_LEADER, 1.0, "hkk")), 1.0)


def _joined(cover: str) -> str:
    """Return a complete cover in which one box stands for the two halves that were kept in its place."""
    for start in range(len(cover)):
        joined = cover[:start] + cover[start:].replace("hkk", "k", 1)
        with contextlib.suppress(CertificateError):
            if joined != cover and list(kept_boxes(joined)):
                return joined
    raise AssertionError("no two halves were kept")


def _mutants(ordering: Ordering) -> dict[str, Ordering]:
    single, flat, rising = ordering.single, ordering.stairs[0], ordering.stairs[-1]
    block = flat.leader

    def stairs(changed: Stairs) -> Ordering:
        return dataclasses.replace(ordering, stairs=(*ordering.stairs[1:], changed))

    def leading(**changes: float) -> Ordering:
        return stairs(dataclasses.replace(flat, leader=dataclasses.replace(block, **changes)))

    return {
        "a box forgotten": dataclasses.replace(ordering, windows=ordering.windows[:-1]),
        "a box of the last stairs forgotten": stairs(dataclasses.replace(rising, cover=rising.cover[:-1])),
        "a box too many": stairs(dataclasses.replace(flat, cover=flat.cover + "k")),
        "two boxes joined": dataclasses.replace(ordering, windows=_joined(ordering.windows)),
        "the whole square in one box": stairs(dataclasses.replace(flat, cover="k")),
        "share halved": dataclasses.replace(ordering, single=dataclasses.replace(single, share=single.share / 2)),
        "a ninth of the share of blocks": leading(share=block.share / 9),
        "rise doubled": stairs(dataclasses.replace(rising, rise=2 * rising.rise)),
        "rise without a share for it": stairs(dataclasses.replace(rising, leader=block)),
        "rise negative": stairs(dataclasses.replace(flat, rise=-0.1)),
        "rise NaN": stairs(dataclasses.replace(flat, rise=math.nan)),
        "share negative": leading(share=-block.share),
        "share outside [0, 1]": dataclasses.replace(ordering, single=dataclasses.replace(single, share=1.5)),
        "lift above the atom": leading(lift=0.5),
        "no lift": dataclasses.replace(ordering, single=dataclasses.replace(single, lift=0.0)),
        "share NaN": leading(share=math.nan),
        "another step": leading(mu=1.25),
    }


@pytest.mark.parametrize("name", sorted(_mutants(_EXAMPLE)))
def test_mutants_of_the_certificate_are_caught(ordering: Ordering, name: str) -> None:
    with pytest.raises(CertificateError):
        check(_mutants(ordering)[name])


def test_nan_in_a_profile_fails(judge: Judge, ordering: Ordering, monkeypatch: pytest.MonkeyPatch) -> None:
    box = next(kept_boxes(ordering.windows))
    assert judge.windows_hold([box], ordering.single).all()
    up, down = judge.profiles(box)
    poisoned = up.copy()
    poisoned[7] = math.nan
    monkeypatch.setattr(judge, "_profiles", {box: (poisoned, down)})
    assert not judge.windows_hold([box], ordering.single).any()
    assert not any(judge.stairs_hold([box], entry.leader, entry.rise).any() for entry in ordering.stairs)


@pytest.mark.parametrize("node", [0, 1, 40, 100])
def test_a_node_left_out_is_caught(
    judge: Judge, ordering: Ordering, monkeypatch: pytest.MonkeyPatch, node: int
) -> None:
    """Profiles that are too large at one node alone fail there, and the box beside it is judged by itself."""
    box, other, *_ = kept_boxes(ordering.windows)
    up, down = judge.profiles(box)
    raised = down.copy()
    raised[node] += 1.0
    monkeypatch.setattr(judge, "_profiles", {box: (up, raised), other: judge.profiles(other)})
    assert judge.windows_hold([box, other], ordering.single).tolist() == [False, True]


def test_chords_bound_what_a_profile_is_made_of() -> None:
    """G of `triples` by scipy: below its chords, closely; the chord of a neighbouring cell is no bound."""
    t = 0.5
    start, slope = nodes._lines(t)
    m = np.exp(-t * np.linspace(6.5, -6.5, 4001))
    d = -np.log(m) / t
    true = ndtr(d + t / 2) - m * ndtr(d - t / 2)
    cell = np.clip(np.floor(np.log(m) * nodes._CELLS / t + nodes._FARTHEST * nodes._CELLS + 1), 0, None)
    index = np.minimum(cell, start.size - 1).astype(int)
    bound = start[index] + slope[index] * m
    assert np.all(bound >= true)
    assert np.all(bound[np.abs(d) < 6] <= true[np.abs(d) < 6] + 1e-5 * t)
    wrong = start[index - 1] + slope[index - 1] * m  # the line of the cell before: below the function
    assert np.any(wrong[1:] < true[1:] - 1e-12)


def test_the_forward_pair_alone_does_not_lead_single_steps(judge: Judge) -> None:
    """With c strictly between a and a' the profile has a larger second derivative at y = 1: the list is incomplete."""
    assert find_windows(judge, Leader(Q, MU, 1e-3, 0.0), 400) is None


def test_the_cover_of_everything_is_read_to_the_end() -> None:
    assert list(kept_boxes("k")) == [WHOLE]
    with pytest.raises(CertificateError):
        list(kept_boxes("hk"))
