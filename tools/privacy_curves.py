"""docs/figures/privacy-curves.svg: epsilon over iterations, noise and order, as printed and as corrected.

`python -m tools.privacy_curves` draws it; docs/guides/renyi.md shows how the numbers come about.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import matplotlib as mpl

from accountant import MpADMM, SsADMM, epsilon, renyi_curve
from accountant.mechanisms.mechanism import Mechanism
from accountant.numbers import float_up

FIGURE: Final = Path(__file__).parents[1] / "docs" / "figures" / "privacy-curves.svg"
DELTA: Final = "1e-8"
RECORDS, BATCH = 48842, 221


def _price(run: Mechanism, method: str) -> float:
    return float_up(epsilon(run, DELTA, methods=[method]).methods[method].epsilon.most)


def _ssadmm(iterations: int) -> SsADMM:
    return SsADMM(records=RECORDS, batch=BATCH, noise_multiplier=4, iterations=iterations)


def _mpadmm(sigma: str, sensitivity: str, accounting: str) -> MpADMM:
    return MpADMM(
        records=RECORDS,
        eta=2,
        rho="0.5",
        clip=1,
        sigma=sigma,
        iterations=50,
        sensitivity=sensitivity,
        accounting=accounting,
    )


def main() -> None:
    """Draw the three curves."""
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "dpadmm", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    figure, (over_t, over_sigma, over_alpha) = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    counts = [round(100 * 10 ** (k / 4)) for k in range(10)]
    for method, label in (("lemma2-prop1", "as printed"), ("tight-rdp-cks", "tight Renyi"), ("profile", "certified")):
        over_t.plot(counts, [_price(_ssadmm(count), method) for count in counts], marker=".", label=label)
    over_t.set(xscale="log", yscale="log", xlabel="iterations T", ylabel="epsilon", title="ssADMM, noise multiplier 4")
    sigmas = ["0.0025", "0.005", "0.01", "0.02", "0.04", "0.08"]
    for sensitivity, accounting in (("printed", "separate"), ("corrected", "separate"), ("corrected", "joint")):
        prices = [_price(_mpadmm(sigma, sensitivity, accounting), "rdp-prop1") for sigma in sigmas]
        over_sigma.plot([float(s) for s in sigmas], prices, marker=".", label=f"{sensitivity}, {accounting}")
    over_sigma.set(xscale="log", yscale="log", xlabel="sigma", title="mpADMM, 50 epochs, step size 2")
    points = renyi_curve(_ssadmm(2210), range(5, 200, 5))
    for theorem, label in (("lemma2", "as printed"), ("wbk27", "Theorem 27"), ("tight-rdp", "tight Renyi")):
        converted = [float_up(p.epsilon[theorem].most) + math.log(1e8) / (float(p.alpha) - 1) for p in points]
        over_alpha.plot([float(p.alpha) for p in points], converted, label=label)
    over_alpha.set(ylim=(0, 2.5), xlabel="order alpha", title="ssADMM, 2210 iterations, by Proposition 1")
    for axes in (over_t, over_sigma, over_alpha):
        axes.legend(fontsize=8)
        axes.grid(visible=True, alpha=0.3)
    figure.savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
