"""A forger's test: every field of a certificate changed in turn, with and without a fitting digest (`forging`)."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from accountant import Laplace, Poisson, Pure, epsilon
from accountant.certificates.certificate import certificate, read_certificate
from accountant.certificates.recheck import certified_lower, certified_upper, recheck
from accountant.errors import CannotCertifyError, CertificateError
from accountant.numbers import decimal_string
from accountant.pricing import THEOREMS
from tests.accountant.certificates import forging


@pytest.mark.parametrize("name", forging.QUICK)
def test_no_forgery_of_a_quick_certificate_passes(name: str) -> None:
    counts, _, wrong = forging.forge(name, 12, random.Random())
    assert wrong == []
    assert counts.total() == 12


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(forging.BOOKS) - set(forging.QUICK)))
def test_no_forgery_of_a_slow_certificate_passes(name: str) -> None:
    assert forging.forge(name, 8, random.Random())[2] == []


def _certified_or_nothing(document: forging.Document) -> Fraction | None:
    """Return the upper end that a check certifies; None where it refuses the certificate, or cannot decide in time."""
    try:
        return certified_upper(recheck(read_certificate(json.dumps(document))))
    except (CertificateError, CannotCertifyError):
        return None


@pytest.mark.parametrize("name", [*forging.QUICK, "adversary, few steps"])
def test_an_upper_end_lowered_by_a_little_is_never_certified_below_a_provable_lower_end(name: str) -> None:
    """The ends of every method, lowered by 0.1 and 0.7 %."""
    if not forging.BOOKS[name].sound:
        pytest.skip("a violated sensitivity: the methods' ends support nothing")
    least = forging.least_provable(forging.BOOKS[name], forging.DELTA.get(name, "1e-6"))
    for factor in ("0.993", "0.999"):
        for document in forging.lowered(name, factor):
            certified = _certified_or_nothing(document)
            assert certified is None or certified >= least


@pytest.mark.slow
@pytest.mark.parametrize("factor", forging.MOVED[::3])
@pytest.mark.parametrize("name", sorted(set(forging.BOOKS) - {"mpadmm, printed"}))
def test_no_end_moved_by_up_to_two_per_cent_is_certified_below_a_provable_lower_end(name: str, factor: str) -> None:
    least = forging.least_provable(forging.BOOKS[name], forging.DELTA.get(name, "1e-6"))
    for document in forging.lowered(name, factor):
        certified = _certified_or_nothing(document)
        assert certified is None or certified >= least


@pytest.mark.parametrize("noise", ["10", pytest.param("3", marks=pytest.mark.slow)])
def test_a_lower_end_raised_within_the_width_of_a_check_is_not_certified(noise: str) -> None:
    """Exact integers do not exclude an end that is a little above the upper one."""
    run = Poisson(sampling_rate="0.05", noise_multiplier=1, iterations=20).ledger()
    run += Laplace(noise_multiplier=noise, iterations=5, neighbours="add-or-remove").ledger()
    report = epsilon(run, "1e-6", methods=["profile"], digits=12)
    document = certificate(report).to_json()
    true = report.epsilon.most.fraction()
    raised, wide = (decimal_string(true * factor, 12, "up") for factor in (Fraction(100_003, 100_000), Fraction(2)))
    record = {**document["methods"]["profile"], "epsilon": wide, "upper": wide, "lower": "0"}  # type: ignore[index]  # plain JSON
    ends = {"lower": raised, "upper": wide}
    found = recheck(
        read_certificate(json.dumps(forging.resigned({**document, "methods": {"profile": record}, "epsilon": ends})))
    )
    assert certified_lower(found) < true < Fraction(raised)
    assert certified_lower(found) > true * Fraction(999, 1000)


@pytest.mark.parametrize("iterations", [10**5, 10**12])
def test_a_composition_of_too_many_pure_releases_is_refused_before_it_fills_the_memory(iterations: int) -> None:
    document = certificate(epsilon(Pure(epsilon="0.001", iterations=iterations), "1e-6", methods=["pure"])).to_json()
    record = {**document["methods"]["pure"], "theorem": THEOREMS["optimal-pure"]}  # type: ignore[index]  # plain JSON
    forged = forging.resigned({**document, "methods": {"optimal-pure": record}})
    with pytest.raises(CertificateError, match="losses"):
        recheck(read_certificate(json.dumps(forged)))


@pytest.mark.parametrize("name", ["objp", "mpadmm, separate", "dpsvrg"])
def test_steps_that_nothing_attains_support_no_lower_end(name: str) -> None:
    """Known to the mechanisms' parameters alone: taken away, no lower end is certified."""
    designed = {where: text for where, text in forging.forgeries(forging.honest(name)) if "all is attained" in where}
    code, _, said = forging.checked(designed["all is attained (signed)"])
    assert (code, "certified: epsilon in" in said) in {(1, False), (0, False)}, said
    kept = json.loads(designed["all is attained (signed)"])
    kept["mechanisms"] = forging.honest(name)["mechanisms"]
    code, _, said = forging.checked(json.dumps(forging.resigned(kept)))
    assert code == 1
    assert "ledger.realisable is not what the mechanisms' parameters give" in said


@pytest.mark.parametrize("name", forging.QUICK)
def test_an_honest_certificate_stands(name: str) -> None:
    code, _, said = forging.checked(json.dumps(forging.honest(name)))
    assert code == 0
    assert "certified: epsilon in [" in said
    assert "not certified" not in said


def test_the_committed_measurement_covers_every_certificate_and_missed_nothing() -> None:
    record = json.loads(forging.RECORD.read_text())["certificates"]
    assert set(record) == set(forging.BOOKS)
    assert sum(entry["forgeries"] for entry in record.values()) >= 500
    assert not [key for entry in record.values() for key in entry if key in forging.WRONG]
    assert forging.PAGE.read_text("utf-8") == forging.page()
