"""Pictures of a gate's data."""

from __future__ import annotations

import math

import numpy as np

from accountant import float_up
from accountant.numbers import fraction_of
from audits.estimators.berk_jones import roc_band
from audits.gate.account_stage import Account
from audits.gate.findings import GateReport, Stage
from audits.trials.sequential import AuditResult
from verification.outcome import Finding, Outcome
from verification.picture import Ink, Picture, Series
from verification.pictures import MOST_POINTS, pairs, quantiles, thinned


def plots_of(report: GateReport) -> list[Picture]:
    """Return every plot that this gate has data for."""
    plots = [epsilon_by_method(account) for account in report.accounts if account.report is not None]
    for audit in report.audits:
        if audit.first.size:
            plots += [trade_off(audit), wealth(audit)]
    if report.observed is not None:
        plots.append(quantiles(report.observed.game, [report.observed.standardised]))
    return plots


def trade_off(audit: AuditResult) -> Picture:
    """The claimed trade-off function against what the scores show, with its simultaneous 95 % band."""
    band = roc_band(audit.first, audit.second, confidence=0.95)
    grid = np.linspace(0.0, 1.0, MOST_POINTS)
    claimed = audit.plan.curve.trade_off(grid)
    pick = thinned(band.thresholds.size)
    at = band.thresholds[pick]
    first, second = np.sort(audit.first), np.sort(audit.second)
    seen_first = 1.0 - np.searchsorted(first, at, side="right") / first.size
    seen_second = 1.0 - np.searchsorted(second, at, side="right") / second.size
    return Picture(
        f"Trade-off: {audit.plan.game.name}",
        "No test of any kind may lie below the claimed curve. The true errors of the score's own tests lie below and "
        "left of the dotted line with 95 % confidence, all thresholds at once: where that line dips below the claim, "
        "the claim is wrong.",
        "type I error",
        "type II error",
        (
            Series(
                "at most this, with 95 % confidence",
                pairs(band.second_at_most[pick], 1.0 - band.first_at_least[pick]),
                Ink.BAND,
            ),
            Series("claimed", pairs(grid, claimed), Ink.CLAIMED),
            Series("seen", pairs(seen_second, 1.0 - seen_first), Ink.SEEN),
        ),
    )


def wealth(audit: AuditResult) -> Picture:
    """The e-process: the claim is refuted when the log-wealth reaches log 1/alpha."""
    size = audit.log_wealth.size
    pick = thinned(size, 2 * MOST_POINTS)
    goal = -math.log(audit.plan.alpha)
    return Picture(
        f"Evidence against the claim: {audit.plan.game.name}",
        "A running score of the evidence against the claim (the logarithm of an e-process). If the claim is true, it "
        f"ever reaches the dashed line with probability at most {audit.plan.alpha:.2g}; reaching it refutes the claim.",
        "trial pairs",
        "log e-value",
        (
            Series("evidence so far", pairs((pick + 1).astype(np.float64), audit.log_wealth[pick]), Ink.SEEN),
            Series("refuted from here up", ((0.0, goal), (float(size), goal)), Ink.CLAIMED),
        ),
    )


def epsilon_by_method(account: Account) -> Picture:
    """Epsilon by every method that is proved for the mechanism, beside the claim and the certified lower end."""
    if account.report is None:
        raise ValueError("nothing was priced")
    methods = [(name, float_up(fraction_of(r.epsilon.upper))) for name, r in account.report.methods.items()]
    methods.sort(key=lambda entry: -entry[1])
    last = float(len(methods))
    claimed = methods[0][1] if account.claim.nothing else float(account.claim.epsilon)
    attained = float(fraction_of(account.report.epsilon.lower))
    names = ", ".join(f"{i + 1}: {name} {value:.5g}" for i, (name, value) in enumerate(methods))
    return Picture(
        f"Epsilon by method: {account.mechanism.title}",
        f"Methods from left to right: {names}. Each is a proved upper bound; a concrete pair attains the lower line.",
        "method",
        "epsilon",
        (
            Series(
                "proved upper bounds",
                tuple((i + 1.0, value) for i, (_, value) in enumerate(methods)),
                Ink.SEEN,
                dots=True,
            ),
            Series("claimed", ((0.5, claimed), (last + 0.5, claimed)), Ink.CLAIMED),
            Series("attained by a pair", ((0.5, attained), (last + 0.5, attained)), Ink.FLOOR),
        ),
    )


def refuted_price(report: GateReport, finding: Finding) -> Picture | None:
    """The bounds on epsilon of a mechanism whose price is refuted."""
    if finding.stage != Stage.ACCOUNT or finding.outcome is not Outcome.REFUTED:
        return None
    title = finding.name.partition(": ")[2]
    priced = (a for a in report.accounts if a.mechanism.title == title and a.report is not None)
    account = next(priced, None)
    return None if account is None else epsilon_by_method(account)
