"""Every check refutes the wrong implementation it was written for, and says skipped where it cannot look."""

from __future__ import annotations

import pytest

from tests.verification.conformance.sessions import results_of, wrong
from verification.conformance.check import EVERY_MODE
from verification.conformance.registry import CHECKS
from verification.outcome import Outcome

EVERY = tuple(str(mode) for mode in EVERY_MODE)
SS, MP_ALL, MP_PRIMAL = EVERY

# implementation, check, modes in which the check must refute it
CAUGHT = [
    ("WrongThreshold", "updates-agree", EVERY),
    ("MeanOverAll", "updates-agree", (SS,)),
    ("WrongThreshold", "golden-vectors", EVERY),
    ("MeanOverAll", "golden-vectors", (SS,)),
    ("NoClipping", "updates-scale", EVERY),
    ("NoClipping", "clips-each-record", EVERY),
    ("NoClipping", "one-step-sensitivity", EVERY),
    ("ClipsTheBatch", "clips-each-record", EVERY),
    ("ClipsAHairTooLong", "clips-each-record", EVERY),
    ("ClipsAHairTooLong", "one-step-sensitivity", EVERY),
    ("ClipsTheBatch", "one-step-sensitivity", EVERY),
    ("NormalisesColumns", "normalises-each-record", EVERY),
    ("InterceptAfterwards", "intercept-before-bounding", EVERY),
    ("LetsNaNThrough", "refuses-not-finite", EVERY),
    ("ForgetsSeed", "seed-repeats", EVERY),
    ("FixedSeed", "noise-differs-between-processes", EVERY),
    ("FixedSeed", "noise-never-repeats", EVERY),
    ("FixedSeed", "seeds-differ", EVERY),
    ("ShortSeed", "seeds-differ", EVERY),
    ("RandomReplay", "replay-repeats", EVERY),
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
    ("WithReplacement", "batch-size", (SS,)),
    ("PrefersEarlyRecords", "batch-uniform", (SS,)),
    ("Blocks", "batch-subsets", (SS,)),
    ("EpochShuffle", "batch-fresh-each-iteration", (SS,)),
    ("SameBatches", "batch-fresh-each-run", (SS,)),
    ("VarianceAsDeviation", "noise-variance", EVERY),
    ("TwentyPercentLess", "noise-variance", EVERY),
    ("TwentyPercentLess", "distinguishable", EVERY),
    ("QuietWhereLoud", "noise-ignores-data", EVERY),
    ("Biased", "noise-centred", EVERY),
    ("Uniform", "noise-gaussian", EVERY),
    ("OneDrawForAll", "noise-independent", EVERY),
    ("DrawnOnce", "noise-independent", EVERY),
    ("SharedByXZY", "noise-independent", (MP_ALL,)),
    ("CarriedOver", "noise-independent", EVERY),
    ("EveryTenthRepeats", "noise-never-repeats", EVERY),
    ("SinglePrecision", "noise-grid", EVERY),
    ("TimesBoundSquared", "noise-scale", EVERY),
    ("PaperSensitivity", "noise-follows-sensitivity", EVERY),
]

# baselines that are wrong in the modes named and honest in the others that they serve
BASELINES_CAUGHT = [
    ("StopsEarly", "inner-problem-solved", ("objp", "admm")),
    ("StopsEarly", "updates-agree", ("objp", "admm")),
    ("ForgetsTheRidge", "updates-agree", ("objp",)),
    ("ForgetsTheRidge", "noise-scale", ("objp",)),
    ("GammaOfAnotherShape", "noise-gaussian", ("objp",)),
    ("PerturbsOnce", "noise-independent", ("objp",)),
    ("DoubledBaselines", "one-step-sensitivity", ("dpsgd", "dpadmm", "dpsvrg")),
    ("DoubledBaselines", "distinguishable", ("dpsgd", "dpadmm", "dpsvrg")),
    ("AllRecordsForTheParty", "noise-follows-sensitivity", ("dpadmm",)),
    ("SilentFullGradient", "noise-variance", ("dpsvrg",)),
    ("SilentFullGradient", "coupled-releases", ("dpsvrg",)),
    ("ThresholdsBeforeTheNoise", "updates-agree", ("dpsgd",)),
    ("KeepsTheAnchor", "updates-agree", ("dpsvrg",)),
    ("DualsOfCleanModels", "post-processing", ("dpadmm",)),
    ("DualsOfCleanModels", "coupled-releases", ("dpadmm",)),
    ("OneBatchAnEpoch", "batch-fresh-each-iteration", ("dpsvrg",)),
    ("BaselineReplacement", "batch-size", ("dpsgd", "dpsvrg", "sadmm")),
]


FOUND = (Outcome.REFUTED, Outcome.DEVIATES)  # more noise than claimed deviates and is not less private
LONG = ("FixedSeed", "StopsEarly", "ForgetsTheRidge")
PAIRS = [(name, check) for name, check, _ in (*CAUGHT, *BASELINES_CAUGHT)]
NAMES = sorted({name for name, _ in PAIRS})
# By default each check has the first implementation listed for it; the others are behind slow.
FIRST = {check: name for name, check in reversed(PAIRS) if name not in LONG}


@pytest.mark.parametrize(
    "name", [name if name in FIRST.values() else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_the_checks_catch_what_they_say(name: str) -> None:
    expected = {check: set(modes) for who, check, modes in (*CAUGHT, *BASELINES_CAUGHT) if who == name}
    results = results_of(wrong(name), *expected)
    refuted = {(result.name, result.subject) for result in results if result.outcome in FOUND}
    assert refuted == {(check, mode) for check, modes in expected.items() for mode in modes}


def test_every_check_has_a_witness_that_it_can_fail() -> None:
    assert {check for _, check, _ in (*CAUGHT, *BASELINES_CAUGHT)} == {check.name for check in CHECKS}
