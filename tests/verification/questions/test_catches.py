"""Every question finds the wrong implementation it was written for, and nothing in the modes that are right."""

from __future__ import annotations

from functools import partial

import pytest

from tests.verification.questions.sessions import question_of, results_of
from tests.zoo.conformance.wrong import named
from verification.outcome import Outcome
from verification.questions.catalogue import at
from verification.questions.question import Size
from verification.reading.context import EVERY_MODE

EVERY = tuple(str(mode) for mode in EVERY_MODE)
SS, MP_ALL, MP_PRIMAL = EVERY

# implementation, question, modes in which the question must find it
CAUGHT = [
    ("WrongThreshold", "updates-agree", EVERY),
    ("MeanOverAll", "updates-agree", (SS,)),
    ("NoClipping", "clips-each-record", EVERY),
    ("NoClipping", "dependence", EVERY),
    ("NoClipping", "one-step-sensitivity", EVERY),
    ("ClipsTheBatch", "clips-each-record", EVERY),
    ("ClipsAHairTooLong", "clips-each-record", EVERY),
    ("ClipsAHairTooLong", "one-step-sensitivity", EVERY),
    ("ClipsTheBatch", "one-step-sensitivity", EVERY),
    ("NormalisesColumns", "normalises-each-record", EVERY),
    ("InterceptAfterwards", "intercept-before-bounding", EVERY),
    ("LetsNaNThrough", "refuses-not-finite", EVERY),
    ("FixedSeed", "processes", EVERY),
    ("FixedSeed", "silent", EVERY),
    ("FixedSeed", "seeds-differ", EVERY),
    ("ShortSeed", "seeds-differ", EVERY),
    ("DoubleGradient", "one-step-sensitivity", EVERY),
    ("DoubleGradient", "distinguishable", EVERY),
    ("OnlyNormalisesDoubled", "one-step-sensitivity", EVERY),
    ("OnlyNormalisesDoubled", "distinguishable", EVERY),
    ("CleanDual", "coupled-releases", (SS, MP_PRIMAL)),
    ("CleanDual", "post-processing", (SS, MP_PRIMAL)),
    ("CleanDual", "distinguishable", (SS, MP_PRIMAL)),
    ("LossBeside", "coupled-releases", EVERY),
    ("GradientBeside", "coupled-releases", EVERY),
    ("GradientBeside", "distinguishable", EVERY),
    ("CountBeside", "coupled-releases", EVERY),
    ("CountBeside", "distinguishable", EVERY),
    ("AcceptsJumps", "refuses-jumping-prox", (MP_ALL,)),
    ("WithReplacement", "marked", (SS,)),
    ("PrefersEarlyRecords", "marked", (SS,)),
    ("Blocks", "marked", (SS,)),
    ("EpochShuffle", "marked", (SS,)),
    ("SameBatches", "marked", (SS,)),
    ("VarianceAsDeviation", "silent", EVERY),
    ("TwentyPercentLess", "silent", EVERY),
    ("TwentyPercentLess", "distinguishable", EVERY),
    ("QuietWhereLoud", "mixed", EVERY),
    ("Biased", "silent", EVERY),
    ("Uniform", "silent", EVERY),
    ("OneDrawForAll", "silent", EVERY),
    ("DrawnOnce", "silent", EVERY),
    ("SharedByXZY", "silent", (MP_ALL,)),
    ("CarriedOver", "silent", EVERY),
    ("EveryTenthRepeats", "silent", EVERY),
    ("SinglePrecision", "silent", EVERY),
    ("TimesBoundSquared", "noise-scale", EVERY),
    ("PaperSensitivity", "noise-follows-sensitivity", EVERY),
    ("NormalisedWithLessNoise", "silent", EVERY),
]

# baselines that are wrong in the modes named and honest in the others that they serve
BASELINES_CAUGHT = [
    ("StopsEarly", "inner-problem-solved", ("objp", "admm")),
    ("StopsEarly", "updates-agree", ("objp", "admm")),
    ("ForgetsTheRidge", "updates-agree", ("objp",)),
    ("ForgetsTheRidge", "noise-scale", ("objp",)),
    ("GammaOfAnotherShape", "silent", ("objp",)),
    ("PerturbsOnce", "silent", ("objp",)),
    ("DoubledBaselines", "one-step-sensitivity", ("dpsgd", "dpadmm", "dpsvrg")),
    ("DoubledBaselines", "distinguishable", ("dpsgd", "dpadmm", "dpsvrg")),
    ("AllRecordsForTheParty", "noise-follows-sensitivity", ("dpadmm",)),
    ("SilentFullGradient", "silent", ("dpsvrg",)),
    ("SilentFullGradient", "coupled-releases", ("dpsvrg",)),
    ("ThresholdsBeforeTheNoise", "updates-agree", ("dpsgd",)),
    ("KeepsTheAnchor", "updates-agree", ("dpsvrg",)),
    ("DualsOfCleanModels", "post-processing", ("dpadmm",)),
    ("DualsOfCleanModels", "coupled-releases", ("dpadmm",)),
    ("OneBatchAnEpoch", "marked", ("dpsvrg",)),
    ("BaselineReplacement", "marked", ("dpsgd", "dpsvrg", "sadmm")),
]


FOUND = (Outcome.REFUTED, Outcome.DEVIATES)  # another update, or more noise than claimed, is not less private
PAIRS = [(name, question) for name, question, _ in (*CAUGHT, *BASELINES_CAUGHT)]
NAMES = sorted({name for name, _ in PAIRS})
# By default each question has the first implementation listed for it, and each mistake of noise and batches one; the
# others are behind slow.
FIRST = {
    *{question: name for name, question in reversed(PAIRS)}.values(),
    *("Biased", "Uniform", "OneDrawForAll", "EveryTenthRepeats", "SinglePrecision", "TwentyPercentLess"),
    *("PrefersEarlyRecords", "Blocks", "EpochShuffle", "SameBatches", "GammaOfAnotherShape", "PerturbsOnce"),
}


@pytest.mark.parametrize(
    "name", [name if name in FIRST else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_the_questions_catch_what_they_say(name: str) -> None:
    expected: dict[str, set[str]] = {}
    for who, question, modes in (*CAUGHT, *BASELINES_CAUGHT):
        if who == name:
            expected[question] = expected.get(question, set()) | set(modes)
    results = results_of(partial(named, name), *expected)
    found = {(question_of(result), result.subject) for result in results if result.outcome in FOUND}
    assert found == {(question, mode) for question, modes in expected.items() for mode in modes}
    assert all(result.cause is not None for result in results if result.outcome in FOUND)


def test_every_question_has_a_witness_that_it_can_fail() -> None:
    assert {question for _, question in PAIRS} == {question.name for question in at(Size.SMALL)}
