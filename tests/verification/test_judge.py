"""The judge: shares of false alarms, the second asking, time, several processes, and what a finding is called."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from tests.verification.questions.in_process import InProcess
from verification.judge import Asked, Plan, Result, concluded, finding, generator, judge, shares
from verification.outcome import About, Outcome, Stage
from verification.questions.catalogue import at
from verification.questions.question import Answer, Ask, Question, Size
from verification.reading.context import (
    ALL_MODES,
    MPADMM_ALL,
    SSADMM,
    Claimed,
    Clock,
    Context,
    Mode,
    NotApplicable,
    NotNeeded,
    Undecided,
)
from verification.served.stepwise import Stepwise
from verification.statistics.test import Aspect, Cause, Cost, Test
from verification.wire.faults import AdapterFault, AdapterSkipped, Fault, ProtocolStep, RefusedRequest
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm
from verification.wire.session import Session

OBJP = Mode(Algorithm.OBJP)
ABOUT = About("silent", "ssadmm", Stage.SMALL, "ssadmm")


class Killable(InProcess):
    """Remembers that it was killed."""

    killed = False

    def kill(self) -> None:
        """Nothing was started; what was asked of it is kept."""
        self.killed = True


def chance(p_value: float, cost: Cost = Cost.PRIVACY, cause: Cause = Cause.NOISE_LAW) -> Test:
    return Test("some test", Aspect.NOISE, p_value, "what was seen", cause, cost)


def answer(*tests: Test) -> Answer:
    return Answer("data", "size", 1, tests, (Aspect.NOISE,))


def question(ask: Ask, name: str = "some") -> Question:
    return Question(name, ask, "nothing", (), (Size.SMALL,))


def in_turn(*p_values: float) -> tuple[Question, list[int]]:
    """A question that shows one p-value after the other, and the seeds of its own randomness."""
    left, drawn = list(p_values), list[int]()

    def ask(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
        drawn.append(int(context.rng.integers(1 << 53)))
        return answer(chance(left.pop(0)))

    return question(ask), drawn


def session() -> Killable:
    return Killable(Stepwise())


def judged(
    questions: Sequence[Question],
    *,
    false_alarm: float = 1e-3,
    seconds: float = math.inf,
    sessions: Sequence[Session] | None = None,
    fail_fast: bool = False,
    progress: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    plan = Plan(false_alarm, seconds, 5, fail_fast=fail_fast)
    return judge(sessions or [session()], [Asked(q, SSADMM) for q in questions], plan, session, progress)


SHARE = 1e-3 / shares(Size.SMALL, [SSADMM])


# -- false alarms -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modes", [[SSADMM], [SSADMM, MPADMM_ALL], list(ALL_MODES)])
@pytest.mark.parametrize("size", Size)
def test_the_shares_of_all_statistical_questions_and_modes_are_the_false_alarm_probability(
    size: Size, modes: list[Mode]
) -> None:
    asked = [(q, mode) for q in at(size) for mode in modes if q.statistical and mode in q.modes]
    assert shares(size, modes) == len(asked) + len(modes)


def test_the_share_of_a_question_is_split_over_its_tests_of_chance() -> None:
    exact = Test.exact("exact", Aspect.NOISE, True, "", Cause.NOISE_LAW)
    found = concluded(ABOUT, lambda: answer(chance(0.5), exact, chance(0.5)), 0.01)
    assert found.level == 0.005
    assert concluded(ABOUT, lambda: answer(exact), 0.01).level == 0.01


@pytest.mark.parametrize(("p_value", "refuted"), [(0.0051, False), (0.005, True), (math.nan, True), (0.0, True)])
def test_a_test_refutes_at_its_part_of_the_share_and_one_that_is_not_a_number_does(
    p_value: float, refuted: bool
) -> None:
    found = concluded(ABOUT, lambda: answer(chance(p_value), chance(1.0)), 0.01)
    assert found.outcome is (Outcome.REFUTED if refuted else Outcome.STANDS)


def test_an_exact_test_refutes_at_no_level_or_at_every_one() -> None:
    for p_value, outcome in ((1e-300, Outcome.STANDS), (0.0, Outcome.REFUTED), (math.nan, Outcome.REFUTED)):
        exact = Test("exact", Aspect.NOISE, p_value, "", Cause.NOISE_LAW, deterministic=True)
        assert concluded(ABOUT, lambda exact=exact: answer(exact), 1.0).outcome is outcome  # type: ignore[misc]


def test_a_difference_that_costs_nothing_deviates_and_where_all_differences_cost_it_refutes() -> None:
    different = Test.exact("update", Aspect.UPDATES, False, "", Cause.UPDATE, Cost.NOTHING)
    for mode, outcome in ((SSADMM, Outcome.DEVIATES), (OBJP, Outcome.REFUTED)):
        strict = mode.algorithm is Algorithm.OBJP
        found = concluded(ABOUT, lambda: answer(different), 1e-3, strict=strict)
        assert found.outcome is outcome
        assert finding(found).cause is Cause.UPDATE


# -- asked again ------------------------------------------------------------------------------------------------


def test_what_is_narrow_is_asked_again_with_fresh_randomness_and_does_not_refute_unless_confirmed() -> None:
    asked, drawn = in_turn(SHARE / 2, 0.5)
    (result,) = judged([asked])
    assert result.outcome is Outcome.STANDS
    assert "not confirmed by fresh runs" in finding(result).detail
    assert len(set(drawn)) == 2


def test_what_is_narrow_twice_refutes() -> None:
    asked, drawn = in_turn(SHARE / 2, SHARE / 3)
    (result,) = judged([asked])
    assert result.outcome is Outcome.REFUTED
    assert len(drawn) == 2


@pytest.mark.parametrize("p_value", [SHARE**2, 0.0, math.nan])
def test_what_is_not_narrow_refutes_at_once(p_value: float) -> None:
    asked, drawn = in_turn(p_value)
    (result,) = judged([asked])
    assert result.outcome is Outcome.REFUTED
    assert len(drawn) == 1


def test_one_exact_test_among_narrow_ones_refutes_at_once() -> None:
    exact = Test.exact("exact", Aspect.NOISE, False, "", Cause.NOISE_LAW)
    calls = []

    def ask(_context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
        calls.append(1)
        return answer(chance(SHARE / 2), exact)

    (result,) = judged([question(ask)])
    assert result.outcome is Outcome.REFUTED
    assert len(calls) == 1


def test_a_second_asking_that_cannot_be_answered_takes_nothing_back() -> None:
    calls = []

    def ask(_context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
        calls.append(1)
        if len(calls) == 2:
            raise Undecided("too little time")
        return answer(chance(SHARE / 2))

    (result,) = judged([question(ask)])
    assert result.outcome is Outcome.REFUTED


def test_a_correct_implementation_is_refuted_at_most_as_often_as_two_askings_allow() -> None:
    """Uniform p-values, s = 0.1: at most 2 s^2, and of 1,000 no more than chance has once in a million."""
    rng = np.random.default_rng(1)
    one, count = shares(Size.SMALL, [SSADMM]), 1000
    questions = [question(lambda *_: answer(chance(float(rng.random()))), f"q{i}") for i in range(count)]
    results = judged(questions, false_alarm=0.1 * one)
    refuted = sum(result.outcome is Outcome.REFUTED for result in results)
    assert refuted <= stats.binom.isf(1e-6, count, 2 * 0.1**2)


# -- time, and what is not answered -----------------------------------------------------------------------------


def test_a_question_for_which_there_is_no_time_is_inconclusive() -> None:
    asked, drawn = in_turn(0.0)
    (result,) = judged([asked], seconds=0.0)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "the budget of 0 seconds was spent" in result.reason
    assert drawn == []


@pytest.mark.parametrize(
    ("reason", "must_run", "outcome", "needed"),
    [
        (NotApplicable("no"), False, Outcome.SKIPPED, True),
        (NotNeeded("no"), False, Outcome.SKIPPED, False),
        (Undecided("no"), False, Outcome.INCONCLUSIVE, True),
        (AdapterSkipped("no"), False, Outcome.INCONCLUSIVE, True),
        (RefusedRequest(Fault.REFUSED, ProtocolStep.TRIALS, "no"), False, Outcome.SKIPPED, True),
        (RefusedRequest(Fault.REFUSED, ProtocolStep.TRIALS, "no"), True, Outcome.INCONCLUSIVE, True),
    ],
    ids=["not applicable", "not needed", "undecided", "skipped", "refused", "refused as claimed"],
)
def test_what_is_not_answered_is_no_pass(reason: Exception, must_run: bool, outcome: Outcome, needed: bool) -> None:
    def ask() -> Answer:
        raise reason

    found = concluded(ABOUT, ask, 1e-3, must_run=must_run)
    assert (found.outcome, found.needed) == (outcome, needed)
    assert found.reason


def test_what_lacks_a_capability_is_skipped_and_says_which() -> None:
    asked, drawn = in_turn(0.0)
    poor = session()
    poor.description = poor.description.model_copy(update={"capabilities": [Capability.REPLAY]})
    (result,) = judged([asked], sessions=[poor])
    assert result.outcome is Outcome.SKIPPED
    assert "trials" in result.reason
    assert drawn == []


def test_nothing_is_asked_after_a_refutation_that_is_to_end_the_run() -> None:
    first, _ = in_turn(0.0)
    second, drawn = in_turn(0.0)
    assert [r.outcome for r in judged([first, second], fail_fast=True)] == [Outcome.REFUTED]
    assert drawn == []


# -- several processes ------------------------------------------------------------------------------------------


def test_two_processes_give_the_results_in_the_order_of_the_questions() -> None:
    seen: list[str] = []
    both = [session(), session()]
    questions = [question(lambda *_, p=p: answer(chance(p)), f"q{i}") for i, p in enumerate((0.5, 0.6, 0.7, 0.8, 0.9))]
    results = judged(questions, sessions=both, progress=lambda r: seen.append(r.about.question))
    assert [r.about.question for r in results] == [q.name for q in questions]
    assert sorted(seen) == [q.name for q in questions]
    assert not any(each.killed for each in both)


def test_a_process_that_dies_ends_the_run_and_the_other_one() -> None:
    both = [session(), session()]

    def dies(*_: object) -> Answer:
        raise AdapterFault(Fault.CRASHED, ProtocolStep.TRIALS, "gone")

    asked = [question(dies, "dies"), *(in_turn(*[0.5] * 2)[0] for _ in range(50))]
    with pytest.raises(AdapterFault, match="gone"):
        judged(asked, sessions=both)
    assert all(each.killed for each in both)


# -- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ALL_MODES, ids=str)
@pytest.mark.parametrize("stage", [Stage.SMALL, Stage.CLAIMED])
def test_the_id_of_a_finding_says_what_it_is_about(mode: Mode, stage: Stage) -> None:
    for title in (str(mode), f"first/second of {mode}"):
        about = About("one-step-sensitivity", title, stage, str(mode))
        assert dataclasses.replace(About.read(str(about)), subject=str(mode)) == about


def test_no_two_questions_of_a_mode_and_size_have_one_id_and_each_draws_a_stream_of_its_own() -> None:
    asked = [Asked(q, mode) for q in at(Size.SMALL) for mode in q.modes]
    assert len({str(each.about) for each in asked}) == len(asked)
    assert len({int(generator(1, each).integers(1 << 60)) for each in asked}) == len(asked)


def test_the_cause_of_a_finding_is_that_of_the_least_likely_test_and_of_equals_the_most_specific() -> None:
    size, law = (chance(0.0, cause=cause) for cause in (Cause.NOISE_SMALL, Cause.NOISE_LAW))
    mean = chance(1e-9, cause=Cause.NOISE_MEAN)
    found = finding(concluded(ABOUT, lambda: answer(law, mean, size), 1e-3))
    assert (found.cause, found.p_value, found.name) == (Cause.NOISE_SMALL, 0.0, "silent/ssadmm/small")
