"""From a finished (or partial) study to CSV tables, figures, one HTML page and a Markdown section."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments import names
from experiments.checkpoint import FinishedUnit, Row
from experiments.errors import NothingToShow
from experiments.plan import StudyPlan
from experiments.statements import StatementResult, findings
from experiments.tables import Group, Summary, find_level, noise_csv, results_csv, summarise, summary_csv
from verification.files import write_text

TABLE_EPSILONS = ("0.1", "0.2", "0.4", "0.6", "0.8", "1.0")
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0}"
    "td,th{border-bottom:1px solid #ddd;padding:.25rem .6rem;text-align:right}"
    "td:first-child,th:first-child{text-align:left}"
    "svg{max-width:100%;height:auto}pre{background:#f6f6f6;padding:1rem;overflow:auto}"
)

Table = list[list[str]]


@dataclass(frozen=True, slots=True)
class Results:
    """A plan, what was run of it, and the means."""

    plan: StudyPlan
    finished: Sequence[FinishedUnit]
    summary: Summary

    @classmethod
    def of(cls, plan: StudyPlan, finished: Sequence[FinishedUnit]) -> Results:
        """Average what there is; refuse where there is nothing."""
        rows = [row for unit in finished for row in unit.rows]
        if not rows:
            raise NothingToShow("no unit has finished yet, so there is nothing to show")
        return cls(plan, finished, summarise(rows, plan.study.accountings))

    @property
    def rows(self) -> list[Row]:
        """Every trained model."""
        return [row for unit in self.finished for row in unit.rows]

    @property
    def coverage_note(self) -> str:
        """How much of the study was run, and how long it took and would take."""
        plan, spent = self.plan, sum(sum(unit.seconds.values()) for unit in self.finished)
        sizes = f"{plan.size.datasets} data set(s), {plan.size.folds} folds, {plan.size.repeats} repeats"
        models = max(len(unit.rows) for unit in self.finished)
        return (
            f"{len(self.finished)} of {len(plan.units())} units run ({sizes}; a unit is one training fold of one "
            f"repeat, up to {models} models on {plan.setting.records:,} records), {len(self.rows):,} trained models, "
            f"{spent / 60:.1f} minutes of one core.{self._extrapolation()}"
        )

    def _extrapolation(self) -> str:
        """The time of the full study, where its units are like those that were run."""
        size, full = self.plan.size, self.plan.study.full
        if (size.rows, size.folds, size.epsilons) != (full.rows, full.folds, full.epsilons):
            return ""
        optima = [unit.seconds["nonprivate"] for unit in self.finished if "nonprivate" in unit.seconds]
        spent = sum(sum(unit.seconds.values()) for unit in self.finished) - sum(optima)
        units, once = full.folds * full.repeats * full.datasets, full.folds * full.datasets
        whole = units * spent / len(self.finished) + (once * sum(optima) / len(optima) if optima else 0.0)
        counted = f"{full.datasets} x {full.folds} x {full.repeats}"
        return f" The full study has {units:,} units ({counted}): at this pace {whole / 3600:.1f} hours of one core."


def write_all(results: Results, folder: Path) -> dict[str, Path]:
    """Write everything a reader needs into one folder; return the figures."""
    from experiments.figures import draw_all  # noqa: PLC0415 - matplotlib is an extra

    plan = results.plan
    write_text(folder / "results.csv", results_csv(results.rows, plan.study.coverage))
    write_text(folder / "summary.csv", summary_csv(results.summary))
    write_text(folder / "noise.csv", noise_csv(plan))
    drawn = draw_all(plan.study, results.summary, plan.levels, folder / "figures", plan.size.epsilons)
    write_text(folder / "report.html", page(results, drawn))
    return drawn


def noise_table(results: Results) -> Table:
    """Sigma and what it costs in truth, under both accountings, for the epsilons of the paper."""
    plan = results.plan
    head = ["algorithm", "ε", "σ under (a)", "true ε of (a)", "σ under (b)", "true ε of (b)", "σ(b)/σ(a)"]
    table = [head]
    for algorithm in plan.study.algorithms:
        for epsilon in (e for e in TABLE_EPSILONS if e in plan.size.epsilons):
            a = find_level(plan.levels, algorithm, "paper", epsilon)
            b = find_level(plan.levels, algorithm, "certified", epsilon)
            if algorithm in {"objp", "objp-once"} or b is None:
                continue
            paper = ["-", "-"] if a is None else [f"{a.sigma:.4g}", a.certified_epsilon or "-"]
            ratio = "-" if a is None else f"{b.sigma / a.sigma:.3g}"
            table.append(
                [names.ALGORITHMS[algorithm], epsilon, *paper, f"{b.sigma:.4g}", b.certified_epsilon or "-", ratio]
            )
    return table


def accuracy_table(results: Results, loss: str, lam: str) -> Table:
    """Mean test accuracy under (a) / (b) for every algorithm and the epsilons of the paper."""
    plan, table = results.plan, results.summary.accuracy
    shown = [epsilon for epsilon in TABLE_EPSILONS if epsilon in plan.size.epsilons]
    lines = [["algorithm", *(f"ε = {epsilon}" for epsilon in shown)]]
    for algorithm in plan.study.algorithms:
        line = [names.ALGORITHMS[algorithm]]
        for epsilon in shown:
            means = [
                table.get(Group(algorithm, accounting, loss, lam, epsilon)) for accounting in ("paper", "certified")
            ]
            line.append(" / ".join("-" if mean is None else f"{mean.mean:.4f}" for mean in means))
        lines.append(line)
    for name in ("nonprivate", "true-model"):
        mean = table.get(Group(name, "none", loss, lam, "inf"))
        if mean is not None:
            lines.append([names.ALGORITHMS[name], *[f"{mean.mean:.4f}"] * len(shown)])
    return lines


def statements_table(results: Results) -> Table:
    """Which statements held, under which accounting."""
    lines = [["statement of the paper", "(a)", "(b)", "evidence"]]
    by_accounting = {
        accounting: findings(results.plan.study, results.summary, accounting)
        for accounting in results.plan.study.accountings
    }
    listed = [by_accounting.get(accounting, []) for accounting in ("paper", "certified")]
    for a, b in zip(*listed, strict=True) if all(listed) else []:
        lines.append([a.statement, _verdict(a), _verdict(b), f"(a) {a.evidence}. (b) {b.evidence}."])
    return lines


def _verdict(finding: StatementResult) -> str:
    return "held" if finding.held else "did not hold"


def largest_residual(results: Results) -> float | None:
    """The largest residual that ADMM-objP's solves left: its privacy is claimed for 0."""
    return max(results.summary.residual.values(), default=None)


def markdown_table(table: Table) -> str:
    """A table in Markdown."""
    head, *body = table
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def page(results: Results, drawn: dict[str, Path]) -> str:
    """One self-contained HTML page: figures inline, nothing loaded from elsewhere."""
    plan = results.plan
    title = f"The paper's experiments: {names.STUDIES.get(plan.study.data, plan.study.name)}"
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html.escape(title)}</title>",
        f"<style>{STYLE}</style><h1>{html.escape(title)}</h1><p>{html.escape(results.coverage_note)}</p>",
        "<h2>Statements of the paper</h2>",
        _html_table(statements_table(results)),
        "<h2>Noise for the same ε</h2>",
        _html_table(noise_table(results)),
    ]
    for loss in plan.study.losses:
        for lam in plan.study.lambdas:
            parts.append(f"<h2>Test accuracy, {html.escape(names.LOSSES[loss])}, λ = {lam}: (a) / (b)</h2>")
            parts.append(_html_table(accuracy_table(results, loss, lam)))
    parts.append("<h2>Figures</h2><p>Bands and bars: one standard deviation over runs on either side of the mean.</p>")
    for name, path in drawn.items():
        svg = path.read_text("utf-8")
        parts.append(f"<h3>{html.escape(name)}</h3>{svg[svg.index('<svg') :]}")
    parts.append(f"<h2>Parameters</h2><p>{html.escape(plan.algorithms.how_chosen)}</p>")
    settings = plan.algorithms.model_dump_json(indent=2, exclude={"how_chosen"})
    parts.append(f"<pre>{html.escape(settings)}\n{html.escape(plan.study.model_dump_json(indent=2))}</pre></html>")
    return "\n".join(parts)


def _html_table(table: Table) -> str:
    head, *body = table
    rows = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    rows += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    return "<table>" + "".join(rows) + "</table>"
