"""Every member is caught; the honest reference, under the same harness and the same seeds, never is."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from tests.zoo import MEMBERS, Harm, Member, Sight
from tests.zoo.catch import PLAN, catch, catch_command, command_of
from tests.zoo.last_model import audit_last_model
from tests.zoo.table import HONEST, SLIPPED, page
from verification.questions import clipping, noise, sampling, scale, sensitivity, updates
from verification.questions.question import Question, Size
from verification.wire.parameters import PAPER
from verification.wire.session import Session

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "zoo.md"
# The questions that are meant for each group of bugs: a bug is to be understood, not only noticed.
MEANT: dict[str, tuple[Question, ...]] = {
    "noise_scale": (*noise.QUESTIONS, *scale.QUESTIONS),
    "noise_draws": (*noise.QUESTIONS, noise.SEEDS, *updates.QUESTIONS),
    "sensitivities": (*sensitivity.QUESTIONS, *scale.QUESTIONS),
    "batches": sampling.QUESTIONS,
    "clipping": (*clipping.QUESTIONS, *sensitivity.QUESTIONS),  # a clip after the noise hides the noise
    "preprocessing": (*clipping.QUESTIONS, *updates.QUESTIONS),
    "releases": sensitivity.QUESTIONS,
    "updates": updates.QUESTIONS,
    "baselines": (*noise.QUESTIONS, noise.SEEDS, *scale.QUESTIONS, *updates.QUESTIONS),
}
OTHERWISE_SEEN = [(entry, sight) for entry in MEMBERS.values() for sight in entry.sights if sight != Sight.BLACK_BOX]
# docs/evidence/zoo.md has all of them (`python -m tests.zoo table`)
SAMPLE = OTHERWISE_SEEN[::3]


def _name(value: object) -> str:
    return value.identity if isinstance(value, Member) else str(value)


def meant_for(entry: Member) -> tuple[Question, ...]:
    meant = MEANT[entry.kind.__module__.rsplit(".", maxsplit=1)[-1]]
    if entry.harm is Harm.NONE:  # what costs no privacy is another update, and nothing worse
        meant = (*meant, *updates.QUESTIONS)
    return tuple(question for question in meant if Size.SMALL in question.sizes)


SEEDED = replace(PLAN, seed=7)
# Each takes several seconds.
LONG = {"truncated-at-three-sigma", "sixteen-bit-seeds", "non-private-sold-as-private", "eta-forgotten"}
# Each runs a branch of the checks, or of its own, that no other test of the default set does.
ALONE = {
    "nan-passes-the-clip",
    "intercept-after-normalising",
    "scad-where-it-jumps",
    "poisson-divided-by-m",
    "noise-on-support-only",
    "post-processing-of-the-clean-model",
    "dpsvrg-step-priced-as-one-gradient",
}


def _some(entries: list[Member]) -> list[ParameterSet]:
    """Every sixth member by default and those that run code of their own, but no long one; the others behind slow."""
    later = [e.identity in LONG or (i % 6 != 0 and e.identity not in ALONE) for i, e in enumerate(entries)]
    return [pytest.param(e, marks=(pytest.mark.slow,) if late else ()) for e, late in zip(entries, later, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("entry", _some([e for e in MEMBERS.values() if Sight.BLACK_BOX in e.sights]), ids=_name)
def test_every_black_box_is_caught_by_the_questions_meant_for_its_bug(entry: Member) -> None:
    caught = catch(entry, Sight.BLACK_BOX, SEEDED, meant_for(entry), audited=False)
    assert set(caught) == set(entry.algorithms), entry.wrong


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "sight"), SAMPLE, ids=_name)
def test_a_member_is_caught_at_another_sight_too(entry: Member, sight: Sight) -> None:
    """By the same checks or, where only the last model is shown, by the audit."""
    caught = catch(entry, sight, SEEDED, meant_for(entry), audited=sight is Sight.LAST_MODEL)
    assert set(caught) == set(entry.algorithms), entry.wrong


@pytest.mark.slow
@pytest.mark.parametrize("effort", [0.2, 1.0])
def test_the_honest_reference_is_caught_by_nothing(effort: float) -> None:
    assert catch_command(list(HONEST), replace(PLAN, effort=effort)) == {}


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param(identity, marks=pytest.mark.slow)
        for identity in (
            "noise-cancels-in-pairs",
            "noise-on-even-iterations",
            "continues-from-the-clean-model",
            "eta-forgotten",
        )
    ],
)
def test_what_only_the_last_model_shows_is_refuted_by_the_audit(identity: str) -> None:
    entry = MEMBERS[identity]
    with Session(command_of(entry, Sight.LAST_MODEL)) as session:
        for algorithm in entry.algorithms:
            audit = audit_last_model(session, algorithm, np.random.default_rng(1))
            assert audit.refuted, (algorithm, audit.detail)


@pytest.mark.slow
@pytest.mark.parametrize("identity", [e.identity for e in MEMBERS.values() if e.harm is Harm.NONE])
def test_the_audit_does_not_accuse_a_bug_that_costs_no_privacy(identity: str) -> None:
    entry = MEMBERS[identity]
    with Session(command_of(entry, Sight.BLACK_BOX)) as session:
        for algorithm in entry.algorithms:
            assert not audit_last_model(session, algorithm, np.random.default_rng(1), budget=1000).refuted


@pytest.mark.slow
def test_the_audit_of_the_honest_last_model_alarms_no_more_often_than_stated() -> None:
    """At 5 % over 40 audits more than 7 alarms have probability 7.1e-4 at most; the seeds are fixed."""
    alarms = 0
    with Session([sys.executable, "-m", "verification.served.loopback"]) as session:
        for seed in range(20):
            for algorithm in PAPER:
                rng = np.random.default_rng([9, seed])
                alarms += audit_last_model(session, algorithm, rng, alpha=0.05, budget=300).refuted
    assert alarms <= 7


def test_the_page_knows_every_member_and_nothing_slips_through() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert SLIPPED not in text
    for entry in MEMBERS.values():
        assert f"* `{entry.identity}`: {entry.wrong}" in text, (
            "regenerate it: python -m tests.zoo table > docs/evidence/zoo.md"
        )
        for algorithm in entry.algorithms:
            row = next(line for line in text.splitlines() if line.startswith(f"| `{entry.identity}` | {algorithm} |"))
            cells = [cell.strip() for cell in row.split("|")[3:6]]
            for sight, cell in zip(Sight, cells, strict=True):
                assert (cell == "-") == (sight not in entry.sights), (entry.identity, sight)
                assert cell == "-" or re.fullmatch(r"[a-z][a-z -]+ \([0-9.]+\)", cell), cell


def test_a_member_that_slips_through_is_shown_as_such() -> None:
    entry = MEMBERS["clip-ignored"]
    lines = "\n".join(page([entry], {(entry.identity, sight): {} for sight in entry.sights}, {}))
    assert lines.count(SLIPPED) == len(entry.sights) * len(entry.algorithms)
