"""The questions about a declared algorithm.

Its price, sensitivities, post-processing, what must not depend on the data, its noise and its batches. Each returns
tests, or raises `Undecided` where what was seen does not conclude it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import stats

from accountant import AccountantError, decimal_string
from accountant.mechanisms.words import Sampling
from verification.declared.added import not_added
from verification.declared.bench import Bench, OutOfTimeError
from verification.declared.cost import cost_of_noise
from verification.declared.ledger import attained_epsilon, schedule
from verification.declared.noise import noise_tests
from verification.declared.objective import RELATIVE as JACOBIAN_SLACK
from verification.declared.objective import RESIDUAL, determinants, residual
from verification.declared.promise import Pricing
from verification.declared.sampling import malformed, repeated, sampling_tests
from verification.declared.seen import RELATIVE, Seen, Witness
from verification.declared.two_scales import scale_tests
from verification.neighbours.families import Domain, Families
from verification.questions.question import Answer
from verification.reading.context import NotApplicable, Undecided
from verification.statistics.test import Aspect, Cause, Cost, Test
from verification.wire.arrays import Floats
from verification.wire.declaration import PURE, NoiseKind
from verification.wire.declared_session import Recorded

NUMBERS = 4000
"""So many noise values are looked at, of every value if it has as many coordinates as others."""
FEWEST_RUNS, MOST_RUNS = 16, 2000
_DIGITS = 6
_ATTAINED = 1 - 1e-6  # of a distance between neighbours that was computed in binary64
_DETECTED = 0.95
_FAMILIES = 16  # into which `size_tests` divides its level, at most, for each value


def answer(bench: Bench, tests: list[Test], covers: tuple[Aspect, ...], tightness: float | None = None) -> Answer:
    """Tests of a declared algorithm at its claimed size."""
    size = f"n = {bench.records:,}, p = {bench.columns:,}"
    return Answer("declared", size, 0, tuple(tests), covers, tightness=tightness)


# -- the price ---------------------------------------------------------------------------------------------------


def account(bench: Bench, pricing: Pricing, seen: Seen | None) -> Answer:
    """Whether the claimed epsilon is what the declaration costs."""
    promise = pricing.promise
    ratio = 0.0 if seen is None else _attained_ratio(bench, seen, pure=promise.delta == 0)
    delta = promise.delta_text()
    lower = Fraction(ratio) if promise.delta == 0 else attained_epsilon(Fraction(ratio) ** 2, promise.delta)
    if promise.epsilon < lower:
        low = decimal_string(lower, _DIGITS, "down")
        text = (
            f"epsilon at delta {delta} is at least {low} (with the declared noise, neighbours that were seen attain it)"
        )
        return _priced(bench, holds=False, detail=f"{text}, {promise.claimed()}")
    try:
        upper = pricing.price().upper
    except AccountantError as error:
        raise Undecided(f"nothing could be certified: {error}") from None
    high = decimal_string(upper, _DIGITS, "up")
    if promise.epsilon >= upper:
        return _priced(bench, holds=True, detail=f"epsilon at delta {delta} is at most {high}, {promise.claimed()}")
    raise Undecided(f"{promise.claimed()}; certified is only that epsilon at delta {delta} is at most {high}")


def _priced(bench: Bench, *, holds: bool, detail: str) -> Answer:
    return answer(bench, [Test.exact("price", Aspect.RELEASED, holds, detail, Cause.PRICE)], ())


def _attained_ratio(bench: Bench, seen: Seen, *, pure: bool) -> float:
    """The largest distance over the scale of the noise, of a first release: it depends on no earlier one.

    Only of the one value that has noise (another's release may come first), if it does not depend on the randomness.
    """
    if len(bench.declaration.noised) != 1 or not seen.fixed_start:
        return 0.0
    kinds = PURE if pure else (NoiseKind.GAUSSIAN,)
    found = [
        seen.first_release.get(v.name, 0.0) / schedule(v.scale, bench.declaration.releases(v))[0]
        for v in bench.declaration.noised
        if v.noise in kinds and v.enters == "value"
    ]
    return max([0.0, *found]) * _ATTAINED


# -- neighbours --------------------------------------------------------------------------------------------------


def sensitivity(bench: Bench, pricing: Pricing, seen: Seen) -> Answer:
    """Whether a value moves by more than is declared."""
    over = {value: seen_at for value, seen_at in seen.sensitivity.items() if seen_at.size > 1 + RELATIVE}
    shares = ", ".join(f"{value} {witness.size:.4g}" for value, witness in seen.sensitivity.items())
    largest = max((witness.size for witness in seen.sensitivity.values()), default=0.0)

    def judged(holds: bool, detail: str, cause: Cause, price: Callable[[], str], witness: str) -> Answer:
        test = Test.exact("sensitivity", Aspect.CLIPPING, holds, detail, cause, price=price, witness=witness)
        return answer(bench, [test], (Aspect.CLIPPING,), largest)

    for value, witness in seen.fractions.items():
        text = f"{value} moves by less than the grid of its noise, which hides multiples of it alone"
        return judged(False, text, Cause.NOISE_GRID, pricing.promise.infinite, witness.text)
    if over:
        worst = max(over, key=lambda value: over[value].size)
        weights = {value: witness.size for value, witness in over.items()}
        text = f"{worst} moves by {over[worst].size:.4g} times its declared sensitivity"
        shown = "\n".join([over[worst].text, *([seen.smallest[worst]] if worst in seen.smallest else [])])
        return judged(False, text, Cause.CONTRIBUTION, lambda: pricing.sentence(weights), shown)
    _finished(seen)
    text = f"largest movement over the declared one, in {seen.pairs} pairs of neighbours: {shares}"
    return judged(True, text, Cause.CONTRIBUTION, pricing.promise.infinite, "")


def post_processing(bench: Bench, pricing: Pricing, seen: Seen) -> Answer:
    """Whether something without noise moves with a record while everything that has noise is held fixed."""

    def judged(holds: bool, detail: str, witness: str) -> Answer:
        infinite = pricing.promise.infinite
        test = Test.exact(
            "post-processing", Aspect.RELEASED, holds, detail, Cause.UNNOISED, price=infinite, witness=witness
        )
        return answer(bench, [test], (Aspect.RELEASED,))

    if seen.moved:
        worst = max(seen.moved, key=lambda value: seen.moved[value].size)
        sources = ", ".join(next(v.from_ for v in bench.declaration.values if v.name == worst))
        text = f"{worst} is declared to be computed from {sources} alone, and moves with a record while these do not"
        return judged(False, text, seen.moved[worst].text)
    _finished(seen)
    names = ", ".join(value.name for value in bench.declaration.processed) or "nothing"
    return judged(True, f"without noise of its own: {names}; none of it moves with a record", "")


def independence(bench: Bench, pricing: Pricing, seen: Seen) -> Answer:
    """Whether what must not depend on the data is the same on neighbours."""
    found = _dependent(bench, pricing, seen) or scale_tests(bench, pricing, seen)
    if not found:
        fewer = _fewer(bench, seen)
        if not fewer:
            _finished(seen)
        text = "number and shape of releases, noise scales and public quantities are the same on neighbours"
        if seen.other_noise:
            names = ", ".join(sorted(seen.other_noise))
            text = f"{text}; the seed does not fix the noise of {names}, so its scale was not compared"
        cost = Cost.NOTHING if fewer else Cost.PRIVACY
        found = [Test.exact("data-independence", Aspect.RELEASED, not fewer, fewer or text, Cause.DATA_DEPENDENT, cost)]
    return answer(bench, found, (Aspect.RELEASED,))


def _dependent(bench: Bench, pricing: Pricing, seen: Seen) -> list[Test]:
    infinite = pricing.promise.infinite

    def depends(detail: str, witness: str, price: Callable[[], str] = infinite) -> list[Test]:
        cause = Cause.DATA_DEPENDENT
        return [Test.exact("data-independence", Aspect.RELEASED, False, detail, cause, price=price, witness=witness)]

    different = seen.shapes or seen.unequal
    if different:
        return depends(different, different)
    for value in bench.declaration.values:
        counts, declared = seen.counts.get(value.name, {}), bench.declaration.releases(value)
        fixed = bench.declaration.stopping == "fixed"
        if (fixed and len(counts) > 1) or max(counts, default=0) > declared:
            listed = "; ".join(f"{count}: {where}" for count, where in sorted(counts.items()))
            times = " or ".join(map(str, sorted(counts)))
            head = f"{value.name} is released {times} times a run, declared are {declared}"
            cost = infinite() if len(counts) > 1 else _more(pricing, value.name, counts, declared)
            return depends(head, listed, lambda: cost)  # noqa: B023 - of this round
    for name, witness in seen.public.items():
        return depends(f"{name} depends on a record", witness.text)
    return []


def _more(pricing: Pricing, name: str, counts: dict[int, str], declared: int) -> str:
    """More releases than declared, always: as if the ratio were larger by the root of their number."""
    factor = (max(counts) / declared) ** 0.5
    value = next(v for v in pricing.bench.declaration.values if v.name == name)
    if value.noise in (NoiseKind.GAUSSIAN, NoiseKind.DISCRETE):
        return pricing.sentence({name: factor})
    return pricing.sentence({name: factor**2}) if value.noise in PURE else pricing.promise.infinite()


def _fewer(bench: Bench, seen: Seen) -> str:
    """Always fewer releases than declared costs nothing."""
    if bench.declaration.stopping != "fixed":
        return ""
    for value in bench.declaration.values:
        counts, declared = seen.counts.get(value.name, {}), bench.declaration.releases(value)
        if counts and max(counts) < declared:
            return f"{value.name} is released {max(counts)} times a run, declared are {declared}"
    return ""


def objective(bench: Bench, pricing: Pricing) -> Answer:
    """Whether neighbours' Hessians differ by more than declared."""
    text = "neighbours' Hessians differ by no more than declared"
    found = [Test.exact("objective", Aspect.CLIPPING, True, text, Cause.CONTRIBUTION)]
    for value in bench.declaration.noised:
        if value.enters != "objective" or value.jacobian is None:
            continue
        witness = determinants(bench, value)
        if witness is None:
            raise NotApplicable(f"{value.name} has too many coordinates for its Hessian")
        if witness.size > value.jacobian * (1 + JACOBIAN_SLACK) + JACOBIAN_SLACK:
            ratio = schedule(value.sensitivity, 1)[0] / schedule(value.scale, 1)[0]
            weights = {value.name: (ratio + witness.size - value.jacobian) / ratio}
            text = f"log-determinants of the Hessians differ by {witness.size:.4g}, declared is {value.jacobian:.4g}"
            price = _sentence(pricing, weights)
            found = [
                Test.exact(
                    "objective",
                    Aspect.CLIPPING,
                    False,
                    text,
                    Cause.CONTRIBUTION,
                    price=price,
                    witness=witness.text,
                )
            ]
            break
    return answer(bench, found, (Aspect.CLIPPING,))


def _sentence(pricing: Pricing, weights: Mapping[str, float]) -> Callable[[], str]:
    return lambda: pricing.sentence(weights)


def _finished(seen: Seen) -> None:
    """Undecided where the comparison of neighbours was not finished, or nothing repeats."""
    if seen.unrepeatable:
        text = "without a seed, two runs on the same data with the same released values differ: nothing can be compared"
        raise Undecided(f"{text}; {seen.unrepeatable}")
    if not seen.finished:
        text = f"{seen.pairs} of {seen.planned} pairs of neighbours were compared before the time was over"
        raise Undecided(text)


# -- the draws of unseeded runs ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure a refutation must be, and what must have been detectable."""

    share: float
    power: float


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


def collect(bench: Bench) -> Collected:
    """As many unseeded runs as the tests need."""
    families = Families(Domain.of(bench.declaration, bench.records, bench.columns), bench.rng)
    names = [bench.send(points) for points in families.different()]
    data = names[0]
    first = bench.record(data)
    fewest = min(max(1, first.values[value.name].noise.size) for value in bench.declaration.noised)
    count = int(np.clip(-(-round(NUMBERS * bench.effort) // fewest), FEWEST_RUNS, MOST_RUNS))
    runs = [first]
    try:
        while len(runs) < count:
            runs.append(bench.record(names[len(runs) % len(names)]))
    except OutOfTimeError:
        if len(runs) < FEWEST_RUNS:
            raise
    return Collected(data, runs)


def noise_check(bench: Bench, collected: Collected, pricing: Pricing, level: Certainty) -> Answer:
    """Whether the noise is added, and is of the declared kind and scale."""
    noise = {value.name: collected.noise(value.name) for value in bench.declaration.noised}
    missing = [name for name, array in noise.items() if not array.size]
    if missing:
        text = f"runs release {', '.join(missing)} not at all, or in different shapes: their noise cannot be compared"
        raise Undecided(text)
    infinite = pricing.promise.infinite
    lost, note = not_added(bench, collected.data, collected.runs)
    if lost:
        test = Test.exact("noise", Aspect.NOISE, False, lost, Cause.NOISE_LOST, price=infinite, witness=lost)
        return answer(bench, [test], (Aspect.NOISE,))
    silent = [name for name, array in noise.items() if not np.any(array)]
    if silent:
        text = f"the noise of {', '.join(silent)} is zero"
        test = Test.exact("noise", Aspect.NOISE, False, text, Cause.NOISE_SMALL, price=infinite, witness=text)
        return answer(bench, [test], (Aspect.NOISE,))
    tests = tested(bench, noise, pricing)
    share = level.share / max(1, len(tests))
    if not any(test.rejects(share) for test in tests):
        weak = _weak(noise, level) or _hasty(bench, collected)
        if weak:
            raise Undecided(weak)
        if note:
            tests = [replace(tests[0], detail=f"{tests[0].detail}; {note}"), *tests[1:]]
    return answer(bench, tests, (Aspect.NOISE,))


def _hasty(bench: Bench, collected: Collected) -> str:
    """Which objective is solved too roughly: its price is that of the exact minimiser, and nobody's of what is near."""
    for value in bench.declaration.noised:
        if value.enters == "objective":
            gap = residual(bench, value, collected.data, collected.runs[0], bench.seed())
            if gap > RESIDUAL:
                return (
                    f"{value.name} minimises the objective with its noise only roughly (the gradient is {gap:.3g} of "
                    f"the noise, at most {RESIDUAL:g} is needed); the price is that of the exact minimiser"
                )
    return ""


def tested(bench: Bench, noise: dict[str, Floats], pricing: Pricing) -> list[Test]:
    """All tests of the noise of some values; what the noise costs is computed once, if it is needed."""
    values = {value.name: value for value in bench.declaration.noised if value.name in noise}
    counts = {name: bench.declaration.releases(value) for name, value in values.items()}
    return [
        replace(test, price=lambda: cost_of_noise(pricing, noise))
        for test in noise_tests(noise, values, counts, bench.rng)
    ]


def _weak(noise: dict[str, Floats], level: Certainty) -> str:
    """Why too little noise was seen for the power that was asked for; empty if it was enough."""
    for name, array in noise.items():
        alpha = level.share / (6 * _FAMILIES * len(noise))
        threshold = stats.chi2.ppf(alpha, array.size)
        if stats.chi2.cdf(level.power**2 * threshold, array.size) < _DETECTED:
            return f"{array.size} values of the noise of {name} are too few to see noise divided by {level.power:g}"
    return ""


def sampling_check(bench: Bench, collected: Collected, outside: dict[str, Witness], pricing: Pricing) -> Answer:
    """Whether batches are drawn as declared, and used."""
    sampling = bench.declaration.sampling

    def wrong(text: str, price: Callable[[], str]) -> Answer:
        test = Test.exact("sampling", Aspect.BATCHES, False, text, Cause.BATCH_LAW, price=price, witness=text)
        return answer(bench, [test], (Aspect.BATCHES,))

    if outside:
        value, witness = next(iter(outside.items()))
        return wrong(f"{value} moves with a record that is in no batch; {witness.text}", pricing.unamplified)
    runs = [run.batches for run in collected.runs]
    odd = malformed(runs, sampling, bench.records)
    if odd:
        copied = sampling.kind is Sampling.WITHOUT_REPLACEMENT and repeated(runs)
        return wrong(odd, pricing.with_replacement if copied else pricing.unamplified)
    tests = sampling_tests(runs, sampling, bench.records, bench.rng)
    return answer(bench, [replace(test, price=pricing.unamplified) for test in tests], (Aspect.BATCHES,))
