r"""One ledger, two processes: its price by `dpadmm account ledger` with its parts' lower ends, and the second route.

Each is forked from a process with everything imported, so that memory and processor time are those of the one
computation; one that needs too long is ended by the kernel, and that is recorded.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from accountant.certificates.certificate import read_certificate
from accountant.certificates.recheck import recheck
from accountant.errors import CannotCertifyError, CertificateError
from accountant.lower_end import attained
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.quantities import delta_or_zero
from accountant.mechanisms.registry import read_ledger_file
from accountant.numbers import INFINITE, float_down
from accountant.pricing import Report, epsilon
from benchmarks.ledgers.drawing import Entry, drawn
from dpadmm.cli import account
from dpadmm.cli import main as command_line

WAITING: Final = "600"
"""Seconds by the clock, which a busy machine inflates: the processor's are what is limited."""
CPU_LIMIT: Final = 60
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


def price(index: int) -> tuple[Priced, Parts | None, str]:
    """Price ledger `index` as a user does; return what was answered, how its parts compare, and the certificate.

    In the place of a certificate there may be a message, and then no comparison.
    """
    phases, delta = drawn(index)

    def work(target: Path) -> None:
        path = write(phases, target.with_name("ledger.json"))
        reports: list[Report] = []
        answer = _answered(["account", "ledger", str(path), "--delta", delta, "--format", "json"], reports)
        found: dict[str, object] = asdict(answer.priced) | {"text": answer.text}
        target.write_text(json.dumps(found), "utf-8")
        if answer.priced.code == 0:
            part = phases[: index % len(phases)] + phases[index % len(phases) + 1 :]
            margin = math.inf
            if part:
                least = _lower(read_ledger_file(write(part, path)), delta)
                margin = _margin(float_down(reports[-1].epsilon.least), least)
            target.write_text(json.dumps(found | {"margin": margin}), "utf-8")

    code, seconds, mebibytes, text = in_a_child(work)
    if not text.startswith("{"):
        return Priced(code, seconds, mebibytes, "", "", text[:200]), None, text
    found = json.loads(text)
    certificate, margin = str(found.pop("text")), float(found.pop("margin", math.nan))
    priced = Priced(**found)
    return priced, Parts(code, round(seconds - priced.seconds, 2), margin) if priced.code == 0 else None, certificate


@dataclass(frozen=True, slots=True)
class _Answer:
    priced: Priced
    text: str


def _answered(arguments: list[str], reports: list[Report]) -> _Answer:
    """Run the command in this process; keep the report that it prints, whose ends are not rounded."""

    def recording(*given: object, **named: object) -> Report:
        reports.append(epsilon(*given, **named))  # type: ignore[arg-type]  # handed on as they are
        return reports[-1]

    setattr(account, "epsilon", recording)  # noqa: B010 - mypy would refuse the assignment
    sys.argv = ["dpadmm", *arguments, "--time-limit", WAITING]
    out, err, code = io.StringIO(), io.StringIO(), 70
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            command_line()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 70
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds, mebibytes = round(used.ru_utime + used.ru_stime, 2), used.ru_maxrss // MEBIBYTE
    if code == 0:
        ends = json.loads(out.getvalue())["epsilon"]
        return _Answer(Priced(code, seconds, mebibytes, ends["lower"], ends["upper"], ""), out.getvalue())
    said = err.getvalue().strip().splitlines()
    return _Answer(Priced(code, seconds, mebibytes, "", "", said[-1][:200] if said else ""), "")


def write(phases: list[Entry], path: Path) -> Path:
    """Write the phases as a ledger file."""
    path.write_text(json.dumps({"step": phases}), "utf-8")
    return path


def _margin(whole: float, part: float) -> float:
    """Return how far the lower end is above that of the part, relatively."""
    return (whole - part) / part if part > 0 else math.inf


def _lower(ledger: Ledger, delta: str) -> float:
    """Return the lower end alone: the upper ends of the part are not of interest."""
    try:
        return float_down(attained(ledger.realisable, delta_or_zero(delta, pure=False), INFINITE, None, digits=15))
    except CannotCertifyError:
        return 0.0


def confirm(certificate: str) -> Confirmed:
    """Re-derive a certificate by the second route."""

    def work(target: Path) -> None:
        try:
            found = recheck(read_certificate(certificate), seconds=None)
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
