"""Certificates of the exact adversary: derived again on other lattices; false ends are refused."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from accountant.certificates.certificate import Certificate, certificate, read_ledger
from accountant.certificates.recheck import certified_upper, recheck
from accountant.errors import CertificateError
from accountant.lower_end import adaptive_lower
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import decimal_string
from accountant.pricing import epsilon

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document() -> Certificate:
    steps = (SubsampledGaussianStep(Fraction(1, 10), Fraction(3), 120),)
    report = epsilon(Ledger(steps, steps), "1e-6", methods=["adversary"])
    assert report.methods["adversary"].how.startswith("single steps")
    return certificate(report)


def _with_upper(document: Certificate, factor: Fraction) -> Certificate:
    upper = decimal_string(Fraction(document.epsilon.upper) * factor, document.digits, "up")
    record = dataclasses.replace(document.methods["adversary"], epsilon=upper, lower=upper, upper=upper)
    ends = dataclasses.replace(document.epsilon, upper=upper, lower="0")
    changed = dataclasses.replace(document, methods={"adversary": record}, epsilon=ends)
    return dataclasses.replace(changed, digest=changed.expected_digest())


def test_an_honest_end_is_confirmed(document: Certificate) -> None:
    findings = recheck(document)
    assert "boxes" in {finding.subject: finding.statement for finding in findings}["adversary"]
    stated = Fraction(document.epsilon.upper)
    assert stated <= certified_upper(findings) <= stated * Fraction(1002, 1000)


def test_a_looser_end_stands_and_a_false_one_falls(document: Certificate) -> None:
    recheck(_with_upper(document, Fraction(11, 10)))
    with pytest.raises(CertificateError):
        recheck(_with_upper(document, Fraction(97, 100)))


def test_an_end_lowered_by_less_than_the_check_tells_apart_is_certified_at_what_it_proves(
    document: Certificate,
) -> None:
    changed = _with_upper(document, Fraction(999, 1000))
    proved = certified_upper(recheck(changed))
    assert proved > Fraction(changed.epsilon.upper)
    assert proved >= Fraction(document.epsilon.upper) * Fraction(9995, 10000)


def test_an_end_below_what_an_adaptive_adversary_attains_is_refused(document: Certificate) -> None:
    """Also where no lattice would notice: the end is between the adaptive and the forward lower ends."""
    attained = adaptive_lower(read_ledger(document.ledger), Fraction(document.delta), None)
    assert attained is not None
    factor = attained / Fraction(document.epsilon.upper) * Fraction(9999, 10000)
    with pytest.raises(CertificateError, match="attains"):
        recheck(_with_upper(document, factor))
