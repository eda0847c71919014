"""Whole gates of honest implementations at a stated level: ``python -m tests.audits.gate.honest.campaign [NAME ...]``.

Each gate draws without seeds. Even numbers are ssADMM, odd ones mpADMM, at a size at which a gate takes seconds. What
comes of it is kept in campaign.json. ``... campaign different [NAME ...] [--gates N]`` runs gates of the honest members
of `tests.zoo.honest.pairs` instead, at the level 1e-3, and keeps what comes of them in different.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from audits.games.executors import executor
from audits.gate.claim_file import read_claim_file
from audits.gate.report import GateReport
from audits.gate.run import GateOptions, run_gate
from tests.zoo.honest.pairs import PAIRS
from verification.outcome import Outcome

GATES, DIFFERENT_GATES = 50, 20
LEVEL = "0.05"
DIFFERENT_LEVEL = "1e-3"
KEPT, DIFFERENT = (Path(__file__).with_name(f"{name}.json") for name in ("campaign", "different"))
ROOT = Path(__file__).parents[4]
_MECHANISMS = (
    """algorithm = "ssadmm"
records = 1000
columns = 8
batch = 50
sampling = "without-replacement"
clip = "1.0"
sigma = "0.2"
iterations = 100
""",
    """algorithm = "mpadmm"
records = 1000
columns = 8
eta = "1"
rho = "0.5"
release = "all"
clip = "1.0"
sigma = "0.02"
iterations = 30
""",
)
SUBJECTS = ("reference", "c", "more-noise", "random-start", "single-precision")


def claim_text(command: list[str], number: int, level: str, extra: str = "", power: str = "noise/1.2") -> str:
    """The claim: of ssADMM for even numbers, of mpADMM for odd ones."""
    return f"""[claim]
epsilon = "20"
delta = "1e-6"
neighbours = "replace-one"
[mechanism]
{_MECHANISMS[number % 2]}
[implementation]
command = {json.dumps(command)}
[gate]
budget = "4m"
false_alarm = "{level}"
power = "{power}"
{extra}"""


def honest_gate(
    command: list[str],
    number: int,
    level: str,
    *,
    extra: str = "",
    power: str = "noise/1.2",
    only: tuple[str, ...] = (),
) -> GateReport:
    """One whole gate, without seeds; of ssADMM for even numbers, of mpADMM for odd ones."""
    with tempfile.TemporaryDirectory() as folder, executor(1) as pool:
        path = Path(folder) / "claim.toml"
        path.write_text(claim_text(command, number, level, extra, power), encoding="utf-8")
        return run_gate(read_claim_file(path), pool, GateOptions(number, only, seeded=False))


def commands(folder: Path) -> dict[str, list[str]]:
    """How each is started; the one in C is built first."""
    binary = folder / "adapter"
    example = ROOT / "examples" / "adapters" / "c"
    subprocess.run(["make", "-C", str(example), f"OUT={binary}"], check=True, capture_output=True)
    variants = [sys.executable, "-m", "tests.zoo.honest.variants"]
    return {
        "reference": [sys.executable, "-m", "verification.served.loopback"],
        "c": [str(binary)],
        **{name: [*variants, name] for name in SUBJECTS[2:]},
    }


Subjects = Mapping[str, tuple[list[str], int | None]]


def main(words: list[str]) -> int:
    """Run what is left of every campaign, one gate of each in turn, and keep the outcome of each gate as it ends.

    1 if a gate ended in anything but an outcome of exit 0 or a refutation. `anew` forgets what was kept.
    """
    gates = int(words[words.index("--gates") + 1]) if "--gates" in words else None
    names = [word for word in words if word not in ("anew", "different", "--gates", str(gates))]
    anew = "anew" in words
    if "different" in words:
        subjects: Subjects = {n: (PAIRS[n].command, PAIRS[n].number) for n in names or PAIRS}
        return _campaign(subjects, DIFFERENT, DIFFERENT_LEVEL, gates or DIFFERENT_GATES, anew=anew)
    with tempfile.TemporaryDirectory() as folder:
        every = commands(Path(folder))
        subjects = {name: (every[name], None) for name in names or SUBJECTS}
        return _campaign(subjects, KEPT, LEVEL, gates or GATES, anew=anew)


def _campaign(subjects: Subjects, file: Path, level: str, gates: int, *, anew: bool) -> int:
    kept = {} if anew or not file.exists() else json.loads(file.read_text(encoding="utf-8"))
    for number in range(gates):
        for name, (command, parity) in subjects.items():
            told = kept.setdefault(name, {"level": level, "outcomes": []})["outcomes"]
            if len(told) > number:
                continue
            # the level does not depend on the power asked for; the time does
            claim = number if parity is None else 2 * number + parity
            report = honest_gate(command, claim, level, power="noise/2")
            told.append(report.outcome.value)
            if file.exists() and not anew:  # what another campaign of other members has kept meanwhile
                kept = json.loads(file.read_text(encoding="utf-8")) | {
                    each: kept[each] for each in subjects if each in kept
                }
            file.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
            print(number, name, report.outcome.value, f"{report.seconds:.0f} s", flush=True)
            for finding in report.findings:
                if finding.outcome not in (Outcome.STANDS, Outcome.DEVIATES, Outcome.SKIPPED):
                    print("   ", finding.name, finding.outcome.value, finding.detail, flush=True)
    fine = {outcome.value for outcome in (Outcome.STANDS, Outcome.DEVIATES, Outcome.REFUTED)}
    return 1 if any(word not in fine for name in subjects for word in kept[name]["outcomes"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
