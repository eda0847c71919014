r"""The link to the code: Coq's definitions and the Python reference, on the same random rationals, must be equal.

Coq computes with ``Algorithm.v`` on rationals (``Rationals.v`` proves that these are the values of the formulas that
the theorems are about); Python runs the shipped functions on ``fractions.Fraction``. Both are exact, so there is no
tolerance: one value that differs is a fault of one side. The reference's functions are looked up when a case runs, so
that a change of theirs is seen.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import cast

import numpy as np

from reference import clipping, losses, mpadmm, regularizers, rounding, ssadmm, updates
from reference.arithmetic import Indices, Scalar, Vector, fractions, number_system
from reference.dataset import Dataset
from reference.errors import NotExpressible
from reference.losses import Loss
from reference.problem import Problem, State
from reference.regularizers import Regularizer
from verification.coq.coq import Coq, CoqFault, CoqTimeout
from verification.coq.table import FOLDER

EACH = 30  # random inputs for every definition
WHOLE = ("record_gradient", "ssadmm", "mpadmm_all", "mpadmm_primal")
WHOLE_EACH = 5  # times as many for whole runs, and for the gradient in them
SEED = 2020
_NEEDED = ("Vectors", "Algorithm", "Rationals")
_HEAD = """From DPADMM Require Import Algorithm Rationals.
From Coq Require Import QArith List.
Import ListNotations.
Set Printing Width 1000000.
Set Printing Depth 1000000.
Definition vec (l : list Q) (i : nat) : Q := nth i l 0%Q.
Definition take (p : nat) (u : nat -> Q) : list Q := map u (seq 0 p).
Definition show (l : list Q) : list Z := flat_map (fun q => [Qnum (Qred q); Zpos (Qden (Qred q))]) l.
Definition show_state (p : nat) (s : state rationals) : list Z :=
  show (take p (state_x _ s) ++ take p (state_z _ s) ++ take p (state_y _ s)).
Ltac frozen_run p run := let run := eval unfold ssadmm, mpadmm_all, mpadmm_primal in run in lazymatch run with
  all_states rationals ?step ?start ?inputs => exact (frozen_states p step start inputs) end.
Definition rational_slope (v : Q) : Q :=
  let size := absolute rationals v in
  if greater rationals v 0%Q then (- (1 / (2 + size)))%Q else (- ((1 + size) / (2 + size)))%Q.
"""


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


def _half_even(g: Random) -> LinkCase:
    """The rounding that ships, in binary64, at values and grids that are exact there; half of them are ties."""
    grid = Fraction(1, 2 ** g.randint(0, 4))
    value = Fraction(g.randint(-41, 41), 2 ** g.randint(0, 3)) * grid
    rounded = f"(inject_Z (half_even rationals ({literal(value)} / {literal(grid)})) * {literal(grid)})%Q"

    def run() -> list[Fraction]:
        return [Fraction(entry) for entry in rounding.on_grid(np.array([float(value)]), float(grid))]

    return LinkCase("half_even", f"(show [{rounded}])", run)


_PYTHAGOREAN = ((3, 4), (5, 12), (8, 15), (20, 21), (2, 3, 6), (1, 4, 8), (2, 5, 14))


def _prox_group(g: Random) -> LinkCase:
    """Groups of rational length beside coordinates in no group."""
    lam, rho = 4 * _positive(g), _positive(g)
    members = [*g.choice(_PYTHAGOREAN), g.randint(-9, 9), *g.choice(_PYTHAGOREAN)]
    scale = _positive(g)
    w = [scale * value * g.choice((-1, 1)) for value in members]
    free = next(k for k in range(2, 4) if members[:k] in [list(t) for t in _PYTHAGOREAN])
    groups = (tuple(range(free)), tuple(range(free + 1, len(w))))
    call = f"prox_group rationals rational_length {literal(lam)} {_groups(groups)} (vec {_list(w)}) {literal(rho)}"
    regularizer = regularizers.GroupL1(_scalar(lam), groups)
    return LinkCase(
        "prox_group", f"(show (take {len(w)} ({call})))", lambda: _exact(regularizer.prox(_array(w), _scalar(rho)))
    )


def _groups(groups: Sequence[Sequence[int]]) -> str:
    return "[" + "; ".join(map(_positions, groups)) + "]"


def _signed_record(g: Random) -> LinkCase:
    """The data set as it becomes a problem, in binary64, with features and lengths that are exact there."""
    sides, scale = g.choice(_PYTHAGOREAN), 2.0 ** g.randint(-9, 9)
    rows = [[scale * side * g.choice((-1, 1)) for side in g.sample(sides, len(sides))] for _ in range(g.randint(1, 3))]
    labels = [g.choice((-1.0, 1.0)) for _ in rows]
    shown = "; ".join(
        f"({literal(Fraction(v))}, {_list(list(map(Fraction, row)))})" for v, row in zip(labels, rows, strict=True)
    )
    record = f"signed_record rationals rational_length {len(sides)}%nat (fst d) (vec (snd d))"

    def run() -> list[Fraction]:
        problem = Problem.of(Dataset.of(rows, labels), losses.Logistic(), regularizers.Unregularized(), rho=1.0)
        return [Fraction(entry) for row in np.column_stack([problem.norms, problem.signed]) for entry in row]

    return LinkCase(
        "signed_record",
        f"(flat_map (fun d => let r := {record} in show (fst r :: take {len(sides)} (snd r))) [{shown}])",
        run,
    )


@dataclass(frozen=True, slots=True)
class _RationalLoss:
    """A loss with the shape of the logistic one and rational slopes; any slope will do for the algorithms."""

    name = "rational"
    steepest = 1.0
    curvature = 1.0

    def value(self, margin: Vector) -> Vector:
        """Not used: the algorithms need slopes alone."""
        raise NotImplementedError

    def slope(self, margin: Vector) -> Vector:
        """-1/(2 + v) for v > 0, else -(1 - v)/(2 - v): rising from -1 to 0."""
        system = number_system(margin)
        size = system.absolute(margin)
        return system.where(system.greater(margin, 0.0), -1 / (2 + size), -(1 + size) / (2 + size))


_GROUPED = "prox_group"  # in runs with groups of one coordinate, whose lengths stay rational
_LONG_GROUPS = "long groups"  # in runs of one step that is aimed at groups of rational length
_LONG: tuple[tuple[tuple[int, ...], ...], ...] = (((0, 1),), ((1, 2, 3),), ((0, 1), (2, 3)))
_MOST_RATIONAL_STEPS = 2  # with slopes whose denominators grow with the margin's


@dataclass(frozen=True, slots=True)
class _Run:
    """A small problem: n records of p features, a loss, a regularizer, a grid, a starting point and step sizes."""

    h: Fraction | None
    data: list[list[Fraction]]
    clip: Fraction | None
    norms: list[Fraction]
    prox: str
    regularizer: Regularizer
    rho: Fraction
    grid: Fraction | None
    start: list[list[Fraction]]
    etas: list[Fraction]

    @classmethod
    def draw(cls, g: Random) -> _Run:
        p, n, name = g.randint(1, 4), g.randint(2, 5), g.choice((*PROXES, _GROUPED, _LONG_GROUPS))
        steps = g.randint(1, 5)
        huber = g.random() < 0.6 or steps > _MOST_RATIONAL_STEPS
        if name in (_GROUPED, _LONG_GROUPS):
            lam, rho = _positive(g) / 4, _positive(g)
            members: tuple[tuple[int, ...], ...] = tuple((i,) for i in range(g.randint(1, p)))
            if name == _LONG_GROUPS:
                lam, steps, members = 4 * lam, 1, g.choice(_LONG)
                p = max(3, members[-1][-1] + 1)
            regularizer: Regularizer = regularizers.GroupL1(_scalar(lam), members)
            prox = f"(prox_group rationals rational_length {literal(lam)} {_groups(members)})"
        else:
            regularizer, parameters, rho = _regularizer(g, name)
            prox = f"(coordinatewise rationals {_partial(name, parameters)})"
        return cls(
            h=Fraction(g.randint(1, 9), 9) if huber else None,
            data=[[_rational(g, -9, 9) for _ in range(p)] for _ in range(n)],
            clip=_positive(g) / 4 if g.random() < 0.5 else None,
            norms=[_positive(g) for _ in range(n)],
            prox=prox,
            regularizer=regularizer,
            rho=rho,
            grid=Fraction(1, g.randint(1, 8)) if g.random() < 0.5 else None,
            start=[_vector(g, p) for _ in range(3)],
            etas=[_positive(g) for _ in range(steps)],
        )

    def aimed(
        self,
        g: Random,
        *,
        on_gradient: Sequence[Fraction] = (),
        on_x: Sequence[Fraction] = (),
        batch: Indices | None = None,
    ) -> _Run:
        """The run itself; if it has long groups, from another z and without a grid: their lengths are then rational."""
        if not (isinstance(self.regularizer, regularizers.GroupL1) and len(self.regularizer.groups[0]) > 1):
            return self
        target = [_rational(g)] * self.p
        for group in self.regularizer.groups:
            scale, sides = _positive(g), g.choice([sides for sides in _PYTHAGOREAN if len(sides) == len(group)])
            for i, side in zip(group, sides, strict=True):
                target[i] = scale * side * g.choice((-1, 1))
        x, _, y = self.start
        gradient = _exact(self.problem().gradient(_array(x), batch))
        rho, [eta], none = self.rho, self.etas, [Fraction(0)] * self.p
        z = [
            ((w - v / rho - late) * (rho + 1 / eta) + slope + early + v - u / eta) / rho
            for w, u, v, slope, early, late in zip(
                target, x, y, gradient, on_gradient or none, on_x or none, strict=True
            )
        ]
        return replace(self, start=[x, z, y], grid=None)

    @property
    def p(self) -> int:
        return len(self.data[0])

    def loss(self) -> Loss:
        return _RationalLoss() if self.h is None else losses.HuberizedHinge(_scalar(self.h))

    def problem(self) -> Problem:
        clip = None if self.clip is None else _scalar(self.clip)
        return Problem(_array(self.data), self.loss(), self.regularizer, _scalar(self.rho), clip, _array(self.norms))

    def state(self) -> State:
        return State(*(_array(part) for part in self.start))

    def scaled_grid(self) -> float | None:
        return None if self.grid is None else _scalar(self.grid)

    def records(self) -> str:
        rows = (f"({literal(norm)}, vec {_list(row)})" for norm, row in zip(self.norms, self.data, strict=True))
        return "[" + "; ".join(rows) + "]"

    def gradient(self) -> str:
        slope = "rational_slope" if self.h is None else f"(huber_slope rationals {literal(self.h)})"
        return f"(record_gradient rationals {slope} {_option(self.clip)} {self.p}%nat)"

    def call(self, algorithm: str, inputs: str) -> str:
        sizes = f"{literal(self.rho)} {self.p}%nat {_option(self.grid)} (vec {_list(self.etas)})"
        given = f"{self.gradient()} {self.records()} {_coq_state(self.start)} {inputs}"
        run = f"{algorithm} rationals {self.prox} {sizes} {given}"
        return f"(flat_map (show_state {self.p}) (rev ltac:(frozen_run {self.p}%nat ({run}))))"


def _option(value: Fraction | None) -> str:
    return "None" if value is None else f"(Some {literal(value)})"


def _coq_state(parts: Sequence[Sequence[Fraction]]) -> str:
    return f"(State rationals {' '.join(f'(vec {_list(part)})' for part in parts)})"


def _newest_first(inputs: Sequence[str]) -> str:
    return "[" + "; ".join(reversed(inputs)) + "]"


def _flat(states: Iterable[State]) -> list[Fraction]:
    return [value for state in states for part in (state.x, state.z, state.y) for value in _exact(part)]


def _gradient(g: Random) -> LinkCase:
    run = _Run.draw(g)
    h = run.h or Fraction(1, 2)
    problem = Problem(
        _array(run.data), losses.HuberizedHinge(_scalar(h)), run.regularizer, _scalar(run.rho), None, _array([0])
    )
    rows = "; ".join(map(_list, run.data))
    sizes = f"{run.p}%nat {len(run.data)}%nat"
    call = f"huber_mean_gradient rationals {literal(h)} {sizes} (fun r => vec (nth r [{rows}] []))"
    coq = f"(show (take {run.p} ({call} (vec {_list(run.start[0])}))))"
    return LinkCase("huber_mean_gradient", coq, lambda: _exact(problem.gradient(_array(run.start[0]))))


def _record_gradient(g: Random) -> LinkCase:
    """The mean gradient of a batch, of either loss, clipped or not."""
    run = _Run.draw(g)
    batch = g.sample(range(len(run.data)), g.randint(1, len(run.data)))
    call = f"mean_gradient rationals {run.gradient()} (picked {run.records()} {_positions(batch)})"
    coq = f"(show (take {run.p} ({call} (vec {_list(run.start[0])}))))"
    return LinkCase(
        "record_gradient", coq, lambda: _exact(run.problem().gradient(_array(run.start[0]), _indices(batch)))
    )


def _positions(batch: Sequence[int]) -> str:
    return "[" + "; ".join(f"{position}%nat" for position in batch) + "]"


def _indices(batch: Sequence[int]) -> Indices:
    return np.array(batch, dtype=np.intp)


def _ssadmm(g: Random) -> LinkCase:
    run = _Run.draw(g)
    batches = [g.sample(range(len(run.data)), g.randint(1, len(run.data))) for _ in run.etas]
    noise = [_vector(g, run.p) for _ in run.etas]
    run = run.aimed(g, on_gradient=noise[0], batch=_indices(batches[0]))
    drawn = [f"({_positions(batch)}, vec {_list(gamma)})" for batch, gamma in zip(batches, noise, strict=True)]

    def python() -> list[Fraction]:
        return _flat(
            ssadmm.ssadmm(
                run.problem(),
                run.state(),
                step_sizes=[_scalar(eta) for eta in run.etas],
                batches=[_indices(batch) for batch in batches],
                noise=[_array(gamma) for gamma in noise],
                grid=run.scaled_grid(),
            )
        )

    return LinkCase("ssadmm", run.call("ssadmm", _newest_first(drawn)), python)


def _mpadmm(release: str) -> Callable[[Random], LinkCase]:
    def make(g: Random) -> LinkCase:
        run = _Run.draw(g)
        noise = [[_vector(g, run.p) for _ in range(3)] for _ in run.etas]
        run = run.aimed(g) if release == "all" else run.aimed(g, on_x=noise[0][0])
        drawn = [_coq_state(parts) if release == "all" else f"(vec {_list(parts[0])})" for parts in noise]

        def python() -> list[Fraction]:
            return _flat(
                mpadmm.mpadmm(
                    run.problem(),
                    run.state(),
                    step_sizes=[_scalar(eta) for eta in run.etas],
                    noise=[mpadmm.ModelNoise(*(_array(part) for part in parts)) for parts in noise],
                    release=mpadmm.Release(release),
                    grid=run.scaled_grid(),
                )
            )

        return LinkCase(f"mpadmm_{release}", run.call(f"mpadmm_{release}", _newest_first(drawn)), python)

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
    "half_even": _half_even,
    "prox_group": _prox_group,
    "signed_record": _signed_record,
    "record_gradient": _record_gradient,
    "ssadmm": _ssadmm,
    "mpadmm_all": _mpadmm("all"),
    "mpadmm_primal": _mpadmm("primal"),
}


@dataclass(frozen=True, slots=True)
class Link:
    """How many cases were compared, and those that differ or could not be computed."""

    compared: int
    faults: tuple[str, ...]
    undecided: str = ""

    @property
    def agrees(self) -> bool:
        """Whether every value is equal, and there were some."""
        return self.compared > 0 and not self.faults and not self.undecided

    def summary(self) -> str:
        """One line, and one for each fault."""
        if self.undecided:
            return f"Coq and Python were not compared: {self.undecided}"
        word = "agree" if self.agrees else "DIFFER"
        return "\n".join([f"Coq and Python {word} on {self.compared} random rational inputs", *self.faults])


@functools.cache
def linked(deadline: float | None = None) -> Link:
    """The comparison for the definitions of this project, once in a process."""
    return compare(deadline=deadline)


def compare(sources: Path = FOLDER, *, each: int = EACH, seed: int = SEED, deadline: float | None = None) -> Link:
    """Compare every linked definition at ``each`` random inputs."""
    cases = drawn(each, seed)
    try:
        return differences(cases, in_coq(sources, cases, deadline))
    except CoqFault as fault:
        return Link(len(cases), (str(fault),))
    except CoqTimeout as late:
        return Link(0, (), str(late))


def drawn(each: int, seed: int) -> list[LinkCase]:
    """The random inputs: ``each`` for every linked definition, and more for whole runs."""
    generator = Random(seed)
    return [make(generator) for name, make in CASES.items() for _ in range(inputs(name, each))]


def inputs(name: str, each: int = EACH) -> int:
    """How many inputs a definition is compared at."""
    return each * (WHOLE_EACH if name in WHOLE else 1)


def differences(cases: Sequence[LinkCase], computed: Sequence[Sequence[Fraction]]) -> Link:
    """Run Python, and compare with what Coq computed."""
    faults = tuple(
        f"{case.name}: Coq {_shown(there)}, Python {here}, at {case.coq}"
        for case, there in zip(cases, computed, strict=True)
        if _shown(there) != (here := _of_python(case))
    )
    return Link(len(cases), faults)


def _of_python(case: LinkCase) -> str:
    try:
        return _shown(case.python())
    except NotExpressible as refused:  # a length that is rational as shipped, and is not after a change
        return str(refused)


def in_coq(sources: Path, cases: Sequence[LinkCase], deadline: float | None = None) -> list[list[Fraction]]:
    """What Coq computes in a folder of its own; raises :class:`CoqFault` where it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        return _in_coq(Coq(Path(folder), deadline), sources, cases)


def _in_coq(coq: Coq, sources: Path, cases: Sequence[LinkCase]) -> list[list[Fraction]]:
    for name in _NEEDED:
        coq.text(name, (sources / f"{name}.v").read_text("utf-8"))
    lines = (f"Eval vm_compute in {case.coq}." for case in cases)
    printed = re.findall(r"^\s*= \[([^\]]*)\]", coq.text("Link", "\n".join([_HEAD, *lines, ""])), re.MULTILINE)
    if len(printed) != len(cases):
        raise CoqFault(f"{len(cases)} values were asked for, {len(printed)} were printed")
    return [_values(answer) for answer in printed]


def _values(printed: str) -> list[Fraction]:
    numbers = [int(number) for number in re.findall(r"-?\d+", printed)]
    return [Fraction(n, d) for n, d in zip(numbers[::2], numbers[1::2], strict=True)]


def _shown(values: Sequence[Fraction]) -> str:
    return "[" + "; ".join(literal(value) for value in values) + "]"
