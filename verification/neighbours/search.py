r"""A search for neighbours that move a value furthest, and for the smallest ones that move it too far.

The engine is Hypothesis's: strategies propose attacks, `target` climbs, and shrinking leads to the smallest witness
(fewest records and columns, plainest numbers). :func:`ascend` (gradient ascent) is one more proposer.

What a search guarantees:

* it is a function of its seed and of the answers alone: only integers below 100 are drawn, so that constants of loaded
  modules, which Hypothesis would mix in, never matter;
* it stops after ``evaluations`` measurements and at the ``deadline``, and never measures the same attack twice;
* it writes nothing: no database, no files in the working directory, nothing on stderr;
* a measurement is asked for a *repeatable* movement; where it answers None, there is no witness.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, settings, target
from hypothesis import seed as seeded
from scipy.optimize import minimize

from accountant.mechanisms.words import Neighbours as Relation
from verification.neighbours.families import Domain
from verification.neighbours.neighbours import Attack, changed
from verification.wire.arrays import Floats
from verification.wire.records import Records

_KEPT = 40
"""The largest choice of a simplification: 0 leaves out, 1 to 3 are digits, everything above keeps a part as it is."""
_POWERS = (1.0, 10.0, 100.0, 0.1, 1e3, 0.01)
_MANTISSA = 9
_FEW_NUMBERS = 24


class _Spent(BaseException):
    """The evaluations or the time of a search are used up. No Exception: Hypothesis must not take it for a failure."""


class _TooFar(Exception):
    """An attack moves a value too far."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How long a search may last (of `time.monotonic`), how many attacks it may measure, and its seed."""

    deadline: float
    evaluations: int
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The attack with the largest measurement, or None if there was none; and how many were measured."""

    attack: Attack | None
    ratio: float
    evaluations: int


Measure = Callable[[Attack], float | None]
"""How far a value moves over what is declared; None where the movement does not repeat."""


class _Search:
    """One run of the engine: measures every attack once, and keeps the largest."""

    def __init__(self, measure: Measure, limits: SearchLimits) -> None:
        self._measure: Measure = measure
        self._limits = limits
        self._known: dict[bytes, float | None] = {}
        self._failure: Exception | None = None
        self.largest: Found = Found(None, 0.0, 0)

    def ratio(self, attack: Attack) -> float | None:
        key = attack.key()
        if key not in self._known:
            if len(self._known) >= self._limits.evaluations or time.monotonic() > self._limits.deadline:
                raise _Spent
            self._known[key] = self._measured(attack)
        found = self._known[key]
        if found is not None and found > self.largest.ratio:
            self.largest = Found(attack, found, 0)
        return found

    def _measured(self, attack: Attack) -> float | None:
        """A failure to measure ends the search and is raised by it: Hypothesis would take it for a witness."""
        try:
            return self._measure(attack)
        except Exception as error:
            self._failure = error
            raise _Spent from error

    def run(self, strategy: st.SearchStrategy[Attack], above: float | None) -> Attack | None:
        """Measure proposals; return the smallest one above the threshold, if there is a threshold."""
        violating: list[Attack] = []

        @seeded(self._limits.seed)
        @_engine(self._limits.evaluations, shrinks=above is not None)
        @given(strategy)
        def proposed(attack: Attack) -> None:
            ratio = self.ratio(attack)
            if ratio is None:
                return
            if above is None:
                target(ratio)
            elif ratio > above:
                violating.append(attack)
                raise _TooFar

        with _no_files(), suppress(_TooFar, _Spent):
            proposed()
        if self._failure is not None:
            raise self._failure
        return min(reversed(violating), key=_complexity) if violating else None

    def found(self) -> Found:
        return replace(self.largest, evaluations=len(self._known))


def _engine(evaluations: int, *, shrinks: bool) -> settings:
    phases = (Phase.generate, Phase.shrink) if shrinks else (Phase.generate, Phase.target)
    return settings(
        database=None,
        derandomize=False,
        deadline=None,
        max_examples=max(1, evaluations),
        phases=phases,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )


@contextmanager
def _no_files() -> Iterator[None]:
    """Hypothesis keeps what it read of local modules in its home directory: not in that of the user."""
    before = configuration.storage_directory("x", intent_to_write=False).home_directory
    with tempfile.TemporaryDirectory(prefix="dpadmm-") as folder:
        configuration.set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)


def explore(strategy: st.SearchStrategy[Attack], measure: Measure, limits: SearchLimits) -> Found:
    """Propose attacks and climb where a value moves more; return the one that moves it furthest."""
    search = _Search(measure, limits)
    search.run(strategy, None)
    return search.found()


@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """A strategy and its measurement. One above ``most`` shows that what is declared is not about this size."""

    strategy: st.SearchStrategy[Attack]
    measure: Measure
    most: float = math.inf


def smallest(proposals: Sequence[Proposals], limits: SearchLimits, *, above: float) -> Found:
    """The smallest attack above, of the first proposals that have one; None in it where there is none.

    Each may use its share of the evaluations that are left.
    """
    used = 0
    for number, each in enumerate(proposals):
        share = (limits.evaluations - used) // (len(proposals) - number)
        search = _Search(each.measure, replace(limits, evaluations=share))
        attack = search.run(each.strategy, above)
        used += search.found().evaluations
        if attack is not None and search.largest.ratio <= each.most:
            return Found(attack, search.ratio(attack) or 0.0, used)
    return Found(None, 0.0, used)


def ascend(
    ratio: Callable[[Floats], float], spread: Floats, *, starts: int, rounds: int, rng: np.random.Generator
) -> None:
    """Gradient ascent (by differences) from random points with these deviations; ``ratio`` keeps what it sees."""

    def negative(point: Floats) -> float:
        return -ratio(point)

    for _ in range(starts):
        start = rng.normal(size=len(spread)) * spread
        minimize(negative, start, method="L-BFGS-B", options={"maxiter": rounds})


def _complexity(attack: Attack) -> tuple[int, int, int, int]:
    """Fewer records, fewer columns, fewer numbers that are not 0, fewer digits."""
    pair = attack.neighbours
    arrays = [pair.first.features, pair.second.features[pair.position : pair.position + 1], *attack.history.values()]
    numbers = np.concatenate([array.ravel() for array in arrays])
    return pair.count, pair.columns, int(np.count_nonzero(numbers)), sum(len(f"{x:.6g}") for x in numbers if x)


# -- strategies ---------------------------------------------------------------------------------------------------


_NUMBER = st.integers(-_MANTISSA, _MANTISSA)
_POWER = st.integers(0, len(_POWERS) - 1)
_EIGHTHS = st.integers(-8, 8)
_CHOICE = st.integers(0, _KEPT)


def _record(draw: st.DrawFn, domain: Domain) -> Floats:
    """One record that may be sent: small whole multiples of the bound, times a power of ten; in a box, its parts."""
    if domain.box is not None:
        low, high = domain.box
        plain = float(np.clip(0.0, low, high))
        parts = np.array([draw(_EIGHTHS) for _ in range(domain.columns)]) / 8
        return np.where(parts > 0, plain + parts * (high - plain), plain + parts * (plain - low))
    numbers = np.array([draw(_NUMBER) for _ in range(domain.columns)], dtype=np.float64)
    return domain.admitted(domain.radius * numbers * _POWERS[draw(_POWER)])


def _released(draw: st.DrawFn, shape: tuple[int, ...]) -> Floats:
    """What was released before: zero, or small whole numbers times a power of ten, repeated where there are many."""
    size = int(np.prod(shape))
    if not size or draw(st.booleans()):
        return np.zeros(shape)
    numbers = [float(draw(_NUMBER)) for _ in range(min(size, _FEW_NUMBERS))]
    return np.resize(np.array(numbers), shape) * _POWERS[draw(_POWER)]


@st.composite
def attacks(
    draw: st.DrawFn, domain: Domain, shapes: Mapping[str, tuple[int, ...]] | None = None, patterns: int = 3
) -> Attack:
    """Any attack in a domain: other records of at most so many different kinds, one changed, a history."""
    history = {name: _released(draw, shape) for name, shape in (shapes or {}).items()}
    labels = domain.labels[::-1]

    def drawn() -> tuple[Floats, float]:
        return _record(draw, domain), labels[draw(st.booleans())]

    kinds = [drawn() for _ in range(min(domain.records - 1, patterns))]
    others = [kinds[i % patterns] for i in range(domain.records - 1)]
    rows = [drawn(), *others]
    data = Records(np.array([row for row, _ in rows]), np.array([label for _, label in rows]))
    if domain.relation is Relation.ADD_OR_REMOVE:
        return Attack(changed(data, 0, None, "searched"), history)
    after = domain.empty if domain.relation is Relation.ZERO_OUT else drawn()
    return Attack(changed(data, 0, after, "searched"), history)


@st.composite
def simplified(draw: st.DrawFn, attack: Attack, domain: Domain) -> Attack:
    """Simplifications of an attack: columns, records and histories left out, or numbers rounded to a few digits.

    Every choice is 0 for the plainest and large for what is kept, so that a proposal is nearly the attack itself and
    shrinking leads to the plainest one. The size of the data sets stays.
    """
    pair = attack.neighbours
    history = {name: _rounded(array, draw(_CHOICE)) for name, array in attack.history.items()}
    kept = np.array([float(draw(_CHOICE) > 0) for _ in range(min(pair.columns, _FEW_NUMBERS))])
    columns = np.concatenate([kept, np.ones(pair.columns - len(kept))])
    others = pair.others.features * columns
    few = len(others) <= _FEW_NUMBERS
    each = [draw(_CHOICE) for _ in range(len(others) if few else 1)]
    before = domain.admitted(columns * _rounded(pair.first.features[pair.position], draw(_CHOICE)))
    for i in range(len(others)):
        how = each[i] if few else each[0]
        others[i] = before if how == 1 else domain.admitted(_rounded(others[i], how))
    rows = np.insert(others, pair.position, before, axis=0)
    first = replace(pair.first, features=rows)
    if domain.relation is not Relation.REPLACE_ONE:
        gone = None if pair.removed else domain.empty
        return Attack(changed(first, pair.position, gone, pair.name), history)
    after = domain.admitted(columns * _rounded(pair.second.features[pair.position], draw(_CHOICE)))
    there = (after, float(pair.second.labels[pair.position]))
    return Attack(changed(first, pair.position, there, pair.name), history)


def _rounded(array: Floats, choice: int) -> Floats:
    """Zero, or rounded to one, two or three digits of its largest number, or as it is."""
    largest = float(np.abs(array).max(initial=0.0))
    if choice == 0 or largest == 0.0:
        return np.zeros_like(array)
    if choice > 3:
        return array
    return np.round(array, choice - 1 - int(np.floor(np.log10(largest))))
