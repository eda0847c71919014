"""Rewrites the output shown in pages where it is stale: ``python -m tests.docs.update [PAGE...]``.

Blocks that agree are left as they are, with their ellipses; in others the whole output is replaced, to be shortened by
hand.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import groupby
from pathlib import Path

from tests.docs.pages import PAGES, ROOT, Kind, blocks
from tests.docs.session import Session, Step


def updated(text: str, steps: list[Step]) -> str:
    """The page with the output of every block that is stale."""
    for block, played in reversed([(key, list(group)) for key, group in groupby(steps, key=lambda step: step.block)]):
        if all(step.agrees for step in played):
            continue
        if block.kind is Kind.CONSOLE:
            body = "".join(f"$ {step.command}\n{step.shown if step.agrees else step.printed}" for step in played)
        else:
            body = played[0].printed
        text = text[: block.start] + body + text[block.end :]
    return text


def main(arguments: list[str]) -> int:
    """Run the pages named, or all, and write those that changed."""
    for path in [ROOT / argument for argument in arguments] or PAGES:
        text = path.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder:
            new = updated(text, list(Session(Path(folder)).play(blocks(text), slow=True)))
        if new != text:
            path.write_text(new, "utf-8")
            print(f"rewritten: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
