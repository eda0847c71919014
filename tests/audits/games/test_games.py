"""Games behind the wire: scores are distributed as simulated, hardest pairs are hardest, wrong games are refused."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import ks_2samp

from accountant import mechanism_from
from accountant.mechanisms.words import Sensitivity, Visibility
from audits.curves import GaussianCurve
from audits.eprocess.scores import StepwiseScores
from audits.errors import AuditError
from audits.games.executors import Chunk, Target, close_sessions, score_chunk
from audits.games.game import Game, LikelihoodRatio, Subject, curve_of
from audits.games.plans import Planned, standard_games
from verification.wire.parameters import Algorithm, Release
from verification.wire.process import Limits
from verification.wire.session import Session

REFERENCE = Target((sys.executable, "-m", "verification.served.loopback"), Limits())
SUBJECTS = [
    Subject(Algorithm.SSADMM),
    Subject(Algorithm.MPADMM, Release.ALL),
    Subject(Algorithm.MPADMM, Release.PRIMAL),
]


@pytest.fixture(scope="module", autouse=True)
def _no_adapter_left() -> Iterator[None]:
    yield
    close_sessions()


def games(subject: Subject, target: Target = REFERENCE) -> list[Planned]:
    with Session(target.command, target.limits) as session:
        return standard_games(session, subject)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: str(s.mode))
def test_scores_of_the_reference_are_distributed_as_simulated(subject: Subject) -> None:
    for stream, planned in enumerate(games(subject)):
        seen = score_chunk(REFERENCE, planned.game, LikelihoodRatio(), Chunk(1, stream, 0, 2000))
        first, second = planned.simulate(1.0, 20_000, np.random.default_rng(2))
        # Kolmogorov-Smirnov at 1e-6, fixed seeds; at twice the noise the p-value is below 1e-40
        assert ks_2samp(seen.first, first).pvalue > 1e-6
        assert ks_2samp(seen.second, second).pvalue > 1e-6
        quieter, _ = planned.simulate(0.5, 20_000, np.random.default_rng(3))
        assert ks_2samp(seen.first, quieter).pvalue < 1e-20


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: str(s.mode))
def test_the_pair_attains_the_whole_claim(subject: Subject) -> None:
    # log-likelihood ratios of a mu-GDP pair have mean difference mu^2: within five standard errors of 4
    for stream, planned in enumerate(games(subject)):
        assert isinstance(planned.simulate, StepwiseScores)
        if planned.simulate.rate < 1.0:
            continue
        curve = curve_of(subject.ledger(planned.game.records, planned.game.parameters))
        assert isinstance(curve, GaussianCurve)
        seen = score_chunk(REFERENCE, planned.game, LikelihoodRatio(), Chunk(5, stream, 0, 4000))
        gap = float(seen.first.mean() - seen.second.mean())
        assert abs(gap - curve.mu**2) < 5.0 * curve.mu * np.sqrt(2 / 4000)


def test_the_printed_claim_is_a_quarter_of_the_truth_in_its_game() -> None:
    printed = Subject(Algorithm.MPADMM, Release.ALL, Sensitivity.PRINTED)
    (planned,) = games(printed)
    claimed = curve_of(printed.ledger(planned.game.records, planned.game.parameters))
    true = curve_of(SUBJECTS[1].ledger(planned.game.records, planned.game.parameters))
    assert isinstance(claimed, GaussianCurve)
    assert isinstance(true, GaussianCurve)
    # the printed Delta(x) lacks eta = 4, and is spent three times (2 + rho^2) instead of jointly (2)
    assert true.mu / claimed.mu == pytest.approx(4.0 * np.sqrt(2.0 / 2.25))


def test_neighbours_must_differ_in_one_record() -> None:
    game = games(Subject(Algorithm.SSADMM))[0].game
    with pytest.raises(AuditError, match="differ in record 0 and in no other"):
        dataclasses.replace(game, second=game.first)
    with pytest.raises(AuditError, match="one step means iterations=1"):
        dataclasses.replace(game, visibility=Visibility.ONE_STEP)
    other = game.second.replace(1, game.first.features[0], 1)
    with pytest.raises(AuditError, match="differ in record 0"):
        Game("two", game.algorithm, game.parameters, game.first, other, game.visibility)


def test_a_subject_is_what_of_a_claimed_mechanism_decides_the_games() -> None:
    sizes: dict[str, object] = {"records": 10, "iterations": 2, "sigma": 1, "clip": 1, "released": "last-model"}
    batches = mechanism_from({"algorithm": "ssadmm", "batch": 3, **sizes})
    assert Subject.of(batches) == Subject(Algorithm.SSADMM, visibility=Visibility.LAST_MODEL)
    chosen = {"release": "primal", "sensitivity": "printed", "eta": 1, "rho": 1}
    whole = mechanism_from({"algorithm": "mpadmm", **sizes, **chosen})
    assert Subject.of(whole) == Subject(Algorithm.MPADMM, Release.PRIMAL, Sensitivity.PRINTED, Visibility.LAST_MODEL)
    with pytest.raises(AuditError, match="gaussian can be priced, not audited"):
        Subject.of(mechanism_from({"algorithm": "gaussian", "noise_multiplier": 1}))
