r"""Neighbours side by side, with the same randomness, the same batches and the same released values taken for granted.

Given what was released before, a value may move by its declared sensitivity; what is computed from released values may
not move at all, nor may the noise, the number and shape of releases, penalties or step sizes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis.strategies import SearchStrategy

from accountant.mechanisms.words import Sampling
from verification.declared.draws import joint_distance, least_scale
from verification.declared.implementation import (
    ROUNDINGS,
    DeclaredImplementation,
    OutOfTimeError,
    largest,
    same_start,
    unit,
)
from verification.declared.price import schedule
from verification.declared.two_scales import TwoScales
from verification.neighbours.families import (
    ALWAYS,
    SOMETIMES,
    StartingPoint,
    held_batches,
    history,
    second_batches,
)
from verification.neighbours.neighbours import Attack, Neighbours
from verification.neighbours.search import Measure, Proposals, SearchLimits, attacks, explore, simplified, smallest
from verification.reading.context import NotApplicable
from verification.wire.arrays import Floats
from verification.wire.declaration import PURE, DeclaredValue, Norm
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.messages import Capability
from verification.wire.session import Recorded

RELATIVE = 1e-5
"""A sensitivity may be exceeded by so much, for the solver and the rounding of the implementation."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The largest of something that was seen, and where: a ratio to what is declared, or a distance."""

    size: float
    text: str
    attack: Attack | None = None
    moved: float = 0.0
    declared: float = 0.0


@dataclass(slots=True)
class Comparison:
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
    compared: int = 0  # histories, of all pairs
    failed: int = 0  # histories that the adapter answered with an error, or with no numbers
    failure: str = ""  # the first of these

    def keep(self, where: dict[str, Witness], name: str, witness: Witness | None) -> None:
        """Keep the largest."""
        if witness is not None and (name not in where or witness.size > where[name].size):
            where[name] = witness

    def keep_failure(self, fault: AdapterFault) -> None:
        """A history or a data set that the implementation cannot be run with, such as one with a singular matrix."""
        self.failed, self.failure = self.failed + 1, self.failure or fault.detail

    def keep_scales(self, name: str, pair: TwoScales) -> None:
        """Keep what no other pair exceeds."""
        found = self.scales.setdefault(name, [])
        if not any(pair.within(other) for other in found):
            self.scales[name] = [other for other in found if not other.within(pair)] + [pair]

    def violated(self) -> bool:
        """Whether something is not as declared, or differs."""
        over = any(witness.size > 1 + RELATIVE for witness in self.sensitivity.values())
        return over or bool(self.moved or self.outside or self.public or self.unequal or self.fractions)

    def join(self, other: Comparison) -> None:
        """Take in what one comparison showed."""
        for kind in ("sensitivity", "moved", "outside", "public", "fractions"):
            for name, witness in getattr(other, kind).items():
                self.keep(getattr(self, kind), name, witness)
        for name, found in other.scales.items():
            for pair in found:
                self.keep_scales(name, pair)
        for name, distance in other.first_release.items():
            self.first_release[name] = max(self.first_release.get(name, 0.0), distance)
        for name, counts in other.counts.items():
            self.counts[name] = {**counts, **self.counts.get(name, {})}
        self.unequal = self.unequal or other.unequal
        self.unrepeatable = self.unrepeatable or other.unrepeatable
        self.compared, self.failed = self.compared + other.compared, self.failed + other.failed
        self.failure = self.failure or other.failure
        self.other_noise |= other.other_noise


SEARCHED, SHRUNK = 1000, 240
"""Attacks that are measured to find the largest movement, at full effort, and the smallest neighbours."""
_FEWEST_SEARCHED = 125
_MOST_NUMBERS = 4_000_000  # of all records that are sent in a search: large data sets get fewer attacks, or none
_SMALL_SIZES = ((2, 1), (2, 2), (3, 2))  # records and columns at which the smallest neighbours are looked for
_SHRINKING_TIME, _SHRINKING_SECONDS = 0.2, 20.0  # of the time that is left, and at most
_ALMOST = 1e-3
FAILED = (Fault.REFUSED, Fault.NOT_FINITE)
"""What an implementation may answer to values that no run of its own would release."""
_STILL, _OFF_GRID = 1e-9, 1e-6
_CONFIRMED = 20
"""A factor between one number of noise and another is that of the data if it is the same under so many more seeds: each
agrees by chance with probability at most 1/4 (one is 0 and the other not), all of them with 10^-12."""


@dataclass(frozen=True, slots=True, eq=False)
class _Setting:
    """What both runs of a comparison share; `names` are those of the data sets. No start: that of a search."""

    attack: Attack
    names: tuple[str, str]
    start: StartingPoint | None
    batches: list[list[int]] | None
    seed: int

    @property
    def pair(self) -> Neighbours:
        return self.attack.neighbours

    def text(self) -> str:
        """The witness in words."""
        if self.start is None:
            return self.attack.text()
        return self.pair.text() + (f", released so far {self.start.words}" if self.start.words else "")


_Compare = Callable[[DeclaredImplementation, _Setting, Recorded, Recorded, Comparison], None]


# -- the families of neighbours ---------------------------------------------------------------------------------


def compare_neighbours(declared: DeclaredImplementation) -> Comparison:
    """Compare all families; stops without being finished when the time is over."""
    pairs = list(declared.families.all())
    seen = Comparison(planned=max(1, min(len(pairs), round(declared.effort * len(pairs)))))
    try:
        seen.fixed_start = _fixed_start(declared, pairs[0][0])
        for number in declared.rng.permutation(len(pairs))[: seen.planned]:
            _one_pair(declared, pairs[number], seen, SOMETIMES[int(number) % len(SOMETIMES)])
            seen.pairs += 1
            if seen.shapes:
                break
        seen.finished = True
    except OutOfTimeError:
        pass
    return seen


def _one_pair(
    declared: DeclaredImplementation, at: tuple[Neighbours, Floats], seen: Comparison, other: StartingPoint
) -> None:
    pair, direction = at
    names = declared.send_both(pair)
    plain = _Setting(Attack(pair), names, StartingPoint.OWN, None, declared.seed())
    try:
        own = declared.record(names[0], seed=plain.seed)
        for setting, compare in _starts(declared, plain, direction, own, other):
            _look(declared, setting, seen, compare)
    except AdapterFault as fault:
        # values of another shape cannot be given to the neighbour: then the shape itself tells them apart
        if fault.fault in FAILED:
            seen.keep_failure(fault)
        elif fault.fault is not Fault.WRONG_SHAPE or not _other_shapes(declared, plain, seen):
            raise


def _starts(
    declared: DeclaredImplementation, plain: _Setting, direction: Floats, own: Recorded, other: StartingPoint
) -> Iterator[tuple[_Setting, _Compare]]:
    """Every kind of earlier releases, and where records are drawn the changed one left out."""

    def at(start: StartingPoint, batches: list[list[int]] | None, *, first: bool) -> _Setting:
        given = history(start, own, declared.declaration, direction, declared.rng, first=first)
        return replace(plain, attack=Attack(plain.pair, given), start=start, batches=batches)

    beside = any(own.values[v.name].released.shape[1] % len(direction) for v in declared.declaration.noised)
    for k, start in enumerate((*ALWAYS, other, *(ALWAYS[2:] if beside else ()))):  # last, an added column comes first
        yield at(start, _batches(declared, plain.pair, own, inside=True), first=k > len(ALWAYS)), _compare
    away = _batches(declared, plain.pair, own, inside=False)
    if away is not None:
        yield at(StartingPoint.ZERO, away, first=False), _outside


def _other_shapes(declared: DeclaredImplementation, plain: _Setting, seen: Comparison) -> bool:
    """Whether runs of both neighbours with one seed have values of different shapes, and have them again."""
    runs = [[declared.record(name, seed=plain.seed) for _ in range(2)] for name in plain.names]
    for value in declared.declaration.values:
        one, other = ([run.values[value.name].shape for run in both] for both in runs)
        if one[0] == one[1] != other[0] == other[1]:
            where = plain.text()
            seen.shapes = f"{value.name} has shape {list(one[0])} on one and {list(other[0])} on the other of: {where}"
            return True
    return False


def _fixed_start(declared: DeclaredImplementation, pair: Neighbours) -> bool:
    """Whether what is released first, before its noise, is the same in two runs."""
    data = declared.send(pair.first)
    try:
        runs = [declared.record(data, seed=declared.seed()) for _ in range(2)]
    except AdapterFault as fault:
        if fault.fault in FAILED:
            return False
        raise
    return all(same_start(value, runs) for value in declared.declaration.noised)


# -- the search -------------------------------------------------------------------------------------------------


def search_neighbours(declared: DeclaredImplementation, seen: Comparison) -> None:
    """Search for neighbours that move a value further than those of the families do, by climbing.

    Where state without noise is carried on from release to release, the worst record counts in one release and not in
    the next, which depends on the lengths of all records: no list has such pairs.
    """
    allowed = _MOST_NUMBERS // (declared.records * declared.columns)
    evaluations = min(max(_FEWEST_SEARCHED, round(SEARCHED * declared.effort)), allowed)
    if seen.shapes or not evaluations:
        return
    try:
        own, strategy = _proposals(declared)

        def measure(attack: Attack) -> float | None:
            alone = _measured(declared, attack, own, seen.two_scaled)
            seen.join(alone)
            seen.pairs += 1
            return None if alone.unrepeatable else max((w.size for w in alone.sensitivity.values()), default=0.0)

        explore(strategy, measure, SearchLimits(declared.deadline, evaluations, declared.seed()))
    except OutOfTimeError:
        return


def _proposals(declared: DeclaredImplementation) -> tuple[Recorded, SearchStrategy[Attack]]:
    """A run at the size of the declared, which shows the shapes of released values, and all attacks of that size."""
    own = declared.record(declared.send(declared.families.different()[0]), seed=declared.seed())
    noised = declared.declaration.noised
    shapes = {v.name: (declared.declaration.releases(v), *own.values[v.name].shape) for v in noised}
    return own, attacks(declared.domain, shapes)


def _measured(declared: DeclaredImplementation, attack: Attack, own: Recorded, two_scaled: set[str]) -> Comparison:
    """What one attack shows."""
    pair, alone = attack.neighbours, Comparison(two_scaled=two_scaled)
    names, held = declared.send_both(pair), _batches(declared, pair, own, inside=True)
    _look(declared, _Setting(attack, names, None, held, declared.seed()), alone, _compare)
    return alone


def smallest_witnesses(declared: DeclaredImplementation, seen: Comparison) -> None:
    """For every value that moves too far the smallest neighbours that show it.

    At a few records if these do, with the declaration of that size; else at the claimed size.
    """
    left = declared.deadline - time.monotonic()
    deadline = time.monotonic() + min(left * _SHRINKING_TIME, _SHRINKING_SECONDS)
    over = [name for name, witness in seen.sensitivity.items() if witness.size > 1 + RELATIVE]
    for name in over:
        texts: dict[bytes, str] = {}
        witness, numbers = seen.sensitivity[name], declared.records * declared.columns
        proposals = _smaller_sizes(declared, name, texts, witness.size * (1 + _ALMOST))
        if witness.attack is not None and numbers * SHRUNK <= _MOST_NUMBERS:
            own = declared.record(declared.send(witness.attack.neighbours.first), seed=declared.seed())
            plainer = simplified(witness.attack, declared.domain)
            proposals.append(Proposals(plainer, _texted(declared, own, name, texts)))
        limits = SearchLimits(deadline, SHRUNK, declared.seed())
        found = smallest(proposals, limits, above=1 + RELATIVE).attack
        if found is not None:
            seen.smallest[name] = f"smallest witness: {found.text()}; {texts[found.key()]}"


def _smaller_sizes(
    declared: DeclaredImplementation, name: str, texts: dict[bytes, str], most: float
) -> list[Proposals]:
    """Attacks at every small size that the implementation accepts and declares the same value at.

    If a value moves further there, over its declared sensitivity, than at the claimed size, then its declaration is
    that of the claimed size, and the small one shows nothing.
    """
    found = []
    for records, columns in _SMALL_SIZES:
        if records >= declared.records or columns > declared.columns:
            continue
        try:
            declaration = declared.session.declare(declared.algorithm, records, columns)
            small = replace(declared, declaration=declaration, records=records, columns=columns)
            own, strategy = _proposals(small)
        except (AdapterFault, NotApplicable, OutOfTimeError):
            continue  # not offered at this size
        if name in {value.name for value in declaration.noised}:
            found.append(Proposals(strategy, _texted(small, own, name, texts), most))
    return found


def _texted(declared: DeclaredImplementation, own: Recorded, name: str, texts: dict[bytes, str]) -> Measure:
    """How far a value moves over its declared sensitivity; keeps the words for it."""

    def measure(attack: Attack) -> float | None:
        try:
            alone = _measured(declared, attack, own, set())
        except (AdapterFault, OutOfTimeError):
            return None
        witness = alone.sensitivity.get(name)
        if witness is None or alone.unrepeatable:
            return None
        texts[attack.key()] = f"{name} moves by {witness.moved:.6g}, declared is {witness.declared:.6g}"
        return witness.size

    return measure


# -- one comparison ----------------------------------------------------------------------------------------------


def _look(declared: DeclaredImplementation, setting: _Setting, seen: Comparison, compare: _Compare) -> None:
    """Compare both runs; what they show against the declaration counts only if it repeats.

    Values must repeat with the same seed, and noise of two scales under other seeds too (`_scales_repeat`).
    """
    try:
        first, second = _both(declared, setting)
    except AdapterFault as fault:
        if not setting.attack.history or fault.fault not in FAILED:
            raise
        seen.keep_failure(fault)
        return
    alone = Comparison(compared=1)
    compare(declared, setting, first, second, alone)
    if alone.violated() or alone.scales:
        again = _record(declared, setting, 0)
        if not _same(first, again):
            if declared.session.can(Capability.SEED):
                detail = "the same record request with the same seed, two answers"
                raise declared.session.fault(Fault.IGNORES_SEED, ProtocolStep.RECORD, detail)
            seen.unrepeatable = setting.text()
            return
        for name in sorted(set(alone.scales) - seen.two_scaled):
            if _scales_repeat(declared, setting, name, alone.scales[name], (first, again)):
                seen.two_scaled.add(name)
            else:
                del alone.scales[name]
                alone.other_noise.add(name)
    seen.join(alone)


def _scales_repeat(
    declared: DeclaredImplementation,
    setting: _Setting,
    name: str,
    found: list[TwoScales],
    runs: tuple[Recorded, Recorded],
) -> bool:
    """Whether a difference of scales is that of the data and not of two draws.

    Noise that the seed does not fix is not compared, unless one neighbour never has any. Two numbers are always
    proportional, so that of one number the factor must be the same under many seeds.
    """
    pair = max(found, key=lambda each: each.factor)
    first, again = (run.values[name].noise for run in runs)
    if pair.factor < np.inf:
        close = ROUNDINGS * unit(setting.attack.history, *runs) * max(largest(run.values[name]) for run in runs)
        if not declared.session.can(Capability.SEED) or not np.allclose(first, again, rtol=0.0, atol=close):
            return False
        if first.shape[1] > 1:
            return True
    value = next(v for v in declared.declaration.noised if v.name == name)
    for _ in range(_CONFIRMED):
        fresh, other = Comparison(), replace(setting, seed=declared.seed())
        _noise(value, _both(declared, other), other, fresh)
        same = (
            each for each in fresh.scales.get(name, []) if (each.release, each.smaller) == (pair.release, pair.smaller)
        )
        if not any(each.factor == pair.factor or np.isclose(each.factor, pair.factor, rtol=1e-6) for each in same):
            return False
    return True


def _same(first: Recorded, second: Recorded) -> bool:
    """Whether two runs agree in all but the noise, which needs a seed to be the same."""
    pairs = [(a.before, second.values[name].before) for name, a in first.values.items()]
    pairs += [(a.released, second.values[name].released) for name, a in first.values.items()]
    pairs += [(array, second.public.get(name, np.zeros(0))) for name, array in first.public.items()]
    close = max(_STILL, ROUNDINGS * unit({}, first, second))
    return all(a.shape == b.shape and np.allclose(a, b, rtol=close, atol=1e-12) for a, b in pairs)


def _batches(
    declared: DeclaredImplementation, pair: Neighbours, own: Recorded, *, inside: bool
) -> list[list[int]] | None:
    steps = max(declared.declaration.iterations, len(own.batches))
    return held_batches(declared.declaration.sampling, pair, steps, declared.rng, inside=inside)


def _record(declared: DeclaredImplementation, setting: _Setting, side: int) -> Recorded:
    batches = setting.batches
    if side:
        batches = second_batches(batches, setting.pair, declared.declaration.sampling.kind)
    return declared.record(setting.names[side], seed=setting.seed, outputs=setting.attack.history, batches=batches)


def _both(declared: DeclaredImplementation, setting: _Setting) -> tuple[Recorded, Recorded]:
    """Both runs, in random order."""
    runs = {int(side): _record(declared, setting, int(side)) for side in declared.rng.permutation(2)}
    return runs[0], runs[1]


def _compare(
    declared: DeclaredImplementation, setting: _Setting, first: Recorded, second: Recorded, seen: Comparison
) -> None:
    text, history = setting.text(), setting.attack.history
    rounding = ROUNDINGS * unit(history, first, second)
    blurred = rounding * max((float(np.abs(array).max(initial=0.0)) for array in history.values()), default=0.0)
    for value in declared.declaration.values:
        a, b = first.values[value.name], second.values[value.name]
        for run, which in ((a, "first"), (b, "second")):
            seen.counts.setdefault(value.name, {}).setdefault(len(run.released), f"{which} of: {text}")
        if a.released.shape != b.released.shape:
            shapes = f"shape {list(a.released.shape)} on one and {list(b.released.shape)} on the other"
            seen.unequal = seen.unequal or f"{value.name} has {shapes} of: {text}"
    if first.order != second.order and Counter(first.order) == Counter(second.order):
        at, one, two = next((k, c, d) for k, (c, d) in enumerate(zip(first.order, second.order, strict=True)) if c != d)
        seen.unequal = seen.unequal or f"release {at + 1}: {one} leaves on one where {two} does on the other of: {text}"
    for value in declared.declaration.noised:
        _sensitivity(declared, value, (first, second), setting, seen)
        _noise(value, (first, second), setting, seen)
    near = max(_STILL, rounding)
    for name in [value.name for value in declared.declaration.processed]:
        shown = (first.values[name].released, second.values[name].released)
        seen.keep(seen.moved, name, _still(shown, text, near, blurred))
    for name in sorted({*first.public, *second.public}):
        shown = (first.public.get(name, np.zeros(0)), second.public.get(name, np.zeros(0)))
        seen.keep(seen.public, name, _still(shown, text, near, blurred))


def _sensitivity(
    declared: DeclaredImplementation,
    value: DeclaredValue,
    runs: tuple[Recorded, Recorded],
    setting: _Setting,
    seen: Comparison,
) -> None:
    a, b = (run.values[value.name].before for run in runs)
    steps = min(len(a), len(b), declared.declaration.releases(value))
    if not steps or a.shape[1] != b.shape[1]:
        return
    distances = np.linalg.norm(a[:steps] - b[:steps], 1 if value.norm is Norm.L1 else 2, axis=1)
    noises = [run.values[value.name].noise for run in runs]
    size = max(float(np.abs(part).max(initial=0.0)) for part in (a, b, *noises))
    slack = ROUNDINGS * unit(setting.attack.history, *runs) * size * np.sqrt(a.shape[1])
    allowed = np.array(schedule(value.sensitivity, declared.declaration.releases(value)))[:steps]
    allowed = allowed * _copies(declared, value, setting, steps)
    text = setting.text()
    shares = np.maximum(distances - slack, 0.0) / allowed
    k = int(np.argmax(shares))
    moved, most = float(distances[k]), float(allowed[k])
    where = f"release {k + 1}: moved by {moved:.6g}, declared is {most:.6g}; {text}"
    seen.keep(seen.sensitivity, value.name, Witness(float(shares[k]), where, setting.attack, moved, most))
    if value.joint is not None:
        count = declared.declaration.releases(value)
        blur = slack * np.sqrt(steps) * (steps if value.noise in PURE else 1) / least_scale(value, count)
        moved = max(0.0, joint_distance(value, a[:steps] - b[:steps], count) - blur)
        where = f"all releases together moved by {moved:.6g} times their noise, declared is {value.joint:.6g}; {text}"
        seen.keep(seen.sensitivity, value.name, Witness(moved / value.joint, where, setting.attack, moved, value.joint))
    if value.grid is not None:
        # noise on a grid hides movements by multiples of the grid alone: the rest of a release shows the rest
        steps_moved = (a[:steps] - b[:steps]) / value.grid
        away = float(np.abs(steps_moved - np.rint(steps_moved)).max(initial=0.0))
        if away > _OFF_GRID + slack / value.grid:
            words = f"moved by {away:.4g} of the grid beside a multiple of it; {text}"
            seen.keep(seen.fractions, value.name, Witness(away, words))
    if declared.declaration.sampling.kind is Sampling.ALL or value.uses == "all":
        seen.first_release[value.name] = max(seen.first_release.get(value.name, 0.0), float(distances[0] - slack))


def _copies(declared: DeclaredImplementation, value: DeclaredValue, setting: _Setting, steps: int) -> Floats:
    """How often the changed record is in the batch of each release: with replacement the sensitivity is that of one."""
    replaced = declared.declaration.sampling.kind is Sampling.WITH_REPLACEMENT and value.uses == "batch"
    if not replaced or setting.batches is None:
        return np.ones(steps)
    counts = [batch.count(setting.pair.position) for batch in setting.batches]
    each = len(counts) // max(1, declared.declaration.releases(value))
    most = [max(counts[k * each : (k + 1) * each], default=max(counts)) for k in range(steps)]
    return np.array(most, dtype=np.float64)


def _noise(value: DeclaredValue, runs: tuple[Recorded, Recorded], setting: _Setting, seen: Comparison) -> None:
    """The same randomness must give the same noise; where it is a multiple, its scale depends on the data."""
    a, b = (run.values[value.name].noise for run in runs)
    if a.shape != b.shape or not a.size:
        return
    size = max(np.abs(part).max(initial=0.0) for run in runs for part in (run.values[value.name].before, a, b))
    close = max(1e-12, ROUNDINGS * unit(setting.attack.history, *runs) * float(size))
    if np.allclose(a, b, rtol=0.0, atol=close):
        return
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        if not (one.any() and other.any()):
            if one.any() or other.any():
                _two_scales(value, runs, setting, seen, (k, np.inf if other.any() else 0.0))
            continue
        factor = float(one @ other) / float(one @ one)
        if not np.allclose(other, factor * one, rtol=1e-9, atol=close):
            seen.other_noise.add(value.name)
        elif factor > 0 and abs(np.log(factor)) > max(_STILL, close / float(np.abs(one).max())):
            _two_scales(value, runs, setting, seen, (k, factor))


def _two_scales(
    value: DeclaredValue, runs: tuple[Recorded, Recorded], setting: _Setting, seen: Comparison, at: tuple[int, float]
) -> None:
    """Keep a release whose noise on the second is a multiple of that on the first."""
    k, factor = at
    size = factor if factor > 1 else np.inf if factor == 0 else 1 / factor
    seen_as = f"by a factor of {size:.6g}" if np.isfinite(size) else "noise on one of the neighbours, none on the other"
    one, other = (run.values[value.name].before[k] for run in runs)
    smaller, larger = setting.names if factor > 1 else setting.names[::-1]
    others = setting.pair.others.features
    seen.keep_scales(
        value.name,
        TwoScales(
            factor=float(size),
            moved=float(np.linalg.norm(one - other)) if one.shape == other.shape else 0.0,
            dimension=one.size,
            release=k,
            smaller=smaller,
            larger=larger,
            outputs=dict(setting.attack.history),
            probable=k == 0 or setting.start is StartingPoint.OWN,
            identical=bool(len(others) and (others == others[0]).all()),
            text=f"release {k + 1}: {seen_as}; {setting.text()}",
        ),
    )


def _still(both: tuple[Floats, Floats], text: str, close: float = _STILL, blurred: float = 0.0) -> Witness | None:
    """The movement of what must not move; `blurred` is what the rounding of the values before it may explain."""
    a, b = both
    if a.shape != b.shape:
        return Witness(np.inf, f"has another length on the neighbour; {text}")
    distance = float(np.abs(a - b).max(initial=0.0))
    if distance > blurred + close * (1.0 + max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))):
        return Witness(distance, f"moved by {distance:.6g}; {text}")
    return None


def _outside(
    declared: DeclaredImplementation, setting: _Setting, first: Recorded, second: Recorded, seen: Comparison
) -> None:
    """A record that is in no batch moves nothing that is computed from batches."""
    text, close = setting.text(), max(_STILL, ROUNDINGS * unit({}, first, second))
    for value in declared.declaration.noised:
        if value.uses == "batch":
            a, b = (run.values[value.name].before for run in (first, second))
            steps = min(len(a), len(b))
            seen.keep(seen.outside, value.name, _still((a[:steps], b[:steps]), text, close))
