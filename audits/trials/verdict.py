"""What a check concluded, and what a set of conclusions means for the exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """The five conclusions; the value is the exit code of a run whose worst conclusion it is."""

    STANDS = 0
    REFUTED = 1
    INCONCLUSIVE = 3
    ADAPTER_FAILED = 4
    FAULT = 70

    @property
    def exit_code(self) -> int:
        """Return the documented exit code."""
        return self.value

    @property
    def word(self) -> str:
        """Return the conclusion as a report prints it."""
        return self.name.lower().replace("_", " ")


# a fault of ours makes every other conclusion worthless; a refutation outweighs what else went wrong
PRECEDENCE = (Outcome.FAULT, Outcome.REFUTED, Outcome.ADAPTER_FAILED, Outcome.INCONCLUSIVE, Outcome.STANDS)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the conclusion that decides; of no conclusions at all, ``INCONCLUSIVE``: nothing was checked."""
    seen = set(outcomes)
    for outcome in PRECEDENCE:
        if outcome in seen:
            return outcome
    return Outcome.INCONCLUSIVE


@dataclass(frozen=True, slots=True)
class Power:
    """The smallest violation that the test would have caught: noise divided by ``divisor``, with this probability.

    ``at_least`` is a lower confidence bound (95 %) of the probability, from ``simulations`` simulated audits.
    """

    divisor: float
    at_least: float
    simulations: int

    def describe(self) -> str:
        """Return the sentence a report prints."""
        return f"noise/{self.divisor:.3g} would have been caught with probability at least {self.at_least:.2f}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion of one audit: what it means, on what evidence, and what it could have seen."""

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
    that saw nothing has shown nothing: inconclusive, never "stands".
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
