"""The questions about an algorithm that an adapter declares, put to the one judge.

Its price, sensitivities, post-processing, what must not depend on the data, its noise, its batches, and whether its own
runs are those that it shows. Each returns tests, or raises `Undecided` where what was seen does not conclude it.
Nothing here compares with an algorithm that this project implements.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import stats

from accountant import AccountantError, decimal_string
from accountant.mechanisms.words import Sampling
from verification.declared.attained import attained_by_runs, attained_ratio, promises_kept
from verification.declared.comparison import (
    FAILED,
    RELATIVE,
    Comparison,
    compare_neighbours,
    search_neighbours,
    smallest_witnesses,
)
from verification.declared.draws import cost_of_noise, malformed, noise_energies, noise_tests, sampling_tests
from verification.declared.implementation import DeclaredImplementation, OutOfTimeError, same_start
from verification.declared.inside import (
    JACOBIAN_SLACK,
    RESIDUAL,
    determinants,
    is_sum,
    mirrored,
    not_added,
    not_followed,
    residual,
)
from verification.declared.price import attained_epsilon, schedule
from verification.declared.two_scales import scale_tests
from verification.judge import Result, concluded
from verification.neighbours.families import Others
from verification.outcome import About, Stage
from verification.questions.question import Answer
from verification.reading.context import NotApplicable, Undecided
from verification.statistics import tails
from verification.statistics.test import Aspect, Cause, Cost, TailFamily, Test, union
from verification.wire.arrays import Floats
from verification.wire.declaration import PURE, Declaration, NoiseKind
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.messages import Capability
from verification.wire.session import Recorded, rows

PAIRS_TIME, RUNS_TIME, DRAWS_TIME = 0.6, 0.75, 0.9
"""Shares of the time after which neighbours are no longer compared, no longer run, and runs no longer collected."""
NUMBERS = 4000
"""So many noise values are looked at, of every value if it has as many coordinates as others."""
FEWEST_RUNS, MOST_RUNS = 16, 2000
COMPARED, COORDINATES = 100, 8
"""Unseeded runs of either kind that are compared, and coordinates of each value."""
_DIGITS, _DETECTED = 6, 0.95
_FAMILIES = 16  # into which `size_tests` divides its level, at most, for each value


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """Unseeded runs, in turn on data sets of different kinds; `data` is that of the first."""

    data: str
    runs: list[Recorded]

    def noise(self, name: str) -> Floats:
        """[runs, releases, numbers], cut to the shortest run; none where a run has no release or another shape."""
        arrays = [run.values[name].noise for run in self.runs]
        steps = min(len(array) for array in arrays)
        if not steps or len({array.shape[1:] for array in arrays}) > 1:
            return np.zeros((len(arrays), 0, 0))
        return np.array([array[:steps] for array in arrays])


class Shown:
    """What several questions look at, found out once: neighbours that were compared, and unseeded runs.

    `share` is the part of the false alarms of a question, `power` the factor of missing noise that must be detectable.
    """

    def __init__(self, declared: DeclaredImplementation, share: float, power: float) -> None:
        self.declared, self.share, self.power = declared, share, power
        self._began = time.monotonic()

    def until(self, part: float) -> DeclaredImplementation:
        """The implementation, asked until this part of the time is over."""
        return replace(self.declared, deadline=self._began + part * (self.declared.deadline - self._began))

    @functools.cached_property
    def neighbours(self) -> Comparison:
        """Neighbours compared until a part of the time is over; shrinking what was found may take longer."""
        if not self.declared.session.can(Capability.RECORD):
            raise NotApplicable("the adapter shows no runs from the inside (record)")
        searching = self.until(PAIRS_TIME)
        alone = replace(searching, rng=searching.rng.spawn(1)[0])
        followed = not_followed(alone, alone.families.different()[0])
        if followed:
            raise Undecided(f"neighbours cannot be compared: {followed}")
        seen = compare_neighbours(searching)
        search_neighbours(searching, seen)
        smallest_witnesses(self.until(DRAWS_TIME), seen)
        return seen

    @functools.cached_property
    def runs(self) -> Collected:
        """As many unseeded runs as the tests need."""
        if not self.declared.session.can(Capability.RECORD):
            raise NotApplicable("the adapter shows no runs from the inside (record)")
        declared = self.until(DRAWS_TIME)
        names, runs = _accepted(declared)
        count = _count(declared, (runs[0].values[value.name].noise.size for value in declared.declaration.noised))
        try:
            while len(runs) < count:
                runs.append(declared.record(names[len(runs) % len(names)]))
        except OutOfTimeError:
            if len(runs) < FEWEST_RUNS:
                raise
        return Collected(names[0], runs)

    def offered(self) -> Comparison | None:
        """The comparison, if the adapter offers what it needs: runs from the inside that follow given values."""
        try:
            return self.neighbours
        except (NotApplicable, Undecided):
            return None

    def finished(self) -> Comparison:
        """The comparison; undecided where it was not finished, or nothing repeats."""
        seen = self.neighbours
        if seen.unrepeatable:
            text = "without a seed, two runs on the same data with the same released values differ"
            hint = "if they may not, state that is kept between releases does not follow the given values"
            raise Undecided(f"{text} ({hint}): nothing can be compared; {seen.unrepeatable}")
        if seen.failed > seen.compared:
            text = f"{seen.failed} of {seen.failed + seen.compared} comparisons ended with an error of the adapter"
            raise Undecided(f"{text}, too many to conclude from the rest; {seen.failure}")
        if not seen.finished:
            raise Undecided(f"{seen.pairs} of {seen.planned} pairs of neighbours were compared before time was over")
        return seen

    def answer(self, tests: list[Test], covers: tuple[Aspect, ...], tightness: float | None = None) -> Answer:
        """Tests of a declared algorithm at its claimed size."""
        size = f"n = {self.declared.records:,}, p = {self.declared.columns:,}"
        return Answer("declared", size, 0, tuple(tests), covers, tightness=tightness)


def _accepted(declared: DeclaredImplementation) -> tuple[list[str], list[Recorded]]:
    """The data sets of different kinds that the implementation can be run on, and one run on the first of them."""
    names, runs, failure = [], [], NotApplicable("no data")
    for records in declared.families.different():
        name = declared.send(records)
        try:
            runs.append(declared.record(name))
            names.append(name)
        except AdapterFault as fault:
            if fault.fault not in FAILED:
                raise
            failure = NotApplicable(f"no run on any data set succeeds: {fault.detail}")
    if not names:
        raise failure
    return names, runs


def _count(declared: DeclaredImplementation, sizes: Iterator[int]) -> int:
    """How many runs show enough noise values of the value that has fewest."""
    fewest = min(max(1, size) for size in sizes)
    return int(np.clip(-(-round(NUMBERS * declared.effort) // fewest), FEWEST_RUNS, MOST_RUNS))


# -- the price ---------------------------------------------------------------------------------------------------


def account(shown: Shown) -> Answer:
    """Whether the claimed epsilon is what the declaration costs."""
    seen, pricing = shown.offered(), shown.declared.pricing
    if seen is None:
        return priced(shown, 0.0)
    try:
        return priced(shown, attained_ratio(shown.declared, seen, pure=pricing.delta == 0))
    except Undecided as undecided:
        if seen.shapes or seen.unrepeatable:
            raise
        least, witness = attained_by_runs(shown.until(RUNS_TIME), seen, shown.share)
        text = f"epsilon at delta {pricing.delta_text()} is at least {least.epsilon:.6g}, {least.text}"
        if pricing.epsilon >= least.epsilon:
            raise Undecided(f"{undecided}\n{text}" if least.epsilon else str(undecided)) from None
        asked = functools.partial(Test.exact, "price", Aspect.RELEASED, False, cause=Cause.PRICE)
        return shown.answer([asked(detail=f"{text}, {pricing.claimed()}", witness=witness)], ())


def notions(shown: Shown) -> Answer:
    """Whether Renyi, concentrated or Gaussian privacy is kept as it is claimed."""
    return shown.answer(promises_kept(shown.declared, shown.offered()), ())


def priced(shown: Shown, ratio: float) -> Answer:
    """The same without asking for runs; `ratio` is the largest distance over the noise that neighbours were seen at."""
    pricing = shown.declared.pricing
    delta = pricing.delta_text()
    lower = Fraction(ratio) if pricing.delta == 0 else attained_epsilon(Fraction(ratio) ** 2, pricing.delta)

    def concluded_as(holds: bool, text: str) -> Answer:
        detail = f"{text}, {pricing.claimed()}"
        return shown.answer([Test.exact("price", Aspect.RELEASED, holds, detail, Cause.PRICE)], ())

    if pricing.epsilon < lower:
        low = decimal_string(lower, _DIGITS, "down")
        seen = "with the declared noise, neighbours that were seen attain it"
        return concluded_as(False, f"epsilon at delta {delta} is at least {low} ({seen})")
    try:
        upper = pricing.price()
    except AccountantError as error:
        raise Undecided(f"nothing could be certified: {error}") from None
    high = f"epsilon at delta {delta} is at most {decimal_string(upper, _DIGITS, 'up')}"
    if pricing.epsilon >= upper:
        return concluded_as(True, high)
    raise Undecided(f"{pricing.claimed()}; certified is only that {high}")


# -- neighbours --------------------------------------------------------------------------------------------------


def sensitivity(shown: Shown) -> Answer:
    """Whether a value moves by more than is declared."""
    seen, pricing = shown.neighbours, shown.declared.pricing
    over = {value: seen_at for value, seen_at in seen.sensitivity.items() if seen_at.size > 1 + RELATIVE}
    largest = max((witness.size for witness in seen.sensitivity.values()), default=0.0)

    def judged(holds: bool, detail: str, cause: Cause, price: Callable[[], str], witness: str) -> Answer:
        test = Test.exact("sensitivity", Aspect.CLIPPING, holds, detail, cause, price=price, witness=witness)
        return shown.answer([test], (Aspect.CLIPPING,), largest)

    for value, witness in seen.fractions.items():
        text = f"{value} moves by less than the grid of its noise, which hides multiples of it alone"
        return judged(False, text, Cause.NOISE_GRID, pricing.infinite, witness.text)
    if over:
        worst = max(over, key=lambda value: over[value].size)
        weights = {value: witness.size for value, witness in over.items()}
        text = f"{worst} moves by {over[worst].size:.4g} times its declared sensitivity"
        said = "\n".join([over[worst].text, *([seen.smallest[worst]] if worst in seen.smallest else [])])
        return judged(False, text, Cause.CONTRIBUTION, lambda: pricing.sentence(weights), said)
    shares = ", ".join(f"{value} {witness.size:.4g}" for value, witness in shown.finished().sensitivity.items())
    text = f"largest movement over the declared one, in {seen.pairs} pairs of neighbours: {shares}"
    if seen.failed:
        text += f"; {seen.failed} comparisons ended with an error of the adapter: {seen.failure}"
    return judged(True, text, Cause.CONTRIBUTION, pricing.infinite, "")


def post_processing(shown: Shown) -> Answer:
    """Whether something without noise moves with a record while everything that has noise is held fixed."""
    declaration, seen = shown.declared.declaration, shown.neighbours
    asked = functools.partial(Test.exact, "post-processing", Aspect.RELEASED)
    if seen.moved:
        worst = max(seen.moved, key=lambda value: seen.moved[value].size)
        sources = ", ".join(next(v.from_ for v in declaration.values if v.name == worst))
        text = f"{worst} is declared to be computed from {sources} alone, and moves with a record while these do not"
        price, witness = shown.declared.pricing.infinite, seen.moved[worst].text
        test = asked(False, text, Cause.UNNOISED, price=price, witness=witness)
    else:
        shown.finished()
        names = ", ".join(value.name for value in declaration.processed) or "nothing"
        test = asked(True, f"without noise of its own: {names}; none of it moves with a record", Cause.UNNOISED)
    return shown.answer([test], (Aspect.RELEASED,))


def independence(shown: Shown) -> Answer:
    """Whether what must not depend on the data is the same on neighbours."""
    declared, seen = shown.until(DRAWS_TIME), shown.neighbours
    found = _dependent(declared, seen) or scale_tests(declared, seen.scales)
    if not found:
        if not (fewer := _fewer(declared.declaration, seen)):
            shown.finished()
        text = "number and shape of releases, noise scales and public quantities are the same on neighbours"
        if seen.other_noise:
            names = ", ".join(sorted(seen.other_noise))
            text = f"{text}; the seed does not fix the noise of {names}, so its scale was not compared"
        cost = Cost.NOTHING if fewer else Cost.PRIVACY
        found = [Test.exact("data-independence", Aspect.RELEASED, not fewer, fewer or text, Cause.DATA_DEPENDENT, cost)]
    return shown.answer(found, (Aspect.RELEASED,))


def _dependent(declared: DeclaredImplementation, seen: Comparison) -> list[Test]:
    infinite = declared.pricing.infinite

    def depends(detail: str, witness: str, price: Callable[[], str] = infinite) -> list[Test]:
        cause = Cause.DATA_DEPENDENT
        return [Test.exact("data-independence", Aspect.RELEASED, False, detail, cause, price=price, witness=witness)]

    different = seen.shapes or seen.unequal
    if different:
        return depends(different, different)
    for value in declared.declaration.values:
        counts, allowed = seen.counts.get(value.name, {}), declared.declaration.releases(value)
        fixed = declared.declaration.stopping == "fixed"
        if (fixed and len(counts) > 1) or max(counts, default=0) > allowed:
            listed = "; ".join(f"{count}: {where}" for count, where in sorted(counts.items()))
            times = " or ".join(map(str, sorted(counts)))
            head = f"{value.name} is released {times} times a run, declared are {allowed}"
            cost = infinite() if len(counts) > 1 else _more(declared, value.name, max(counts) / allowed)
            return depends(head, listed, functools.partial(str, cost))
    for name, witness in seen.public.items():
        return depends(f"{name} depends on a record", witness.text)
    return []


def _more(declared: DeclaredImplementation, name: str, times: float) -> str:
    """More releases than declared, always: as if the ratio were larger by the root of their number."""
    value = next(v for v in declared.declaration.values if v.name == name)
    if value.noise is NoiseKind.NONE:
        return declared.pricing.infinite()
    return declared.pricing.sentence({name: times if value.noise in PURE else times**0.5})


def _fewer(declaration: Declaration, seen: Comparison) -> str:
    """Always fewer releases than declared costs nothing."""
    for value in declaration.values if declaration.stopping == "fixed" else ():
        counts, allowed = seen.counts.get(value.name, {}), declaration.releases(value)
        if counts and max(counts) < allowed:
            return f"{value.name} is released {max(counts)} times a run, declared are {allowed}"
    return ""


def objective(shown: Shown) -> Answer:
    """Whether neighbours' Hessians differ by more than declared."""
    declared = shown.declared
    asked = functools.partial(Test.exact, "objective", Aspect.CLIPPING)
    test = asked(True, "neighbours' Hessians differ by no more than declared", Cause.CONTRIBUTION)
    for value in declared.declaration.noised:
        if value.enters != "objective" or value.jacobian is None:
            continue
        witness = determinants(declared, value)
        if witness is None:
            raise NotApplicable(f"{value.name} has too many coordinates for its Hessian")
        if witness.size > value.jacobian * (1 + JACOBIAN_SLACK) + JACOBIAN_SLACK:
            ratio = schedule(value.sensitivity, 1)[0] / schedule(value.scale, 1)[0]
            price = functools.partial(
                declared.pricing.sentence, {value.name: (ratio + witness.size - value.jacobian) / ratio}
            )
            text = f"log-determinants of the Hessians differ by {witness.size:.4g}, declared is {value.jacobian:.4g}"
            test = asked(False, text, Cause.CONTRIBUTION, price=price, witness=witness.text)
            break
    return shown.answer([test], (Aspect.CLIPPING,))


# -- the draws of unseeded runs ----------------------------------------------------------------------------------


def noise(shown: Shown) -> Answer:
    """Whether the noise is added, and is of the declared kind and scale."""
    collected, declared = shown.runs, shown.until(DRAWS_TIME)
    seen = {value.name: collected.noise(value.name) for value in declared.declaration.noised}
    if twice := mirrored(declared.declaration, collected.runs):
        raise Undecided(twice)
    missing = [name for name, array in seen.items() if not array.size]
    if missing:
        listed = ", ".join(missing)
        raise Undecided(f"runs release {listed} not at all, or in different shapes: their noise cannot be compared")
    infinite = declared.pricing.infinite
    lost, note = not_added(declared, collected.data, collected.runs)
    silent = [name for name, array in seen.items() if not np.any(array)]
    wrong, cause = lost, Cause.NOISE_LOST
    if not lost and silent:
        wrong, cause = f"the noise of {', '.join(silent)} is zero", Cause.NOISE_SMALL
    if wrong:
        test = Test.exact("noise", Aspect.NOISE, False, wrong, cause, price=infinite, witness=wrong)
        return shown.answer([test], (Aspect.NOISE,))
    tests = _tested(declared, seen)
    weak, energies = _weak(seen, shown), noise_energies(seen, declared.declaration, declared.rng)
    if not any(test.rejects(shown.share / max(1, len(tests))) for test in tests):
        if undecided := weak or _hasty(declared, collected):
            raise Undecided(undecided)
        if note:
            tests = [replace(tests[0], detail=f"{tests[0].detail}; {note}"), *tests[1:]]
    return replace(shown.answer(tests, (Aspect.NOISE,)), energies=None if weak else energies)


def _hasty(declared: DeclaredImplementation, collected: Collected) -> str:
    """Which objective is solved too roughly: the price is that of the exact minimiser, and of nothing near it."""
    for value in declared.declaration.noised:
        if value.enters == "objective":
            gap = residual(declared, value, collected.data, collected.runs[0], declared.seed())
            if gap > RESIDUAL:
                return (
                    f"{value.name} minimises the objective with its noise only roughly (the gradient is {gap:.3g} of "
                    f"the noise, at most {RESIDUAL:g} is needed); the price is that of the exact minimiser"
                )
    return ""


def _tested(declared: DeclaredImplementation, noise: dict[str, Floats]) -> list[Test]:
    """All tests of the noise of some values; what the noise costs is computed once, if it is needed."""
    values = {value.name: value for value in declared.declaration.noised if value.name in noise}
    counts = {name: declared.declaration.releases(value) for name, value in values.items()}
    price = functools.partial(cost_of_noise, declared.pricing, noise)
    return [replace(test, price=price) for test in noise_tests(noise, values, counts, declared.rng)]


def _weak(noise: dict[str, Floats], shown: Shown) -> str:
    """Why too little noise was seen for the power that was asked for; empty if it was enough."""
    for name, array in noise.items():
        alpha = shown.share / (6 * _FAMILIES * len(noise))
        threshold = stats.chi2.ppf(alpha, array.size)
        if stats.chi2.cdf(shown.power**2 * threshold, array.size) < _DETECTED:
            return f"{array.size} values of the noise of {name} are too few to see noise divided by {shown.power:g}"
    return ""


def sampling(shown: Shown) -> Answer:
    """Whether batches are drawn as declared, and used."""
    declared, seen = shown.declared, shown.offered()
    outside = {} if seen is None else seen.outside
    drawn, pricing = declared.declaration.sampling, declared.pricing

    def wrong(text: str, price: Callable[[], str]) -> Answer:
        test = Test.exact("sampling", Aspect.BATCHES, False, text, Cause.BATCH_LAW, price=price, witness=text)
        return shown.answer([test], (Aspect.BATCHES,))

    if outside:
        value, witness = next(iter(outside.items()))
        return wrong(f"{value} moves with a record that is in no batch; {witness.text}", pricing.unamplified)
    runs = [run.batches for run in shown.runs.runs]
    odd = malformed(runs, drawn, declared.records)
    if odd:
        copied = drawn.kind is Sampling.WITHOUT_REPLACEMENT and any(len({*b}) < len(b) for run in runs for b in run)
        return wrong(odd, pricing.with_replacement if copied else pricing.unamplified)
    tests = sampling_tests(runs, drawn, declared.records, declared.rng)
    return shown.answer([replace(test, price=pricing.unamplified) for test in tests], (Aspect.BATCHES,))


# -- the adapter's own runs --------------------------------------------------------------------------------------


def own_runs(shown: Shown) -> Answer:
    """Whether the adapter's own runs are those that it shows from the inside."""
    declared = shown.declared
    if not declared.session.can(Capability.TRIALS, Capability.RECORD):
        raise NotApplicable("no runs of its own (trials) beside those from the inside (record)")
    data = declared.send(declared.families.data(Others.RANDOM, declared.families.direction()))
    recorded = [declared.record(data) for _ in range(COMPARED)]
    if twice := mirrored(declared.declaration, recorded):
        raise Undecided(twice)
    seen = _first_noise(declared, data, recorded)
    tests = _tested(declared, seen) if seen else []
    compared = _same_as_recorded(declared, data)
    text = f"noise of the first release of {', '.join(seen)} as declared" if seen else "no noise could be isolated"
    return shown.answer([_other_law(declared, data, recorded, f"{text}; {compared}"), *tests], (Aspect.NOISE,))


def _first_noise(declared: DeclaredImplementation, data: str, shown: list[Recorded]) -> dict[str, Floats]:
    """What the first release of every value adds, where its value before the noise is the same in all runs.

    Not of values that are rounded or clamped after their noise: there the difference is no noise.
    """
    if declared.declaration.sampling.kind is not Sampling.ALL:
        return {}
    known = {}
    for value in declared.declaration.noised:
        before = [run.values[value.name].before[:1] for run in shown]
        same = all(each.size for each in before) and same_start(value, shown)
        added = value.enters == "value" and value.noise is not NoiseKind.DISCRETE
        if added and same and all(is_sum(run, value) for run in shown):
            known[value.name] = before[0][0]
    if not known:
        return {}
    runs = declared.trials(data, _count(declared, (before.size for before in known.values())))
    for name, before in known.items():
        other = next((run[name] for run in runs if not len(run[name]) or run[name][0].size != before.size), None)
        if other is not None:
            detail = f"every run from the inside releases {name} of {before.size} numbers, one of its own {other.shape}"
            raise declared.session.fault(Fault.CONTRADICTION, ProtocolStep.TRIALS, detail)
    return {name: np.array([rows(run[name])[:1] - before for run in runs]) for name, before in known.items()}


def _other_law(declared: DeclaredImplementation, data: str, shown: list[Recorded], fine: str) -> Test:
    """Whether unseeded runs release other values than unseeded runs from the inside, coordinate by coordinate.

    Kolmogorov and Smirnov's exact test of two samples, of up to `COORDINATES` coordinates of first and last release.
    """
    own = declared.trials(data, COMPARED)
    columns = []
    for value in declared.declaration.values:
        for place in (0, -1):
            sides = (
                [run.values[value.name].released[place] for run in shown if len(run.values[value.name].released)],
                [rows(run[value.name])[place] for run in own if len(run[value.name])],
            )
            if all(side and len({row.shape for row in side}) == 1 for side in sides) and sides[0][0].size:
                columns += _coordinates(value.name, np.array(sides[0]), np.array(sides[1]))
    if not columns:
        return Test("own-runs", Aspect.NOISE, 1.0, fine, Cause.NOT_AS_SHOWN)
    # of samples of one size: ties, as of signs, make the test more careful, never less
    halves = [(one[: len(other)], other[: len(one)]) for _, one, other in columns]

    def label(i: int) -> str:
        name, first, second = columns[i]
        return f"{name} (deviation {second.std():.4g} in runs of its own, {first.std():.4g} in runs from the inside)"

    each = np.array([tails.two_samples(*both, tails.Side.EITHER) for both in halves])
    p_value, text = union([TailFamily(f"{fine}; least alike:", each, label)])
    return Test("own-runs", Aspect.NOISE, p_value, text, Cause.NOT_AS_SHOWN, price=_no_epsilon)


def _no_epsilon() -> str:
    return "what was looked at is not what is run: no epsilon can be named for what is run"


def _coordinates(name: str, first: Floats, second: Floats) -> list[tuple[str, Floats, Floats]]:
    """Coordinates as they are, and how far they are from the median of both samples: exchangeable as well."""
    width = min(first.shape[1], second.shape[1], COORDINATES)
    found = [(name, first[:, j], second[:, j]) for j in range(width)]
    for j in range(width):
        centre = np.median(np.concatenate([first[:, j], second[:, j]]))
        found.append((f"spread of {name}", np.abs(first[:, j] - centre), np.abs(second[:, j] - centre)))
    return found


def _same_as_recorded(declared: DeclaredImplementation, data: str) -> str:
    """With one seed both must release the same; a fault where they do not."""
    if not declared.session.can(Capability.SEED):
        return "not compared with runs from the inside: no seed"
    seed = declared.seed()
    own, shown = declared.trials(data, 1, seed=seed)[0], declared.record(data, seed=seed)
    for name, value in shown.values.items():
        array = rows(own[name])
        if not len(array) and not len(value.released):
            continue
        if array.shape != value.released.shape or not np.allclose(array, value.released, rtol=1e-9, atol=1e-12):
            detail = f"with one seed `trials` and `record` release different values of {name}"
            raise declared.session.fault(Fault.CONTRADICTION, ProtocolStep.RECORD, detail)
    return "with one seed the same as runs from the inside"


# -- all of them -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeclaredQuestion:
    """One question about a declared algorithm; those that are not exact share the false alarms."""

    name: str
    ask: Callable[[Shown], Answer]
    statistical: bool = False
    applies: Callable[[Declaration], bool] = lambda _: True


QUESTIONS = (
    DeclaredQuestion("account", account, statistical=True),
    DeclaredQuestion("notions", notions),
    DeclaredQuestion("sensitivity", sensitivity),
    DeclaredQuestion("post-processing", post_processing),
    DeclaredQuestion("data-independence", independence),
    DeclaredQuestion("objective", objective, applies=lambda d: any(v.enters == "objective" for v in d.noised)),
    DeclaredQuestion("noise", noise, statistical=True),
    DeclaredQuestion("sampling", sampling, statistical=True, applies=lambda d: d.sampling.kind is not Sampling.ALL),
    DeclaredQuestion("own-runs", own_runs, statistical=True),
)


def ask_declared(
    declared: DeclaredImplementation,
    *,
    false_alarm: float,
    power: float,
    wants: Callable[[str], bool] = lambda _: True,
) -> Iterator[Result]:
    """Yield a result for every question that applies and is wanted."""
    asked = [q for q in QUESTIONS if q.applies(declared.declaration) and (declared.promises or q.ask is not notions)]
    share = false_alarm / sum(question.statistical for question in asked)
    shown = Shown(declared, share, power)
    for question in asked:
        if wants(question.name):
            about = about_declared(declared, question.name)
            yield concluded(about, lambda: question.ask(shown), share if question.statistical else 0.0)  # noqa: B023


def about_declared(declared: DeclaredImplementation, name: str) -> About:
    """What a question about a declared algorithm is called."""
    return About(name, declared.algorithm.name, Stage.DECLARED, declared.algorithm.name)
