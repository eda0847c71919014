"""What whole gates conclude, frozen: a redesign of the engine reproduces it or says why not.

    python -m tests.frozen [NAME ...]            run these gates, or all, and print what differs from record.json
    python -m tests.frozen --freeze [NAME ...]   run each of them twice and write record.json

A gate is a claim file in `claims/`, or a black box in `BLACK_BOXES`. Gates run as `dpadmm gate` runs them by default:
the implementation draws without seeds, so that a cause which only some runs name is kept apart (`sometimes`); outcome
and exit code are always the same. A cause is a word of `VOCABULARY`. Only the causes of the findings that decide are
kept: those that have the outcome of the gate. `covered` has, by algorithm, the aspects of the claim that were looked
at.

`changes.toml` has one entry for every gate whose causes or coverage differ from the record on purpose.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from audits.games.executors import executor
from audits.gate.claim_file import read_claim_file
from audits.gate.report import GateReport, grouped
from audits.gate.run import GateOptions, run_gate
from verification.statistics.test import Cause

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CLAIMS, RECORD, CHANGES = HERE / "claims", HERE / "record.json", HERE / "changes.toml"
SEED = 1
REPEATED = 2

_RUNS = "--seed 1 --workers 1 --explore 160 --pairs 400 --detect-epsilon 8"
_BLACK_BOX = f"--black-box --epsilon 1 --delta 1e-5 {_RUNS} --format json"
_SUBJECT = "python -m tests.zoo.black_box"
BLACK_BOXES: dict[str, str] = {
    "black-box-laplace-histogram": f"{_BLACK_BOX} -- {_SUBJECT} laplace-histogram",
    "black-box-gaussian-mean": f"{_BLACK_BOX} -- {_SUBJECT} gaussian-mean",
    "black-box-shared-draw": f"{_BLACK_BOX} -- {_SUBJECT} shared-draw",
    "black-box-exact-gram": f"{_BLACK_BOX} -- {_SUBJECT} exact-gram",
    "black-box-exact-count": f"{_BLACK_BOX} --neighbours add-or-remove -- {_SUBJECT} exact-count",
    "black-box-too-few": f"{_BLACK_BOX} --explore 40 --pairs 20 -- {_SUBJECT} gaussian-mean",
}
"""The options of `dpadmm audit` for each black box."""

VOCABULARY: dict[Cause, str] = {
    Cause.NOISE_SMALL: "noise-size",
    Cause.NOISE_LARGE: "noise-size",
    Cause.NOISE_LAW: "noise-shape",
    Cause.NOISE_MEAN: "noise-shape",
    Cause.NOISE_GRID: "noise-shape",
    Cause.NOISE_DEPENDENT: "noise-reused",
    Cause.NOISE_REUSED: "noise-reused",
    Cause.NOISE_LOST: "released-clean",
    Cause.UNNOISED: "released-clean",
    Cause.BATCH_LAW: "batches",
    Cause.BATCH_REUSED: "batches",
    Cause.BATCH_SIZE: "batches",
    Cause.CONTRIBUTION: "sensitivity",
    Cause.DATA_DEPENDENT: "depends-on-data",
    Cause.UPDATE: "update",
    Cause.UNSOLVED: "update",
    Cause.NOT_REPEATED: "update",
    Cause.NOT_AS_SHOWN: "not-as-shown",
    Cause.PRICE: "price",
    Cause.DISTINGUISHED: "distinguishable",
}
"""Today's causes in the words of the record."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What one gate concluded; `sometimes` are causes that some runs name and others do not."""

    outcome: str
    exit_code: int
    causes: tuple[str, ...]
    covered: dict[str, tuple[str, ...]]
    sometimes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A difference from the record that is meant: `field` is `causes` or `covered`."""

    gate: str
    field: str
    old: object
    new: object
    reason: str


def names() -> list[str]:
    """All gates."""
    return [*sorted(path.stem for path in CLAIMS.glob("*.toml")), *BLACK_BOXES]


def conclude(name: str) -> Conclusion:
    """Run one gate."""
    return _audited(BLACK_BOXES[name]) if name in BLACK_BOXES else _read(_gated(CLAIMS / f"{name}.toml"))


def _gated(claim: Path) -> GateReport:
    """The report on a claim file, by this interpreter."""
    text = claim.read_text(encoding="utf-8").replace('"python"', json.dumps(sys.executable))
    with tempfile.TemporaryDirectory() as folder, executor(1) as pool:
        path = Path(folder) / claim.name
        path.write_text(text.replace('"examples/', f'"{ROOT}/examples/'), encoding="utf-8")
        return run_gate(read_claim_file(path), pool, GateOptions(SEED, seeded=False))


def _audited(options: str) -> Conclusion:
    """The audit of a black box, which knows no causes."""
    arguments = [sys.executable if word == "python" else word for word in options.split()]
    command = [sys.executable, "-m", "dpadmm", "audit", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    outcome = str(json.loads(done.stdout)["outcome"])
    return Conclusion(outcome, done.returncode, ("distinguishable",) if outcome == "refuted" else (), {})


def _read(report: GateReport) -> Conclusion:
    """The only function that knows the names of the engine's results."""
    decisive = [f for f in report.findings if f.outcome is report.outcome and f.cause is not None]
    causes = {VOCABULARY[Cause(group.cause)] for group in grouped(decisive)}
    covered: dict[str, set[str]] = {}
    for item in report.coverage.covered:
        covered.setdefault(item.about.subject.partition("/")[0], set()).update(map(str, item.aspects))
    aspects = {algorithm: tuple(sorted(found)) for algorithm, found in sorted(covered.items()) if found}
    return Conclusion(report.outcome.value, report.outcome.exit_code, tuple(sorted(causes)), aspects)


def read_record() -> dict[str, Conclusion]:
    """What is frozen."""
    read = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return {
        name: Conclusion(
            entry["outcome"],
            entry["exit_code"],
            tuple(entry["causes"]),
            {algorithm: tuple(aspects) for algorithm, aspects in entry["covered"].items()},
            tuple(entry["sometimes"]),
        )
        for name, entry in read.items()
    }


def read_changes() -> list[Change]:
    """What differs from the record on purpose."""
    return [Change(**entry) for entry in tomllib.loads(CHANGES.read_text(encoding="utf-8")).get("change", [])]


def differences(name: str, frozen: Conclusion, now: Conclusion, changes: Sequence[Change] = ()) -> Iterator[str]:
    """What is not as in the record, after the changes to it that are meant."""
    if (now.outcome, now.exit_code) != (frozen.outcome, frozen.exit_code):
        yield f"{name}: was {frozen.outcome} ({frozen.exit_code}), is {now.outcome} ({now.exit_code})"
    meant = {change.field: change for change in changes if change.gate == name}
    causes, may = set(frozen.causes), set(frozen.sometimes)
    if "causes" in meant:
        causes, may = set(_strings(meant["causes"].new)), set()
    if not causes <= set(now.causes) <= causes | may:
        possible = f", sometimes {sorted(may)}" if may else ""
        yield f"{name}: causes were {sorted(causes)}{possible}, are {sorted(now.causes)}"
    covered = {algorithm: set(aspects) for algorithm, aspects in frozen.covered.items()}
    if "covered" in meant:
        covered = {algorithm: set(_strings(aspects)) for algorithm, aspects in _table(meant["covered"].new).items()}
    if covered != {algorithm: set(aspects) for algorithm, aspects in now.covered.items()}:
        listed = {algorithm: sorted(aspects) for algorithm, aspects in covered.items()}
        yield f"{name}: covered were {listed}, are { {a: sorted(x) for a, x in now.covered.items()} }"


def faulty(changes: Sequence[Change], record: dict[str, Conclusion]) -> Iterator[str]:
    """Entries of `changes.toml` that say nothing: of no gate, twice, of no difference, or without a reason."""
    for number, change in enumerate(changes):
        frozen = record.get(change.gate)
        if frozen is None or change.field not in ("causes", "covered"):
            yield f"{change.gate}, {change.field}: nothing of that name is frozen"
            continue
        if any((c.gate, c.field) == (change.gate, change.field) for c in changes[:number]):
            yield f"{change.gate}, {change.field}: twice"
        old = list(frozen.causes) if change.field == "causes" else {a: list(x) for a, x in frozen.covered.items()}
        if change.old != old:
            yield f"{change.gate}, {change.field}: the record says {old}"
        if change.new == change.old or not change.reason.strip() or "\n" in change.reason.strip():
            yield f"{change.gate}, {change.field}: no difference, or no reason in one line"


def _strings(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError(f"a list of words is expected, got {value!r}")
    return [str(word) for word in value]


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"a table by algorithm is expected, got {value!r}")
    return {str(key): entry for key, entry in value.items()}


def common(runs: Sequence[Conclusion]) -> Conclusion:
    """What several runs of one gate have in common; an error if outcome or coverage differ."""
    first = runs[0]
    if any((r.outcome, r.covered) != (first.outcome, first.covered) for r in runs):
        raise ValueError(f"not certain enough to be frozen: {runs}")
    certain = set(first.causes).intersection(*(r.causes for r in runs))
    seen = set().union(*(r.causes for r in runs))
    return Conclusion(
        first.outcome, first.exit_code, tuple(sorted(certain)), first.covered, tuple(sorted(seen - certain))
    )


def write_record(record: dict[str, Conclusion]) -> None:
    """Keep it."""
    kept = {name: asdict(record[name]) for name in names() if name in record}
    RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Compare, or freeze; 1 if anything differs."""
    wanted = [word for word in arguments if word != "--freeze"] or names()
    unknown = set(wanted) - set(names())
    if unknown:
        print(f"no such gate: {', '.join(sorted(unknown))}; gates are {', '.join(names())}", file=sys.stderr)
        return 2
    record, changes, found = read_record(), read_changes(), 0
    for name in wanted:
        began = time.monotonic()
        if "--freeze" in arguments:
            try:
                found_in_all = common([conclude(name) for _ in range(REPEATED)])
                write_record({**read_record(), name: found_in_all})
                differing = [f"  {found_in_all}"]
            except ValueError as error:
                differing = [f"  {name}: {error}"]
        else:
            differing = [f"  {line}" for line in differences(name, record[name], conclude(name), changes)]
            found += len(differing)
        print(f"{name}: {time.monotonic() - began:.1f} s", *differing, sep="\n", flush=True)
    return 1 if found else 0
