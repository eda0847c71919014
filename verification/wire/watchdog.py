"""Kills adapters when the process that started them ends, even by SIGKILL, which leaves no time to tidy up.

One small process watches: its standard input is a pipe that only the watched process holds. When that process is gone,
however it went, the pipe ends, and everything that carries one of the tokens it was told is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading

_SECONDS_TO_END = 5.0
_SCRIPT = """
import os, signal, sys
tokens = set()
for line in sys.stdin.buffer:
    sign, token = line[:1], line[1:].strip()
    (tokens.add if sign == b"+" else tokens.discard)(token)
def living():
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    values = file.read().split(b"\\0")
            except OSError:
                continue
            if tokens.intersection(values):
                yield int(name)
for _ in range(100):
    found = list(living()) if tokens else []
    if not found:
        break
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
"""


class Watchdog:
    """Tells the watching process which tokens to kill; started when first needed, once a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def watch(self, variable: str) -> None:
        """Kill what carries this NAME=VALUE in its environment when this process ends."""
        self._tell(f"+{variable}\n")

    def release(self, variable: str) -> None:
        """All of them are gone already."""
        self._tell(f"-{variable}\n")

    def _tell(self, line: str) -> None:
        with self._lock:
            if self._process is not None and self._owner != os.getpid():
                self._process.returncode = 0  # inherited by a fork: its parent waits for it, and this process cannot
            if self._process is not None and self._process.poll() is not None:
                with contextlib.suppress(BrokenPipeError):
                    if self._process.stdin is not None:
                        self._process.stdin.close()
                self._process = None
            if self._process is None:
                self._process, self._owner = self._started(), os.getpid()
            pipe = self._process.stdin
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.write(line.encode())
                    pipe.flush()

    def end(self) -> None:
        """End the watching process and wait for it; one that a fork inherited is left to the parent."""
        if self._process is not None and self._owner == os.getpid():
            with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self._process.communicate(timeout=_SECONDS_TO_END)

    def _started(self) -> subprocess.Popen[bytes]:
        # a session of its own: what ends the watched process's group must not end this one
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={"PATH": os.environ.get("PATH", "")},
        )


WATCHDOG = Watchdog()
atexit.register(WATCHDOG.end)
