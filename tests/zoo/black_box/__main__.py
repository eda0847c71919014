"""``python -m tests.zoo.black_box ID`` serves a subject on stdin and stdout, for `dpadmm audit --black-box`.

``list`` shows them all, ``measure [ID ...]`` audits them, ``campaign [AUDITS [ID ...]]`` the honest ones many times,
``slow`` all as if a run took half a second, and ``page`` prints docs/evidence/black-box.md from what these kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from audits.errors import AuditError
from tests.zoo.black_box import HONEST, WRONG, boxed
from verification.served.black_box import serve_batches

EVIDENCE = Path(__file__).parents[3] / "docs" / "evidence"
CAMPAIGN, MEASURED = EVIDENCE / "black-box-campaign.json", EVIDENCE / "black-box-measured.json"
SLOW = EVIDENCE / "black-box-slow.json"
_USAGE = "usage: python -m tests.zoo.black_box ID | list | measure [ID ...] | campaign [AUDITS [ID ...]] | slow | page"


def main(arguments: Sequence[str]) -> int:
    """Serve, list, run the campaign or print the page; 0 if all went well, 2 for a usage error."""
    match arguments:
        case ["list"]:
            for subject in (*WRONG, *HONEST):
                print(f"{subject.identity:24} {subject.neighbours:14} {subject.what}")
        case ["campaign", *rest]:
            from tests.zoo.black_box.campaign import run_campaign

            run_campaign(CAMPAIGN, int(rest[0]) if rest else 200, rest[1:])
        case ["slow"]:
            from tests.zoo.black_box.campaign import run_slow

            run_slow(SLOW)
        case ["page"]:
            print(page_text(), end="")
        case ["measure", *rest]:
            from tests.zoo.black_box.page import measure

            return 0 if measure(MEASURED, rest) else 1
        case [identity] if not identity.startswith("-"):
            try:
                subject = boxed(identity)
            except AuditError as error:
                print(f"{error}\n{_USAGE}", file=sys.stderr)
                return 2
            serve_batches(subject.run, subject.identity)
        case _:
            print(_USAGE, file=sys.stderr)
            return 2
    return 0


def page_text() -> str:
    """The page of evidence, from the files beside it."""
    from tests.zoo.black_box.campaign import read_campaign
    from tests.zoo.black_box.page import page, read_measured

    slow = json.loads(SLOW.read_text("utf-8"))
    return "\n".join(page(read_measured(MEASURED), read_campaign(CAMPAIGN), slow)) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
