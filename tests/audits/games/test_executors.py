"""The same numbers wherever the trials run; a killed audit resumes and counts nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from audits.errors import AuditError, CheckpointError
from audits.games.executors import Checkpoint, Scored, Target, chunks, executor, fingerprint
from audits.games.game import Subject
from audits.games.plans import standard_games
from audits.games.sequential import plan_audit, run_audit
from verification.judge import finding
from verification.wire.faults import AdapterFault
from verification.wire.parameters import Algorithm
from verification.wire.process import Limits
from verification.wire.session import Session

COMMAND = (sys.executable, "-m", "verification.served.loopback")
REFERENCE = Target(COMMAND, Limits())
SUBJECT = Subject(Algorithm.SSADMM)
ROOT = Path(__file__).resolve().parents[3]
ARGUMENTS = ["--seed", "5", "--pairs", "1500", "--format", "json"]


def audit(*extra: str) -> list[str]:
    return [sys.executable, "-m", "dpadmm", "audit", *ARGUMENTS, *extra, "--", *COMMAND]


def document(arguments: list[str]) -> dict[str, object]:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode in (0, 3), done.stderr
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    del answer["again"]
    return answer


@pytest.fixture(scope="module")
def in_process() -> dict[str, object]:
    return document(audit("--workers", "1"))


@pytest.mark.slow
def test_a_pool_scores_what_this_process_scores() -> None:
    with Session(COMMAND) as session:
        planned = standard_games(session, SUBJECT)[0]
    plan = plan_audit(planned, SUBJECT, alpha=1e-3, pairs=500, seed=5)
    with executor(1) as here, executor(2) as workers:
        one, other = (run_audit(plan, REFERENCE, pool) for pool in (here, workers))
    np.testing.assert_array_equal(one.first, other.first)
    np.testing.assert_array_equal(one.second, other.second)
    assert finding(one.judged).detail == finding(other.judged).detail


@pytest.mark.slow
def test_a_pool_gives_the_same_document_as_this_process(in_process: dict[str, object]) -> None:
    assert document(audit("--workers", "2")) == in_process


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.readline()
"""


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_numbers_as_this_process(in_process: dict[str, object], tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    cluster = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    try:
        address = cluster.stdout.readline().strip()
        assert document(audit("--cluster", address)) == in_process
    finally:
        cluster.stdin.write("\n")
        cluster.stdin.close()
        cluster.wait(60)
        cluster.stdout.close()


@pytest.mark.slow
def test_a_killed_audit_resumes_with_the_same_numbers(in_process: dict[str, object], tmp_path: Path) -> None:
    resumable = audit("--workers", "1", "--checkpoint", str(tmp_path))
    running = subprocess.Popen(resumable, stdout=subprocess.DEVNULL, cwd=ROOT, start_new_session=True)
    kept = tmp_path / "0-ssadmm.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not kept.exists() or kept.read_bytes().count(b"\n") < 3):
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait(30)
    before = kept.read_bytes().count(b"\n")
    assert before >= 3
    kept.write_bytes(kept.read_bytes() + b'{"chunk":99,"first":"AAAA')  # cut short in the middle of a line
    assert document(resumable) == in_process
    numbers = [json.loads(line)["chunk"] for line in kept.read_bytes().splitlines()[1:]]
    assert numbers == list(range(6))


def scored(number: int) -> Scored:
    return Scored(number, np.arange(3.0) + number, -np.arange(3.0))


def test_a_chunk_that_was_written_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    Checkpoint(path, "a").add(scored(0))
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[1])
    again = Checkpoint(path, "a")
    assert [s.number for s in again] == [0]
    again.add(scored(0))
    again.add(scored(1))
    assert [s.number for s in Checkpoint(path, "a")] == [0, 1]
    np.testing.assert_array_equal(Checkpoint(path, "a").done[1].first, scored(1).first)


def test_a_checkpoint_of_another_audit_is_refused(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "kept.jsonl", "a").add(scored(0))
    with pytest.raises(CheckpointError, match="belongs to another audit"):
        Checkpoint(tmp_path / "kept.jsonl", "b")


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"[]\n", b'{"chunk":1}\n', b'{"chunk":1,"first":"AAAA","second":""}\n']
)
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "kept.jsonl"
    Checkpoint(path, "a")
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises((CheckpointError, ValueError)):
        Checkpoint(path, "a")


def test_everything_the_scores_depend_on_is_in_the_fingerprint() -> None:
    with Session(COMMAND) as session:
        a, b = (planned.game for planned in standard_games(session, SUBJECT))
    base = fingerprint(a, COMMAND, 1, 0, 250)
    others = [
        fingerprint(b, COMMAND, 1, 0, 250),
        fingerprint(a, (*COMMAND, "x"), 1, 0, 250),
        fingerprint(a, COMMAND, 2, 0, 250),
        fingerprint(a, COMMAND, 1, 1, 250),
        fingerprint(a, COMMAND, 1, 0, 251),
    ]
    assert len({base, *others}) == 6
    assert fingerprint(a, COMMAND, 1, 0, 250) == base


def test_a_crash_in_the_middle_is_a_fault_and_never_a_pass(tmp_path: Path) -> None:
    dying = tmp_path / "dying.py"
    dying.write_text(
        "from verification.served.loopback import Loopback\n"
        "from verification.served.serve import serve\n"
        "import os\n"
        "class Dying(Loopback):\n"
        "    asked = 0\n"
        "    def trials(self, *args):\n"
        "        Dying.asked += 1\n"
        "        if Dying.asked > 3: os._exit(9)\n"
        "        return super().trials(*args)\n"
        "serve(Dying())\n"
    )
    target = Target((sys.executable, str(dying)), Limits())
    with Session(target.command) as session:
        planned = standard_games(session, SUBJECT)[0]
    plan = plan_audit(planned, SUBJECT, alpha=1e-3, pairs=1500, seed=1)
    with executor(1) as pool, pytest.raises(AdapterFault):
        run_audit(plan, target, pool)


def test_chunks_make_up_the_budget_exactly() -> None:
    assert [c.pairs for c in chunks(1, 0, 601, 250)] == [250, 250, 101]
    with pytest.raises(AuditError, match="at least 1"):
        chunks(1, 0, 0, 250)
    with pytest.raises(AuditError, match="workers must be at least 1"), executor(0):
        pass
