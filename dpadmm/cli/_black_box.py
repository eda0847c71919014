"""`dpadmm audit --black-box`: runs the audit and shows its result."""

from __future__ import annotations

import math
import os
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import click
from pydantic import JsonValue, TypeAdapter, ValidationError

from accountant.mechanisms.words import Neighbours as Relation
from audits.black_box.audit import BlackBoxPlan, BlackBoxResult, WireSource, audit
from audits.curves import ApproximateCurve, PrivacyCurve, TableCurve
from audits.errors import AuditError
from dpadmm.cli._own_pair import load_both
from dpadmm.cli.audit import AuditOptions
from dpadmm.cli.common import emit_json, overwrite, with_seed
from verification.judge import finding
from verification.neighbours.families import Domain, library
from verification.neighbours.neighbours import Neighbours, own_neighbours

_POINTS = TypeAdapter(list[tuple[float, float]])
_REQUEST = TypeAdapter(dict[str, JsonValue])
_LEAST_EPSILON = 0.1  # that must be detectable where nothing at all may leak


def black_box_audit(options: AuditOptions, adapter: Sequence[str]) -> int:
    """Run the audit, show its result, and return the exit code."""
    if (options.epsilon is None) == (options.curve is None):
        raise click.UsageError("a black-box audit needs the claim: --epsilon (with --delta), or --curve")
    pairs = _pairs(options)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    plan = _plan(options, seed)
    request = None if options.request is None else _read(options.request, _REQUEST)
    workers = options.workers if options.workers is not None else os.cpu_count() or 1
    seeded = options.seed is not None
    with WireSource(adapter, options.limits, workers=workers, request=request, seeded=seeded) as source:
        result = audit(source, pairs, plan, overwrite)
        name = source.name
    again = shlex.join(["dpadmm", "audit", *with_seed(sys.argv[2:], seed)])
    if options.output_format == "json":
        emit_json(document(result, name, options.neighbours, again))
    else:
        _show(result, name, again)
    return result.outcome.exit_code


def _pairs(options: AuditOptions) -> list[Neighbours]:
    found: list[Neighbours] = []
    features, relation = options.features, Relation(options.neighbours)
    if options.own is not None:
        both = load_both(*options.own, label_column=options.label_column)
        found.append(own_neighbours(*both, relation))
        features = both[0].columns
    if options.library:
        closed = not options.beyond_norm
        labels = options.labels or Domain().labels
        if not -math.inf < labels[0] < labels[1] < math.inf:
            raise click.UsageError(f"--labels needs two finite numbers, the lower one first, got {labels}")
        domain = Domain(options.records, features, options.norm, relation, labels=labels, closed=closed)
        found += library(domain)
    if not found:
        raise click.UsageError("--no-library needs a pair of your own: --pair FIRST SECOND")
    return found


def _plan(options: AuditOptions, seed: int) -> BlackBoxPlan:
    curve = _curve(options)
    epsilon = curve.epsilon_at(options.delta) if options.epsilon is None else options.epsilon
    return BlackBoxPlan(
        curve,
        epsilon,
        options.delta,
        false_alarm=options.false_alarm,
        explore=options.explore,
        confirm=options.pairs,
        seconds=options.budget,
        detect=options.detect_epsilon or 2.0 * epsilon or _LEAST_EPSILON,
        seed=seed,
    )


def _curve(options: AuditOptions) -> PrivacyCurve:
    if options.epsilon is not None:
        return ApproximateCurve(options.epsilon, options.delta)
    if options.curve is None:
        raise click.UsageError("a black-box audit needs --epsilon or --curve")
    read = _read(options.curve, _POINTS)
    points = sorted(read)
    epsilons, deltas = (tuple(point[k] for point in points) for k in (0, 1))
    # the claim is a decimal number: its binary64 may lie below it
    return TableCurve(
        epsilons, tuple(min(math.nextafter(d, 1.0), 1.0) for d in deltas), f"the curve of {options.curve}"
    )


ReadT = TypeVar("ReadT")


def _read(path: Path, kind: TypeAdapter[ReadT]) -> ReadT:
    try:
        return kind.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise AuditError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _show(result: BlackBoxResult, name: str, again: str) -> None:
    plan = result.plan
    click.echo(f"{result.outcome.value:<14} {name}: {finding(result.judged).detail}")
    bound = f"epsilon >= {result.epsilon:.3g} at delta = {plan.delta:g}, confidence {plan.confidence:.4g}"
    click.echo(f"{'':<14} {bound} (by {result.by})")
    for what, trials, won in result.parts:
        click.echo(f"{'':<14} {what}: log-wealth {won:+.1f} in {trials} trial pairs")
    for pair, reason in result.refused.items():
        click.echo(f"{'':<14} not run: {pair}: {reason}")
    click.echo(f"{'':<14} {result.runs} runs in {result.seconds:.1f} s")
    click.echo(f"again: {again}")


def document(result: BlackBoxResult, name: str, neighbours: str, again: str) -> dict[str, object]:
    """Return the JSON document of a result; reals are decimal strings."""
    plan, power = result.plan, result.detectable
    return {
        "version": 2,
        "kind": "black-box",
        "adapter": name,
        "outcome": result.outcome.value,
        "summary": finding(result.judged).detail,
        "claim": {"curve": plan.curve.describe(), "epsilon": repr(plan.epsilon), "delta": repr(plan.delta)},
        "neighbours": neighbours,
        "false_alarm": repr(plan.false_alarm),
        "refuted_after": result.refuted_after,
        "lower_bound": {
            "epsilon": repr(result.epsilon),
            "delta": repr(plan.delta),
            "confidence": f"{plan.confidence:.10g}",
            "by": result.by,
        },
        "detectable": None
        if power is None
        else {
            "trial_pairs": result.tested,
            "noise": {"shape": plan.noise.value, "epsilon": _finite(power.noise)},
            "worst_case": {"epsilon": _finite(power.worst)},
            "twice_the_claim": {"trial_pairs": _finite(power.twice), "seconds": _finite(power.seconds)},
        },
        "tested": [{"what": what, "trial_pairs": n, "log_wealth": repr(won)} for what, n, won in result.parts],
        "explored": [{"pair": pair, "score": score, "growth": repr(g)} for pair, score, g in result.explored],
        "not_run": result.refused,
        "runs": result.runs,
        "seconds": f"{result.seconds:.2f}",
        "seed": plan.seed,
        "again": again,
    }


def _finite(value: float) -> str | None:
    return f"{value:.6g}" if math.isfinite(value) else None
