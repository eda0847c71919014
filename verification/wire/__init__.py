"""The wire to an implementation under test: newline-delimited JSON over a process's stdin and stdout.

1. `arrays`, `parameters`, `messages`, `declaration` say what a line may hold, and publish it as a JSON schema.
2. `process` runs the implementation and moves lines, within limits of time, size and memory.
3. `session` asks and checks the answers, whatever the face of the adapter, and hides which neighbour is which; `tape`
   keeps the answers.
4. `faults` names everything an adapter can do wrong, with the step and a hint.
5. `smoke` tests an adapter before anything is concluded from it.

The other end in Python is `verification.served`.
"""

from __future__ import annotations

import enum


class Face(enum.StrEnum):
    """What an adapter shows of an implementation; here, because the help of `dpadmm adapter` needs no message."""

    PAPER = "paper"
    DECLARED = "declared"
    BLACK_BOX = "black-box"
