"""Certificates of the exact adversary: confirmed by another lattice and a contour; false ends are refused."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from accountant.certificates.certificate import Certificate, certificate
from accountant.certificates.recheck import recheck
from accountant.errors import CertificateError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import decimal_string
from accountant.pricing import epsilon

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document() -> Certificate:
    steps = (SubsampledGaussianStep(Fraction(1, 10), Fraction(3), 120),)
    report = epsilon(Ledger(steps, steps), "1e-6", methods=["adversary"])
    assert report.methods["adversary"].how.startswith("single steps 120")
    return certificate(report)


def _with_upper(document: Certificate, factor: Fraction) -> Certificate:
    upper = decimal_string(Fraction(document.epsilon.upper) * factor, document.digits, "up")
    record = dataclasses.replace(document.methods["adversary"], epsilon=upper, lower=upper, upper=upper)
    ends = dataclasses.replace(document.epsilon, upper=upper, lower="0")
    changed = dataclasses.replace(document, methods={"adversary": record}, epsilon=ends)
    return dataclasses.replace(changed, digest=changed.expected_digest())


def test_an_honest_end_is_confirmed(document: Certificate) -> None:
    found = {finding.subject: finding.statement for finding in recheck(document)}
    assert "contour integral" in found["adversary"]
    assert "boxes" in found["adversary"]


def test_a_looser_end_stands_and_a_false_one_falls(document: Certificate) -> None:
    recheck(_with_upper(document, Fraction(11, 10)))
    with pytest.raises(CertificateError):
        recheck(_with_upper(document, Fraction(97, 100)))


def test_the_contour_alone_refuses_an_end_below_the_forward_pair(
    document: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accountant.pld.adversary.recheck.require_adversary_upper", lambda *_: "not looked at")
    with pytest.raises(CertificateError, match="contour"):
        recheck(_with_upper(document, Fraction(95, 100)))
