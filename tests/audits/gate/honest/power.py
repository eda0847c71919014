"""The stated power, measured behind the wire: ``python -m tests.audits.gate.honest.power [GATES]``.

Each violation is looked for many times, without seeds, by the stage that states a power for it. How often it was
refuted and the power that was stated are kept in power.json, and a test compares them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.audits.gate.honest.campaign import claim_text, honest_gate
from tests.audits.gate.honest.claimed import asked_at_the_claimed_size
from verification.judge import Plan
from verification.outcome import Outcome

GATES = 40
LEVEL = "1e-3"
SECONDS = 60.0
KEPT = Path(__file__).with_name("power.json")
_VARIANTS = [sys.executable, "-m", "tests.zoo.honest.variants"]
_REFERENCE = [sys.executable, "-m", "verification.served.loopback"]


@dataclass(frozen=True, slots=True)
class Measured:
    """How often a violation was looked for and refuted, and the least power that was stated for one look."""

    looks: int
    refuted: int
    stated: float


def uniform(looks: int) -> Measured:
    """noise/1.2, by the games; the power is the one that the verdict of an honest gate states for the weakest game."""
    honest = honest_gate(_REFERENCE, 0, LEVEL, only=("games",))
    powers = [f.power for f in honest.findings if f.power is not None]
    if not powers or any(power.divisor > 1.2 for power in powers):
        raise RuntimeError("the honest gate states no power for noise/1.2")
    refuted = sum(
        honest_gate([*_VARIANTS, "noise/1.2"], 2 * number, LEVEL, only=("games",)).outcome is Outcome.REFUTED
        for number in range(looks)
    )
    return Measured(looks, refuted, min(power.at_least for power in powers))


def at_the_claimed_size(variant: str, question: str, one_in: int | None, iterations: int = 100) -> Measured:
    """Ask one question at the claimed size once."""
    text = claim_text([*_VARIANTS, variant], 0, LEVEL)
    text = text.replace("iterations = 100\n", f"iterations = {iterations}\n")
    plan = Plan(float(LEVEL), SECONDS, 0)
    result = asked_at_the_claimed_size([*_VARIANTS, variant], text, plan, (question,))[question]
    energies = None if result.answer is None else result.answer.energies
    if one_in is not None and energies is None:
        raise RuntimeError(f"no runs were looked at: {result.reason}")
    # without noise over a stretch of iterations a variance is 0 where a draw is continuous: certain
    stated = 1.0 if one_in is None or energies is None else energies.power(1 / one_in, result.level)
    return Measured(1, int(result.outcome is Outcome.REFUTED), stated)


def _repeated(looks: int, look: Callable[[], Measured]) -> Measured:
    found = [look() for _ in range(looks)]
    return Measured(looks, sum(one.refuted for one in found), min(one.stated for one in found))


VIOLATIONS: dict[str, Callable[[int], Measured]] = {
    "noise/1.2": uniform,
    "noise/2 in 1 run of 50": lambda looks: _repeated(
        looks, lambda: at_the_claimed_size("noise/2 in 1 run of 50", "many-runs", 50)
    ),
    "noise/2 in 1 run of 2000": lambda looks: _repeated(
        looks, lambda: at_the_claimed_size("noise/2 in 1 run of 2000", "many-runs", 2000)
    ),
    "no noise from iteration 1000 on": lambda looks: _repeated(
        looks, lambda: at_the_claimed_size("no noise from iteration 1000 on", "silent", None, iterations=1200)
    ),
}
"""What is done to the noise, and how it is looked for."""


def main(arguments: list[str]) -> int:
    """Measure, and keep the counts."""
    looks = int(arguments[0]) if arguments else GATES
    kept = {}
    for name, measure in VIOLATIONS.items():
        kept[name] = asdict(measure(looks))
        print(name, kept[name], flush=True)
    KEPT.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
