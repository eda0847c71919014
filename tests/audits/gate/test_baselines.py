"""The baselines in the gate: each stands with the power asked for, and each with one bug is refuted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from accountant import SsADMM
from accountant.mechanisms.mechanism import ON_GRID
from audits.curves import ApproximateCurve
from audits.errors import ClaimFileError, NothingToAudit
from audits.games.executors import Target, executor, run_pair
from audits.games.executors import chunks as chunks_of
from audits.games.game import Subject, about_game, curve_of
from audits.games.plans import standard_games
from audits.gate.claim_file import ClaimFile, read_claim_file
from audits.gate.price import account
from audits.gate.report import GateReport
from audits.gate.run import GateOptions, run_gate
from tests.zoo import MEMBERS, Sight
from tests.zoo.claims import claim_file
from verification.judge import finding
from verification.outcome import Outcome, Stage
from verification.wire.parameters import NON_PRIVATE, PRIVATE_BASELINES, Algorithm
from verification.wire.process import Limits
from verification.wire.session import Session

EXAMPLES = Path(__file__).parents[3] / "examples" / "claims"
LOOPBACK = ("-m", "verification.served.loopback")
# At least one bug a baseline.
BUGS = {
    "dpsgd-noise-inside-the-mean": Algorithm.DPSGD,
    "dpadmm-parties-ignored": Algorithm.DPADMM,
    "dpsvrg-full-gradient-without-noise": Algorithm.DPSVRG,
    "objp-perturbs-once": Algorithm.OBJP,
    "objp-without-the-ridge": Algorithm.OBJP,
    "non-private-sold-as-private": Algorithm.OBJP,
}


def gate(claims: ClaimFile, *only: str, seed: int = 1) -> GateReport:
    with executor(1) as pool:
        return run_gate(claims, pool, GateOptions(seed, only))


def bundled(name: str, folder: Path, *changes: tuple[str, str]) -> ClaimFile:
    """A bundled claim file, run with this interpreter."""
    text = (EXAMPLES / name).read_text("utf-8").replace('"python"', f'"{sys.executable}"')
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text, "utf-8")
    return read_claim_file(path)


def of_member(identity: str, sight: Sight, folder: Path) -> ClaimFile:
    path = folder / "claim.toml"
    path.write_text(claim_file(MEMBERS[identity], sight), "utf-8")
    return read_claim_file(path)


# -- the price ---------------------------------------------------------------------------------------------------


def test_the_price_of_discrete_noise_says_that_the_grid_is_to_be_counted(tmp_path: Path) -> None:
    claim = bundled("baselines.toml", tmp_path).claim
    for noise, noted in (("discrete", True), ("gaussian", False)):
        run = SsADMM(records=100, batch=10, iterations=5, noise_multiplier=99, noise=noise)
        judged = account(claim, run).judged
        assert judged.outcome is Outcome.STANDS
        assert (ON_GRID in finding(judged).detail) is noted


def test_the_bundled_baselines_cost_what_they_claim_and_no_less_would_do(tmp_path: Path) -> None:
    claims = bundled("baselines.toml", tmp_path)
    assert {m.algorithm for m in claims.mechanism} == {str(a) for a in PRIVATE_BASELINES}
    assert {account(claims.claim, m).judged.outcome for m in claims.mechanism} == {Outcome.STANDS}
    low = bundled("baselines.toml", tmp_path, ('epsilon = "1.0"', 'epsilon = "0.01"'))
    outcomes = {m.algorithm: account(low.claim, m).judged.outcome for m in low.mechanism}
    # no pair is known to attain what objp is charged for, so that a smaller claim is not refuted; but it never stands
    assert outcomes == {
        "dpsgd": Outcome.REFUTED,
        "dpadmm": Outcome.REFUTED,
        "dpsvrg": Outcome.REFUTED,
        "objp": Outcome.INCONCLUSIVE,
    }


def test_what_is_not_private_is_refuted_at_every_epsilon(tmp_path: Path) -> None:
    for epsilon in ("0", "1e30"):
        claims = bundled("non-private.toml", tmp_path, ('"infinity"\n', f'"{epsilon}"\n'))
        report = gate(claims)
        assert report.outcome is Outcome.REFUTED
        assert {f.name for f in report.findings if f.outcome is Outcome.REFUTED} == {"sADMM/price", "ADMM/price"}


@pytest.mark.slow
def test_what_is_not_private_is_no_pass_without_its_price(tmp_path: Path) -> None:
    claims = bundled("non-private.toml", tmp_path, ('"infinity"\n', '"1e30"\n'))
    assert gate(claims, "games").outcome is Outcome.INCONCLUSIVE


@pytest.mark.slow
def test_what_is_not_private_stands_if_it_says_so(tmp_path: Path) -> None:
    report = gate(bundled("non-private.toml", tmp_path), "price", "games")
    assert {f.outcome for f in report.findings if f.stage in {Stage.PRICE, Stage.GAMES}} == {Outcome.STANDS}
    assert report.outcome is Outcome.INCONCLUSIVE, "a part of a gate never says that a claim stands"
    assert all("adds no noise" in finding.detail for finding in report.findings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("parties = 2\n", "")], "dpadmm also needs parties"),
        ([("parties = 2", "parties = 50000")], "parties must be at most records"),
        ([("inner = 221", "inner = 220")], "multiple of inner=220"),
        ([('anchor_sigma = "0.002"', "")], "sigma and anchor_sigma belong together"),
        ([('epsilon = "0.1"', 'sigma = "0.1"')], "sigma belongs to"),
        ([('algorithm = "objp"', 'algorithm = "admm"')], "epsilon belongs to objp, pure, not to admm"),
        (
            [('algorithm = "dpsgd"', 'algorithm = "dpsdg"')],
            "mechanism.0: algorithm must be one of ssadmm, mpadmm, dpsgd",
        ),
        ([('epsilon = "1.0"', 'epsilon = "inf"')], "claim.epsilon"),
        ([('epsilon = "1.0"', 'epsilon = "-1"')], "claim.epsilon"),
    ],
)
def test_what_is_wrong_in_a_claim_about_a_baseline_is_named(
    changes: list[tuple[str, str]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ClaimFileError, match=message):
        bundled("baselines.toml", tmp_path, *changes)


# -- the games ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", PRIVATE_BASELINES)
def test_an_honest_baseline_stands_in_its_games_with_the_power_asked_for(algorithm: Algorithm, tmp_path: Path) -> None:
    report = gate(bundled("baselines.toml", tmp_path), str(about_game(Subject(algorithm).mode, FIRST_GAMES[algorithm])))
    assert [finding.outcome for finding in report.findings] == [Outcome.STANDS]
    assert all(f.power is not None and f.power.divisor <= 1.2 and f.power.at_least >= 0.9 for f in report.findings)


FIRST_GAMES = {
    Algorithm.DPSGD: "every record in every batch",
    Algorithm.DPADMM: "small steps",
    Algorithm.DPSVRG: "full gradients",
    Algorithm.OBJP: "one perturbed objective",
}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", PRIVATE_BASELINES)
def test_the_games_alone_refute_a_baseline_without_noise(algorithm: Algorithm, tmp_path: Path) -> None:
    claims = of_member("non-private-sold-as-private", Sight.BLACK_BOX, tmp_path)
    report = gate(claims, str(about_game(Subject(algorithm).mode, FIRST_GAMES[algorithm])))
    assert [finding.outcome for finding in report.findings] == [Outcome.REFUTED]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", PRIVATE_BASELINES)
def test_scores_are_distributed_as_the_power_of_a_game_assumes(algorithm: Algorithm) -> None:
    """Deciles of 2,000 scores of each neighbour against 200,000 simulated ones: DKW at 1e-6 allows 0.063."""
    command = (sys.executable, *LOOPBACK, str(algorithm))
    with Session(command) as session:
        for planned in standard_games(session, Subject(algorithm)):
            game = planned.game
            [chunk] = chunks_of(3, 0, 2000, 2000)
            runs = run_pair(Target(command, Limits()), game, chunk)
            simulated = planned.simulate(1.0, 200_000, np.random.default_rng(5))
            for run, expected in zip(runs, simulated, strict=True):
                seen = planned.attack.scores(game, run)
                shares = np.mean(seen[:, None] <= np.quantile(expected, np.linspace(0.1, 0.9, 9)), axis=0)
                assert np.abs(shares - np.linspace(0.1, 0.9, 9)).max() < 0.063, game.name


def test_the_claim_about_a_perturbed_objective_is_its_pure_epsilon() -> None:
    with Session((sys.executable, *LOOPBACK, "objp")) as session:
        [planned] = standard_games(session, Subject(Algorithm.OBJP))
    curve = curve_of(Subject(Algorithm.OBJP).ledger(planned.game.records, planned.game.parameters))
    assert curve == ApproximateCurve(2.0)


@pytest.mark.parametrize("algorithm", NON_PRIVATE)
def test_no_game_is_played_where_nothing_is_claimed(algorithm: Algorithm) -> None:
    with Session((sys.executable, *LOOPBACK, str(algorithm))) as session, pytest.raises(NothingToAudit, match="noise"):
        standard_games(session, Subject(algorithm))


# -- whole gates -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_bundled_baselines_stand_in_a_whole_gate(tmp_path: Path) -> None:
    report = gate(bundled("baselines.toml", tmp_path))
    assert report.outcome is Outcome.STANDS, [(f.name, f.detail) for f in report.findings]
    played = {f.subject for f in report.findings if f.stage is Stage.GAMES}
    assert {str(a) for a in PRIVATE_BASELINES} <= played
    asked = {f.name: f.outcome for f in report.findings if f.stage in {Stage.SMALL, Stage.CLAIMED}}
    assert asked == {"small": Outcome.STANDS, "claimed": Outcome.STANDS}


@pytest.mark.slow
def test_the_non_private_ones_stand_in_a_whole_gate_as_what_they_are(tmp_path: Path) -> None:
    assert gate(bundled("non-private.toml", tmp_path)).outcome is Outcome.STANDS


@pytest.mark.slow
@pytest.mark.parametrize("identity", BUGS)
def test_a_baseline_with_one_bug_is_refuted_by_a_whole_gate(identity: str, tmp_path: Path) -> None:
    report = gate(of_member(identity, Sight.BLACK_BOX, tmp_path))
    assert report.outcome is Outcome.REFUTED, [(f.name, f.detail) for f in report.findings]
    assert report.seconds < 60
