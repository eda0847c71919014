"""Rewrites the output shown in pages where it is stale: ``python -m tests.docs.update [PAGE...]``.

Blocks that agree are left as they are. In others each line shown is replaced by the printed line most like it, so that
ellipses stay where they are; where that does not agree either, the whole output is shown, to be shortened by hand.
"""

from __future__ import annotations

import difflib
import sys
import tempfile
from itertools import groupby
from pathlib import Path

from tests.docs.matching import matches
from tests.docs.pages import PAGES, ROOT, Kind, blocks
from tests.docs.session import Session, Step


def shown_again(step: Step) -> str:
    """What the page should show: the same lines, as they are printed now, or everything."""
    if step.agrees:
        return step.shown
    printed = step.printed.splitlines()
    lines = []
    for line in step.shown.splitlines():
        again = [line] if line.strip() == "..." else [p for p in printed if matches(line, p)]
        lines.append((again or difflib.get_close_matches(line, printed, n=1, cutoff=0.5) or [""])[0])
    abridged = "".join(f"{line}\n" for line in lines)
    return abridged if "..." in abridged and matches(abridged, step.printed) else step.printed


def updated(text: str, steps: list[Step]) -> str:
    """The page with the output of every block that is stale."""
    for block, played in reversed([(key, list(group)) for key, group in groupby(steps, key=lambda step: step.block)]):
        if all(step.agrees for step in played):
            continue
        if block.kind is Kind.CONSOLE:
            body = "".join(f"$ {step.command}\n{shown_again(step)}" for step in played)
        else:
            body = shown_again(played[0])
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
