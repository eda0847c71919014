"""Lack of power is inconclusive, never an error of the user's and never the end of the run."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from audits.curves import GaussianCurve
from audits.eprocess.curve_test import design_test
from audits.eprocess.power import LARGEST_AUDIT, smallest_shown, trials_needed
from audits.eprocess.scores import SampledScores, StepwiseScores
from audits.errors import NoPower
from audits.games.sequential import AuditPlan, plan_audit
from tests.audits.gate.test_gate import REFERENCE, claim_file, dpadmm, gate, zoo

# a pair that attains 1/sqrt 2 of a 2-GDP claim: as where mpADMM perturbs x and z and only x is shown
HALF_SEEN = StepwiseScores(1.0, (math.sqrt(2.0) / 2.0,))


def half_seen() -> SampledScores:
    return SampledScores(HALF_SEEN, 40_000, seed=0)


def test_a_violation_that_cannot_show_is_planned_for_at_the_next_size_that_can() -> None:
    assert not trials_needed(GaussianCurve(2.0), half_seen().tails(1.2), alpha=1e-3) <= LARGEST_AUDIT
    divisor, pairs = smallest_shown(GaussianCurve(2.0), half_seen(), 1e-3, 1.2)
    # below sqrt 2 the pair does not even attain the claim
    assert math.sqrt(2.0) < divisor <= 1.25**2 * 1.2
    assert 0 < pairs <= LARGEST_AUDIT
    # what can be shown is planned for as asked
    assert smallest_shown(GaussianCurve(2.0), half_seen(), 1e-3, 2.0)[0] == 2.0


def test_where_nothing_can_show_the_search_ends_with_the_reason() -> None:
    blind = SampledScores(StepwiseScores(1.0, (1e6,)), 40_000, seed=0)
    with pytest.raises(NoPower, match="noise/16 cannot be shown"):
        smallest_shown(GaussianCurve(2.0), blind, 1e-3, 1.2)


def _blind_at(stream: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The game of this number has no power; the others are planned as ever."""

    def plan(*arguments: object, **named: object) -> AuditPlan:
        if named["stream"] == stream:
            raise NoPower("noise/1.2 cannot be shown")
        return plan_audit(*arguments, **named)  # type: ignore[arg-type]  # passed through as it came

    for module in ("audits.gate.games", "audits.games.sequential"):
        monkeypatch.setattr(f"{module}.plan_audit", plan)


@pytest.mark.slow
@pytest.mark.parametrize("blind", [0, 1])
def test_a_game_without_power_hides_no_refutation_by_another(
    blind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _blind_at(blind, monkeypatch)
    done = gate(
        claim_file(tmp_path, zoo("variance-as-deviation")), "--only", "games", f"--report=json={tmp_path / 'j'}"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = [finding["outcome"] for finding in json.loads((tmp_path / "j").read_text())["findings"]]
    assert "refuted" in outcomes
    assert ("inconclusive" in outcomes) == (blind == 0)
    alone = dpadmm("audit", "--seed", "1", "--workers", "1", "--", *zoo("variance-as-deviation"))
    assert alone.returncode == 1, alone.stdout + alone.stderr
    assert "noise/1.2 cannot be shown" in alone.stdout


@pytest.mark.slow
def test_a_game_without_power_is_inconclusive_and_what_else_was_found_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _blind_at(1, monkeypatch)
    done = gate(claim_file(tmp_path, REFERENCE), "--only", "price", "--only", "games")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "stands         ssadmm/price" in done.stdout
    assert "stands         every-record-in-every-batch/ssadmm/games" in done.stdout
    assert "inconclusive   batches-of-a-quarter/ssadmm/games" in done.stdout
    alone = dpadmm("audit", "--seed", "1", "--workers", "1", "--format", "json", "--", *REFERENCE)
    assert alone.returncode == 3
    assert json.loads(alone.stdout)["without_power"] == {"batches of a quarter": "noise/1.2 cannot be shown"}


@pytest.mark.slow
def test_the_last_model_of_a_claim_about_all_is_inconclusive_with_what_would_have_shown(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.zoo", "noise-on-even-iterations", "last-model"]
    changes = (
        ('algorithm = "ssadmm"  ', 'algorithm = "mpadmm"  '),
        ("batch = 221\n", 'eta = "4"\nrho = "0.5"\nrelease = "all"\n'),
        ('sampling = "without-replacement" # fresh in every iteration\n', ""),
    )
    done = gate(claim_file(tmp_path, command, *changes), "--only", "one-step-above-1/mpadmm/all/games")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "noise/1.2 had to be detectable; as it is, noise too small by a factor of 1." in done.stdout
    assert "attains 0.707 of the claim: in no number of runs does anything below noise/1.41 exceed it" in done.stdout
    assert "claim release primal" in done.stdout


@pytest.mark.slow
def test_an_algorithm_that_is_not_offered_does_not_hide_one_that_is(tmp_path: Path) -> None:
    path = claim_file(tmp_path, zoo("epoch-wise-shuffle"))
    other = '[[mechanism]]\nalgorithm = "mpadmm"\nrecords = 1000\niterations = 1\nclip = "0.5"\nsigma = "1"\n'
    other += 'released = "every-iterate"\neta = "4"\nrho = "0.5"\nrelease = "all"\n\n'
    text = path.read_text().replace("\n[mechanism]", "\n[[mechanism]]")
    path.write_text(text.replace("\n[implementation]", f"\n{other}[implementation]"))
    done = gate(path, "--only", "games")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "the claim is about mpadmm, the implementation offers ssadmm" in done.stdout
    assert "every-record-in-every-batch/ssadmm/games" in done.stdout


def test_the_design_for_a_larger_violation_refutes_it_and_not_the_claim_itself() -> None:
    rng = np.random.default_rng(3)
    divisor, pairs = smallest_shown(GaussianCurve(2.0), half_seen(), 1e-3, 1.2)
    designed = design_test(GaussianCurve(2.0), half_seen(), 1.0, alpha=1e-3, budget=pairs, focus=divisor)
    first, second = HALF_SEEN(4.0, 2000, rng)
    assert designed.refutes(GaussianCurve(2.0), first, second, 1e-3)
    first, second = HALF_SEEN(1.0, 2000, rng)
    assert not designed.refutes(GaussianCurve(2.0), first, second, 1e-3)
