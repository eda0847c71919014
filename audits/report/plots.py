"""Plots of a gate's data."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from accountant import float_up
from accountant.numbers import fraction_of
from audits.curves.privacy_curve import FloatArray
from audits.estimators.berk_jones import roc_band
from audits.gate.account_stage import Account
from audits.gate.findings import GateReport
from audits.gate.observed import ObservedNoise
from audits.report.svg import Plot, Points, Series
from audits.trials.sequential import AuditResult

_POINTS = 160


def plots_of(report: GateReport) -> list[Plot]:
    """Return every plot that this gate has data for."""
    plots = [epsilon_by_method(account) for account in report.accounts if account.report is not None]
    for audit in report.audits:
        if audit.first.size:
            plots += [trade_off(audit), wealth(audit)]
    if report.observed is not None:
        plots.append(noise_quantiles(report.observed))
    return plots


def trade_off(audit: AuditResult) -> Plot:
    """The claimed trade-off function against what the scores show, with its simultaneous 95 % band."""
    band = roc_band(audit.first, audit.second, confidence=0.95)
    grid = np.linspace(0.0, 1.0, _POINTS)
    claimed = audit.plan.curve.trade_off(grid)
    pick = np.unique(np.linspace(0, band.thresholds.size - 1, _POINTS).astype(np.int64))
    at = band.thresholds[pick]
    first, second = np.sort(audit.first), np.sort(audit.second)
    seen_first = 1.0 - np.searchsorted(first, at, side="right") / first.size
    seen_second = 1.0 - np.searchsorted(second, at, side="right") / second.size
    return Plot(
        f"Trade-off: {audit.plan.game.name}",
        "No test of any kind may lie below the claimed curve. The true errors of the score's own tests lie below and "
        "left of the dotted line with 95 % confidence, all thresholds at once: where that line dips below the claim, "
        "the claim is wrong.",
        "type I error",
        "type II error",
        (
            Series(
                "at most this, with 95 % confidence",
                _pairs(band.second_at_most[pick], 1.0 - band.first_at_least[pick]),
                "band",
            ),
            Series("claimed", _pairs(grid, claimed), "claimed"),
            Series("seen", _pairs(seen_second, 1.0 - seen_first), "seen"),
        ),
    )


def wealth(audit: AuditResult) -> Plot:
    """The e-process: the claim is refuted when the log-wealth reaches log 1/alpha."""
    size = audit.log_wealth.size
    pick = np.unique(np.linspace(0, size - 1, 2 * _POINTS).astype(np.int64))
    goal = -math.log(audit.plan.alpha)
    return Plot(
        f"Wealth: {audit.plan.game.name}",
        "What a gambler against the claim has left, or has won; under the claim it ever reaches the dashed line with "
        f"probability at most {audit.plan.alpha:.2g}.",
        "trial pairs",
        "log wealth",
        (
            Series("log wealth", _pairs((pick + 1).astype(np.float64), audit.log_wealth[pick]), "seen"),
            Series("refuted from here on", [(0.0, goal), (float(size), goal)], "claimed"),
        ),
    )


def epsilon_by_method(account: Account) -> Plot:
    """Epsilon by every method that is proved for the mechanism, beside the claim and the certified lower end."""
    if account.report is None:
        raise ValueError("nothing was priced")
    methods = [(name, float_up(fraction_of(r.epsilon.upper))) for name, r in account.report.methods.items()]
    methods.sort(key=lambda entry: -entry[1])
    last = float(len(methods))
    claimed = methods[0][1] if account.claim.nothing else float(account.claim.epsilon)
    attained = float(fraction_of(account.report.epsilon.lower))
    names = ", ".join(f"{i + 1}: {name} {value:.5g}" for i, (name, value) in enumerate(methods))
    return Plot(
        f"Epsilon by method: {account.mechanism.title}",
        f"Methods from left to right: {names}. Each is a proved upper bound; a concrete pair attains the lower line.",
        "method",
        "epsilon",
        (
            Series(
                "proved upper bounds", [(i + 1.0, value) for i, (_, value) in enumerate(methods)], "seen", dots=True
            ),
            Series("claimed", [(0.5, claimed), (last + 0.5, claimed)], "claimed"),
            Series("attained by a pair", [(0.5, attained), (last + 0.5, attained)], "floor"),
        ),
    )


def noise_quantiles(observed: ObservedNoise) -> Plot:
    """Quantiles of the noise an implementation drew, divided by the claimed sigma, against the standard normal."""
    size = observed.standardised.size
    pick = np.unique(np.linspace(0, size - 1, _POINTS).astype(np.int64))
    normal = ndtri((pick + 0.5) / size)
    reach = float(np.abs(normal).max())
    return Plot(
        f"Noise quantiles: {observed.game}",
        "Noise as it was drawn, over the claimed sigma. Flatter than the diagonal: too little; bent: not Gaussian.",
        "standard normal quantile",
        "noise / claimed sigma",
        (
            Series("claimed", [(-reach, -reach), (reach, reach)], "claimed"),
            Series("seen", _pairs(normal, observed.standardised[pick]), "seen", dots=True),
        ),
    )


def _pairs(x: FloatArray, y: FloatArray) -> Points:
    return list(zip(x.tolist(), y.tolist(), strict=True))
