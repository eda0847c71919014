"""Every way to misbehave is a named fault at its step, within the time limit, and leaves no process behind."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from verification.wire.faults import HINTS, AdapterFault, AdapterRefusal, AdapterSkipped, Fault, ProtocolStep
from verification.wire.process import AdapterProcess, Limits, Watchdog
from verification.wire.session import Session
from verification.wire.smoke import smoke

FAKE = Path(__file__).with_name("fake.py")
LIMITS = Limits(start_seconds=5, request_seconds=1.5, stop_seconds=1.0, answer_bytes=1 << 24, memory_bytes=1 << 30)

CASES = [
    ("crash-before-start", Fault.CRASHED, ProtocolStep.START),
    ("crash-at-start", Fault.CRASHED, ProtocolStep.START),
    ("crash-at-data", Fault.CRASHED, ProtocolStep.DATA),
    ("crash-at-replay", Fault.CRASHED, ProtocolStep.REPLAY),
    ("crash-at-trials", Fault.CRASHED, ProtocolStep.TRIALS),
    ("crash-at-stop", Fault.CRASHED, ProtocolStep.STOP),
    ("abort-at-replay", Fault.CRASHED, ProtocolStep.REPLAY),
    ("bad-exit", Fault.BAD_EXIT, ProtocolStep.STOP),
    ("hang-at-data", Fault.TIMED_OUT, ProtocolStep.DATA),
    ("hang-at-trials", Fault.TIMED_OUT, ProtocolStep.TRIALS),
    ("hang-at-stop", Fault.TIMED_OUT, ProtocolStep.STOP),
    ("drip-at-replay", Fault.TIMED_OUT, ProtocolStep.REPLAY),
    ("lingers", Fault.TIMED_OUT, ProtocolStep.STOP),
    ("close-at-replay", Fault.CRASHED, ProtocolStep.REPLAY),
    ("banner", Fault.NOT_JSON, ProtocolStep.START),
    ("print-at-data", Fault.NOT_JSON, ProtocolStep.DATA),
    ("garbage", Fault.NOT_JSON, ProtocolStep.DATA),
    ("babbles", Fault.NOT_JSON, ProtocolStep.STOP),
    ("wrong-id", Fault.WRONG_ID, ProtocolStep.DATA),
    ("answers-twice", Fault.ANSWERED_TWICE, ProtocolStep.DATA),
    ("old-answer", Fault.BAD_ANSWER, ProtocolStep.DATA),
    ("wrong-data-shape", Fault.WRONG_SHAPE, ProtocolStep.DATA),
    ("wrong-shape", Fault.WRONG_SHAPE, ProtocolStep.REPLAY),
    ("ragged", Fault.WRONG_SHAPE, ProtocolStep.REPLAY),
    ("truncated-base64", Fault.WRONG_SHAPE, ProtocolStep.REPLAY),
    ("not-base64", Fault.WRONG_SHAPE, ProtocolStep.REPLAY),
    ("nan", Fault.NOT_FINITE, ProtocolStep.REPLAY),
    ("json-nan", Fault.NOT_FINITE, ProtocolStep.REPLAY),
    ("huge-at-replay", Fault.ANSWER_TOO_LARGE, ProtocolStep.REPLAY),
    ("huge-at-trials", Fault.ANSWER_TOO_LARGE, ProtocolStep.TRIALS),
    ("hog-at-replay", Fault.CRASHED, ProtocolStep.REPLAY),
    ("old-protocol", Fault.WRONG_PROTOCOL, ProtocolStep.START),
    ("two-parts", Fault.BAD_ANSWER, ProtocolStep.DATA),
    ("no-part", Fault.BAD_ANSWER, ProtocolStep.DATA),
    ("extra-field", Fault.BAD_ANSWER, ProtocolStep.DATA),
    ("bad-capability", Fault.BAD_ANSWER, ProtocolStep.START),
    ("undeclared-value", Fault.UNDECLARED, ProtocolStep.REPLAY),
    ("missing-value", Fault.UNDECLARED, ProtocolStep.REPLAY),
    ("refuses", Fault.REFUSED, ProtocolStep.REPLAY),
    ("accepts-unknown-data", Fault.IGNORES_INPUT, ProtocolStep.TRIALS),
    ("random-replay", Fault.CONTRADICTION, ProtocolStep.REPLAY),
    ("ignores-data", Fault.IGNORES_INPUT, ProtocolStep.REPLAY),
    ("ignores-noise", Fault.IGNORES_INPUT, ProtocolStep.REPLAY),
    ("ignores-seed", Fault.IGNORES_SEED, ProtocolStep.TRIALS),
    ("forks-children", Fault.LEFT_PROCESSES, ProtocolStep.STOP),
    ("forks-daemon", Fault.LEFT_PROCESSES, ProtocolStep.STOP),
    ("forks-nameless", Fault.LEFT_PROCESSES, ProtocolStep.STOP),
    ("fork-then-hang", Fault.TIMED_OUT, ProtocolStep.TRIALS),
]


def command(mode: str) -> list[str]:
    return [sys.executable, "-S", str(FAKE), mode]


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return a function that lists every process this test started, directly or not, that is still alive."""
    mark = f"FAKE_MARK={secrets.token_hex(8)}"
    monkeypatch.setenv(*mark.split("="))

    def alive() -> list[str]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(entry.name) != os.getpid() and mark.encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    return alive


@pytest.mark.parametrize(("mode", "fault", "step"), CASES)
def test_misbehaviour_is_a_named_fault_within_its_limit_and_leaves_no_process(
    mode: str, fault: Fault, step: ProtocolStep, running: Callable[[], list[str]]
) -> None:
    began = time.monotonic()
    with pytest.raises(AdapterFault) as caught:
        list(smoke(command(mode), LIMITS))
    assert (caught.value.fault, caught.value.step) == (fault, step), str(caught.value)
    assert caught.value.exit_code == 4
    assert time.monotonic() - began < 20
    assert not running()


def test_an_honest_fake_passes_so_the_faults_above_come_from_their_modes(running: Callable[[], list[str]]) -> None:
    assert len(list(smoke(command("honest"), LIMITS))) == 6
    assert not running()


def test_a_flood_on_stderr_does_not_deadlock_the_harness() -> None:
    assert list(smoke(command("noisy-stderr"), LIMITS))


def test_addresses_that_are_only_reserved_count_for_nothing() -> None:
    # as the runtimes of Java and Go do
    assert list(smoke(command("reserves"), LIMITS))


def test_a_missing_program_is_a_fault_and_not_a_traceback() -> None:
    with pytest.raises(AdapterFault, match="no such program: 'no-such-adapter'"):
        AdapterProcess(["no-such-adapter"])
    with pytest.raises(AdapterFault, match="empty"):
        AdapterProcess([])


def test_last_words_and_hint_are_shown() -> None:
    with pytest.raises(AdapterFault) as caught:
        list(smoke(command("crash-at-replay"), LIMITS))
    text = str(caught.value)
    assert "fatal: could not replay" in text
    assert HINTS[Fault.CRASHED] in text


def test_an_exception_in_the_harness_kills_the_adapter(running: Callable[[], list[str]]) -> None:
    seen: list[str] = []

    def interrupted() -> None:
        with Session(command("honest"), LIMITS):
            seen.extend(running())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert seen, "the search for processes must be able to find one"
    assert not running()


def test_every_fault_has_a_hint() -> None:
    assert set(HINTS) == set(Fault)


def test_faults_survive_pickling() -> None:
    fault = AdapterFault(Fault.CRASHED, ProtocolStep.DATA, "detail", "words")
    for error in (fault, AdapterRefusal("internal", "m"), AdapterSkipped("r")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_watching_process_has_ended_when_the_program_ends() -> None:
    watchdog = Watchdog()
    watchdog.watch("NAME=value")
    watchdog.release("NAME=value")
    watchdog.end()
    del watchdog
    gc.collect()  # of a process that still runs Python warns here, and a warning is an error
