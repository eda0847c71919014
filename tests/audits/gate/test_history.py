"""Evidence of several nights: honest code is refuted at most as stated, a small shortage in the end."""

from __future__ import annotations

import json
import math
import secrets
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from audits.errors import AuditError
from audits.games.executors import executor
from audits.gate.claim_file import read_claim_file
from audits.gate.history import History, Night, combined, noise_bet, question_bet, shortages
from audits.gate.report import FileDigest, Provenance
from audits.gate.run import GateOptions, run_gate
from tests.frozen.run import CLAIMS as FROZEN
from verification.judge import concluded, finding
from verification.outcome import About, Cause, Outcome, Stage
from verification.questions.question import Answer
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Test

LEVEL = 0.05  # of the honest sequences, high enough that two hundred of them can show a level that is exceeded
RECOMMENDED = 1e-6
NIGHTS, SEQUENCES, VALUES = 10, 200, 2000
MECHANISMS, QUESTIONS, MISSING = ("mpadmm/all", "mpadmm/primal", "ssadmm"), 3, 0.2


def night_of(rng: np.random.Generator, short: dict[str, float], level: float) -> tuple[Night, bool]:
    """One gate that reads 2,000 values of each mechanism's noise; whether the gate by itself refutes.

    The first question of a mechanism looks at the same noise, the last is undecided unless it refutes. Each name is
    missing with probability 0.2, as where a night had no time for it.
    """
    night, refuted = Night(), False
    for mechanism in MECHANISMS:
        energy = rng.chisquare(VALUES) / short.get(mechanism, 1.0) ** 2
        if rng.random() > MISSING:
            night.noise(mechanism, RunEnergies.counted(np.array([energy]), VALUES))
        for number, p_value in enumerate([stats.chi2.cdf(energy, VALUES), *rng.random(QUESTIONS - 1)]):
            test = Test("size", Aspect.NOISE, float(p_value), "", Cause.NOISE_SMALL)
            answer = Answer("noise", "n = 6", 5, (test,), (Aspect.NOISE,))
            about = About(f"q{number}", mechanism, Stage.SMALL, mechanism)
            result = concluded(about, partial(replace, answer), level / (QUESTIONS * len(MECHANISMS)))
            refuted = refuted or result.outcome is Outcome.REFUTED
            if rng.random() > MISSING and (number < QUESTIONS - 1 or result.outcome is Outcome.REFUTED):
                night.question(result)
    return night, refuted


def sequence(rng: np.random.Generator, short: dict[str, float], level: float) -> tuple[int, int]:
    """In which night the history refutes (0: never), and how many gates refute by themselves."""
    nights: list[Night] = []
    alone = first = 0
    for number in range(1, NIGHTS + 1):
        night, refuted = night_of(rng, short, level)
        nights.append(night)
        alone += refuted
        if not first and combined(nights, level)[0] >= -math.log(level):
            first = number
    return first, alone


def test_honest_code_is_refuted_at_most_as_stated() -> None:
    """At level 0.05; more of 200 than the limit has a probability of at most 1e-6. The noise alone, and all bets."""
    rng = np.random.default_rng(28)
    refuted = sum(bool(sequence(rng, {}, LEVEL)[0]) for _ in range(SEQUENCES))
    assert refuted <= stats.binom.ppf(1 - 1e-6, SEQUENCES, LEVEL)


def test_noise_short_by_a_factor_of_1_05_is_refuted_by_the_tenth_night_and_not_in_one() -> None:
    """One mechanism of three, at the recommended level."""
    rng = np.random.default_rng(5)
    found = [sequence(rng, {"mpadmm/primal": 1.05}, RECOMMENDED) for _ in range(SEQUENCES)]
    assert np.mean([bool(first) for first, _ in found]) > 0.8
    assert np.mean([alone for _, alone in found]) < 0.05 * NIGHTS, "a night alone rarely sees it"


@pytest.mark.parametrize("count", [1, 10])
def test_the_shortage_that_is_stated_is_detected_as_often_as_stated(count: int) -> None:
    """400 histories: fewer than 361 detected has a probability of 1e-4 if each is with 0.95."""
    rng = np.random.default_rng(7)
    honest = [Night({"ssadmm": (float(VALUES), VALUES)}) for _ in range(count)]
    factor = shortages(honest, RECOMMENDED)["ssadmm"]
    energies = rng.chisquare(VALUES, (400, count)) / factor**2
    evidence = [combined([Night({"ssadmm": (e, VALUES)}) for e in row], RECOMMENDED)[0] for row in energies]
    assert sum(e >= -math.log(RECOMMENDED) for e in evidence) >= stats.binom.ppf(1e-4, 400, 0.95)
    assert 1.0 < factor < (1.15 if count == 1 else 1.05)


@pytest.mark.parametrize("degrees", [10, 200])
def test_the_bets_have_a_mean_of_at_most_one(degrees: int) -> None:
    """The likelihood ratio's mean is 1; simulated, it stays below 1 and five standard errors."""
    rng = np.random.default_rng(1)
    wins = np.exp([noise_bet(float(s), degrees) for s in rng.chisquare(degrees, 20_000)])
    assert wins.mean() <= 1 + 5 * wins.std() / math.sqrt(wins.size)
    p = np.linspace(0.5e-6, 1 - 0.5e-6, 1_000_000)
    assert np.mean(0.5 / np.sqrt(p)) <= 1.0
    assert question_bet(0.25) == pytest.approx(0.0)


def test_larger_noise_than_claimed_wins_nothing() -> None:
    assert noise_bet(1.1**2 * 1000, 1000) < 0


def provenance(text: str) -> Provenance:
    return Provenance(claim=FileDigest("claim.toml", text), files=(FileDigest("adapter.py", "a"),), version="1")


def test_a_changed_file_begins_anew_and_a_broken_history_is_an_error(tmp_path: Path) -> None:
    path, known = tmp_path / "history.jsonl", provenance("old")
    for _ in range(3):
        night = Night({"ssadmm": (1000.0, 1100)}, {"silent/ssadmm/small": -0.1})
        History.of(path, known).append(night, known)
    assert len(History.of(path, known).append(Night(), known).nights) == 3
    assert len(History.of(path, known).nights) == 3
    assert History.of(path, provenance("new")).nights == ()
    result = History.of(path, known).result(1e-3)
    assert (result.outcome, str(result.about)) == (Outcome.STANDS, "history/claimed")
    found = finding(History.of(path, known).result(0.5))
    assert (found.outcome, found.cause, found.subject) == (Outcome.REFUTED, Cause.NOISE_SMALL, "ssadmm")
    assert found.picture is not None
    assert len(found.picture.x_names) == 3
    assert History.of(path, provenance("new")).result(0.5).outcome is Outcome.SKIPPED
    with pytest.raises(AuditError, match="cannot be read"):
        History.of(path, Provenance(claim=FileDigest("claim.toml", "")))
    path.write_text(path.read_text() + "{\n", "utf-8")
    with pytest.raises(AuditError, match="is not a history"):
        History.of(path, known)
    assert json.loads(path.read_text().splitlines()[0])["on_noise"]["ssadmm"] == [1000.0, 1100]


@pytest.mark.slow
def test_nights_of_a_declared_algorithm_add_up(tmp_path: Path) -> None:
    """Two real gates: honest code stands in both, and the second night states a smaller shortage than the first."""
    claims = read_claim_file(FROZEN / "declared-descent.toml")
    assert claims.implementation is not None
    command = [sys.executable, *claims.implementation.command[1:]]
    claims = claims.model_copy(update={"implementation": claims.implementation.model_copy(update={"command": command})})
    path, factors = tmp_path / "history.jsonl", []
    for _ in range(2):
        with executor(1) as pool:
            report = run_gate(claims, pool, GateOptions(secrets.randbits(32), seeded=False, history=path))
        (night,) = [found for found in report.findings if found.name == "history/claimed"]
        assert (report.outcome, night.outcome) == (Outcome.STANDS, Outcome.STANDS)
        nights = History.of(path, report.provenance).nights
        factors.append(shortages(nights, RECOMMENDED)["stranger"])
    assert len(nights) == 2
    assert factors[0] > factors[1] > 1.0
