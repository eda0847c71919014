"""Whatever ends a program with two workers, neither they nor their adapters, nor those adapters' children, go on."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MARK = "DPADMM_TEST_MARK"
SECONDS = 5.0
# It answers `start`, starts a child, closes nothing, and ignores the end of its input.
STUBBORN = """
import signal, subprocess, sys, time
for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(name, signal.SIG_IGN)
from verification.served.loopback import Loopback
from verification.served.serve import Server
server = Server(Loopback())
subprocess.Popen(["sleep", "600"])
sys.stdout.buffer.write(server.answer(sys.stdin.buffer.readline()))
sys.stdout.buffer.flush()
time.sleep(600)
"""
PROGRAM = """
import signal, sys, time
from audits.games.executors import Target, executor, session_of
from verification.wire.process import Limits

def hold(target, ready):
    session_of(target)
    open(ready, "x").close()
    time.sleep(600)

if __name__ == "__main__":
    # a test run in the background passes on that it ignores these
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    target = Target((sys.executable, sys.argv[1]), Limits())
    with executor(2) as pool:
        for future in [pool.submit(hold, target, f"{sys.argv[2]}-{k}") for k in range(2)]:
            future.result()
"""


def living(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def left_after(name: str, started: subprocess.Popen[bytes], mark: str) -> list[int]:
    """Send the signal and return what still lives some seconds later."""
    started.send_signal(getattr(signal, name))
    until = time.monotonic() + SECONDS
    while living(mark) and time.monotonic() < until:
        started.poll()
        time.sleep(0.05)
    return living(mark)


def end_all(started: subprocess.Popen[bytes], mark: str) -> None:
    """Leave nothing behind, whatever the test found."""
    for pid in living(mark):
        os.kill(pid, signal.SIGKILL)
    started.wait()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["SIGKILL", *(pytest.param(name, marks=pytest.mark.slow) for name in ("SIGTERM", "SIGHUP", "SIGINT"))]
)
def test_nothing_is_left_of_a_killed_program(name: str, tmp_path: Path) -> None:
    adapter, program, ready = tmp_path / "adapter.py", tmp_path / "program.py", tmp_path / "ready"
    adapter.write_text(STUBBORN, encoding="utf-8")
    program.write_text(PROGRAM, encoding="utf-8")
    mark = secrets.token_hex(8)
    environment = {**os.environ, MARK: mark, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3])])}
    started = subprocess.Popen(
        [sys.executable, str(program), str(adapter), str(ready)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 60.0
        while not all(Path(f"{ready}-{k}").exists() for k in range(2)):
            assert time.monotonic() < until, "the workers did not start"
            time.sleep(0.05)
        # the program, two workers (and the tracker of their resources), two adapters, a child of each
        assert len(living(mark)) >= 7
        assert left_after(name, started, mark) == []
    finally:
        end_all(started, mark)
