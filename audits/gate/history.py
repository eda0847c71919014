r"""Evidence that adds up: gates of unchanged code, night after night, in one file (`dpadmm gate --history FILE`).

Every gate bets against the claim, and what it bets with does not depend on what the nights before showed. An *e-value*
is a non-negative number whose mean is at most 1 if the claim is true. Nights draw fresh randomness, so that the product
over the nights of one e-value each is a test supermartingale; so is a fixed average of such products. By Ville's
inequality it *ever* reaches 1/a with probability at most a: however many nights there are, and whenever one looks.

Two kinds of bets, with half of the stake each, split over the mechanisms or the questions:

* **noise**: S, the sum of squares of all N noise values that a gate could read, over their claimed scale, is chi-square
  distributed. The likelihood ratio of noise too small by a factor d is d^N exp(-(d^2 - 1) S/2), of mean 1; larger noise
  than claimed makes it smaller. The bet is its average over `DIVISORS`.
* **questions**: a p-value p becomes 1/(2 sqrt p), whose mean is at most 1. A question that is asked again has two
  chances, which costs a factor 1 + s at most, s its share of the false alarms (`verification.judge`).

A new digest of claim file, adapter or declared files begins a new product: what was shown of other code says nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from audits.errors import AuditError
from audits.gate.report import Provenance
from verification.judge import Result, not_asked
from verification.outcome import About, Cause, Cost, Finding, Outcome, Stage
from verification.statistics.run_energies import RunEnergies

DIVISORS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5)
ABOUT = About("history", stage=Stage.CLAIMED)
_VERSION = 1
_LEAST_P = 1e-300


def noise_bet(energy: float, degrees: int) -> float:
    """The logarithm of the average likelihood ratio of noise that is too small."""
    parts = [degrees * math.log(d) - (d * d - 1) * energy / 2 for d in DIVISORS]
    return _log_mean(parts, [1 / len(parts)] * len(parts))


def question_bet(p_value: float, share: float) -> float:
    """The logarithm of the e-value of a question."""
    return -math.log(2) - math.log(max(min(p_value, 1.0), _LEAST_P)) / 2 - math.log1p(share)


@dataclass(slots=True)
class Night:
    """The bets of one gate as logarithms: on the noise of each mechanism, and on each question by its id."""

    on_noise: dict[str, float] = field(default_factory=dict)
    on_questions: dict[str, float] = field(default_factory=dict)

    def question(self, result: Result) -> None:
        """Bet on what a question showed about privacy; what was not answered, or needs no chance, is no bet."""
        if result.answer is None or result.reason:
            return
        chances = [t for t in result.answer.tests if not t.deterministic]
        against = [t.p_value for t in chances if t.cost is Cost.PRIVACY]
        if against:
            self.on_questions[str(result.about)] = question_bet(
                min(against) * len(against), result.level * len(chances)
            )

    def noise(self, subject: str, energies: RunEnergies) -> None:
        """Bet on all noise of a mechanism that was read."""
        if energies.runs:
            self.on_noise[subject] = noise_bet(float(energies.energies.sum()), int(energies.degrees.sum()))


@dataclass(frozen=True, slots=True)
class History:
    """Nights of one digest, oldest first."""

    path: Path
    digest: str
    nights: tuple[Night, ...]

    @classmethod
    def of(cls, path: Path, provenance: Provenance) -> History:
        """What the file holds of this digest; a file that cannot be read is an error, never an empty history."""
        digest = digest_of(provenance)
        try:
            lines = path.read_text("utf-8").splitlines() if path.exists() else []
            entries = [json.loads(line) for line in lines if line.strip()]
            kept = [e for e in entries if e["version"] == _VERSION and e["digest"] == digest]
            nights = tuple(Night(_read(e["on_noise"]), _read(e["on_questions"])) for e in kept)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise AuditError(f"--history: {path} is not a history: {error}") from None
        return cls(path, digest, nights)

    def with_night(self, night: Night) -> History:
        """One night more."""
        return History(self.path, self.digest, (*self.nights, night))

    def append(self, provenance: Provenance) -> None:
        """Write the last night at the end of the file."""
        last = self.nights[-1]
        bets = {"on_noise": _written(last.on_noise), "on_questions": _written(last.on_questions)}
        line = {"version": _VERSION, "date": provenance.date.isoformat(timespec="seconds"), "digest": self.digest}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, **bets}) + "\n")

    def finding(self, false_alarm: float) -> Finding:
        """Refuted where the evidence of all nights reaches 1/false_alarm."""
        evidence, loudest, on_noise = combined(self.nights)
        refuted = evidence >= -math.log(false_alarm)
        detail = (
            f"{len(self.nights)} gates of this digest have an e-value of {_power_of_ten(evidence)}, of "
            f"{1 / false_alarm:.3g} that refute; reached with probability at most {false_alarm:g}, however many nights"
        )
        detail += f"; most of it: {'the noise of ' if on_noise else ''}{loudest}" if refuted else ""
        cause = (Cause.NOISE_SMALL if on_noise else Cause.DISTINGUISHED) if refuted else None
        outcome = Outcome.REFUTED if refuted else Outcome.STANDS
        subject = (loudest if on_noise else About.read(loudest).mechanism) if refuted else ""
        said = not_asked(replace(ABOUT, subject=subject), outcome, detail)
        return replace(said, cause=cause, false_alarm=false_alarm)


def combined(nights: Sequence[Night]) -> tuple[float, str, bool]:
    """The logarithm of the average over all names of the products over all nights; who has the most, and on noise.

    Half of the stake is on noise, half on questions. Within a kind the names have shares 1/(k (k + 1)) in the order in
    which they first appear, by name within a night: shares that do not depend on any night's result, and never sum to
    more than 1. A name that is missing in a night has stake but no bet: a factor of 1.
    """
    logs, stakes, names = [], [], []
    for on_noise in (True, False):
        kind = [night.on_noise if on_noise else night.on_questions for night in nights]
        for k, name in enumerate(dict.fromkeys(name for bets in kind for name in sorted(bets)), start=1):
            names.append((name, on_noise))
            logs.append(sum(bets.get(name, 0.0) for bets in kind))
            stakes.append(0.5 / (k * (k + 1)))
    if not names:
        return 0.0, "", False
    rest = 1.0 - sum(stakes)  # stays as it is
    loudest = max(range(len(names)), key=lambda i: logs[i] + math.log(stakes[i]))
    return _log_mean([*logs, 0.0], [*stakes, rest]), *names[loudest]


def _read(bets: Mapping[str, object]) -> dict[str, float]:
    return {str(name): float(str(bet)) for name, bet in bets.items()}


def _written(bets: Mapping[str, float]) -> dict[str, str]:
    return {name: repr(bet) for name, bet in sorted(bets.items())}


def digest_of(provenance: Provenance) -> str:
    """One digest of claim file, adapter and declared files, and of the version that judges."""
    claim = [] if provenance.claim is None else [provenance.claim.sha256]
    parts = [provenance.version, *claim, *(f"{file.name} {file.sha256}" for file in provenance.files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _log_mean(logs: Iterable[float], weights: Iterable[float]) -> float:
    pairs = [(log, weight) for log, weight in zip(logs, weights, strict=True) if weight > 0]
    most = max(log for log, _ in pairs)
    return most + math.log(sum(weight * math.exp(log - most) for log, weight in pairs))


def _power_of_ten(log: float) -> str:
    return f"{math.exp(log):.3g}" if abs(log) < 600 else f"1e{log / math.log(10):+.0f}"
