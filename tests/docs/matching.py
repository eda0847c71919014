"""Whether what a command printed is what a page shows.

A line `...` in the page stands for any number of lines, `...` within a line for any text. Seeds and times are left out
of the comparison. In lines without `...`, numbers with a decimal point agree if they are the same to the digits shown
or to one part in a million. Everything else must be the same text, but for the width of blanks.
"""

from __future__ import annotations

import math
import re

TOLERANCE = 1e-6
_VOLATILE = (
    (re.compile(r"\bseed \d+"), "seed N"),
    (re.compile(r"--seed \d+"), "--seed N"),
    (re.compile(r"\b\d+(?:\.\d+)? s\b"), "T s"),
    (re.compile(r"(?<=\S) +"), " "),
    (re.compile(r"^ +", re.MULTILINE), "  "),
)
_TOKEN = re.compile(r"[+-]?\d+\.\d+(?:e[+-]?\d+)?|[^\d.+-]+|.", re.DOTALL)


def matches(shown: str, printed: str) -> bool:
    """Whether the output is the one that the page shows."""
    return _lines(_without_volatile(shown).splitlines(), _without_volatile(printed).splitlines())


def _without_volatile(text: str) -> str:
    for pattern, stand_in in _VOLATILE:
        text = pattern.sub(stand_in, text)
    return text


def _lines(shown: list[str], printed: list[str]) -> bool:
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(_lines(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and _line(shown[0].rstrip(), printed[0].rstrip()) and _lines(shown[1:], printed[1:])


def _line(shown: str, printed: str) -> bool:
    if "..." in shown:
        pattern = ".*".join(re.escape(part) for part in shown.split("..."))
        return re.fullmatch(pattern, printed) is not None
    wanted, got = _TOKEN.findall(shown), _TOKEN.findall(printed)
    return len(wanted) == len(got) and all(map(_token, wanted, got))


def _token(shown: str, printed: str) -> bool:
    if shown == printed:
        return True
    if not (_is_number(shown) and _is_number(printed)):
        return False
    last_digit = 10.0 ** -len(re.sub(r"e.*", "", shown).partition(".")[2])
    wanted, got = float(shown), float(printed)
    scale = 10.0 ** float(shown.partition("e")[2] or 0)
    return abs(wanted - got) <= last_digit * scale / 2 or math.isclose(wanted, got, rel_tol=TOLERANCE)


def _is_number(token: str) -> bool:
    return re.fullmatch(r"[+-]?\d+\.\d+(?:e[+-]?\d+)?", token) is not None
