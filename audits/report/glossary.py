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
    "trade-off": "The errors of a test that tries to tell two neighbours apart: how rarely it can be wrong on one, "
    "given how often it is wrong on the other.",
}


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
    """All terms as a list of definitions."""
    rows = "".join(
        f'<dt id="{anchor(term)}">{escape(term)}</dt><dd>{escape(text)}</dd>' for term, text in TERMS.items()
    )
    return f"<dl>{rows}</dl>"
