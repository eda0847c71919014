"""The paper's figures, redrawn from results: SVG and PNG, the same bytes for the same numbers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import names
from experiments.config import Study
from experiments.noise import Level
from experiments.plan import LevelKey
from experiments.tables import Group, Mean, Summary
from verification.files import atomic_write

STYLE = mpl.RcParams(
    {
        "font.size": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "legend.frameon": False,
        "svg.hashsalt": "dpadmm",  # reproducible ids
        "svg.fonttype": "none",
        "figure.dpi": 110,
    }
)
MEASURES = {"accuracy": "test accuracy", "objective": "test objective"}


def draw_all(
    study: Study, summary: Summary, levels: dict[LevelKey, Level], folder: Path, epsilons: Sequence[str]
) -> dict[str, Path]:
    """Draw every figure of a study; return the SVG of each by name."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Path] = {}
    with plt.rc_context(STYLE):
        for accounting in study.accountings:
            for loss in study.losses:
                name = f"{study.name}-{loss}-{accounting}"
                drawn[name] = _save(_performance(study, summary, loss, accounting), folder / name)
            if study.coverage:
                name = f"{study.name}-coverage-{accounting}"
                shown = [epsilon for epsilon in study.coverage_epsilons if epsilon in epsilons]
                drawn[name] = _save(_coverage(study, summary, accounting, shown), folder / name)
        if len(study.accountings) > 1:
            name = f"{study.name}-noise"
            drawn[name] = _save(_noise(study, levels, epsilons), folder / name)
    return drawn


def _performance(study: Study, summary: Summary, loss: str, accounting: str) -> Figure:
    """Accuracy above, objective below, a column for each lambda: figures 1 to 3 of the paper."""
    figure, grid = plt.subplots(
        2, len(study.lambdas), figsize=(4.2 * len(study.lambdas), 5.4), sharex=True, squeeze=False, layout="constrained"
    )
    for column, lam in enumerate(study.lambdas):
        for row, measure in enumerate(MEASURES):
            axes = grid[row, column]
            for algorithm in study.algorithms:
                _curve(axes, summary.curve(measure, algorithm, accounting, loss, lam), algorithm)
            _reference_lines(axes, summary, measure, loss, lam)
            _epsilon_axis(axes, summary)
            axes.set_ylabel(MEASURES[measure])
            if row == 0:
                axes.set_title(f"λ = {lam}")
            else:
                axes.set_xlabel("ε")
                _trim(axes, summary, accounting, loss, lam)
    _shared_legend(figure, grid[0, 0])
    figure.suptitle(
        f"{names.STUDIES.get(study.data, study.name)}, {names.LOSSES[loss]}, δ = {study.delta}, "
        f"{names.ACCOUNTINGS[accounting]}"
    )
    return figure


def _epsilon_axis(axes: Axes, summary: Summary) -> None:
    """Logarithmic, with the values that were run as its ticks."""
    epsilons = sorted({group.epsilon for group in summary.accuracy if group.epsilon != "inf"}, key=float)
    axes.set_xscale("log")
    axes.set_xticks([float(epsilon) for epsilon in epsilons], epsilons)
    axes.minorticks_off()


def _shared_legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=7)


def _curve(axes: Axes, points: list[tuple[float, Mean]], algorithm: str) -> None:
    """Mean over runs with a band of one standard deviation on either side."""
    if not points:
        return
    x = [epsilon for epsilon, _ in points]
    y = [mean.mean for _, mean in points]
    low = [mean.mean - mean.deviation for _, mean in points]
    high = [mean.mean + mean.deviation for _, mean in points]
    colour = names.COLOURS[algorithm]
    axes.plot(
        x, y, color=colour, marker=names.MARKERS[algorithm], markersize=3.5, lw=1.2, label=names.ALGORITHMS[algorithm]
    )
    axes.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)


def _reference_lines(axes: Axes, summary: Summary, measure: str, loss: str, lam: str) -> None:
    table = summary.accuracy if measure == "accuracy" else summary.objective
    for name, style in (("nonprivate", "--"), ("true-model", ":")):
        mean = table.get(Group(name, "none", loss, lam, "inf"))
        if mean is not None:
            axes.axhline(mean.mean, color=names.COLOURS[name], ls=style, lw=0.9, label=names.ALGORITHMS[name])


def _trim(axes: Axes, summary: Summary, accounting: str, loss: str, lam: str) -> None:
    """An objective that blew up must not flatten the others: cut at three times the zero model's."""
    best = summary.objective.get(Group("nonprivate", "none", loss, lam, "inf"))
    means = [
        mean.mean
        for group, mean in summary.objective.items()
        if (group.accounting, group.loss, group.lam) == (accounting, loss, lam)
    ]
    if best is not None and means and max(means) > 3:
        axes.set_ylim(best.mean * 0.9, 3)


def _coverage(study: Study, summary: Summary, accounting: str, epsilons: Sequence[str]) -> Figure:
    """Bars of xi_k for every algorithm: figure 4 of the paper, a row for each lambda, a column for each epsilon."""
    figure, grid = plt.subplots(
        len(study.lambdas),
        len(epsilons),
        figsize=(3.1 * len(epsilons), 2.7 * len(study.lambdas)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    width = 0.8 / len(study.algorithms)
    for row, lam in enumerate(study.lambdas):
        for column, epsilon in enumerate(epsilons):
            axes = grid[row, column]
            for offset, algorithm in enumerate(study.algorithms):
                group = Group(algorithm, accounting, study.losses[0], lam, epsilon)
                bars = [summary.xi.get((group, k)) for k in study.coverage]
                known = [(i, bar) for i, bar in enumerate(bars) if bar is not None]
                axes.bar(
                    [i + (offset - (len(study.algorithms) - 1) / 2) * width for i, _ in known],
                    [bar.mean for _, bar in known],
                    width,
                    yerr=[bar.deviation for _, bar in known],
                    error_kw={"lw": 0.6},
                    color=names.COLOURS[algorithm],
                    label=names.ALGORITHMS[algorithm],
                )
            axes.set_xticks(range(len(study.coverage)), [f"ξ{k}" for k in study.coverage])
            axes.set_ylim(0, 1.02)
            axes.set_title(f"ε = {epsilon}, λ = {lam}")
    _shared_legend(figure, grid[0, 0])
    figure.suptitle(f"Relevant attributes found, {names.ACCOUNTINGS[accounting]}")
    return figure


def _noise(study: Study, levels: dict[LevelKey, Level], epsilons: Sequence[str]) -> Figure:
    """Sigma against epsilon: the paper's accounting dashed, the certified one solid."""
    figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    for algorithm in study.algorithms:
        for accounting, style in (("paper", "--"), ("certified", "-")):
            known = {key[2]: level.sigma for key, level in levels.items() if key[:2] == (algorithm, accounting)}
            shown = [epsilon for epsilon in epsilons if epsilon in known]
            if shown and algorithm not in {"objp", "objp-once"}:
                axes.plot(
                    [float(epsilon) for epsilon in shown],
                    [known[epsilon] for epsilon in shown],
                    ls=style,
                    color=names.COLOURS[algorithm],
                    label=names.ALGORITHMS[algorithm] if accounting == "certified" else None,
                )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("ε")
    axes.set_ylabel("σ")
    axes.legend(fontsize=7)
    axes.set_title("Noise for the same ε: (a) dashed, (b) solid", fontsize=8)
    return figure


def _save(figure: Figure, stem: Path) -> Path:
    for suffix, stamp in ((".svg", "Date"), (".png", "Software")):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], metadata={stamp: None})  # no stamp: the same bytes every time
        with atomic_write(stem.with_name(stem.name + suffix)) as file:
            file.write(buffer.getvalue())
    plt.close(figure)
    return stem.with_name(stem.name + ".svg")
