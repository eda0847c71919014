"""What the paper says of its figures, each as a question that the results answer with counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments import names
from experiments.config import Study
from experiments.tables import Group, Mean, Summary

CLOSE = 0.02  # accuracies this near count as "similar": what the paper's printed figures could show
MOST = 0.5
OWN = tuple(names.PAPERS_OWN)


@dataclass(frozen=True, slots=True)
class StatementResult:
    """A statement, whether it held, and the counts that say so."""

    statement: str
    held: bool
    evidence: str


@dataclass(frozen=True, slots=True)
class _Case:
    """One panel position of a figure: a loss, a lambda, an epsilon of at most 1."""

    loss: str
    lam: str
    epsilon: str

    def group(self, algorithm: str, accounting: str) -> Group:
        return Group(algorithm, accounting, self.loss, self.lam, self.epsilon)


def findings(study: Study, summary: Summary, accounting: str) -> list[StatementResult]:
    """Every statement of the paper that this study can answer, under one accounting."""
    cases = list(_cases(study, summary, accounting))
    if not cases:
        return []
    if study.data == "synthetic":
        return [
            *_similar(summary, cases, accounting),
            *_selection(study, summary, accounting),
            _trail(summary, cases, accounting),
        ]
    return [
        _best(summary, cases, accounting),
        _higher_objective(summary, cases, accounting),
        _trail(summary, cases, accounting),
    ]


def _cases(study: Study, summary: Summary, accounting: str) -> Iterator[_Case]:
    epsilons = sorted({g.epsilon for g in summary.accuracy if g.epsilon != "inf" and float(g.epsilon) <= 1}, key=float)
    for loss in study.losses:
        for lam in study.lambdas:
            for epsilon in epsilons:
                case = _Case(loss, lam, epsilon)
                if all(case.group(algorithm, accounting) in summary.accuracy for algorithm in OWN):
                    yield case


def _best(summary: Summary, cases: Sequence[_Case], accounting: str) -> StatementResult:
    wins = dict.fromkeys(OWN, 0)
    for case in cases:
        wins[max(OWN, key=lambda algorithm: summary.accuracy[case.group(algorithm, accounting)].mean)] += 1
    counts = ", ".join(f"{names.ALGORITHMS[name]} {count}" for name, count in wins.items() if count)
    return StatementResult(
        "ssADMM has the best accuracy in most cases",
        wins["ssadmm"] > MOST * len(cases),
        f"best mean accuracy in {len(cases)} cases (loss, λ, ε ≤ 1): {counts}",
    )


def _higher_objective(summary: Summary, cases: Sequence[_Case], accounting: str) -> StatementResult:
    relevant = [
        case
        for case in cases
        if summary.accuracy[case.group("dpsgd", accounting)].mean
        > summary.accuracy[case.group("mpadmm", accounting)].mean
    ]
    higher = sum(
        summary.objective[case.group("dpsgd", accounting)].mean
        > summary.objective[case.group("mpadmm", accounting)].mean
        for case in relevant
    )
    return StatementResult(
        "where DP-SGD is more accurate than mpADMM, its objective is usually higher",
        bool(relevant) and higher > MOST * len(relevant),
        f"DP-SGD is more accurate in {len(relevant)} of {len(cases)} cases; its objective is higher in {higher}",
    )


def _trail(summary: Summary, cases: Sequence[_Case], accounting: str) -> StatementResult:
    leaders, trailing = ("ssadmm", "mpadmm", "dpsgd"), ("dpadmm", "objp")
    behind = dict.fromkeys(trailing, 0)
    for case in cases:
        mean = {name: summary.accuracy[case.group(name, accounting)].mean for name in (*leaders, *trailing)}
        for name in trailing:
            behind[name] += mean[name] < min(mean[leader] for leader in leaders)
    return StatementResult(
        "DP-ADMM and ADMM-objP trail the others for ε ≤ 1",
        all(count > MOST * len(cases) for count in behind.values()),
        "; ".join(
            f"{names.ALGORITHMS[name]} is below ssADMM, mpADMM and DP-SGD in {count} of {len(cases)} cases"
            for name, count in behind.items()
        ),
    )


def _similar(summary: Summary, cases: Sequence[_Case], accounting: str) -> list[StatementResult]:
    spreads = []
    for case in cases:
        means = [summary.accuracy[case.group(name, accounting)].mean for name in ("ssadmm", "mpadmm", "dpsgd")]
        spreads.append((max(means) - min(means), case.epsilon))
    close = sum(spread <= CLOSE for spread, _ in spreads)
    worst = max(spreads)
    return [
        StatementResult(
            "ssADMM, mpADMM and DP-SGD have similar accuracy",
            close > MOST * len(cases),
            f"within {CLOSE} of each other in {close} of {len(cases)} cases; "
            f"widest apart {worst[0]:.3f} at ε = {worst[1]}",
        )
    ]


def _selection(study: Study, summary: Summary, accounting: str) -> list[StatementResult]:
    low = [epsilon for epsilon in study.coverage_epsilons if float(epsilon) <= 0.6]
    bars = [
        {name: summary.xi.get((Group(name, accounting, study.losses[0], lam, epsilon), k)) for name in OWN}
        for lam in study.lambdas
        for epsilon in low
        for k in study.coverage
    ]
    complete = [{name: mean for name, mean in bar.items() if mean is not None} for bar in bars]
    complete = [bar for bar in complete if len(bar) == len(OWN)]
    if not complete:
        return []
    return [_most_found(complete), _objp_finds_more(complete)]


def _most_found(bars: Sequence[dict[str, Mean]]) -> StatementResult:
    best = sum(bar["mpadmm"].mean >= max(mean.mean for mean in bar.values()) for bar in bars)
    return StatementResult(
        "mpADMM finds the most relevant attributes at low ε",
        best > MOST * len(bars),
        f"mpADMM has the largest ξ in {best} of {len(bars)} bars (λ, k, ε in 0.4 and 0.6)",
    )


def _objp_finds_more(bars: Sequence[dict[str, Mean]]) -> StatementResult:
    ahead = sum(bar["objp"].mean > max(bar["ssadmm"].mean, bar["dpsgd"].mean) for bar in bars)
    return StatementResult(
        "ADMM-objP selects attributes better than ssADMM and DP-SGD at low ε",
        ahead > MOST * len(bars),
        f"ADMM-objP is ahead of both in {ahead} of {len(bars)} bars",
    )
