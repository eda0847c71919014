"""Declare an algorithm of your own to the gate: what a Python adapter imports.

See docs/guides/declare-an-algorithm.md; `serve_declared` answers the harness, `DeclaredRun` is one run.
"""

from __future__ import annotations

from verification.served.declared import DeclaredRun, serve_declared
from verification.wire.declared_session import LabelledPoints

__all__ = ["DeclaredRun", "LabelledPoints", "serve_declared"]
