"""Text that others chose, made harmless for a terminal: no control characters, nothing that turns its direction."""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
# Cc: control; Cf: invisible and direction-changing; Cs: halves of characters; Co: private use; Zl, Zp: other line ends
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def harmless(text: str) -> str:
    """Return the text with every control or formatting character but newline and tab replaced by a question mark."""
    return "".join(c if c in _KEPT or unicodedata.category(c) not in _DROPPED else "?" for c in text)
