"""Evidence of several nights: honest code is refuted at most as stated, a small shortage in the end."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from audits.errors import AuditError
from audits.gate.history import History, Night, combined, noise_bet, question_bet
from audits.gate.report import FileDigest, Provenance
from verification.judge import Result
from verification.outcome import About, Outcome, Stage
from verification.questions.question import Answer
from verification.statistics.noise_size import size_tests
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect

FALSE_ALARM = 1e-3
NIGHTS, SEQUENCES, VALUES = 10, 200, (5, 40, 10)


def night_of(rng: np.random.Generator, divisor: float) -> tuple[Night, bool]:
    """One gate that reads 2,000 noise values; whether the gate by itself refutes."""
    noise = {"gradient": rng.standard_normal(VALUES) / divisor}
    answer = Answer("noise", "n = 6", 5, tuple(size_tests(noise)), (Aspect.NOISE,))
    level = FALSE_ALARM / 40
    result = Result(About("silent", "ssadmm", Stage.SMALL, "ssadmm"), Outcome.STANDS, answer, level=level)
    night = Night()
    night.question(result)
    night.noise("ssadmm", RunEnergies.of(noise))
    return night, bool(result.against)


def sequence(rng: np.random.Generator, divisor: float) -> tuple[int, int]:
    """In which night the history refutes (0: never), and how many gates refute by themselves."""
    nights: list[Night] = []
    alone = first = 0
    for number in range(1, NIGHTS + 1):
        night, refuted = night_of(rng, divisor)
        nights.append(night)
        alone += refuted
        if not first and combined(nights)[0] >= -math.log(FALSE_ALARM):
            first = number
    return first, alone


def test_honest_code_is_refuted_at_most_as_stated() -> None:
    """200 sequences at 1e-3: three or more refuted has probability 1.2e-3; the seed is fixed."""
    rng = np.random.default_rng(28)
    assert sum(bool(sequence(rng, 1.0)[0]) for _ in range(SEQUENCES)) <= 2


def test_noise_short_by_a_factor_of_1_05_is_refuted_by_the_tenth_night_and_not_in_one() -> None:
    rng = np.random.default_rng(5)
    found = [sequence(rng, 1.05) for _ in range(SEQUENCES)]
    assert np.mean([bool(first) for first, _ in found]) > 0.8
    assert np.mean([alone for _, alone in found]) < 0.1 * NIGHTS, "a night alone rarely sees it"


@pytest.mark.parametrize("degrees", [10, 200])
def test_the_bets_have_a_mean_of_at_most_one(degrees: int) -> None:
    """The likelihood ratio's mean is 1; simulated, it stays below 1 and five standard errors."""
    rng = np.random.default_rng(1)
    wins = np.exp([noise_bet(float(s), degrees) for s in rng.chisquare(degrees, 20_000)])
    assert wins.mean() <= 1 + 5 * wins.std() / math.sqrt(wins.size)
    p = np.linspace(0.5e-6, 1 - 0.5e-6, 1_000_000)
    assert np.mean(0.5 / np.sqrt(p)) <= 1.0
    assert question_bet(0.25, 0.0) == pytest.approx(0.0)


def test_larger_noise_than_claimed_wins_nothing() -> None:
    assert noise_bet(1.1**2 * 1000, 1000) < 0


def provenance(text: str) -> Provenance:
    return Provenance(claim=FileDigest("claim.toml", text), files=(FileDigest("adapter.py", "a"),), version="1")


def test_a_changed_file_begins_anew_and_a_broken_history_is_an_error(tmp_path: Path) -> None:
    path, known = tmp_path / "history.jsonl", provenance("old")
    for _ in range(3):
        night = Night({"ssadmm": 2.0}, {"silent/ssadmm/small": -0.1})
        History.of(path, known).with_night(night).append(known)
    assert len(History.of(path, known).nights) == 3
    assert History.of(path, provenance("new")).nights == ()
    finding = History.of(path, known).finding(1e-3)
    assert (finding.outcome, finding.name) == (Outcome.STANDS, "history/claimed")
    assert History.of(path, known).finding(0.5).outcome is Outcome.REFUTED
    path.write_text(path.read_text() + "{\n", "utf-8")
    with pytest.raises(AuditError, match="is not a history"):
        History.of(path, known)
    assert json.loads(path.read_text().splitlines()[0])["on_noise"]["ssadmm"] == "2.0"
