"""Many audits of honest subjects: how often one is refuted, which is also how often the bound exceeds the claim.

The audits are small (few runs) and their level is high (5 %), so that a test which is wrong would show it; the code is
that of `dpadmm audit --black-box`, with the runs made in this process. Every audit has a seed of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy import stats

from audits.black_box.audit import BlackBoxPlan, BlackBoxResult, audit
from audits.errors import AuditError
from tests.zoo.black_box import CLAIM, HONEST, WRONG, BoxedSubject, LocalSource, SlowSource, boxed, claimed_curve
from verification.neighbours.families import library
from verification.outcome import Outcome

LEVEL = 0.05
EXPLORE, CONFIRM, TREES = 160, 400, 10
SLOW, SLOW_SECONDS, SLOW_AUDITS = 0.5, 300.0, {True: 10, False: 40}
"""A run takes so long and an audit, on a simulated clock; so many audits of a wrong subject, and of an honest one."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the audits of one honest subject said."""

    subject: str
    audits: int
    refuted: int
    largest_bound: str

    @property
    def p_value(self) -> float:
        """The probability of so many refutations or more if each has probability `LEVEL`."""
        return float(stats.binom.sf(self.refuted - 1, self.audits, LEVEL))


def one_audit(subject: BoxedSubject, seed: int) -> tuple[bool, float]:
    """Return whether the subject was refuted, and the lower bound."""
    plan = BlackBoxPlan(
        claimed_curve(),
        *CLAIM,
        false_alarm=LEVEL,
        explore=EXPLORE,
        confirm=CONFIRM,
        trees=TREES,
        seconds=math.inf,
        seed=seed,
    )
    result = audit(LocalSource(subject.run), library(subject.domain), plan)
    return result.outcome is Outcome.REFUTED, result.epsilon


def tally(subject: BoxedSubject, audits: int) -> Tally:
    """Audit one subject with the seeds 0, 1, ..."""
    found = [one_audit(subject, seed) for seed in range(audits)]
    bounds = [bound for _, bound in found]
    return Tally(subject.identity, audits, sum(refuted for refuted, _ in found), f"{max(bounds):.4f}")


def run_campaign(
    path: Path, audits: int, identities: Sequence[str] = (), told: Callable[[str], None] = print
) -> list[Tally]:
    """Audit the honest subjects and keep the tallies in a file, subject by subject; those that are there stay."""
    done = {each.subject: each for each in read_campaign(path)} if path.exists() else {}
    for subject in [boxed(name) for name in identities] or HONEST:
        if subject.identity not in done or done[subject.identity].audits != audits:
            done[subject.identity] = tally(subject, audits)
            kept = [done[each.identity] for each in HONEST if each.identity in done]
            path.write_text(json.dumps([asdict(each) for each in kept], indent=1) + "\n", "utf-8")
        told(f"{done[subject.identity]}")
    return list(done.values())


def read_campaign(path: Path) -> list[Tally]:
    """Read the tallies that a campaign kept."""
    try:
        return [Tally(**each) for each in json.loads(path.read_text("utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise AuditError(f"{path} is no file of a campaign: {error}") from None


# -- slow implementations -------------------------------------------------------------------------------------------


def slow_audit(subject: BoxedSubject, seed: int, *, false_alarm: float = 1e-3) -> BlackBoxResult:
    """Audit a subject whose runs take half a second, for five minutes with two workers."""
    source = SlowSource(subject.run, SLOW)
    plan = BlackBoxPlan(
        claimed_curve(), *CLAIM, false_alarm=false_alarm, bound=False, seconds=SLOW_SECONDS, detect=2.0, seed=seed
    )
    return audit(source, library(subject.domain), plan, clock=source.clock)


def run_slow(path: Path, told: Callable[[str], None] = print) -> None:
    """Keep how many of these audits refute: wrong subjects at the default level, honest ones at `LEVEL`."""
    refuted = {}
    for wrong, subject in [*((True, each) for each in WRONG), *((False, each) for each in HONEST)]:
        level = 1e-3 if wrong else LEVEL
        found = [slow_audit(subject, seed, false_alarm=level) for seed in range(SLOW_AUDITS[wrong])]
        refuted[subject.identity] = sum(each.outcome is Outcome.REFUTED for each in found)
        told(f"{subject.identity}: {refuted[subject.identity]} of {len(found)}")
    path.write_text(json.dumps(refuted, indent=1) + "\n", "utf-8")
