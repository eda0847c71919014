"""What comparing neighbours says: the price, sensitivities, post-processing, what must not depend on the data."""

from __future__ import annotations

from fractions import Fraction

from accountant import AccountantError, decimal_string
from verification.declared.bench import Bench
from verification.declared.ledger import attained_epsilon, schedule
from verification.declared.objective import RELATIVE as JACOBIAN_SLACK
from verification.declared.objective import determinants
from verification.declared.promise import Pricing
from verification.declared.seen import RELATIVE, Seen
from verification.declared.two_scales import scale_finding
from verification.outcome import Finding, Outcome
from verification.wire.declaration import PURE, NoiseKind

_DIGITS = 6
_ATTAINED = 1 - 1e-6  # of a distance between neighbours that was computed in binary64


def account(bench: Bench, pricing: Pricing, seen: Seen | None) -> Finding:
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
        return Finding("account", Outcome.REFUTED, f"{text}, {promise.claimed()}", tags=("cause: the price",))
    try:
        upper = pricing.price().upper
    except AccountantError as error:
        return Finding("account", Outcome.INCONCLUSIVE, f"nothing could be certified: {error}")
    high = decimal_string(upper, _DIGITS, "up")
    if promise.epsilon >= upper:
        return Finding("account", Outcome.STANDS, f"epsilon at delta {delta} is at most {high}, {promise.claimed()}")
    text = f"{promise.claimed()}; certified is only that epsilon at delta {delta} is at most {high}"
    return Finding("account", Outcome.INCONCLUSIVE, text)


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


def sensitivity(_bench: Bench, pricing: Pricing, seen: Seen) -> Finding:
    """Whether a value moves by more than is declared."""
    name = "sensitivity"
    over = {value: seen_at for value, seen_at in seen.sensitivity.items() if seen_at.size > 1 + RELATIVE}
    shares = ", ".join(f"{value} {witness.size:.4g}" for value, witness in seen.sensitivity.items())
    for value, witness in seen.fractions.items():
        text = f"{value} moves by less than the grid of its noise, which hides multiples of it alone"
        lines = [text, witness.text, pricing.promise.infinite()]
        tags = ("cause: noise on a grid, values beside it",)
        return Finding(name, Outcome.REFUTED, "\n".join(lines), witness=witness.text, tags=tags)
    if over:
        worst = max(over, key=lambda value: over[value].size)
        lines = [
            f"{worst} moves by {over[worst].size:.4g} times its declared sensitivity",
            over[worst].text,
            pricing.sentence({value: witness.size for value, witness in over.items()}),
        ]
        largest = over[worst].size
        return Finding(
            name,
            Outcome.REFUTED,
            "\n".join(lines),
            tightness=largest,
            witness=over[worst].text,
            tags=("cause: a record counts for too much",),
        )
    tightness = max((witness.size for witness in seen.sensitivity.values()), default=0.0)
    if not seen.finished or seen.unrepeatable:
        return _unfinished(name, seen)
    text = f"largest movement over the declared one, in {seen.pairs} pairs of neighbours: {shares}"
    return Finding(name, Outcome.STANDS, text, tightness=tightness)


def post_processing(bench: Bench, pricing: Pricing, seen: Seen) -> Finding:
    """Whether something without noise moves with a record while everything that has noise is held fixed."""
    name = "post-processing"
    if seen.moved:
        worst = max(seen.moved, key=lambda value: seen.moved[value].size)
        sources = ", ".join(next(v.from_ for v in bench.declaration.values if v.name == worst))
        lines = [
            f"{worst} is declared to be computed from {sources} alone, and moves with a record while these do not",
            seen.moved[worst].text,
            pricing.promise.infinite(),
        ]
        tags = ("cause: released without noise",)
        return Finding(name, Outcome.REFUTED, "\n".join(lines), witness=seen.moved[worst].text, tags=tags)
    if not seen.finished or seen.unrepeatable:
        return _unfinished(name, seen)
    names = ", ".join(value.name for value in bench.declaration.processed) or "nothing"
    return Finding(name, Outcome.STANDS, f"without noise of its own: {names}; none of it moves with a record")


def independence(bench: Bench, pricing: Pricing, seen: Seen) -> Finding:
    """Whether what must not depend on the data is the same on neighbours."""
    name = "data-independence"
    found = _dependent(bench, pricing, seen)
    if found is not None:
        lines, text = found
        tags = ("cause: depends on the data",)
        return Finding(name, Outcome.REFUTED, "\n".join(lines), witness=text, tags=tags)
    scaled = scale_finding(bench, pricing, seen)
    if scaled is not None:
        return scaled
    fewer = _fewer(bench, seen)
    if fewer:
        return Finding(name, Outcome.DEVIATES, fewer)
    if not seen.finished or seen.unrepeatable:
        return _unfinished(name, seen)
    text = "number and shape of releases, noise scales and public quantities are the same on neighbours"
    if seen.other_noise:
        names = ", ".join(sorted(seen.other_noise))
        text = f"{text}; the seed does not fix the noise of {names}, so its scale was not compared"
    return Finding(name, Outcome.STANDS, text)


def _dependent(bench: Bench, pricing: Pricing, seen: Seen) -> tuple[list[str], str] | None:
    infinite = pricing.promise.infinite()
    different = seen.shapes or seen.unequal
    if different:
        return [different, infinite], different
    for value in bench.declaration.values:
        counts, declared = seen.counts.get(value.name, {}), bench.declaration.releases(value)
        fixed = bench.declaration.stopping == "fixed"
        if (fixed and len(counts) > 1) or max(counts, default=0) > declared:
            listed = "; ".join(f"{count}: {where}" for count, where in sorted(counts.items()))
            head = (
                f"{value.name} is released {' or '.join(map(str, sorted(counts)))} times a run, declared are {declared}"
            )
            return [head, listed, infinite if len(counts) > 1 else _more(pricing, value.name, counts, declared)], listed
    for name, witness in seen.public.items():
        return [f"{name} depends on a record", witness.text, infinite], witness.text
    return None


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


def objective(bench: Bench, pricing: Pricing) -> Finding:
    """Whether neighbours' Hessians differ by more than declared."""
    name = "objective"
    for value in bench.declaration.noised:
        if value.enters != "objective" or value.jacobian is None:
            continue
        witness = determinants(bench, value)
        if witness is None:
            return Finding(name, Outcome.SKIPPED, f"{value.name} has too many coordinates for its Hessian")
        if witness.size > value.jacobian * (1 + JACOBIAN_SLACK) + JACOBIAN_SLACK:
            ratio = schedule(value.sensitivity, 1)[0] / schedule(value.scale, 1)[0]
            lines = [
                f"log-determinants of the Hessians differ by {witness.size:.4g}, declared is {value.jacobian:.4g}",
                witness.text,
                pricing.sentence({value.name: (ratio + witness.size - value.jacobian) / ratio}),
            ]
            tags = ("cause: a record counts for too much",)
            return Finding(name, Outcome.REFUTED, "\n".join(lines), witness=witness.text, tags=tags)
    return Finding(name, Outcome.STANDS, "neighbours' Hessians differ by no more than declared")


def _unfinished(name: str, seen: Seen) -> Finding:
    if seen.unrepeatable:
        text = "without a seed, two runs on the same data with the same released values differ: nothing can be compared"
        return Finding(name, Outcome.INCONCLUSIVE, f"{text}; {seen.unrepeatable}")
    text = f"{seen.pairs} of {seen.planned} pairs of neighbours were compared before the time was over"
    return Finding(name, Outcome.INCONCLUSIVE, text)
