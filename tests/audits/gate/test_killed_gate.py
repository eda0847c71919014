"""Whatever ends a gate that asks two processes at once, neither they nor their children go on."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.audits.games.test_killed import MARK, end_all, left_after, living
from tests.audits.gate.honest.campaign import ROOT, claim_text

# It answers until it is to run what is claimed, says so, and is then deaf to everything, as its child is. The few
# records before are asked of one process alone.
STUBBORN = """
import json, os, signal, subprocess, sys, time
for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(name, signal.SIG_IGN)
from verification.served.loopback import Loopback
from verification.served.serve import Server
server = Server(Loopback())
child = subprocess.Popen(["sleep", "600"])
for line in sys.stdin.buffer:
    asked = json.loads(line)
    if asked["request"] == "trials" and asked["parameters"]["batch"] == 50:
        open(f"{sys.argv[1]}-{os.getpid()}", "x").close()
        time.sleep(600)
    sys.stdout.buffer.write(server.answer(line))
    sys.stdout.buffer.flush()
"""
PROGRAM = """
import signal, sys
# a test run in the background passes on that it ignores these
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
from dpadmm.cli import main
if __name__ == "__main__":
    sys.argv = ["dpadmm", "gate", sys.argv[1], "--only", "claimed", "--workers", "2"]
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["SIGTERM", *(pytest.param(name, marks=pytest.mark.slow) for name in ("SIGKILL", "SIGHUP", "SIGINT"))]
)
def test_nothing_is_left_of_a_gate_that_is_killed_while_it_asks_two_processes(name: str, tmp_path: Path) -> None:
    adapter, program, claim = tmp_path / "adapter.py", tmp_path / "program.py", tmp_path / "claim.toml"
    ready = tmp_path / "ready"
    adapter.write_text(STUBBORN, encoding="utf-8")
    program.write_text(PROGRAM, encoding="utf-8")
    claim.write_text(claim_text([sys.executable, str(adapter), str(ready)], 0, "1e-6"), encoding="utf-8")
    mark = secrets.token_hex(8)
    started = subprocess.Popen(
        [sys.executable, str(program), str(claim)],
        env={**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 60.0
        while len(list(tmp_path.glob("ready-*"))) < 2:
            assert started.poll() is None, "the gate ended before it asked both"
            assert time.monotonic() < until, f"both were not asked to run: {json.dumps(living(mark))}"
            time.sleep(0.05)
        # the gate, two adapters, a child of each
        assert len(living(mark)) >= 5
        assert left_after(name, started, mark) == []
    finally:
        end_all(started, mark)
