r"""Evidence that adds up: gates of unchanged code, night after night, in one file (`dpadmm gate --history FILE`).

Every gate bets against the claim, and what it bets with does not depend on what the nights before showed. An *e-value*
is a non-negative number whose mean is at most 1 if the claim is true. Nights draw fresh randomness, so that the product
over the nights of one e-value each is a test supermartingale; so is a fixed average of such products. By Ville's
inequality it *ever* reaches 1/a with probability at most a: however many nights there are, and whenever one looks.

Two kinds of bets, with half of the stake each, split over the mechanisms or the questions:

* **noise**: S, the sum of squares of all N noise values that were read, over their claimed scale, is chi-square
  distributed. The likelihood ratio of noise too small by a factor d is d^N exp(-(d^2 - 1) S/2), of mean 1; larger noise
  than claimed makes it smaller. The bet is its average over `DIVISORS`: S and N of all nights are summed first.
* **questions**: a p-value p becomes 1/(2 sqrt p), whose mean is at most 1.

Bets that are left out cost a factor a night. A gate that ends at a refutation, with probability at most a, does not
make the rest: a factor 1 where the bet would have had a mean of at most 1, so 1 + a. A question that is asked again has
two chances: 1 + a more. One that is undecided unless its p-value is at most a has a mean of at most 1 + sqrt a, the
integral of 1/(2 sqrt p) up to a being sqrt a.

A new digest of claim file, adapter or declared files begins a new product: what was shown of other code says nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scipy import special

from audits.errors import AuditError
from audits.gate.report import Provenance
from verification.judge import Result, concluded
from verification.outcome import About, Cause, Cost, Picture, Stage
from verification.pictures import against_claim
from verification.questions.question import Answer
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Test

DIVISORS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5)
"""Noise short by less than about half of the first wins nothing, however many nights: rounding is not accused."""
ABOUT = About("history", stage=Stage.CLAIMED)
DETECTED = 0.95
"""The probability with which the shortage that the verdict states would have been detected."""
_VERSION = 2
_LEAST_P = 1e-300
_MOST = 100.0  # a shortage beyond this is not searched for


def noise_bet(energy: float, degrees: int) -> float:
    """The logarithm of the average likelihood ratio of noise that is too small."""
    parts = [degrees * math.log(d) - (d * d - 1) * energy / 2 for d in DIVISORS]
    return _log_mean(parts, [1 / len(parts)] * len(parts))


def question_bet(p_value: float) -> float:
    """The logarithm of the e-value of a question."""
    return -math.log(2) - math.log(max(min(p_value, 1.0), _LEAST_P)) / 2


def detectable(degrees: int, needed: float) -> float:
    """The least factor by which so much noise, too small, would have won ``needed`` with probability `DETECTED`."""
    loud = float(special.chdtri(degrees, 1 - DETECTED))  # not above it, with that probability
    low, high = 1.0, _MOST
    if noise_bet(loud / high**2, degrees) < needed:
        return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if noise_bet(loud / middle**2, degrees) >= needed else (middle, high)
    return high


@dataclass(slots=True)
class Night:
    """What one gate bets on: sum of squares and number of a mechanism's noise; the logarithm for a question's id."""

    on_noise: dict[str, tuple[float, int]] = field(default_factory=dict)
    on_questions: dict[str, float] = field(default_factory=dict)

    def question(self, result: Result) -> None:
        """Bet on what a question showed about privacy; what was not answered, or needs no chance, is no bet."""
        chances = [] if result.answer is None else [t for t in result.answer.tests if not t.deterministic]
        against = [t.p_value for t in chances if t.cost is Cost.PRIVACY]
        if against:
            self.on_questions[str(result.about)] = question_bet(min(against) * len(against))

    def noise(self, subject: str, energies: RunEnergies) -> None:
        """Bet on all noise of a mechanism that was read."""
        if energies.runs:
            self.on_noise[subject] = float(energies.energies.sum()), int(energies.degrees.sum())


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
            kept = [e for line in lines if line.strip() and (e := json.loads(line))["digest"] == digest]
            nights = tuple(map(_night, kept))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise AuditError(f"--history: {path} is not a history: {error}") from None
        return cls(path, digest, nights)

    def with_night(self, night: Night) -> History:
        """One night more; a gate that bet on nothing is none."""
        return History(self.path, self.digest, (*self.nights, *[night][: bool(night.on_noise or night.on_questions)]))

    def append(self, night: Night, provenance: Provenance) -> History:
        """The same with a night more, written at the end of the file."""
        longer = self.with_night(night)
        if len(longer.nights) > len(self.nights):
            bets = {"on_noise": night.on_noise, "on_questions": night.on_questions}
            date = provenance.date.isoformat(timespec="seconds")
            line = {"version": _VERSION, "date": date, "digest": self.digest, **bets}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return longer

    def result(self, false_alarm: float) -> Result:
        """What the judge concludes: the p-value is one over the e-value of all nights."""
        evidence, loudest, on_noise = combined(self.nights, false_alarm)
        count = len(self.nights)
        text = (
            f"{count} night{'s' * (count != 1)} of this code: e-value {_power_of_ten(evidence)}; {1 / false_alarm:.3g} "
            f"refutes, which correct code ever reaches with probability at most {false_alarm:g}"
        )
        text += f"; most of it from {'the noise of ' * on_noise}{loudest}" if evidence > 0 else ""
        for subject, factor in shortages(self.nights, false_alarm).items():
            text += f"; noise of {subject} too small by a factor of {math.ceil(1000 * factor) / 1000:g} every night "
            text += f"would have been detected by now with probability {DETECTED:g}"
        cause = Cause.NOISE_SMALL if on_noise else Cause.DISTINGUISHED
        aspect = Aspect.NOISE if on_noise else Aspect.RELEASED
        test = Test(
            ABOUT.question, aspect, math.exp(-max(evidence, 0.0)), text, cause, draw=lambda: self._path(false_alarm)
        )
        missing = "" if count else "no gate of this code has shown anything yet"
        answer = Answer("every night", f"{count} nights", 0, (test,) * bool(count), (), missing)
        subject = loudest if on_noise or not loudest else About.read(loudest).mechanism
        about = About(ABOUT.question, stage=ABOUT.stage, subject=subject)
        return concluded(about, answer, false_alarm)

    def _path(self, false_alarm: float) -> Picture:
        """The e-value after each night, against the one that refutes."""
        logs = [combined(self.nights[:k], false_alarm)[0] / math.log(10) for k in range(1, len(self.nights) + 1)]
        return against_claim(
            "Evidence of all nights",
            "The e-value of all nights together; the claim is refuted where it reaches the line.",
            {str(night): (log, -math.log10(false_alarm)) for night, log in enumerate(logs, start=1)},
            "log10 of the e-value",
        )


def combined(nights: Sequence[Night], false_alarm: float) -> tuple[float, str, bool]:
    """The logarithm of the average over all names of the products over all nights; who has the most, and on noise.

    Half of the stake is on noise, half on questions. Within a kind the names have shares 1/(k (k + 1)) in the order in
    which they first appear, by name within a night: shares that do not depend on any night's result, and never sum to
    more than 1. A name that is missing in a night has stake but no bet: a factor of 1.
    """
    on_noise, on_questions = _costs(len(nights), false_alarm)
    logs, stakes, names = [], [], []
    for k, name in _numbered([night.on_noise for night in nights]):
        logs.append(noise_bet(*_read(nights, name)) - on_noise)
        stakes.append(0.5 / (k * (k + 1)))
        names.append((name, True))
    for k, name in _numbered([night.on_questions for night in nights]):
        logs.append(sum(night.on_questions.get(name, 0.0) for night in nights) - on_questions)
        stakes.append(0.5 / (k * (k + 1)))
        names.append((name, False))
    if not names:
        return 0.0, "", False
    rest = 1.0 - sum(stakes)  # stays as it is
    loudest = max(range(len(names)), key=lambda i: logs[i] + math.log(stakes[i]))
    return _log_mean([*logs, 0.0], [*stakes, rest]), *names[loudest]


def shortages(nights: Sequence[Night], false_alarm: float) -> dict[str, float]:
    """By which factor the noise of each mechanism would have to be short to have been detected by now, if it can."""
    on_noise, _ = _costs(len(nights), false_alarm)
    found = {
        name: detectable(_read(nights, name)[1], on_noise - math.log(false_alarm * 0.5 / (k * (k + 1))))
        for k, name in _numbered([night.on_noise for night in nights])
    }
    return {name: factor for name, factor in found.items() if math.isfinite(factor)}


def _costs(nights: int, false_alarm: float) -> tuple[float, float]:
    """What is taken off the products on noise and on questions, as logarithms, for bets that are left out."""
    ended = math.log1p(false_alarm)
    return nights * ended, nights * (2 * ended + math.log1p(math.sqrt(false_alarm)))


def _read(nights: Sequence[Night], name: str) -> tuple[float, int]:
    """The sum of squares and the number of all noise values of a mechanism."""
    read = [night.on_noise[name] for night in nights if name in night.on_noise]
    return sum(energy for energy, _ in read), sum(degrees for _, degrees in read)


def _numbered(nights: Sequence[Mapping[str, object]]) -> Iterable[tuple[int, str]]:
    """The names in the order in which they first appear, by name within a night, from 1."""
    return enumerate(dict.fromkeys(name for bets in nights for name in sorted(bets)), start=1)


def _night(entry: Mapping[str, Mapping[str, list[float]]]) -> Night:
    """One line of the file."""
    if str(entry["version"]) != str(_VERSION):
        raise ValueError(f"version {entry['version']}, known is {_VERSION}")
    noise = {name: (float(energy), int(count)) for name, (energy, count) in entry["on_noise"].items()}
    return Night(noise, {name: float(str(bet)) for name, bet in entry["on_questions"].items()})


def digest_of(provenance: Provenance) -> str:
    """One digest of claim file, adapter and declared files, and of the version that judges."""
    claim = [] if provenance.claim is None else [provenance.claim.digest]
    parts = [provenance.version, *claim, *(f"{file.name} {file.digest}" for file in provenance.files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _log_mean(logs: Iterable[float], weights: Iterable[float]) -> float:
    pairs = [(log, weight) for log, weight in zip(logs, weights, strict=True) if weight > 0]
    most = max(log for log, _ in pairs)
    if most == -math.inf:  # all of it is lost
        return most
    return most + math.log(sum(weight * math.exp(log - most) for log, weight in pairs))


def _power_of_ten(log: float) -> str:
    return f"{math.exp(log):.3g}" if abs(log) < 600 else f"1e{log / math.log(10):+.0f}"
