from __future__ import annotations

import datetime
import math
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import norm

from accountant import Gaussian, SsADMM
from audits.errors import ClaimFileError
from audits.gate.claim_file import TEMPLATE, Claim, read_claim_file
from audits.gate.price import account
from verification.outcome import Outcome


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claim.toml"
    path.write_text(text)
    return path


def test_the_template_is_a_valid_claim_file_and_means_what_it_says(tmp_path: Path) -> None:
    claims = read_claim_file(written(tmp_path, TEMPLATE))
    assert claims.claim.delta == Fraction(1, 10**8)
    (mechanism,) = claims.mechanism
    assert isinstance(mechanism, SsADMM)
    assert mechanism.sigma == Fraction("0.0136")
    assert (claims.gate.budget, claims.gate.power, claims.gate.false_alarm) == (300.0, 1.2, Fraction(1, 10**6))


def test_the_commented_waiver_of_the_template_is_valid_too(tmp_path: Path) -> None:
    head, _, waiver = TEMPLATE.partition("# [[waiver]]")
    text = head + "\n".join(line.removeprefix("# ") for line in ("# [[waiver]]" + waiver).splitlines())
    (kept,) = read_claim_file(written(tmp_path, text)).waiver
    assert kept.holds(datetime.date(2030, 1, 31))
    assert not kept.holds(datetime.date(2030, 2, 1))


def test_several_mechanisms_need_names_of_their_own(tmp_path: Path) -> None:
    block = TEMPLATE[TEMPLATE.index("[mechanism]") : TEMPLATE.index("[implementation]")].replace(
        "[mechanism]", "[[mechanism]]"
    )
    rest = TEMPLATE.replace(TEMPLATE[TEMPLATE.index("[mechanism]") : TEMPLATE.index("[implementation]")], "")
    with pytest.raises(ClaimFileError, match="different names"):
        read_claim_file(written(tmp_path, rest + block + block))
    named = block + 'name = "a"\n' + block + 'name = "b"\n'
    assert [m.title for m in read_claim_file(written(tmp_path, rest + named)).mechanism] == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('epsilon = "1.0"', 'epsilom = "1.0"', "claim.epsilom: unknown key; did you mean 'epsilon'"),
        ('sigma = "0.0136"', 'sigme = "0.0136"', "mechanism.0: sigme: unknown key; did you mean 'sigma'"),
        ("[gate]", "[gates]", "gates: unknown key; did you mean 'gate'"),
        ('epsilon = "1.0"', "epsilon = 1.0", "write it in quotes"),
        ('epsilon = "1.0"', 'epsilon = "-1"', "greater than or equal to 0"),
        ('epsilon = "1.0"', 'epsilon = "one"', "must be a finite number"),
        ('epsilon = "1.0"', "", "epsilon is needed"),
        ('delta = "1e-8"', "", "delta is needed"),
        ('epsilon = "1.0"', 'renyi = [["1", "0.5"]]', "greater than 1"),
        ('delta = "1e-8"', 'delta = "0"', "needs delta > 0"),
        ('delta = "1e-8"', 'delta = "1"', "less than 1"),
        ('"replace-one"', '"add-remove"', "replace-one"),
        ('"without-replacement"', '"poisson"', "without-replacement"),
        ("batch = 221", "batch = 50000", "batch must be at most records"),
        ("batch = 221\n", "", "ssadmm also needs batch"),
        ('algorithm = "ssadmm"', 'algorithm = "mpadmm"', "belongs to ssadmm"),
        ("records = 48842", "records = 0", "records must be >= 1, got records=0"),
        ("records = 48842", "records = true", "records must be a whole number, got records=True"),
        ('budget = "5m"', 'budget = "5 minutes"', 'such as "90s"'),
        ('budget = "5m"', 'budget = "0s"', 'such as "90s"'),
        ('power = "noise/1.2"', 'power = "noise/1.0"', "D > 1"),
        ('false_alarm = "1e-6"', 'false_alarm = "1.5"', "less than 1"),
        ('command = ["python", "adapter.py"]', "command = []", "must not be empty"),
        ("[claim]", "[claim", "is not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEMPLATE
    with pytest.raises(ClaimFileError) as caught:
        read_claim_file(written(tmp_path, TEMPLATE.replace(old, new, 1)))
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def converted(alpha: float, epsilon: float) -> float:
    """[CKS20] Proposition 12 at delta = 1e-6."""
    return epsilon + math.log(1 - 1 / alpha) - math.log(1e-6 * alpha) / (alpha - 1)


@pytest.mark.parametrize(
    ("said", "epsilon"),
    [
        ('zcdp = "0.5"', min(converted(a, a / 2) for a in np.linspace(1.1, 20.0, 10_000))),
        ('gdp = "1"', optimize.brentq(lambda e: norm.cdf(0.5 - e) - math.exp(e) * norm.cdf(-0.5 - e) - 1e-6, 1, 9)),
        ('renyi = [["2", "0.1"]]', converted(2.0, 0.1)),
        ('renyi = [["2", "0.1"], ["12", "0.6"]]', converted(12.0, 0.6)),
        ('zcdp = "0.5"\nepsilon = "3"', 3.0),
    ],
)
def test_another_notion_stands_beside_an_epsilon_or_implies_one(tmp_path: Path, said: str, epsilon: float) -> None:
    delta = 'delta = "1e-6"' if "epsilon" in said else ""
    claims = read_claim_file(
        written(tmp_path, TEMPLATE.replace('epsilon = "1.0"', said, 1).replace('delta = "1e-8"', delta, 1))
    )
    assert float(claims.claim.epsilon) == pytest.approx(epsilon, abs=1e-4)
    assert claims.claim.implied is ("epsilon" not in said)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"zcdp": "0.125"}, Outcome.STANDS),
        ({"zcdp": "0.12", "epsilon": "9", "delta": "1e-6"}, Outcome.REFUTED),
        ({"zcdp": "0.125", "epsilon": "1", "delta": "1e-6"}, Outcome.REFUTED),
        ({"renyi": [["2", "0.25"]], "gdp": "0.5"}, Outcome.STANDS),
        ({"renyi": [["2", "0.24"]], "gdp": "0.5"}, Outcome.REFUTED),
    ],
)
def test_every_promise_of_a_claim_is_priced(said: dict[str, object], outcome: Outcome) -> None:
    claim = Claim.model_validate(said | {"neighbours": "replace-one"})
    assert account(claim, Gaussian(noise_multiplier=4, iterations=4)).judged.outcome is outcome


def test_a_waiver_needs_a_reason_and_a_date(tmp_path: Path) -> None:
    for waiver in (
        'finding = "x"\nreason = "because"\nexpires = 2030-01-01',
        'finding = "x"\nreason = "known since May"',
    ):
        with pytest.raises(ClaimFileError, match="waiver"):
            read_claim_file(written(tmp_path, f"{TEMPLATE}\n[[waiver]]\n{waiver}\n"))


def test_the_template_is_plain_toml() -> None:
    assert set(tomllib.loads(TEMPLATE)) == {"claim", "mechanism", "implementation", "gate"}
