"""Declare an algorithm of your own to the gate: what a Python adapter imports.

See docs/guides/declare-an-algorithm.md; `serve_declared` answers the harness, `DeclaredRun` is one run. Code that is
only to be observed has its noise function decorated with `noise`, its batches with `drawn`, and is served by
`serve_observed`; `serve_function` serves a function as a black box.
"""

from __future__ import annotations

from verification.served.black_box import serve_function
from verification.served.declared import DeclaredRun, serve_declared
from verification.served.observed import drawn, noise, observe, serve_observed
from verification.wire.records import Records

__all__ = ["DeclaredRun", "Records", "drawn", "noise", "observe", "serve_declared", "serve_function", "serve_observed"]
