"""Every way in which an adapter can fail, by name, each with the protocol step and a hint.

A fault says that nothing can be concluded about the implementation. It is therefore neither a pass nor a
refutation: it has an exit code of its own, and no check may ignore it.
"""

from __future__ import annotations

import enum


class ProtocolStep(enum.StrEnum):
    """The place in the protocol at which something happened."""

    START = "start"
    DATA = "data"
    REPLAY = "replay"
    TRIALS = "trials"
    DECLARE = "declare"
    RECORD = "record"
    STOP = "stop"


class Fault(enum.StrEnum):
    """What went wrong."""

    CANNOT_START = "cannot-start"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    NOT_JSON = "not-json"
    WRONG_SHAPE = "wrong-shape"
    WRONG_ID = "wrong-id"
    ANSWERED_TWICE = "answered-twice"
    ANSWER_TOO_LARGE = "answer-too-large"
    WRONG_PROTOCOL = "wrong-protocol"
    BAD_ANSWER = "bad-answer"
    NOT_FINITE = "not-finite"
    UNDECLARED = "undeclared"
    REFUSED = "refused"
    CONTRADICTION = "contradiction"
    IGNORES_SEED = "ignores-seed"
    IGNORES_INPUT = "ignores-input"
    BAD_EXIT = "bad-exit"
    LEFT_PROCESSES = "left-processes"


HINTS: dict[Fault, str] = {
    Fault.CANNOT_START: "check the command after `--`: is the program there, executable, and built?",
    Fault.CRASHED: "run the command by itself: what it writes to stderr says why it ended",
    Fault.TIMED_OUT: "flush stdout after every answer, read stdin line by line, and if the work is honest "
    "but slow raise the limit with --timeout",
    Fault.NOT_JSON: "only answers may go to stdout, one JSON object a line; send logging to stderr",
    Fault.WRONG_SHAPE: "arrays are row-major; docs/reference/protocol.md gives the shape of every array",
    Fault.WRONG_ID: "echo the `id` of the request that is being answered",
    Fault.ANSWERED_TWICE: "write exactly one line for each request",
    Fault.ANSWER_TOO_LARGE: "an answer holds `count` outputs of the shape asked for and nothing else; "
    "pack arrays as base64",
    Fault.WRONG_PROTOCOL: "this harness speaks protocol 1; answer `start` with `protocol: 1`",
    Fault.BAD_ANSWER: "exactly one of `result`, `skipped`, `error`; `dpadmm adapter schema` prints the shapes",
    Fault.NOT_FINITE: "NaN and infinity may never leave an implementation; answer `error` instead",
    Fault.UNDECLARED: "under `released` the answer to `start` lists every value that leaves the implementation, "
    "and every result holds exactly these",
    Fault.REFUSED: "the request was valid and within what `start` declared; declare less, or mend it",
    Fault.CONTRADICTION: "`replay` is a function of its request: no randomness, no state of earlier requests",
    Fault.IGNORES_SEED: "with capability `seed`, equal requests with equal seeds must give equal answers; "
    "otherwise do not declare it",
    Fault.IGNORES_INPUT: "the input changed and the answer did not: is the right array (or data set) used?",
    Fault.BAD_EXIT: "answer `stop`, then exit with status 0",
    Fault.LEFT_PROCESSES: "join or end every child process before answering `stop`",
}


class AdapterError(Exception):
    """The base of what this package raises about an adapter; exit code 4."""

    exit_code = 4


class AdapterFault(AdapterError):
    """One named fault, where it happened, what was seen, a hint, and the end of the adapter's stderr."""

    def __init__(self, fault: Fault, step: ProtocolStep, detail: str, last_words: str = "") -> None:
        self.fault = fault
        self.step = step
        self.detail = detail
        self.last_words = last_words
        super().__init__(self._text())

    def __reduce__(self) -> tuple[type[AdapterFault], tuple[Fault, ProtocolStep, str, str]]:
        """Pickle by the four fields, so that a fault survives a process pool."""
        return (type(self), (self.fault, self.step, self.detail, self.last_words))

    @property
    def hint(self) -> str:
        """How to mend it."""
        return HINTS[self.fault]

    def _text(self) -> str:
        text = f"adapter fault {self.fault} at step {self.step}: {self.detail}\n  hint: {self.hint}"
        if self.last_words:
            indented = "\n".join(f"    {line}" for line in self.last_words.splitlines())
            text += f"\n  last lines of its stderr:\n{indented}"
        return text


class RefusedRequest(AdapterFault):
    """The adapter understood a valid request and answered `error`: it does not run at this size, or with these words.

    A fault where nothing else can be asked. A check may be left out for it, by name and with the reason; what a claim
    rests on must then be seen by other means.
    """

    @property
    def reason(self) -> str:
        """What a report says of the check that was left out."""
        return f"refused: {self.detail}"


class AdapterRefusal(AdapterError):
    """The adapter answered `error`: a legitimate answer to bad input, a fault where the input was good."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"the adapter answered error {kind!r}: {message}")

    def __reduce__(self) -> tuple[type[AdapterRefusal], tuple[str, str]]:
        return (type(self), (self.kind, self.message))


class AdapterSkipped(AdapterError):
    """The adapter answered `skipped`: it does not offer this, and says so; never a pass."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the adapter skipped the request: {reason}")

    def __reduce__(self) -> tuple[type[AdapterSkipped], tuple[str]]:
        return (type(self), (self.reason,))


def as_fields(error: AdapterError) -> dict[str, str]:
    """Return what a JSON report says of it."""
    if isinstance(error, AdapterFault):
        return {
            "name": str(error.fault),
            "step": str(error.step),
            "detail": error.detail,
            "hint": error.hint,
            "stderr": error.last_words,
        }
    return {"name": "skipped", "step": "", "detail": str(error), "hint": "", "stderr": ""}
