"""What comparisons of neighbours showed: the largest of everything, each with the pair that shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from verification.neighbours.neighbours import Attack
from verification.wire.arrays import Floats
from verification.wire.declared_session import LabelledPoints

RELATIVE = 1e-5
"""A sensitivity may be exceeded by so much, for the solver and the rounding of the implementation."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The largest of something that was seen, and where: a ratio to what is declared, or a distance."""

    size: float
    text: str
    attack: Attack[LabelledPoints] | None = None
    moved: float = 0.0
    declared: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TwoScales:
    """Neighbours with the same randomness whose noise differs by a factor above 1, and which data has the smaller one.

    `moved` is the Euclidean distance of the values before the noise. `probable` if nothing was released before, or what
    a run of its own releases. `alike`: all other records have the same features.
    """

    factor: float
    moved: float
    dimension: int
    release: int
    smaller: str
    larger: str
    outputs: dict[str, Floats]
    probable: bool
    alike: bool
    text: str

    def within(self, other: TwoScales) -> bool:
        """Whether the other shows no less, with other records that are as much alike."""
        less = self.factor <= other.factor and self.moved <= other.moved and self.probable <= other.probable
        return less and self.alike == other.alike


@dataclass(slots=True)
class Seen:
    """What all comparisons showed."""

    pairs: int = 0
    planned: int = 0
    sensitivity: dict[str, Witness] = field(default_factory=dict)
    smallest: dict[str, str] = field(default_factory=dict)  # the smallest neighbours that move a value too far
    first_release: dict[str, float] = field(default_factory=dict)
    moved: dict[str, Witness] = field(default_factory=dict)
    outside: dict[str, Witness] = field(default_factory=dict)
    public: dict[str, Witness] = field(default_factory=dict)
    scales: dict[str, list[TwoScales]] = field(default_factory=dict)  # those that no other exceeds
    two_scaled: set[str] = field(default_factory=set)  # values whose noise has another scale on some neighbour
    fractions: dict[str, Witness] = field(default_factory=dict)  # of the grid of discrete noise
    unequal: str = ""
    shapes: str = ""  # that differ, so that nothing else can be compared
    counts: dict[str, dict[int, str]] = field(default_factory=dict)
    other_noise: set[str] = field(default_factory=set)
    finished: bool = False
    unrepeatable: str = ""
    fixed_start: bool = True  # a first release is the same whatever the randomness

    def keep(self, where: dict[str, Witness], name: str, witness: Witness | None) -> None:
        """Keep the largest."""
        if witness is not None and (name not in where or witness.size > where[name].size):
            where[name] = witness

    def keep_scales(self, name: str, pair: TwoScales) -> None:
        """Keep what no other pair exceeds."""
        found = self.scales.setdefault(name, [])
        if not any(pair.within(other) for other in found):
            self.scales[name] = [other for other in found if not other.within(pair)] + [pair]

    def violated(self) -> bool:
        """Whether something is not as declared, or differs."""
        over = any(witness.size > 1 + RELATIVE for witness in self.sensitivity.values())
        return over or bool(self.moved or self.outside or self.public or self.unequal or self.fractions)

    def join(self, other: Seen) -> None:
        """Take in what one comparison showed."""
        for mine, theirs in (
            (self.sensitivity, other.sensitivity),
            (self.moved, other.moved),
            (self.outside, other.outside),
            (self.public, other.public),
            (self.fractions, other.fractions),
        ):
            for name, witness in theirs.items():
                self.keep(mine, name, witness)
        for name, found in other.scales.items():
            for pair in found:
                self.keep_scales(name, pair)
        for name, distance in other.first_release.items():
            self.first_release[name] = max(self.first_release.get(name, 0.0), distance)
        for name, counts in other.counts.items():
            self.counts[name] = {**counts, **self.counts.get(name, {})}
        self.unequal = self.unequal or other.unequal
        self.unrepeatable = self.unrepeatable or other.unrepeatable
        self.other_noise |= other.other_noise
