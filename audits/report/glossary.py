"""The words of a report that a reader may not know: explained on hover, on touch, and at the end of the page."""

from __future__ import annotations

import re
from html import escape

TERMS = {
    "epsilon": "The privacy parameter. A change of one record changes the probability of every outcome by "
    "a factor of at most e to the power of epsilon, up to delta. Smaller is more private.",
    "delta": "The probability that is allowed on top of what epsilon allows. It should be far below one over the "
    "number of records.",
    "neighbours": "Two data sets that differ in one record: replaced by another (the number of records is then "
    "public), or added or removed; the claim says which.",
    "mechanism": "What is said to be run: algorithm, number of records, batch, clipping, noise, iterations, what is "
    "released.",
    "noise": "Random values that are added so that no single record shows in what is released.",
    "sigma": "The standard deviation of each coordinate of the noise.",
    "clipping": "Scaling the gradient of a record down to a largest length, so that no record counts for more.",
    "batch": "The records that one iteration looks at. Its privacy rests on how they are drawn.",
    "sensitivity": "How far a value can move between neighbours. The noise must be scaled to it.",
    "iterate": "A value of the algorithm after one of its iterations.",
    "adapter": "The program through which the implementation is asked.",
    "coverage": "What was checked, at which sizes, and what was not.",
    "power": "The smallest violation that would have been detected, and the probability of detecting it. noise/1.2 "
    "means noise too small by a factor of 1.2.",
    "false alarm": "A correct implementation that is refuted.",
    "refuted": "Shown to be less private than claimed.",
    "stands": "Not refuted, by checks that would have detected the stated violation.",
    "deviates": "Different from what is claimed, and not less private.",
    "inconclusive": "Could not be decided. Never a pass.",
    "e-value": "A score of the evidence against a claim. If the claim is true, it ever exceeds 1/a with probability "
    "at most a.",
    "trade-off": "The errors of a test that tries to tell two neighbours apart: how rarely it can be wrong on one, "
    "given how often it is wrong on the other.",
}

PARTS = {
    "account": "Epsilon computed anew from the stated mechanism, with proved bounds. Nothing is run.",
    "conform": "Small, exact questions to the program: updates, clipping, sensitivity, batches, noise.",
    "deploy": "The program at the claimed size and without a seed, as it will run. Its parts:",
    "silent": "records without gradient, so that everything that moves is noise: its size, shape and independence.",
    "mixed": "ordinary records with outliers among them: the noise there, and the updates where they can be replayed.",
    "marked": "records that can be told apart in what is released: which are in each batch, and how much each counts.",
    "alike": "equal records, too long: whatever the batch, one clipped record shows, against the noise beside it.",
    "kinds": "many kinds of data in turn: noise that is left out for some of them.",
    "last": "whole runs of which only the last model is shown: the noise in it.",
    "rare": "many runs, and many requests for one: noise left out once in a while, and draws that come twice.",
    "audit": "A game: two neighbouring data sets, many runs on each, and a score that tries to tell them apart.",
    "declared": "In place of these stages, for an algorithm that its adapter describes itself: every release with "
    "its noise and sensitivity, priced, and compared with what the program does.",
    "learned scores": "An audit whose score is learned on one half of the runs and tested on the other.",
}
"""The stages of a gate and the parts of the stage `deploy`, as findings name them."""


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
