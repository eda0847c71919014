"""The score of the last `make mutants`: detected mutants as a fraction of those tried."""

from __future__ import annotations

import json
import sys
from pathlib import Path

STATISTICS = Path("mutants") / "mutmut-cicd-stats.json"
DETECTED = ("killed", "timeout")
UNDETECTED = ("survived", "no_tests", "suspicious", "segfault")


def score(statistics: dict[str, int]) -> str:
    """One line; mutants that no test executes count as undetected, those not asked for do not count."""
    detected = sum(statistics[kind] for kind in DETECTED)
    tried = detected + sum(statistics[kind] for kind in UNDETECTED)
    if not tried:
        raise SystemExit("no mutant was tried")
    kinds = ", ".join(f"{statistics[kind]} {kind.replace('_', ' ')}" for kind in DETECTED + UNDETECTED)
    return f"{detected} of {tried} mutants detected ({100 * detected / tried:.1f} %): {kinds}"


if __name__ == "__main__":
    sys.stdout.write(score(json.loads(STATISTICS.read_text("utf-8"))) + "\n")
