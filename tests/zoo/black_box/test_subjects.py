"""That the wrong subjects are as wrong as they say, shown with knowledge of each at delta = 1e-5."""

from __future__ import annotations

import math

import numpy as np
import pytest

from audits.curves import GaussianCurve
from audits.eprocess.confidence import binomial_at_least
from audits.errors import AuditError
from benchmarks.estimators import binomial_at_most
from tests.zoo.black_box import CLAIM, HONEST, WRONG, BoxedSubject, boxed
from tests.zoo.black_box.subject import claimed_mu
from verification.neighbours.families import library

RUNS = 200_000
MISS = 1e-6  # of each bound; the seeds are fixed


def test_there_are_nineteen_wrong_and_ten_honest_subjects_of_different_names() -> None:
    assert (len(WRONG), len(HONEST)) == (19, 10)
    assert len({each.identity for each in (*WRONG, *HONEST)}) == 29
    with pytest.raises(AuditError, match="rare-leak"):
        boxed("rare-leek")


def test_the_noise_of_the_honest_gaussian_subjects_is_the_least_that_keeps_the_claim() -> None:
    epsilon, delta = CLAIM
    assert GaussianCurve(claimed_mu()).epsilon_at(delta) <= epsilon
    assert GaussianCurve(claimed_mu() * 1.001).epsilon_at(delta) > epsilon


@pytest.mark.parametrize("times", [4.0, 5.0], ids=["sensitivity-over-four", "composition-inverted"])
def test_gaussian_noise_that_is_so_many_times_too_small_has_an_epsilon_of_at_least_4(times: float) -> None:
    """Events of 200 000 runs show less of it than the curve says."""
    assert GaussianCurve(times * claimed_mu()).epsilon_at(CLAIM[1]) > 4.0


@pytest.mark.slow
@pytest.mark.parametrize("subject", WRONG, ids=lambda each: each.identity)
def test_a_wrong_subject_has_an_epsilon_of_at_least_what_it_says(subject: BoxedSubject) -> None:
    assert subject.statistic is not None
    pair = next(each for each in library(subject.domain) if each.name == subject.pair)
    first, second = (
        np.concatenate([subject.statistic(subject.run(side, 20_000, rng)) for _ in range(RUNS // 20_000)])
        for side, rng in ((pair.first, np.random.default_rng(1)), (pair.second, np.random.default_rng(2)))
    )
    assert (
        max(_shown(first, second), _shown(second, first), _shown(-first, -second), _shown(-second, -first))
        >= subject.least
    )


def _shown(a: np.ndarray[tuple[int], np.dtype[np.float64]], b: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The largest epsilon that events {statistic > t} show, from exact binomial bounds."""
    best = 0.0
    for t in np.quantile(np.concatenate([a, b]), 1.0 - np.geomspace(1e-3, 0.6, 25)):
        hit = binomial_at_least(int((a > t).sum()), a.size, MISS)
        false = binomial_at_most(int((b > t).sum()), b.size, MISS)
        if hit > CLAIM[1]:
            best = max(best, math.log((hit - CLAIM[1]) / false))
    return best
