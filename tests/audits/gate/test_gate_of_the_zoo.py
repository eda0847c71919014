"""The gate refutes members of the zoo, at the share of the false alarms that a whole gate gives a check.

Whole gates of all of them are in docs/evidence/zoo-gates.md, which a test here compares with the register; a sample of
them is run. Every third member is put through the check that docs/evidence/zoo.md names, with at most the false-alarm
probability that it has in a whole gate; tests/audits/zoo/test_catches.py puts all of them through the checks meant for
their bug. A check's draws depend on the seed, its name and the mode, so a whole gate with this seed sends the
implementation the same.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from audits.gate.claim_file import ClaimFile, read_claim_file
from audits.gate.findings import GateReport, Stage
from audits.gate.run import GateOptions, run_gate
from audits.trials.executors import executor
from audits.zoo import MEMBERS, Harm, Member, Sight
from audits.zoo.catch import AUDIT
from audits.zoo.claims import claim_file
from audits.zoo.gates import FALSE_ALARM, NOT_REFUTED, SECONDS
from audits.zoo.gates import gated as whole_gate
from verification.conformance.check import EVERY_MODE
from verification.conformance.registry import CHECKS
from verification.outcome import Outcome
from verification.wire.parameters import Algorithm

DOCS = Path(__file__).parents[3] / "docs" / "evidence"
PAGE, GATES = DOCS / "zoo.md", DOCS / "zoo-gates.md"
# a check has at least this share of a whole gate's false alarms
LEAST_SHARE = FALSE_ALARM / (len(CHECKS) * len(EVERY_MODE))
# docs/evidence/zoo.md names what comes first in any mode; these claims are about release all, where another sees it
SEEN_IN_THE_CLAIMED_MODE = {
    "continues-from-the-clean-model": "distinguishable",
    "truncated-at-three-sigma": "noise-grid",  # clamped draws are equal; their tails alone are seen now and then
}
LAST_OF_MANY = "last of many steps"
SAMPLE = [
    ("noise-averaged-over-parties", Sight.BLACK_BOX),
    ("truncated-at-three-sigma", Sight.BLACK_BOX),
    ("n-for-m", Sight.LAST_MODEL),
    ("epoch-wise-shuffle", Sight.BLACK_BOX),
    ("clip-each-coordinate", Sight.LAST_MODEL),
    ("min-max-from-the-data", Sight.WHITE_BOX),
    ("continues-from-the-clean-model", Sight.LAST_MODEL),
    ("threshold-forgets-rho", Sight.BLACK_BOX),
]
BY_THE_LAST_MODEL = ["noise-on-even-iterations", "noise-cancels-in-pairs", "continues-from-the-clean-model"]


@functools.cache
def caught_by(identity: str, algorithm: Algorithm, sight: Sight) -> tuple[str, float]:
    """What docs/evidence/zoo.md says caught the member, and after how many seconds."""
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    row = next(line for line in rows if line.startswith(f"| `{identity}` | {algorithm} |"))
    name, seconds = row.split("|")[3 + list(Sight).index(sight)].strip().removesuffix(")").split(" (")
    return name, float(seconds)


def gated(entry: Member, sight: Sight, only: tuple[str, ...], folder: Path, share: float = LEAST_SHARE) -> GateReport:
    path = folder / "claim.toml"
    text = claim_file(entry, sight, budget=f"{SECONDS:g}s")
    path.write_text(f'{text}false_alarm = "{share:.12f}"\n', encoding="utf-8")
    claims: ClaimFile = read_claim_file(path)
    with executor(1) as pool:
        return run_gate(claims, pool, GateOptions(1, only))


def _name(value: object) -> str:
    return value.identity if isinstance(value, Member) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("entry", list(MEMBERS.values())[::3], ids=_name)
def test_a_member_is_refuted_by_the_gate_within_a_minute(entry: Member, tmp_path: Path) -> None:
    """As a black box, which every member is kept as; in each algorithm that it claims."""
    found = {algorithm: caught_by(entry.identity, algorithm, Sight.BLACK_BOX) for algorithm in entry.algorithms}
    names = {SEEN_IN_THE_CLAIMED_MODE.get(entry.identity, name) for name, _ in found.values()}
    only = tuple(sorted(f"{Stage.CONFORM}: {name}" for name in names))
    report = gated(entry, Sight.BLACK_BOX, only, tmp_path)
    found_as = (Outcome.REFUTED,) if entry.harm is Harm.LEAK else (Outcome.REFUTED, Outcome.DEVIATES)
    shown = [finding for finding in report.findings if finding.outcome in found_as]
    assert shown, [finding.detail for finding in report.findings]
    assert {f.name for f in shown if f.outcome is Outcome.REFUTED} <= set(only)
    refuted_in = " ".join(finding.detail for finding in report.findings)
    for algorithm in entry.algorithms:
        assert f"({algorithm}" in refuted_in, refuted_in
    assert report.seconds < SECONDS
    # with all the checks before it, on a busy machine
    assert max(seconds for _, seconds in found.values()) < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(("identity", "sight"), SAMPLE)
def test_whole_gates_refute_within_a_minute(identity: str, sight: Sight) -> None:
    found = whole_gate(MEMBERS[identity], sight)
    assert found.outcome is Outcome.REFUTED
    assert found.seconds < SECONDS


@pytest.mark.parametrize("entry", MEMBERS.values(), ids=_name)
def test_the_page_of_whole_gates_has_every_member_as_it_must_be_within_a_minute_at_every_sight(entry: Member) -> None:
    rows = [
        line for line in GATES.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{entry.identity}` |")
    ]
    cells = dict(zip(Sight, (cell.strip() for cell in rows[0].split("|")[2:5]), strict=True))
    for sight, cell in cells.items():
        if sight not in entry.sights:
            assert cell == "-"
            continue
        # what costs no privacy deviates where it can be told from what does
        outcomes = r"\*\*(?:deviates|inconclusive)\*\*" if sight is not Sight.WHITE_BOX else r"\*\*deviates\*\*"
        found = r"(?:conform|deploy|audit|account): .*" if entry.harm is Harm.LEAK else outcomes
        gate = re.fullmatch(rf"{found} \(([0-9.]+) s\)", cell)
        assert gate is not None, cell
        assert float(gate[1]) < SECONDS
    # what has a gate of its own is refuted, or listed with the number of runs that it needs, or why it need not be
    for row in rows[1:]:
        algorithm, at, cell, why = (part.strip() for part in row.split("|")[2:6])
        listed = NOT_REFUTED.get((entry.identity, Algorithm(algorithm), Sight(at)), "")
        assert why == listed
        assert listed or "**" not in cell


@pytest.mark.slow
@pytest.mark.parametrize("identity", BY_THE_LAST_MODEL)
def test_what_only_the_last_of_many_models_shows_is_refuted_by_the_audit_of_the_gate(
    identity: str, tmp_path: Path
) -> None:
    """With every game planned, so that the false alarms are split as in a whole gate; only this one is played."""
    entry = MEMBERS[identity]
    subjects = {Algorithm.SSADMM: "ssadmm", Algorithm.MPADMM: "mpadmm/all"}
    algorithm = next(a for a in entry.algorithms if (identity, a, Sight.LAST_MODEL) not in NOT_REFUTED)
    only = f"{Stage.AUDIT}: {subjects[algorithm]}, {LAST_OF_MANY}"
    report = gated(entry, Sight.LAST_MODEL, (only,), tmp_path, FALSE_ALARM)
    assert [(f.name, f.outcome) for f in report.findings] == [(only, Outcome.REFUTED)]
    assert report.findings[0].trials is not None
    assert report.findings[0].trials <= 1000
    assert report.seconds < SECONDS


def test_every_member_that_no_check_sees_is_among_those_audited() -> None:
    """Exactly the members that docs/evidence/zoo.md credits to an audit of the last model."""
    elsewhere = {
        entry.identity
        for entry in MEMBERS.values()
        for sight in entry.sights
        if any(caught_by(entry.identity, algorithm, sight)[0] == AUDIT for algorithm in entry.algorithms)
    }
    assert elsewhere == set(BY_THE_LAST_MODEL)


@pytest.mark.slow
def test_an_honest_last_model_stands_with_the_power_asked_for(tmp_path: Path) -> None:
    """The reference, shown as it would show itself if it kept all but its last model."""
    path = tmp_path / "claim.toml"
    text = claim_file(MEMBERS["noise-on-even-iterations"], Sight.LAST_MODEL)
    honest = "from audits.zoo import Sight; from audits.zoo.specimen import Specimen; "
    honest += "from verification.served.serve import serve; serve(Specimen(Sight.LAST_MODEL))"
    path.write_text(
        text.replace('"-m", "audits.zoo", "noise-on-even-iterations", "last-model"', f'"-c", "{honest}"'),
        encoding="utf-8",
    )
    with executor(1) as pool:
        report = run_gate(read_claim_file(path), pool, GateOptions(1, (f"{Stage.AUDIT}: ssadmm, {LAST_OF_MANY}",)))
    assert report.findings[0].outcome is Outcome.STANDS, report.findings
    assert report.findings[0].power is not None
    assert report.findings[0].power.divisor <= 1.2


def test_an_honest_claim_is_not_refuted_by_a_check_that_refutes_members(tmp_path: Path) -> None:
    """The wrong thing that the tests above must not do: refute whoever comes."""
    entry = MEMBERS["half-the-sensitivity"]
    path = tmp_path / "claim.toml"
    text = claim_file(entry, Sight.BLACK_BOX).replace(
        '"audits.zoo", "half-the-sensitivity", "black-box"', '"verification.served.loopback"'
    )
    path.write_text(text, encoding="utf-8")
    with executor(1) as pool:
        report = run_gate(
            read_claim_file(path), pool, GateOptions(1, ("conform: updates-agree", "conform: seeds-differ"))
        )
    assert {f.outcome for f in report.findings if f.stage == "conform"} == {Outcome.STANDS}
