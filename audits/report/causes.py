"""What each cause of a refutation means and where to look: rules of SARIF, and docs/reference/causes.md."""

from __future__ import annotations

import os

from verification.outcome import Cause, Stage

DOCS = "DPADMM_DOCS"
"""The environment variable that holds the address of a published copy of the documentation, for links in reports."""
MEANING: dict[Cause, str] = {
    Cause.NOISE_SMALL: "The noise that leaves is smaller than claimed. Look at what the generator takes: a variance, a "
    "deviation, or a scale that was divided once too often.",
    Cause.NOISE_LARGE: "The noise is larger than claimed. That costs accuracy, not privacy: change either.",
    Cause.NOISE_LAW: "The noise has the right size and another law than claimed. Look for Laplace noise, "
    "truncation, rounding or clipping of the noise.",
    Cause.NOISE_MEAN: "The noise has a mean. Look for noise that is centred or shifted after it was drawn.",
    Cause.NOISE_DEPENDENT: "Noise values depend on each other. Look for one draw broadcast over coordinates, and "
    "for generators that share a seed.",
    Cause.NOISE_REUSED: "The same noise is used twice. Look for a fixed seed, and for workers that copy a generator.",
    Cause.NOISE_GRID: "Noise lies on a grid and the values beside it do not, so that rounding tells them apart.",
    Cause.NOISE_LOST: "Noise is drawn and does not reach what is released.",
    Cause.BATCH_SIZE: "Batches have another size than claimed.",
    Cause.BATCH_LAW: "Records are not drawn as claimed: in order, with replacement, or more often than others.",
    Cause.BATCH_REUSED: "Batches repeat, where each iteration should draw anew.",
    Cause.CONTRIBUTION: "One record moves a value further than its sensitivity. Look for a mean that is clipped in "
    "place of each record, a missing clip, or a division by the wrong count.",
    Cause.UNNOISED: "A value leaves without noise, and depends on the records.",
    Cause.DATA_DEPENDENT: "Something public depends on the records: a step size, a stopping rule, a scale.",
    Cause.UPDATE: "An update differs from the reference's. That is no leak by itself.",
    Cause.UNSOLVED: "The inner problem is not solved to the precision on which the proof rests.",
    Cause.NOT_REPEATED: "The same request has two answers, though nothing in it is random.",
    Cause.NOT_AS_SHOWN: "The adapter's own runs are not those that it shows from the inside.",
    Cause.DISTINGUISHED: "Two neighbouring data sets can be distinguished better than the claim allows. Where another "
    "cause is listed as well, this is its consequence.",
    Cause.PRICE: "The mechanism as stated costs more than is claimed, even if the implementation is correct. Claim "
    "more, or add noise.",
}

RULES: dict[Stage, str] = {
    Stage.PRICE: "The claimed epsilon is what the mechanism costs",
    Stage.SMALL: "The implementation does what its privacy proof assumes",
    Stage.CLAIMED: "The implementation does so at the claimed size, without a seed",
    Stage.GAMES: "The implementation leaks no more than the claimed curve allows",
    Stage.COVERAGE: "Everything that the claim rests on was checked",
    Stage.DECLARED: "The implementation is what its adapter declares",
}
"""What each stage checks: the rules of findings without a cause, such as one that is inconclusive."""


def slug(cause: Cause) -> str:
    """The id of its rule and the anchor of its section."""
    return str(cause).replace(" ", "-").replace(",", "")


def help_uri(anchor: str) -> dict[str, str]:
    """Where a published copy of the documentation explains it; empty where none is named."""
    base = os.environ.get(DOCS, "").rstrip("/")
    return {"helpUri": f"{base}/reference/causes.html#{anchor}"} if base.startswith(("http://", "https://")) else {}


def page() -> str:
    """The page of the documentation."""
    parts = ["# Causes of a refutation", ""]
    parts += ["One mistake is one cause, whichever questions show it. SARIF has a rule for each, with this text; with"]
    parts += [f"`{DOCS}=https://...` in the environment, its `helpUri` leads to a published copy of this page.", ""]
    for cause, text in MEANING.items():
        title = str(cause)
        parts += [f"## {title[0].upper()}{title[1:]}" + f" {{#{slug(cause)}}}", "", text, ""]
    parts += ["## Findings without a cause", "", "A finding that is inconclusive has the rule of its stage.", ""]
    for stage, text in RULES.items():
        parts += [f"### Stage {stage} {{#{stage}}}", "", f"{text}.", ""]
    return "\n".join(parts)
