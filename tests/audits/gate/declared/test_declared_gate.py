"""The gate of a declared algorithm, from the claim file to the exit code."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from audits.errors import ClaimFileError
from audits.gate.claim_file import read_claim_file
from dpadmm.cli import group

ADAPTER = """
import numpy as np
from dpadmm.declaring import serve_declared

def declare(parameters, records, columns):
    get = parameters.get
    mean = {"name": "mean", "noise": get("noise", "laplace"), "scale": 0.5, "norm": get("norm", "l1"),
            "sensitivity": get("sensitivity", 2.0 * columns / records)}
    more = [{"name": "more", "noise": "none", "from": ["mean"]}] if "more" in parameters else []
    return {"neighbours": "replace-one", "bound": {"kind": "domain", "box": [-1.0, 1.0]}, "values": [mean, *more],
            "sampling": parameters.get("sampling", {})}

def run(data, parameters, run):
    if parameters.get("undeclared"):
        run.processed("secret", np.zeros(1))
    run.release("mean", data.features.mean(axis=0), run.laplace(data.features.shape[1], 0.5))

serve_declared("mean", declare, run)
"""


def claim(tmp_path: Path, parameters: str = "", *, epsilon: str = "0.4001", delta: str = "0") -> Path:
    (tmp_path / "adapter.py").write_text(ADAPTER)
    path = tmp_path / "claim.toml"
    path.write_text(f"""
[claim]
epsilon = "{epsilon}"
delta = "{delta}"
neighbours = "replace-one"
[declared]
algorithm = "mean"
records = 20
columns = 2
parameters = {{{parameters}}}
[implementation]
command = ["{sys.executable}", "{tmp_path / "adapter.py"}"]
[gate]
budget = "10m"
false_alarm = "1e-9"
power = "noise/2"
""")
    return path


def gate(path: Path, *options: str) -> Result:
    return CliRunner().invoke(group, ["gate", str(path), "--details", *options])


def test_an_honest_one_stands(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    shown = gate(claim(tmp_path), "--report", f"json={report}")
    assert shown.exit_code == 0, shown.output
    document = json.loads(report.read_text())
    assert {finding["outcome"] for finding in document["findings"]} == {"stands"}
    assert document["coverage"]["not_covered"] == []


@pytest.mark.parametrize(
    ("parameters", "delta", "message"),
    [
        ('noise = "gaussian", norm = "l2"', "0", "delta is 0"),
        ('noise = "gaussian"', "1e-5", "hides an l2 sensitivity"),
        (
            'sampling = {kind = "with-replacement", batch = 3, amplification = "without-replacement"}',
            "1e-5",
            "drawn with-replacement and priced as without-replacement",
        ),
    ],
)
def test_a_contradiction_is_an_error_before_anything_runs(
    tmp_path: Path, parameters: str, delta: str, message: str
) -> None:
    shown = gate(claim(tmp_path, parameters, delta=delta))
    assert shown.exit_code == 2 or getattr(shown.exception, "exit_code", None) == 2
    assert message in shown.output + str(shown.exception)


@pytest.mark.parametrize("parameters", ["undeclared = true", "more = true"])
def test_an_undeclared_value_and_one_that_never_arrives_are_faults(tmp_path: Path, parameters: str) -> None:
    shown = gate(claim(tmp_path, parameters))
    assert shown.exit_code == 4, shown.output
    assert "adapter fault undeclared" in shown.output


SKIPS = """
import json, sys

for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "skipped": {"reason": "not today"}}), flush=True)
"""


def test_an_adapter_that_skips_everything_is_inconclusive_and_no_fault(tmp_path: Path) -> None:
    path = claim(tmp_path)
    (tmp_path / "adapter.py").write_text(SKIPS)
    shown = gate(path)
    assert shown.exit_code == 3, shown.output
    assert "not offered: not today" in shown.output


@pytest.mark.slow
def test_half_the_sensitivity_is_refuted_with_the_pair_and_the_epsilon(tmp_path: Path) -> None:
    shown = gate(
        claim(tmp_path, "sensitivity = 0.1", epsilon="0.21"), "--only", "sensitivity/mean/declared", "--seed", "1"
    )
    assert shown.exit_code == 1, shown.output
    assert "moves by 2 times its declared sensitivity" in shown.output
    assert re.search(r"smallest witness: 20 records, two columns: record \d+ = \(.*\) -> \(", shown.output)
    assert "epsilon at delta 0 is then 0.4" in shown.output


def test_a_claim_file_is_about_mechanisms_or_about_a_declared_one(tmp_path: Path) -> None:
    path = claim(tmp_path)
    text = path.read_text()
    path.write_text(text.replace("[declared]", '[mechanism]\nname = "m"\n[declared]'))
    with pytest.raises(ClaimFileError):
        read_claim_file(path)
    path.write_text(text.replace("algorithm =", "algoritm ="))
    with pytest.raises(ClaimFileError, match="did you mean 'algorithm'"):
        read_claim_file(path)


@pytest.mark.slow
def test_a_refutation_without_a_seed_is_drawn_again_from_its_evidence(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    path = claim(tmp_path, "sensitivity = 0.1", epsilon="0.2001")
    refuted = gate(path, "--evidence", str(folder))
    assert refuted.exit_code == 1, refuted.output
    (tmp_path / "adapter.py").unlink()  # whoever looks again needs no implementation
    again = gate(path, "--examine", str(folder))
    assert again.exit_code == 1, again.output
    assert "refuted" in again.output
    assert "moves by 2 times its declared sensitivity" in again.output
    kept = sorted(folder.glob("*.json.gz"))
    altered = gzip.decompress(kept[0].read_bytes()).decode().replace("sensitivity = 0.1", "sensitivity = 0.3")
    kept[0].write_bytes(gzip.compress(altered.encode()))
    assert gate(path, "--examine", str(folder)).exit_code == 3
