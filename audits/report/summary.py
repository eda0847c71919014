"""The result for a reader who does not know the field: what was promised, whether it holds, what to do; a glossary."""

from __future__ import annotations

import math
import re
from html import escape

from accountant import decimal_string
from accountant.mechanisms.words import Neighbours
from audits.gate.report import GateReport, grouped, least_power
from verification.outcome import Outcome
from verification.plain_text import harmless

_DIGITS = 12


def summary(report: GateReport) -> str:
    """One paragraph of plain sentences."""
    return " ".join([_promised(report), _found(report), _advice(report)])


def _who(report: GateReport) -> str:
    described = report.provenance.implementation
    return "The tested program" if described is None else f"The program {described.name} {described.version}"


def _promised(report: GateReport) -> str:
    claim = report.claims.claim
    if claim.nothing:
        return f"{_who(report)} promises no privacy."
    k = report.claims.group_size
    whom = "single record" if k == 1 else f"{k} records"
    change = (
        ("replacing one record by another" if k == 1 else f"replacing up to {k} records by others")
        if claim.neighbours is Neighbours.REPLACE_ONE
        else "taking away what one record contributes"
        if claim.neighbours is Neighbours.ZERO_OUT
        else "adding or removing one record"
    )
    exception = (
        f"apart from a probability of at most {decimal_string(claim.delta, _DIGITS, 'up')} (delta)"
        if claim.delta
        else "without exception (delta = 0)"
    )
    factor = math.exp(min(float(claim.epsilon), 700.0))
    return (
        f"{_who(report)} promises a limit on what can be learned about any {whom} of its data from what it "
        f"releases: {change} changes the probability of any outcome by a factor of at most "
        f"{factor:.3g} (epsilon = {float(claim.epsilon):g}), {exception}."
    )


def _found(report: GateReport) -> str:
    outcome = report.outcome
    if outcome is Outcome.REFUTED:
        causes = list(dict.fromkeys(g.cause for g in grouped(report.findings) if g.findings[0].outcome is outcome))
        why = f" What was found: {harmless('; '.join(causes))}." if causes else ""
        return f"This promise is not kept: it was refuted, with evidence that is shown below.{why}{_costs(report)}"
    if report.partial:
        return "Only a part of the checks was run, so nothing can be concluded about the promise as a whole."
    return {
        Outcome.STANDS: "The checks listed below tried to refute this promise, and none of them did. "
        + _would_have(report),
        Outcome.DEVIATES: "What is run differs from what is stated, but nothing showed that it is less private. "
        + _would_have(report),
        Outcome.INCONCLUSIVE: "Nothing refuted this promise, but not enough could be checked to let it stand.",
        Outcome.ADAPTER_FAILED: "The program stopped or answered wrongly: nothing can be concluded about the promise.",
        Outcome.FAULT: "The checks themselves failed: nothing can be concluded about the promise.",
    }[outcome]


def _costs(report: GateReport) -> str:
    """What the noise that was measured costs, where a finding says it."""
    costs = next((f.measured for f in report.findings if f.outcome is Outcome.REFUTED and f.measured), "")
    return f" {harmless(costs[0].upper() + costs[1:])}." if costs else ""


def _would_have(report: GateReport) -> str:
    power = least_power(report)
    if power is None:
        return "It is a result of tests, not a proof."
    return (
        f"It is a result of tests, not a proof: noise too small by a factor of {power.divisor:.3g} would have been "
        f"detected with a probability of at least {math.floor(100 * power.at_least) / 100:.2f} in each of the games "
        "that were played."
    )


def _advice(report: GateReport) -> str:
    return {
        Outcome.REFUTED: "Do not rely on the promise, and do not release anything more, until the cause is fixed.",
        Outcome.STANDS: "",
        Outcome.DEVIATES: "Change the claim or the program, so that they agree.",
        Outcome.INCONCLUSIVE: "This is not a pass; the findings list what is missing.",
        Outcome.ADAPTER_FAILED: "Fix the program or its adapter, and check again.",
        Outcome.FAULT: "Please report this as a fault of dpadmm.",
    }[report.outcome]


TERMS = {
    "epsilon": "The privacy parameter. A change of one record changes the probability of every outcome by "
    "a factor of at most e to the power of epsilon, up to delta. Smaller is more private.",
    "delta": "The probability that is allowed on top of what epsilon allows. It should be far below one over the "
    "number of records.",
    "neighbours": "Two data sets that differ in one record: replaced by another (the number of records is then "
    "public), or added or removed; the claim says which.",
    "mechanism": "What is claimed to be run: algorithm, number of records, batch, clipping, noise, iterations, what is "
    "released.",
    "noise": "Random values that are added so that no single record can be recognised in what is released.",
    "sigma": "The standard deviation of each coordinate of the noise.",
    "clipping": "Scaling the gradient of a record down to a largest length, so that no record counts for more.",
    "batch": "The records that one iteration uses. The privacy of the iteration depends on how they are drawn.",
    "sensitivity": "How far a value can move between neighbours. The noise must be scaled to it.",
    "iterate": "A value of the algorithm after one of its iterations.",
    "adapter": "The program that connects the implementation to the gate.",
    "coverage": "What was checked, at which sizes, and what was not.",
    "power": "The smallest violation that would have been detected, and the probability of detecting it. noise/1.2 "
    "means noise too small by a factor of 1.2.",
    "false alarm": "A correct implementation that is refuted.",
    "refuted": "Shown to be less private than claimed.",
    "stands": "Not refuted, by checks that would have detected the stated violation.",
    "deviates": "Different from what is claimed, and not less private.",
    "inconclusive": "Could not be decided. Never a pass.",
    "e-value": "A measure of the evidence against a claim. If the claim is true, it exceeds 1/a at any time with "
    "probability at most a.",
    "trade-off": "The errors of a test that tries to distinguish two neighbours: how rarely it can be wrong on one, "
    "given how often it is wrong on the other.",
}

PARTS = {
    "price": "Epsilon computed anew from the stated mechanism, with proved bounds. Nothing is run.",
    "small": "Questions at a few records, mostly exact: updates, clipping, sensitivity, batches, noise.",
    "claimed": "Questions at the claimed size and without a seed, as the program will run. Among them:",
    "silent": "records without gradient, so that everything that moves is noise: its size, shape and independence.",
    "mixed": "ordinary records with outliers among them: the noise there, and the updates where they can be replayed.",
    "marked": "records that can be recognised in what is released: which are in each batch, and how much each counts.",
    "dependence": "ordinary records, one of them replaced: how far one step without noise moves.",
    "identical": "equal records, longer than the bound: every batch shows one clipped record, against the noise.",
    "data-shapes": "many kinds of data in turn: noise that is left out for some of them.",
    "last": "whole runs of which only the last model is shown: the noise in it.",
    "many-runs": "many runs, and many requests for one: noise left out once in a while, and draws that come twice.",
    "all-runs": "every run of the gate whose noise could be read, together: runs that were too quiet.",
    "games": "Two neighbouring data sets, many runs on each, and a score that tries to distinguish them.",
    "learned-scores": "A game whose score is learned on one half of the runs and tested on the other.",
    "declared": "In place of these stages, for an algorithm that its adapter describes itself: every release with "
    "its noise and sensitivity, priced, and compared with what the program does.",
}
"""The stages of a gate and the questions at the claimed size, as the ids of findings name them."""


def explained(text: str) -> str:
    """Escape the text and explain each of the terms where it first occurs in it."""
    shown = escape(text)
    names = "|".join(sorted((re.escape(term) for term in TERMS), key=len, reverse=True))
    seen: set[str] = set()

    def link(found: re.Match[str]) -> str:
        term = found[0].lower()
        if term in seen:
            return found[0]
        seen.add(term)
        return f'<abbr title="{escape(TERMS[term], quote=True)}"><a href="#{anchor(term)}">{found[0]}</a></abbr>'

    return re.sub(rf"(?<![\w&#/-])(?:{names})(?![\w-])", link, shown, flags=re.IGNORECASE)


def anchor(term: str) -> str:
    """The address of a term within the page."""
    return f"term-{term.replace(' ', '-')}"


def glossary() -> str:
    """All terms, and the stages of a gate, as lists of definitions."""
    rows = "".join(
        f'<dt id="{anchor(term)}">{escape(term)}</dt><dd>{escape(text)}</dd>' for term, text in TERMS.items()
    )
    parts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in PARTS.items())
    return f"<dl>{rows}</dl><h3>The stages of the gate</h3><dl>{parts}</dl>"
