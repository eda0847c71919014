"""Random rational inputs for every linked definition: the same expression for Coq and for the Python reference.

The reference's functions are looked up when a case runs, so that a change of theirs is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import cast

import numpy as np

from reference import clipping, losses, mpadmm, regularizers, updates
from reference.arithmetic import Scalar, Vector, fractions
from reference.problem import Problem, State
from reference.regularizers import Regularizer


@dataclass(frozen=True, slots=True)
class LinkCase:
    """One input: the definition's name, the expression in Coq, and the computation in Python."""

    name: str
    coq: str
    python: Callable[[], list[Fraction]]


def literal(value: Fraction) -> str:
    """A rational in Coq's syntax."""
    return f"(({value.numerator})#{value.denominator})%Q"


def _rational(g: Random, lowest: int = -40, highest: int = 40) -> Fraction:
    return Fraction(g.randint(lowest, highest), g.randint(1, 9))


def _positive(g: Random) -> Fraction:
    return Fraction(g.randint(1, 30), g.randint(1, 9))


def _vector(g: Random, p: int) -> list[Fraction]:
    return [_rational(g) for _ in range(p)]


def _array(values: Sequence[object]) -> Vector:
    return fractions().array(cast(Vector, np.array(values, dtype=object)))


def _scalar(value: Fraction) -> Scalar:
    return fractions().scalar(cast(float, value))


def _exact(values: Vector) -> list[Fraction]:
    if not fractions().all_finite(values):
        raise TypeError(f"a computation on rationals left them: {values}")
    return [cast(Fraction, value) for value in values.flat]


def _call(name: str, *arguments: Fraction) -> str:
    return f"(show [{name} rationals {' '.join(map(literal, arguments))}])"


def _list(values: Sequence[Fraction]) -> str:
    return "[" + "; ".join(map(literal, values)) + "]"


def _soft_threshold(g: Random) -> LinkCase:
    w, t = _rational(g), _positive(g)
    return LinkCase(
        "soft_threshold",
        _call("soft_threshold", w, t),
        lambda: _exact(regularizers.soft_threshold(_array([w]), _scalar(t))),
    )


def _regularizer(g: Random, name: str) -> tuple[Regularizer, tuple[Fraction, ...], Fraction]:
    """A regularizer, its parameters in the order of the Coq definition, and a rho that it accepts."""
    lam, rho = _positive(g) / 4, _positive(g)
    match name:
        case "prox_none":
            return regularizers.Unregularized(), (), rho
        case "prox_l1":
            return regularizers.L1(_scalar(lam)), (lam,), rho
        case "prox_elastic_net":
            r = Fraction(g.randint(0, 9), 9)
            return regularizers.ElasticNet(_scalar(lam), _scalar(r)), (lam, r), rho
        case "prox_scad":
            a = 2 + _positive(g)
            return regularizers.SCAD(_scalar(lam), _scalar(a)), (lam, a), 1 / (a - 1) + rho
    gamma = 1 + _positive(g)
    return regularizers.MCP(_scalar(lam), _scalar(gamma)), (lam, gamma), 1 / gamma + rho


PROXES = ("prox_none", "prox_l1", "prox_elastic_net", "prox_scad", "prox_mcp")


def _prox(name: str) -> Callable[[Random], LinkCase]:
    def make(g: Random) -> LinkCase:
        regularizer, parameters, rho = _regularizer(g, name)
        w = _rational(g)
        return LinkCase(
            name, _call(name, *parameters, w, rho), lambda: _exact(regularizer.prox(_array([w]), _scalar(rho)))
        )

    return make


def _update_x(g: Random) -> LinkCase:
    (gradient, x, z, y), rho, eta = _vector(g, 4), _positive(g), _positive(g)

    def run() -> list[Fraction]:
        vectors = (_array([gradient]), _array([x]), _array([z]), _array([y]))
        return _exact(updates.update_x(*vectors, rho=_scalar(rho), eta=_scalar(eta)))

    return LinkCase("update_x", _call("update_x", gradient, x, z, y, rho, eta), run)


def _partial(name: str, parameters: Sequence[Fraction]) -> str:
    return f"({' '.join([name, 'rationals', *map(literal, parameters)])})"


def _update_z(g: Random) -> LinkCase:
    name = g.choice(PROXES)
    regularizer, parameters, rho = _regularizer(g, name)
    x, y = _vector(g, 2)
    coq = f"(show [update_z rationals {_partial(name, parameters)} {' '.join(map(literal, (x, y, rho)))}])"
    return LinkCase(
        "update_z",
        coq,
        lambda: _exact(updates.update_z(_array([x]), _array([y]), rho=_scalar(rho), regularizer=regularizer)),
    )


def _update_y(g: Random) -> LinkCase:
    (y, x, z), rho = _vector(g, 3), _positive(g)
    return LinkCase(
        "update_y",
        _call("update_y", y, x, z, rho),
        lambda: _exact(updates.update_y(_array([y]), _array([x]), _array([z]), rho=_scalar(rho))),
    )


def _huber_slope(g: Random) -> LinkCase:
    h, margin = Fraction(g.randint(1, 9), 9), _rational(g, -9, 9)
    return LinkCase(
        "huber_slope",
        _call("huber_slope", h, margin),
        lambda: _exact(losses.HuberizedHinge(_scalar(h)).slope(_array([margin]))),
    )


def _clipped_slope(g: Random) -> LinkCase:
    slope, norm, bound = _rational(g, -9, 9), _positive(g), _positive(g)
    return LinkCase(
        "clipped_slope",
        _call("clipped_slope", slope, norm, bound),
        lambda: _exact(clipping.clipped_slopes(_array([slope]), _array([norm]), _scalar(bound))),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """A small problem: n records of p features, a loss, a regularizer, and a starting point."""

    h: Fraction
    data: list[list[Fraction]]
    prox: str
    parameters: tuple[Fraction, ...]
    regularizer: Regularizer
    rho: Fraction
    start: list[list[Fraction]]

    @classmethod
    def draw(cls, g: Random) -> _Run:
        p, n, name = g.randint(1, 3), g.randint(1, 3), g.choice(PROXES)
        regularizer, parameters, rho = _regularizer(g, name)
        data = [[_rational(g, -9, 9) for _ in range(p)] for _ in range(n)]
        start = [_vector(g, p) for _ in range(3)]
        return cls(Fraction(g.randint(1, 9), 9), data, name, parameters, regularizer, rho, start)

    @property
    def p(self) -> int:
        return len(self.data[0])

    def problem(self) -> Problem:
        loss = losses.HuberizedHinge(_scalar(self.h))
        return Problem(_array(self.data), loss, self.regularizer, _scalar(self.rho), None, _array([0]))

    def state(self) -> State:
        return State(*(_array(part) for part in self.start))

    def gradient(self) -> str:
        rows = "; ".join(map(_list, self.data))
        sizes = f"{self.p}%nat {len(self.data)}%nat"
        return f"(huber_mean_gradient rationals {literal(self.h)} {sizes} (fun r => vec (nth r [{rows}] [])))"


def _coq_state(parts: Sequence[Sequence[Fraction]]) -> str:
    return f"(State rationals {' '.join(f'(vec {_list(part)})' for part in parts)})"


def _gradient(g: Random) -> LinkCase:
    run = _Run.draw(g)
    coq = f"(show (take {run.p} ({run.gradient()} (vec {_list(run.start[0])}))))"
    return LinkCase("huber_mean_gradient", coq, lambda: _exact(run.problem().gradient(_array(run.start[0]))))


def _epoch(release: str) -> Callable[[Random], LinkCase]:
    def make(g: Random) -> LinkCase:
        run, eta = _Run.draw(g), _positive(g)
        noise = [_vector(g, run.p) for _ in range(3)]
        drawn = _coq_state(noise) if release == "all" else f"(vec {_list(noise[0])})"
        step = f"epoch_{release} rationals {_partial(run.prox, run.parameters)} {literal(run.rho)} {literal(eta)}"
        coq = f"(show_state {run.p} ({step} {run.gradient()} {drawn} {_coq_state(run.start)}))"

        def python() -> list[Fraction]:
            given = mpadmm.ModelNoise(*(_array(part) for part in noise))
            kind = mpadmm.Release(release)
            [new] = mpadmm.mpadmm(run.problem(), run.state(), step_sizes=[_scalar(eta)], noise=[given], release=kind)
            return [*_exact(new.x), *_exact(new.z), *_exact(new.y)]

        return LinkCase(f"epoch_{release}", coq, python)

    return make


CASES: dict[str, Callable[[Random], LinkCase]] = {
    "soft_threshold": _soft_threshold,
    **{name: _prox(name) for name in PROXES},
    "update_x": _update_x,
    "update_z": _update_z,
    "update_y": _update_y,
    "huber_slope": _huber_slope,
    "clipped_slope": _clipped_slope,
    "huber_mean_gradient": _gradient,
    "epoch_all": _epoch("all"),
    "epoch_primal": _epoch("primal"),
}
