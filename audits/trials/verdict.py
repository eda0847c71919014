"""From the wealth of a finished audit to its outcome."""

from __future__ import annotations

from dataclasses import dataclass

from verification.outcome import Outcome, Power


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion of one audit: outcome, evidence and power."""

    outcome: Outcome
    summary: str
    trials: int
    log_wealth: float
    alpha: float
    power: Power | None = None


def judge(
    *, refuted_after: float, trials: int, log_wealth: float, alpha: float, power: Power | None, wanted: float | None
) -> Verdict:
    """Return the verdict of a finished audit.

    Without power, or with less than was asked for (``wanted``: the noise divisor that had to be detectable), an audit
    that rejects nothing is inconclusive, never "stands".
    """
    if refuted_after <= trials:
        text = f"refuted after {int(refuted_after)} trial pairs (false-alarm probability at most {alpha:.3g})"
        return Verdict(Outcome.REFUTED, text, trials, log_wealth, alpha, power)
    if power is None:
        text = f"no violation seen in {trials} trial pairs, and none within reach would have been: budget too small"
        return Verdict(Outcome.INCONCLUSIVE, text, trials, log_wealth, alpha)
    if wanted is not None and power.divisor > wanted:
        text = (
            f"no violation seen in {trials} trial pairs, but noise/{wanted:.3g} was asked to be detectable and only "
            f"{power.describe()}"
        )
        return Verdict(Outcome.INCONCLUSIVE, text, trials, log_wealth, alpha, power)
    text = f"not refuted by {trials} trial pairs; {power.describe()}"
    return Verdict(Outcome.STANDS, text, trials, log_wealth, alpha, power)
