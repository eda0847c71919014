"""`dpadmm audit --black-box`: runs the audit and shows its result."""

from __future__ import annotations

import math
import os
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import click
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from accountant.mechanisms.words import Neighbours as Relation
from audits.black_box.audit import BlackBoxPlan, BlackBoxResult, audit
from audits.black_box.source import WireSource
from audits.curves import ApproximateCurve, PrivacyCurve, TableCurve
from audits.errors import AuditError
from dpadmm.cli._own_pair import load_both
from dpadmm.cli.common import emit_json
from verification.judge import finding
from verification.neighbours.families import Domain, library
from verification.neighbours.neighbours import Neighbours, own_neighbours
from verification.wire.process import Limits

_POINTS = TypeAdapter(list[tuple[float, float]])
_REQUEST = TypeAdapter(dict[str, JsonValue])


class BlackBoxOptions(BaseModel):
    """The options as click parsed them."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    epsilon: float | None
    curve: Path | None
    neighbours: Relation
    records: int
    features: int
    norm: float
    request: Path | None
    budget: float
    detect_epsilon: float
    confidence: float
    explore: int
    library: bool


class SharedOptions(BaseModel):
    """The options that both kinds of audit have."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    false_alarm: float
    delta: float
    pairs: int | None
    own: tuple[Path, Path] | None
    label_column: str | None
    seed: int | None
    workers: int | None
    timeout: float
    memory: int
    output_format: str


def black_box_audit(box: dict[str, object], rest: dict[str, object], adapter: Sequence[str]) -> int:
    """Run the audit, show its result, and return the exit code."""
    options, shared = BlackBoxOptions.model_validate(box), SharedOptions.model_validate(rest)
    if (options.epsilon is None) == (options.curve is None):
        raise click.UsageError("a black-box audit needs the claim: --epsilon (with --delta), or --curve")
    pairs = _pairs(options, shared)
    seed = secrets.randbits(32) if shared.seed is None else shared.seed
    plan = _plan(options, shared, seed)
    request = None if options.request is None else _read(options.request, _REQUEST)
    limits = Limits.of(shared.timeout, shared.memory)
    workers = shared.workers if shared.workers is not None else os.cpu_count() or 1
    with WireSource(adapter, limits, workers=workers, request=request, seeded=shared.seed is not None) as source:
        result = audit(source, pairs, plan, _progress)
        name = source.name
    again = shlex.join(["dpadmm", "audit", *_with_seed(sys.argv[2:], seed)])
    if shared.output_format == "json":
        emit_json(document(result, name, options.neighbours, again))
    else:
        _show(result, name, again)
    return result.outcome.exit_code


def _pairs(options: BlackBoxOptions, shared: SharedOptions) -> list[Neighbours]:
    found: list[Neighbours] = []
    features = options.features
    if shared.own is not None:
        both = load_both(*shared.own, label_column=shared.label_column)
        found.append(own_neighbours(*both, options.neighbours))
        features = both[0].columns
    if options.library:
        found += library(Domain(options.records, features, options.norm, options.neighbours))
    if not found:
        raise click.UsageError("--no-library needs a pair of your own: --pair FIRST SECOND")
    return found


def _plan(options: BlackBoxOptions, shared: SharedOptions, seed: int) -> BlackBoxPlan:
    curve = _curve(options, shared.delta)
    return BlackBoxPlan(
        curve,
        curve.epsilon_at(shared.delta) if options.epsilon is None else options.epsilon,
        shared.delta,
        false_alarm=shared.false_alarm,
        confidence=options.confidence,
        explore=options.explore,
        confirm=3000 if shared.pairs is None else shared.pairs,
        seconds=options.budget,
        detect=options.detect_epsilon,
        seed=seed,
    )


def _curve(options: BlackBoxOptions, delta: float) -> PrivacyCurve:
    if options.epsilon is not None:
        return ApproximateCurve(options.epsilon, delta)
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


def _with_seed(arguments: list[str], seed: int) -> list[str]:
    return arguments if "--seed" in arguments else ["--seed", str(seed), *arguments]


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{text}\r")
        sys.stderr.flush()


def _show(result: BlackBoxResult, name: str, again: str) -> None:
    plan, found = result.plan, result.confirmed
    click.echo(f"{result.outcome.value:<14} {name}: {finding(result.judged).detail}")
    bound = f"epsilon >= {found.epsilon:.3g} at delta = {plan.delta:g}, confidence {plan.confidence:.4g}"
    click.echo(f"{'':<14} {bound} (by {found.by})")
    for what, share, wealth in found.parts:
        click.echo(f"{'':<14} {what}: log-wealth {wealth:.1f} of share {share:.3g}")
    for pair, reason in result.refused.items():
        click.echo(f"{'':<14} not run: {pair}: {reason}")
    click.echo(f"{'':<14} {result.runs} runs in {result.seconds:.1f} s")
    click.echo(f"again: {again}")


def document(result: BlackBoxResult, name: str, neighbours: Relation, again: str) -> dict[str, object]:
    """Return the JSON document of a result; reals are decimal strings."""
    plan, found = result.plan, result.confirmed
    return {
        "version": 1,
        "kind": "black-box",
        "adapter": name,
        "outcome": result.outcome.value,
        "summary": finding(result.judged).detail,
        "claim": {"curve": plan.curve.describe(), "epsilon": repr(plan.epsilon), "delta": repr(plan.delta)},
        "neighbours": str(neighbours),
        "false_alarm": repr(plan.false_alarm),
        "refuted_after": found.refuted_after,
        "lower_bound": {
            "epsilon": repr(found.epsilon),
            "delta": repr(plan.delta),
            "confidence": repr(plan.confidence),
            "by": found.by,
        },
        "detectable_epsilon": repr(result.detectable) if math.isfinite(result.detectable) else None,
        "tested": [{"what": what, "share": repr(share), "log_wealth": repr(w)} for what, share, w in found.parts],
        "explored": [{"pair": pair, "score": score, "growth": repr(g)} for pair, score, g in result.explored],
        "not_run": result.refused,
        "runs": result.runs,
        "seconds": f"{result.seconds:.2f}",
        "seed": plan.seed,
        "again": again,
    }
