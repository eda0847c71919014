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

from audits.black_box.audit import BlackBoxPlan, audit
from audits.black_box.source import LocalSource
from audits.errors import AuditError
from tests.zoo.black_box import CLAIM, HONEST, BoxedSubject, boxed, claimed_curve
from verification.neighbours.families import library
from verification.outcome import Outcome

LEVEL = 0.05
EXPLORE, CONFIRM, TREES = 160, 400, 10


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
