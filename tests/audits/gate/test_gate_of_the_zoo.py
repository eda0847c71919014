"""The gate refutes members of the zoo, at the share of the false alarms that a whole gate gives a check.

Whole gates of all of them are in docs/evidence/zoo-gates.md, which a test here compares with the register; a sample of
them is run. Every third member is asked the questions meant for its bug, with at most the false-alarm probability
that they have in a whole gate; tests/zoo/test_catches.py asks all of them.
A question's draws depend on the seed, its name and the mode, so a whole gate with this seed sends the implementation
the same.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from audits.games.executors import executor
from audits.games.game import about_game
from audits.gate.claim_file import ClaimFile, read_claim_file
from audits.gate.report import GateReport
from audits.gate.run import GateOptions, run_gate
from tests.zoo import MEMBERS, Harm, Member, Sight, updates
from tests.zoo.catch import AUDIT
from tests.zoo.claims import claim_file
from tests.zoo.gates import FALSE_ALARM, NOT_REFUTED, SECONDS
from tests.zoo.gates import gated as whole_gate
from tests.zoo.test_catches import meant_for
from verification.judge import shares
from verification.outcome import Outcome, Stage
from verification.questions.question import Size
from verification.reading.context import ALL_MODES, Mode
from verification.wire.parameters import Algorithm, Release

DOCS = Path(__file__).parents[3] / "docs" / "evidence"
PAGE, GATES = DOCS / "zoo.md", DOCS / "zoo-gates.md"
# a question has at least this share of a whole gate's false alarms
LEAST_SHARE = FALSE_ALARM / shares(Size.SMALL, ALL_MODES)
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
    text = claim_file(entry, sight, budget=f"{SECONDS:g}s", false_alarm=f"{share:.12f}")
    path.write_text(text, encoding="utf-8")
    claims: ClaimFile = read_claim_file(path)
    with executor(1) as pool:
        return run_gate(claims, pool, GateOptions(1, only))


def _name(value: object) -> str:
    return value.identity if isinstance(value, Member) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("entry", list(MEMBERS.values())[::3], ids=_name)
def test_a_member_is_refuted_by_the_gate_within_a_minute(entry: Member, tmp_path: Path) -> None:
    """As a black box, which every member is kept as; in each algorithm that it claims."""
    names = {question.name for question in meant_for(entry)}
    only = tuple(sorted(f"{name}/{mode}/{Stage.SMALL}" for name in names for mode in ALL_MODES))
    report = gated(entry, Sight.BLACK_BOX, only, tmp_path)
    # another update is a difference by itself; what it costs is for the questions of sensitivity and of noise
    leaks = entry.harm is Harm.LEAK and entry.kind.__module__ != updates.__name__
    found_as = (Outcome.REFUTED,) if leaks else (Outcome.REFUTED, Outcome.DEVIATES)
    shown = [finding for finding in report.findings if finding.outcome in found_as]
    assert shown, [finding.detail for finding in report.findings]
    assert {f.name for f in shown if f.outcome is Outcome.REFUTED} <= set(only)
    assert {finding.subject.partition("/")[0] for finding in shown} == set(entry.algorithms)
    assert report.seconds < SECONDS


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
        found = r"[^*]+" if entry.harm is Harm.LEAK else outcomes
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
    modes = {Algorithm.SSADMM: Mode(Algorithm.SSADMM), Algorithm.MPADMM: Mode(Algorithm.MPADMM, Release.ALL)}
    algorithm = next(a for a in entry.algorithms if (identity, a, Sight.LAST_MODEL) not in NOT_REFUTED)
    only = str(about_game(modes[algorithm], LAST_OF_MANY))
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
    honest = "from tests.zoo import Sight; from tests.zoo.specimen import Specimen; "
    honest += "from verification.served.serve import serve; serve(Specimen(Sight.LAST_MODEL))"
    path.write_text(
        text.replace('"-m", "tests.zoo", "noise-on-even-iterations", "last-model"', f'"-c", "{honest}"'),
        encoding="utf-8",
    )
    with executor(1) as pool:
        report = run_gate(
            read_claim_file(path), pool, GateOptions(1, (str(about_game(Mode(Algorithm.SSADMM), LAST_OF_MANY)),))
        )
    assert report.findings[0].outcome is Outcome.STANDS, report.findings
    assert report.findings[0].power is not None
    assert report.findings[0].power.divisor <= 1.2


def test_an_honest_claim_is_not_refuted_by_a_check_that_refutes_members(tmp_path: Path) -> None:
    """The wrong thing that the tests above must not do: refute whoever comes."""
    entry = MEMBERS["half-the-sensitivity"]
    path = tmp_path / "claim.toml"
    text = claim_file(entry, Sight.BLACK_BOX).replace(
        '"tests.zoo", "half-the-sensitivity", "black-box"', '"verification.served.loopback"'
    )
    path.write_text(text, encoding="utf-8")
    with executor(1) as pool:
        report = run_gate(read_claim_file(path), pool, GateOptions(1, ("updates-agree", "seeds-differ")))
    assert [(f.name, f.outcome) for f in report.findings if f.stage is Stage.SMALL] == [("small", Outcome.STANDS)]
