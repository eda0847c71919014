"""Where no method has an answer in time, there still is one: every record in every step."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from accountant import Gaussian, Ledger, Poisson, SsADMM, certificate, epsilon, read_certificate, recheck
from accountant.errors import TimeLimitError, UnsupportedSchemeError
from accountant.numbers import fraction_of
from accountant.pricing import MethodResult, method_epsilon


def test_a_ledger_that_no_method_prices_in_time_is_priced_without_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(ledger: Ledger, delta: Fraction, method: str, *, digits: int) -> MethodResult:
        if method != "unsampled":
            raise TimeLimitError("the time limit of 1 s was reached")
        return method_epsilon(ledger, delta, method, digits=digits)

    monkeypatch.setattr("accountant.pricing.method_epsilon", slow)
    report = epsilon(Poisson(sampling_rate="0.1", noise_multiplier=2, iterations=50), "1e-6")
    assert set(report.methods) == {"unsampled"}
    assert all("time limit" in reason for reason in report.refused.values())
    document = read_certificate(json.dumps(certificate(report).to_json()))
    assert next(found.subject for found in recheck(document)) == "unsampled"


@pytest.mark.parametrize(
    "mechanism",
    [
        SsADMM(records=100, batch=10, noise_multiplier=2, iterations=50),
        Poisson(sampling_rate="0.1", noise_multiplier=2, iterations=50),
    ],
)
def test_it_is_never_below_the_others_and_is_gdp_where_nothing_is_sampled(mechanism: SsADMM | Poisson) -> None:
    loose = epsilon(mechanism, "1e-6", methods=["unsampled"]).epsilon
    assert fraction_of(loose.upper) >= fraction_of(epsilon(mechanism, "1e-6").epsilon.upper)
    whole = epsilon(Gaussian(noise_multiplier=2, iterations=50), "1e-6", methods=["gdp"]).epsilon
    assert fraction_of(loose.upper) == pytest.approx(fraction_of(whole.upper), rel=1e-12)


def test_it_needs_real_gaussian_noise() -> None:
    with pytest.raises(UnsupportedSchemeError):
        epsilon(Gaussian(noise_multiplier=2, noise="discrete"), "1e-6", methods=["unsampled"])
