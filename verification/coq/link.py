r"""The link to the code: Coq's definitions and the Python reference, on the same random rationals, must be equal.

Coq computes with ``Algorithm.v`` on rationals (``Rationals.v`` proves that these are the values of the formulas that
the theorems are about); Python runs the shipped functions on ``fractions.Fraction``. Both are exact, so there is no
tolerance: one value that differs is a fault of one side.
"""

from __future__ import annotations

import functools
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from verification.coq.coq import Coq, CoqFault
from verification.coq.link_cases import CASES, LinkCase, literal
from verification.coq.table import FOLDER

EACH = 30  # random inputs for every definition
SEED = 2020
_NEEDED = ("Vectors", "Algorithm", "Rationals")
_HEAD = """From Coq Require Import QArith List.
From DPADMM Require Import Algorithm Rationals.
Import ListNotations.
Set Printing Width 1000000.
Set Printing Depth 1000000.
Definition vec (l : list Q) (i : nat) : Q := nth i l 0%Q.
Definition take (p : nat) (u : nat -> Q) : list Q := map u (seq 0 p).
Definition show (l : list Q) : list Z := flat_map (fun q => [Qnum (Qred q); Zpos (Qden (Qred q))]) l.
Definition show_state (p : nat) (s : state rationals) : list Z :=
  show (take p (state_x _ s) ++ take p (state_z _ s) ++ take p (state_y _ s)).
Definition rational_slope (v : Q) : Q :=
  let size := absolute rationals v in
  if greater rationals v 0%Q then (- (1 / (2 + size)))%Q else (- ((1 + size) / (2 + size)))%Q.
"""


@dataclass(frozen=True, slots=True)
class Link:
    """How many cases were compared, and those that differ or could not be computed."""

    compared: int
    faults: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether every value is equal, and there were some."""
        return self.compared > 0 and not self.faults

    def summary(self) -> str:
        """One line, and one for each fault."""
        word = "agree" if self.agrees else "DIFFER"
        return "\n".join([f"Coq and Python {word} on {self.compared} random rational inputs", *self.faults])


@functools.cache
def linked() -> Link:
    """The comparison for the definitions of this project, once in a process."""
    return compare()


def compare(sources: Path = FOLDER, *, each: int = EACH, seed: int = SEED) -> Link:
    """Compare every linked definition at ``each`` random inputs."""
    cases = drawn(each, seed)
    try:
        return differences(cases, in_coq(sources, cases))
    except CoqFault as fault:
        return Link(len(cases), (str(fault),))


def drawn(each: int, seed: int) -> list[LinkCase]:
    """The random inputs: ``each`` for every linked definition."""
    generator = random.Random(seed)
    return [make(generator) for make in CASES.values() for _ in range(each)]


def differences(cases: Sequence[LinkCase], computed: Sequence[Sequence[Fraction]]) -> Link:
    """Run Python, and compare with what Coq computed."""
    faults = tuple(
        f"{case.name}: Coq {_shown(there)}, Python {_shown(here)}, at {case.coq}"
        for case, there in zip(cases, computed, strict=True)
        if there != (here := case.python())
    )
    return Link(len(cases), faults)


def in_coq(sources: Path, cases: Sequence[LinkCase]) -> list[list[Fraction]]:
    """What Coq computes in a folder of its own; raises :class:`CoqFault` where it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        return _in_coq(Coq(Path(folder)), sources, cases)


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
