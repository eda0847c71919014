"""The learned game is the audit of a black box: it sees leaks beside the model, and a tape repeats what it saw."""

from __future__ import annotations

import sys

import pytest

from accountant.mechanisms.words import Algorithm
from audits.games.game import Subject
from audits.games.sequential import learned_game
from verification.judge import Result, finding
from verification.outcome import Cause, Outcome
from verification.wire.session import Session
from verification.wire.tape import PlayedSession, Tape

SUBJECT = Subject(Algorithm.SSADMM)


def played(*command: str, tape: Tape | None = None) -> Result:
    with Session([sys.executable, "-m", *command]) as session:
        session.tape = tape
        return learned_game(session, SUBJECT, 3, seeded=False, alpha=1e-4)


def test_an_honest_implementation_stands() -> None:
    assert played("verification.served.loopback").outcome is Outcome.STANDS


@pytest.mark.slow
@pytest.mark.parametrize("identity", ["gradient-norm-beside-the-model", "clip-ignored"])
def test_what_is_released_beside_the_model_or_not_bounded_is_seen_and_seen_again_on_the_tape(identity: str) -> None:
    tape = Tape()
    result = played("tests.zoo", identity, "black-box", tape=tape)
    found = finding(result)
    assert found.outcome is Outcome.REFUTED
    assert found.cause is Cause.DISTINGUISHED
    assert found.picture is not None
    with Session([sys.executable, "-m", "tests.zoo", identity, "black-box"]) as session:
        kept = PlayedSession(session.description, tape)
    again = finding(learned_game(kept, SUBJECT, 3, seeded=False, alpha=1e-4))
    assert (again.outcome, again.p_value) == (found.outcome, found.p_value)
