r"""One ledger, three processes: its price by `dpadmm account ledger`, its parts' lower ends, and the second route.

Each runs in a child that is forked from a process with everything imported, so that memory and processor time are
those of the one computation; one that needs too long is ended by the kernel, and that is recorded.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from accountant.certificates.reading import read_certificate
from accountant.certificates.recheck import recheck
from accountant.errors import CannotCertifyError, CertificateError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.ledger_file import read_ledger_file
from accountant.numbers import float_down
from accountant.pricing import epsilon, methods_for
from benchmarks.ledgers.drawing import Entry, drawn
from dpadmm.cli import account as _loaded_before_forking  # noqa: F401
from dpadmm.cli import main as command_line

WAITING: Final = "600"
"""Seconds by the clock, which a busy machine inflates: the processor's are what is limited."""
CPU_LIMIT: Final = 40
CONFIRM_LIMIT: Final = 2
"""Seconds after which the kernel ends a child; the second route alone is given fewer, so that 2,000 take an hour."""
MEBIBYTE: Final = 1024


@dataclass(frozen=True, slots=True)
class Priced:
    """What the command answered: exit code, ends (or the message), processor seconds and MiB at most."""

    code: int
    seconds: float
    mebibytes: int
    lower: str
    upper: str
    said: str


@dataclass(frozen=True, slots=True)
class Parts:
    """How far the lower end is above that of the ledger less one phase, relatively (a negative is a fault)."""

    code: int
    seconds: float
    margin: float


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the second route said: "confirmed", "refuted: ...", "undecided: ..."."""

    code: int
    seconds: float
    said: str


def in_a_child(work: Callable[[Path], None], seconds: int = CPU_LIMIT) -> tuple[int, float, int, str]:
    """Run `work` in a forked child that may write to a file; return code, CPU seconds, MiB and the text written."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out"
        target.touch()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _run(work, target, seconds)
        _, status, usage = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        text = target.read_text("utf-8")
    return code, round(usage.ru_utime + usage.ru_stime, 2), usage.ru_maxrss // MEBIBYTE, text


def _run(work: Callable[[Path], None], target: Path, seconds: int) -> None:
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        work(target)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 70
    except BaseException as error:
        target.write_text(f"{type(error).__name__}: {error}"[:400], "utf-8")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def price(index: int) -> tuple[Priced, str]:
    """Price ledger `index` as a user does; return what was answered, and the certificate (or the message)."""
    phases, delta = drawn(index)

    def work(target: Path) -> None:
        descriptor = os.open(target, os.O_WRONLY)
        os.dup2(descriptor, 1)
        path = write(phases, target.with_name("ledger.json"))
        sys.argv = [
            "dpadmm",
            "account",
            "ledger",
            str(path),
            "--delta",
            delta,
            "--format",
            "json",
            "--time-limit",
            WAITING,
        ]
        command_line()

    code, seconds, mebibytes, text = in_a_child(work)
    if code == 0:
        ends = json.loads(text)["epsilon"]
        return Priced(code, seconds, mebibytes, ends["lower"], ends["upper"], ""), text
    said = text.strip().splitlines()[-1][:200] if text.strip() else ""
    return Priced(code, seconds, mebibytes, "", "", said), text


def write(phases: list[Entry], path: Path) -> Path:
    """Write the phases as a ledger file."""
    path.write_text(json.dumps({"step": phases}), "utf-8")
    return path


def compare_parts(index: int) -> Parts:
    """Compare the lower end of the ledger with that of the ledger less one phase, drawn by the index."""
    phases, delta = drawn(index)

    def work(target: Path) -> None:
        path = target.with_name("ledger.json")
        out = index % len(phases)
        part = phases[:out] + phases[out + 1 :]
        margin = math.inf
        if part:
            whole = _lower(read_ledger_file(write(phases, path)), delta)
            margin = _margin(whole, _lower(read_ledger_file(write(part, path)), delta))
        target.write_text(repr(margin), "utf-8")

    code, seconds, _, text = in_a_child(work)
    return Parts(code, seconds, float(text) if code == 0 else math.nan)


def _margin(whole: float, part: float) -> float:
    return (whole - part) / part if part > 0 else math.inf


def _lower(ledger: Ledger, delta: str) -> float:
    try:
        return float_down(epsilon(ledger, delta, methods=methods_for(ledger)[-1:]).epsilon.lower)
    except CannotCertifyError:
        return 0.0


def confirm(certificate: str) -> Confirmed:
    """Re-derive a certificate by the second route."""

    def work(target: Path) -> None:
        try:
            found = recheck(read_certificate(certificate))
        except CannotCertifyError as error:
            target.write_text(f"undecided: {error}"[:300], "utf-8")
        except CertificateError as error:
            target.write_text(f"refuted: {error}"[:300], "utf-8")
        else:
            target.write_text(f"confirmed: {len(found)}", "utf-8")

    code, seconds, _, text = in_a_child(work, CONFIRM_LIMIT)
    if code < 0:
        return Confirmed(0, seconds, f"undecided: no answer in {CONFIRM_LIMIT} s of the processor")
    return Confirmed(code, seconds, text)
