"""One persistent process, lines in and lines out, within limits of time, size and memory.

The process gets a session (and so a process group) of its own, and an environment variable with a random token
that its descendants inherit: on the way out the whole group is killed, and then whatever else carries the token; a
watchdog does so if this process is killed itself.
Reading, writing and stderr are served by one selector, so a chatty adapter cannot dead-lock the harness.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from verification.plain_text import harmless
from verification.wire.faults import AdapterFault, Fault, ProtocolStep

_CHUNK = 1 << 20
_LAST_WORDS_BYTES = 1 << 16
_LAST_WORDS_LINES = 12
_TOKEN_VARIABLE = "DPADMM_ADAPTER_TOKEN"
# Several adapters run side by side: threads of their linear algebra would wait for one another six times as long as
# they compute. Only what draws nothing is limited (threads of OpenMP may draw noise), and only where nobody said else.
_ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
# `ulimit` before `exec` leaves no moment at which the program runs without its limit. It limits what can be written to,
# not addresses that are only reserved: a Java or Go program reserves far more than it uses.
_LIMITED = 'ulimit -d "$0" && exec "$@"'
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
    """Kills adapters when the process that started them ends, even by SIGKILL, which leaves no time to tidy up.

    One small process watches: its standard input is a pipe that only the watched process holds. When that process is
    gone, however it went, the pipe ends, and everything that carries one of the tokens it was told is killed. Started
    when first needed, once a process.
    """

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


@dataclass(frozen=True, slots=True)
class Limits:
    """How long, how large, how much memory; seconds are per request."""

    start_seconds: float = 30.0
    request_seconds: float = 60.0
    stop_seconds: float = 30.0
    answer_bytes: int = 256 << 20
    memory_bytes: int = 4 << 30
    folder: Path | None = None  # where the adapter runs; here, where none is named

    @classmethod
    def of(cls, seconds: float, megabytes: int, folder: Path | None = None) -> Self:
        """So many seconds for `start` and for every request, and so much memory."""
        return cls(start_seconds=seconds, request_seconds=seconds, memory_bytes=megabytes << 20, folder=folder)

    def seconds(self, step: ProtocolStep) -> float:
        """Return the time limit of one request."""
        return {ProtocolStep.START: self.start_seconds, ProtocolStep.STOP: self.stop_seconds}.get(
            step, self.request_seconds
        )


class AdapterProcess:
    """A running adapter; a context manager that leaves no process behind, whatever happened inside."""

    def __init__(self, command: Sequence[str], limits: Limits | None = None) -> None:
        if not command:
            raise AdapterFault(Fault.CANNOT_START, ProtocolStep.START, "the adapter's command is empty")
        self.command = tuple(command)
        self.limits = limits or Limits()
        self._token = secrets.token_hex(16)
        self._stderr = bytearray()
        self._stdout = bytearray()
        self._last_step = ProtocolStep.START
        WATCHDOG.watch(self._variable)
        try:
            self._process = self._spawn()
        except BaseException:
            WATCHDOG.release(self._variable)
            raise
        self._stdin_pipe = _pipe(self._process.stdin)
        self._stdout_pipe = _pipe(self._process.stdout)
        self._stderr_pipe = _pipe(self._process.stderr)
        for pipe in (self._stdin_pipe, self._stdout_pipe, self._stderr_pipe):
            os.set_blocking(pipe.fileno(), False)
            with contextlib.suppress(OSError, AttributeError):  # larger pipes only save context switches
                fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _CHUNK)

    def __enter__(self) -> AdapterProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._stdout_pipe.close()
        self._stderr_pipe.close()

    @property
    def _variable(self) -> str:
        return f"{_TOKEN_VARIABLE}={self._token}"

    def _spawn(self) -> subprocess.Popen[bytes]:
        program = _program(self.command[0], self.limits.folder)
        kibibytes = str(self.limits.memory_bytes // 1024)
        try:
            return subprocess.Popen(
                ["/bin/sh", "-c", _LIMITED, kibibytes, program, *self.command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                cwd=self.limits.folder,
                env={**_ONE_BLAS_THREAD, **os.environ, _TOKEN_VARIABLE: self._token},
            )
        except OSError as error:
            raise AdapterFault(Fault.CANNOT_START, ProtocolStep.START, f"{self.command[0]!r}: {error}") from error

    def ask(self, line: bytes, step: ProtocolStep, answer_bytes: int | None = None) -> bytes:
        """Send one line and return the one line that answers it, or raise the fault that happened instead."""
        limit = min(answer_bytes or self.limits.answer_bytes, self.limits.answer_bytes)
        seconds = self.limits.seconds(step)
        self._require_silence(self._last_step)
        self._last_step = step
        answer = self._exchange(memoryview(line), step, time.monotonic() + seconds, limit)
        if answer.startswith(b"{"):  # anything else is not an answer, and called so by the caller
            self._require_silence(step)
        return answer

    def _require_silence(self, step: ProtocolStep) -> None:
        """Nothing may be on stdout beyond the answers; what came too late for one step is found at the next."""
        self._read_available()
        if self._stdout:
            fault = Fault.ANSWERED_TWICE if self._stdout.startswith(b"{") else Fault.NOT_JSON
            shown, more = self._stdout[:120].decode("utf-8", "replace"), " ..." * (len(self._stdout) > 120)
            raise self._fault(fault, step, f"beyond the answer came {shown!r}{more}")

    def _exchange(self, unsent: memoryview, step: ProtocolStep, deadline: float, limit: int) -> bytes:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout_pipe, selectors.EVENT_READ)
            selector.register(self._stderr_pipe, selectors.EVENT_READ)
            selector.register(self._stdin_pipe, selectors.EVENT_WRITE)
            searched = 0
            while True:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    told = self.limits.seconds(step)
                    raise self._fault(Fault.TIMED_OUT, step, f"no answer within {told:g} seconds")
                ready = {key.fileobj for key, _ in selector.select(remaining)}
                if self._stderr_pipe in ready and not self._read_stderr():
                    selector.unregister(self._stderr_pipe)
                if self._stdin_pipe in ready:
                    unsent = self._write(unsent, step)
                    if not unsent:
                        selector.unregister(self._stdin_pipe)
                if self._stdout_pipe not in ready:
                    continue
                chunk = _read(self._stdout_pipe)
                if chunk == b"":
                    raise self._ended(step)
                self._stdout += chunk or b""
                end = self._stdout.find(b"\n", searched)
                if end >= 0 and end <= limit:
                    answer = bytes(self._stdout[:end])
                    del self._stdout[: end + 1]
                    return answer
                if len(self._stdout) > limit:
                    raise self._fault(Fault.ANSWER_TOO_LARGE, step, f"the answer exceeds {limit:,} bytes")
                searched = len(self._stdout)

    def _write(self, unsent: memoryview, step: ProtocolStep) -> memoryview:
        try:
            return unsent[os.write(self._stdin_pipe.fileno(), unsent[:_CHUNK]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            raise self._ended(step) from None

    def _read_available(self) -> None:
        """Take what is on stdout now, without waiting."""
        self._stdout += _read(self._stdout_pipe) or b""

    def _read_stderr(self) -> bool:
        chunk = _read(self._stderr_pipe)
        self._stderr += chunk or b""
        del self._stderr[:-_LAST_WORDS_BYTES]
        return chunk != b""

    def last_words(self) -> str:
        """Return the last lines that the adapter wrote to stderr."""
        while chunk := _read(self._stderr_pipe):
            self._stderr += chunk
            del self._stderr[:-_LAST_WORDS_BYTES]
        lines = self._stderr.decode("utf-8", "replace").splitlines()
        return harmless("\n".join(line[:400] for line in lines[-_LAST_WORDS_LINES:]))

    def _fault(self, fault: Fault, step: ProtocolStep, detail: str) -> AdapterFault:
        self.kill()
        return AdapterFault(fault, step, detail, self.last_words())

    def _ended(self, step: ProtocolStep) -> AdapterFault:
        """Turn end-of-file on a pipe into the fault that it is."""
        deadline = time.monotonic() + 1.0
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(0.002)
        by_itself = self._has_ended()
        self.kill()
        detail = f"the process ended ({_status(self._process.returncode)}) without an answer"
        return self._fault(
            Fault.CRASHED, step, detail if by_itself else "it closed its stdout or stdin and kept running"
        )

    def _has_ended(self) -> bool:
        """Whether the process is over, without reaping it: until then its group's number cannot be another's."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def finish(self) -> None:
        """After `stop` was answered: wait for the end, and check that it was a clean one."""
        with contextlib.suppress(BrokenPipeError):
            self._stdin_pipe.close()
        deadline = time.monotonic() + self.limits.stop_seconds
        while not self._has_ended():
            if time.monotonic() > deadline:
                detail = f"still running {self.limits.stop_seconds:g} seconds after it answered `stop`"
                raise self._fault(Fault.TIMED_OUT, ProtocolStep.STOP, detail)
            self._read_available()
            self._read_stderr()
            time.sleep(0.002)
        self._require_silence(ProtocolStep.STOP)
        left = self._descendants()
        self.kill()
        status = self._process.returncode
        if status != 0:
            raise self._fault(Fault.BAD_EXIT, ProtocolStep.STOP, f"the process ended with {_status(status)}")
        if left:
            raise self._fault(Fault.LEFT_PROCESSES, ProtocolStep.STOP, f"processes {left} were still running")

    def kill(self) -> None:
        """End the process, its group, and everything else that carries its token; safe to call twice."""
        self._kill_group()
        for _ in range(100):
            left = self._descendants()
            if not left:
                break
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        self._process.wait()
        WATCHDOG.release(self._variable)
        with contextlib.suppress(BrokenPipeError):
            self._stdin_pipe.close()

    def _kill_group(self) -> None:
        # Until it is reaped its number is not given to another process, so the group is certainly ours.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _descendants(self) -> list[int]:
        """Return the living processes that inherited the token, or are in the group."""
        needle = self._variable.encode()
        ours = self._process.pid if self._process.returncode is None else None
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                # After the command in parentheses: state, parent, process group.
                state, _, group, *_ = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                if state not in b"ZX" and (int(group) == ours or needle in (entry / "environ").read_bytes()):
                    found.append(int(entry.name))
        return sorted(pid for pid in found if pid != os.getpid())


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("subprocess.PIPE was asked for")
    return stream


def _read(pipe: IO[bytes]) -> bytes | None:
    """Return what is there: None when nothing is, b"" at the end of the stream."""
    try:
        return os.read(pipe.fileno(), _CHUNK)
    except BlockingIOError:
        return None
    except ValueError:  # closed by kill()
        return b""


def _status(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-status).name}"
    return f"signal {-status}"


def _program(name: str, folder: Path | None) -> str:
    """The program that a command names; one with a slash is looked for from the folder in which it will run."""
    place = (folder or Path()).absolute() / name
    found = shutil.which(str(place) if "/" in name else name)
    if found is not None:
        return found
    if not place.exists():
        detail = f"no such program: {name!r}" + (f" in {place.parent}" if "/" in name else " on the PATH")
    elif place.is_dir():
        detail = f"{name!r} is a folder, not a program ({place})"
    elif os.access(place, os.X_OK):
        detail = f"{name!r} is not on the PATH; a program in the folder itself is written './{name}'"
    else:
        detail = f"{name!r} exists but is not executable ({place}); chmod +x it, or name its interpreter before it"
    raise AdapterFault(Fault.CANNOT_START, ProtocolStep.START, detail)
